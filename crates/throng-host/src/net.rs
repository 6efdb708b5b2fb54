//! How parties reach one another: HTTP/1.1 over TLS 1.3, as section 9 of docs/wire-format.md describes it.
//!
//! Nobody asks a certificate authority. A party's signed address names the one certificate that it shows, as server
//! and as client, and the key behind that certificate is proved in every handshake.

pub mod body;
pub mod client;
pub mod endpoint;
pub mod exact;
pub mod host;
pub mod open_files;
pub mod paths;
pub mod places;
pub mod problem;
pub mod rate;
pub mod sender;
pub mod server;
pub mod shortcut;
pub mod tls;
mod watched;

pub use body::{Outgoing, Upload};
pub use client::{Client, Reply, SendError};
pub use host::LoopbackHosts;
pub use paths::{InstancePath, RoutePath};
pub use places::Visitor;
pub use problem::Problem;
pub use sender::Sender;
pub use server::{Peer, Server, Transport};
pub use shortcut::{Answer, Shortcut};
pub use tls::Identity;
