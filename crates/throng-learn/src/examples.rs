//! Labelled examples, one for each respondent.

pub(crate) mod cifar;
mod held_out;
pub(crate) mod idx;
pub(crate) mod table;

use crate::Error;

/// Inputs of one width, each with the class it belongs to.
#[derive(Clone, PartialEq)]
pub struct Examples {
    /// Row by row.
    inputs: Vec<f32>,
    width: usize,
    labels: Vec<u8>,
    classes: usize,
}

impl Examples {
    /// Examples of `width` numbers each, labelled below `classes`. Every class has to have an example, and every number
    /// to be finite: what is not there cannot be learned, and one bad pixel would make a gradient of nothing.
    pub fn new(inputs: Vec<f32>, width: usize, labels: Vec<u8>, classes: usize) -> Result<Self, Error> {
        if width == 0 || labels.is_empty() {
            return Err(Error::Examples("there are no examples; give at least one of each class".into()));
        }
        if inputs.len() != width * labels.len() {
            return Err(Error::Examples(format!(
                "{} numbers do not make {} examples of {width}; give every example as many",
                inputs.len(),
                labels.len()
            )));
        }
        if let Some(i) = labels.iter().position(|&label| usize::from(label) >= classes) {
            return Err(Error::Examples(format!(
                "example {i} has label {}; with {classes} classes give labels from 0 to {}",
                labels[i],
                classes.saturating_sub(1)
            )));
        }
        if let Some(i) = inputs.iter().position(|x| !x.is_finite()) {
            return Err(Error::Examples(format!(
                "number {} of example {} is not finite; leave the example out or mend it",
                i % width,
                i / width
            )));
        }
        let examples = Self { inputs, width, labels, classes };
        if let Some(class) = examples.class_sizes().iter().position(|&size| size == 0) {
            return Err(Error::Examples(format!(
                "class {class} has no example; number the classes without gaps, or give examples of it"
            )));
        }
        Ok(examples)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Never: there is at least one.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// How many numbers an input has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// One input.
    pub fn input(&self, i: usize) -> &[f32] {
        &self.inputs[i * self.width..][..self.width]
    }

    /// One label.
    pub fn label(&self, i: usize) -> u8 {
        self.labels[i]
    }

    /// How many examples each class has.
    pub fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.classes];
        self.labels.iter().for_each(|&label| sizes[usize::from(label)] += 1);
        sizes
    }

    /// Those at some positions, in that order. A class may be missing among them.
    pub fn at(&self, positions: &[usize]) -> Self {
        let inputs = positions.iter().flat_map(|&i| self.input(i)).copied().collect();
        let labels = positions.iter().map(|&i| self.labels[i]).collect();
        Self { inputs, labels, ..*self }
    }

    /// The first `count`, and the rest.
    pub fn split(&self, count: usize) -> (Self, Self) {
        let positions: Vec<usize> = (0..self.len()).collect();
        let (first, rest) = positions.split_at(count.min(self.len()));
        (self.at(first), self.at(rest))
    }

    /// The same examples as another function of their inputs, which has to give `width` finite numbers.
    pub fn map(&self, width: usize, f: impl Fn(&[f32], &mut [f32]) + Sync) -> Self {
        use rayon::prelude::*;
        let mut inputs = vec![0.0; width * self.len()];
        inputs.par_chunks_mut(width).enumerate().for_each(|(i, out)| f(self.input(i), out));
        Self { inputs, width, labels: self.labels.clone(), classes: self.classes }
    }
}

/// Examples are respondents' data: only their shape is shown.
impl std::fmt::Debug for Examples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Examples({} of {} numbers, {} classes)", self.len(), self.width, self.classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(inputs: &[f32], width: usize, labels: &[u8], classes: usize) -> String {
        Examples::new(inputs.to_vec(), width, labels.to_vec(), classes).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_learned_from_is_refused() {
        assert!(refusal(&[], 1, &[], 2).contains("no examples"));
        assert!(refusal(&[1.0; 3], 2, &[0, 1], 2).contains("3 numbers do not make 2 examples of 2"));
        assert!(refusal(&[1.0; 4], 2, &[0, 2], 2).contains("example 1 has label 2"));
        assert!(refusal(&[1.0, 0.0, 0.0, f32::NAN], 2, &[0, 1], 2).contains("number 1 of example 1"));
        assert!(refusal(&[1.0; 4], 2, &[0, 2], 3).contains("class 1 has no example"));
    }

    #[test]
    fn parts_keep_inputs_and_labels_together() {
        let all = Examples::new(vec![0.0, 0.5, 1.0, 1.5, 2.0, 2.5], 2, vec![0, 1, 0], 2).unwrap();
        let (first, rest) = all.split(1);
        assert_eq!((first.len(), rest.len()), (1, 2));
        assert_eq!((rest.input(1), rest.label(0)), ([2.0, 2.5].as_slice(), 1));
        assert_eq!(all.at(&[2, 0]).input(0), [2.0, 2.5]);
        let sums = all.map(1, |input, out| out[0] = input.iter().sum());
        assert_eq!((sums.width(), sums.input(1)[0], sums.label(1)), (1, 2.5, 1));
        assert_eq!(format!("{all:?}"), "Examples(3 of 2 numbers, 2 classes)");
    }
}
