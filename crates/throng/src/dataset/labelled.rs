//! Data to learn from: labelled examples to train on, and others to test with.

mod bytes;
mod pictures;
mod table;

pub use pictures::PictureSet;
use throng_learn::Examples;

/// Labelled examples in two parts.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// What it is called in results.
    pub name: String,
    /// One example for each respondent who takes part.
    pub training: Examples,
    /// Examples of others, which the model never sees.
    pub test: Examples,
    /// What the classes are called, in the order of the labels.
    pub classes: Vec<String>,
}
