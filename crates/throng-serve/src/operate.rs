//! What every server needs to be operated: its log, its health and numbers, its operator's port, and its surveys' files.

pub(crate) mod about;
pub(crate) mod backoff;
pub(crate) mod config_file;
pub mod contacts;
pub(crate) mod damage;
pub mod directory;
pub(crate) mod layer_keys;
pub mod log;
pub mod operator_port;
pub(crate) mod reasons;
pub(crate) mod survey_files;
pub mod vitals;
pub(crate) mod work_loop;

pub use contacts::Contacts;
pub use log::{Log, LogFormat};
pub use operator_port::OperatorPort;
pub use vitals::Vitals;
