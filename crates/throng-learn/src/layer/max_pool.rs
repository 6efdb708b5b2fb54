//! The largest number of each small square.

use super::{Memory, Pass, Shape};
use crate::number::Number;

/// Squares of `side` pixels, `stride` apart; those that do not fit are left out.
///
/// # Paper
/// Table mnist has "Max-Pooling 2x2" without a stride: 1 makes the network of 26,010 parameters that
/// TensorFlow Privacy's tutorial has, 2 (Keras's default) one of 10,650.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaxPool {
    input: Shape,
    side: usize,
    stride: usize,
}

impl MaxPool {
    /// A pool over pictures that are at least as large as a square.
    pub(crate) fn new(input: Shape, side: usize, stride: usize) -> Self {
        debug_assert!(side <= input.rows && side <= input.columns && stride > 0);
        Self { input, side, stride }
    }

    pub(super) fn input(&self) -> Shape {
        self.input
    }

    /// What comes out.
    pub(crate) fn output(&self) -> Shape {
        let along = |len: usize| (len - self.side) / self.stride + 1;
        Shape { rows: along(self.input.rows), columns: along(self.input.columns), ..self.input }
    }

    pub(super) fn forward<F: Number>(&self, inputs: &[F], outputs: &mut [F], memory: &mut Memory<F>) {
        let to = self.output();
        memory.places.resize(outputs.len(), 0);
        let examples = inputs.chunks_exact(self.input.len());
        let results = outputs.chunks_exact_mut(to.len()).zip(memory.places.chunks_exact_mut(to.len()));
        for (input, (output, places)) in examples.zip(results) {
            let rows = output.chunks_exact_mut(to.columns).zip(places.chunks_exact_mut(to.columns));
            for (i, (output, places)) in rows.enumerate() {
                let (channel, row) = (i / to.rows, i % to.rows);
                let first = (channel * self.input.rows + row * self.stride) * self.input.columns;
                for (column, (largest, place)) in output.iter_mut().zip(places).enumerate() {
                    let corner = first + column * self.stride;
                    (*largest, *place) = self.largest(input, corner);
                }
            }
        }
    }

    /// The largest number of a square, and where it is.
    #[inline]
    fn largest<F: Number>(&self, input: &[F], corner: usize) -> (F, u32) {
        let (mut largest, mut place) = (input[corner], corner);
        for row in 0..self.side {
            for at in (corner + row * self.input.columns..).take(self.side) {
                let x = input[at];
                // Selections, not branches: which one is largest cannot be predicted.
                let larger = x > largest;
                largest = if larger { x } else { largest };
                place = if larger { at } else { place };
            }
        }
        (largest, place as u32)
    }

    pub(super) fn backward<F: Number>(&self, pass: &Pass<'_, F>, by_inputs: Option<&mut [F]>) {
        let Some(by_inputs) = by_inputs else { return };
        let len = self.output().len();
        by_inputs.fill(F::default());
        let behind = pass.by_outputs.chunks_exact(len).zip(pass.memory.places.chunks_exact(len));
        for (by_inputs, (by_outputs, places)) in by_inputs.chunks_exact_mut(self.input.len()).zip(behind) {
            by_outputs.iter().zip(places).for_each(|(&x, &place)| by_inputs[place as usize] += x);
        }
    }
}
