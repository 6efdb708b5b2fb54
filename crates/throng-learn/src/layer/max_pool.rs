//! The largest number of each small square.

use super::{Memory, Pass, Shape};
use crate::number::Number;

/// Squares of 2 x 2 pixels, `stride` apart; those that do not fit are left out.
///
/// # Paper
/// Table mnist has "Max-Pooling 2x2" without a stride: 1 makes the network of 26,010 parameters that
/// TensorFlow Privacy's tutorial has, 2 (Keras's default) one of 10,650.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaxPool {
    input: Shape,
    stride: usize,
}

impl MaxPool {
    /// A pool over pictures that are at least as large as a square.
    pub(crate) fn new(input: Shape, stride: usize) -> Self {
        debug_assert!(SIDE <= input.rows && SIDE <= input.columns && (1..=2).contains(&stride));
        Self { input, stride }
    }

    pub(super) fn input(&self) -> Shape {
        self.input
    }

    /// What comes out.
    pub(crate) fn output(&self) -> Shape {
        let along = |len: usize| (len - SIDE) / self.stride + 1;
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
                let (upper, lower) = input[first..].split_at(self.input.columns);
                match self.stride {
                    1 => pool::<F, 1>(upper, lower, output, places),
                    _ => pool::<F, 2>(upper, lower, output, places),
                }
                places.iter_mut().for_each(|place| *place += first as u32);
            }
        }
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

/// One row of squares: the largest number of each, and where it is, counted from the beginning of the upper line.
/// Selections, not branches: which one is largest cannot be predicted.
#[inline]
fn pool<F: Number, const STRIDE: usize>(upper: &[F], lower: &[F], largest: &mut [F], places: &mut [u32]) {
    let below = upper.len();
    let lower = &lower[..below];
    for (i, (largest, place)) in largest.iter_mut().zip(places).enumerate() {
        let corner = i * STRIDE;
        let (mut x, mut at) = (upper[corner], 0);
        for (other, there) in [(upper[corner + 1], 1), (lower[corner], below), (lower[corner + 1], below + 1)]
        {
            at = if other > x { there as u32 } else { at };
            x = if other > x { other } else { x };
        }
        (*largest, *place) = (x, at + corner as u32);
    }
}

const SIDE: usize = 2;
