//! The keys of a deployment, and what parties sign with them.
//!
//! Each operator makes an identity by itself (`Party::create`) and gives its public signing key to whoever writes the
//! survey. Once the survey names everybody, each signs it, its address and its first layer key (`Signer`); the public
//! parts of all are put beside the survey (`bundle`), and first hops get lists of who may answer. `enrolled` makes these
//! lists of what respondents handed in, who draw their own secrets; `credentials` draws all secrets here, for trials.
//!
//! Nothing that exists is overwritten but what is replaced on purpose, and every file is whole, on disk, or not there.

mod bundle;
mod credentials;
mod deployment;
mod enrolled;
mod files;
mod party;
mod schedule;
mod signer;

pub use bundle::bundle;
pub use credentials::credentials;
pub use deployment::{Deployment, deployment};
pub use enrolled::enrolled;
pub use party::Party;
pub use schedule::Schedule;
pub use signer::{Signer, erase_layer_keys, read_layer_keys};
