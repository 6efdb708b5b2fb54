//! What all parties of a survey agree on, as bytes.
//!
//! So far: the survey file and the sizes of what travels. Sealing and opening come with the shufflers.

pub mod envelope;
mod error;
pub mod survey;

pub use error::Error;
pub use survey::Survey;
