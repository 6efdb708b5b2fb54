//! ENCODE: a respondent's value becomes a report, and the report becomes fragments.
//!
//! Pure: randomness is an argument. Sealing the fragments and sending them come with the shufflers.

mod encoder;

pub use encoder::Encoder;
