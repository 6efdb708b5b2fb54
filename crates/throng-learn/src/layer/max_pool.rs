//! The largest number of each small square.

use super::{Memory, Pass, Shape};
use crate::number::{Number, wide};

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
        memory.corners.resize(outputs.len(), 0);
        let corners = &mut memory.corners[..outputs.len()];
        wide(
            #[inline(always)]
            || match self.stride {
                1 => self.largest::<F, 1>(inputs, outputs, corners),
                _ => self.largest::<F, 2>(inputs, outputs, corners),
            },
        );
    }

    pub(super) fn backward<F: Number>(&self, pass: &Pass<'_, F>, by_inputs: Option<&mut [F]>) {
        let Some(by_inputs) = by_inputs else { return };
        by_inputs.fill(F::default());
        wide(
            #[inline(always)]
            || match self.stride {
                1 => self.give_back::<F, 1>(pass.by_outputs, &pass.memory.corners, by_inputs),
                _ => self.give_back::<F, 2>(pass.by_outputs, &pass.memory.corners, by_inputs),
            },
        );
    }

    /// The largest number of every square, and in which of its corners it is. Selections, not branches: which one is
    /// largest cannot be predicted.
    #[inline(always)]
    fn largest<F: Number, const STRIDE: usize>(&self, inputs: &[F], outputs: &mut [F], corners: &mut [u32]) {
        let columns = self.output().columns;
        let rows = outputs.chunks_exact_mut(columns).zip(corners.chunks_exact_mut(columns));
        for (row, (outputs, corners)) in rows.enumerate() {
            let (upper, lower) = self.lines(row);
            let upper = &inputs[upper..][..self.input.columns];
            let lower = &inputs[lower..][..self.input.columns];
            for (i, (output, corner)) in outputs.iter_mut().zip(corners).enumerate() {
                let at = i * STRIDE;
                let (mut largest, mut which) = (upper[at], 0);
                for (x, there) in [(upper[at + 1], 1), (lower[at], 2), (lower[at + 1], 3)] {
                    which = if x > largest { there } else { which };
                    largest = if x > largest { x } else { largest };
                }
                (*output, *corner) = (largest, which);
            }
        }
    }

    /// Every square's derivative goes to the corner that was the largest: one corner of a whole row at a time, so that
    /// neighbors that share a pixel do not wait for each other.
    #[inline(always)]
    fn give_back<F: Number, const STRIDE: usize>(
        &self,
        by_outputs: &[F],
        corners: &[u32],
        by_inputs: &mut [F],
    ) {
        let columns = self.output().columns;
        let rows = by_outputs.chunks_exact(columns).zip(corners.chunks_exact(columns));
        for (row, (by_outputs, corners)) in rows.enumerate() {
            let (upper, lower) = self.lines(row);
            for (which, first) in [(0, upper), (1, upper + 1), (2, lower), (3, lower + 1)] {
                let by_inputs = &mut by_inputs[first..][..(columns - 1) * STRIDE + 1];
                for (i, (&x, &corner)) in by_outputs.iter().zip(corners).enumerate() {
                    by_inputs[i * STRIDE] += if corner == which { x } else { F::default() };
                }
            }
        }
    }

    /// Where the two lines of a row of squares begin; rows are counted through all channels and examples.
    #[inline(always)]
    fn lines(&self, row: usize) -> (usize, usize) {
        let rows = self.output().rows;
        let upper = (row / rows * self.input.rows + row % rows * self.stride) * self.input.columns;
        (upper, upper + self.input.columns)
    }
}

const SIDE: usize = 2;
