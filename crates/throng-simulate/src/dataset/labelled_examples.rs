//! Training and test sets: labelled examples to learn from, and others to test with.

mod bytes;
mod pictures;
mod table;

pub use pictures::PictureSet;
use throng_learn::Examples;
use throng_wire::{Digest, Hasher};

/// Labelled examples in two parts.
#[derive(Clone, Debug)]
pub struct LabelledExamples {
    /// What it is called in results.
    pub name: String,
    /// One example for each respondent who takes part.
    pub training: Examples,
    /// Examples of others, which the model never sees.
    pub test: Examples,
    /// What the classes are called, in the order of the labels.
    pub classes: Vec<String>,
}

impl LabelledExamples {
    /// A hash of all examples, those to train on and those to test with.
    pub fn digest(&self) -> Digest {
        digest_of(&[&self.training, &self.test])
    }
}

/// A hash of examples, part after part.
pub fn digest_of(parts: &[&Examples]) -> Digest {
    let mut hasher = Hasher::new();
    for examples in parts {
        for number in [examples.len(), examples.width(), examples.classes()] {
            hasher.update(&(number as u64).to_le_bytes());
        }
        let mut bytes = Vec::with_capacity(4 * examples.width() + 1);
        for i in 0..examples.len() {
            bytes.clear();
            examples.input(i).iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
            bytes.push(examples.label(i));
            hasher.update(&bytes);
        }
    }
    hasher.finish()
}
