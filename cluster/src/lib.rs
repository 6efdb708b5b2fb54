//! The parties of Throng on many machines: batches on Apache DataFusion Ballista, files in object storage.
//!
//! | question | where |
//! |---|---|
//! | what does a hop run on here? | [`backend::ClusterBackend`] |
//! | who does the work of a batch on many machines? | [`engine::ClusterEngine`] |
//! | what is a piece of that work, and who does it? | [`task::Task`], [`work`], [`keys`] |
//! | where does it run? | [`jobs`], [`scheduler`], [`executor`], [`function`] |
//! | where are a party's files? | [`objects`] |
//! | where is what its replicas share? | [`postgres`], [`ratchet`] |
//! | what do so many people need? | [`size`] |
//! | who may connect? | [`tls`] |
//! | how does blocking code wait for asynchronous clients? | [`bridge`] |

pub mod backend;
pub mod bridge;
pub mod config;
pub mod engine;
pub mod executor;
pub mod function;
pub mod jobs;
pub mod keys;
pub mod objects;
pub mod postgres;
pub mod ratchet;
pub mod scheduler;
pub mod serve;
pub mod size;
pub mod task;
pub mod tls;
pub mod work;
