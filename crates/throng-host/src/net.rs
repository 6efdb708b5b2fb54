//! How parties reach one another: HTTP/1.1 over TLS 1.3, as section 9 of docs/wire-format.md describes it.
//!
//! Nobody asks a certificate authority. A party's signed address names the one certificate that it shows, as server
//! and as client, and the key behind that certificate is proved in every handshake. What answers, and not only calls, is there with
//! the feature `server`.

#[cfg(feature = "server")]
pub mod body;
pub mod client;
pub mod endpoint;
#[cfg(feature = "server")]
pub mod exact;
#[cfg(feature = "server")]
pub mod host;
#[cfg(feature = "server")]
pub mod open_files;
pub mod outgoing_body;
pub mod paths;
#[cfg(feature = "server")]
pub mod places;
pub mod problem;
#[cfg(feature = "server")]
pub mod rate;
pub mod sender;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod shortcut;
mod timeout_stream;
pub mod tls;

#[cfg(feature = "server")]
pub use body::Upload;
pub use client::{Client, Reply, SendError};
#[cfg(feature = "server")]
pub use host::LoopbackHosts;
pub use outgoing_body::OutgoingBody;
pub use paths::{InstancePath, RoutePath};
#[cfg(feature = "server")]
pub use places::Visitor;
pub use problem::Problem;
pub use sender::Sender;
#[cfg(feature = "server")]
pub use server::{Peer, Server, Transport};
#[cfg(feature = "server")]
pub use shortcut::{Answer, Shortcut};
pub use tls::Identity;
