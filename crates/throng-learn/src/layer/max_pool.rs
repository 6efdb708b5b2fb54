//! Max-pooling: the largest number of each small square.

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
        let to = self.output();
        memory.corners.resize(outputs.len() / to.columns * self.span(), 0);
        let Memory { corners, framed, .. } = memory;
        framed.resize(self.span() * to.rows, F::default());
        let pictures = inputs.chunks_exact(self.input.rows * self.input.columns);
        let results = outputs
            .chunks_exact_mut(to.rows * to.columns)
            .zip(corners.chunks_exact_mut(self.span() * to.rows));
        wide(
            #[inline(always)]
            || {
                for (picture, (output, corners)) in pictures.zip(results) {
                    largest(picture, self.input.columns, framed, corners);
                    for (to, from) in
                        output.chunks_exact_mut(to.columns).zip(framed.chunks_exact(self.span()))
                    {
                        to.iter_mut().zip(from.iter().step_by(self.stride)).for_each(|(to, &x)| *to = x);
                    }
                }
            },
        );
    }

    pub(super) fn backward<F: Number>(&self, pass: &mut Pass<'_, F>, by_inputs: Option<&mut [F]>) {
        let Some(by_inputs) = by_inputs else { return };
        let to = self.output();
        let Memory { corners, framed, .. } = &mut *pass.memory;
        // Squares that were left out, between rows and, with a stride, among them, have no derivative.
        framed.clear();
        framed.resize(self.span() * to.rows, F::default());
        by_inputs.fill(F::default());
        let behind = pass
            .by_outputs
            .chunks_exact(to.rows * to.columns)
            .zip(corners.chunks_exact(self.span() * to.rows));
        let pictures = by_inputs.chunks_exact_mut(self.input.rows * self.input.columns);
        wide(
            #[inline(always)]
            || {
                for (by_picture, (by_output, corners)) in pictures.zip(behind) {
                    for (to, from) in
                        framed.chunks_exact_mut(self.span()).zip(by_output.chunks_exact(to.columns))
                    {
                        to.iter_mut().step_by(self.stride).zip(from).for_each(|(to, &x)| *to = x);
                    }
                    give_back(framed, corners, self.input.columns, by_picture);
                }
            },
        );
    }

    /// From the squares of one row to those of the next, in a picture of all squares, left out or not.
    fn span(&self) -> usize {
        self.stride * self.input.columns
    }
}

/// The largest number of the square at each pixel, and in which corner it is, for as many squares as there is room: one
/// long run over a picture, with squares around the edge that nobody asks for. Selections, not branches: which one is
/// largest cannot be predicted.
#[inline(always)]
fn largest<F: Number>(picture: &[F], columns: usize, to: &mut [F], corners: &mut [u32]) {
    let count = to.len().min(picture.len() - columns - 1);
    let (upper, lower) = (&picture[..=count], &picture[columns..][..=count]);
    let (to, corners) = (&mut to[..count], &mut corners[..count]);
    for i in 0..count {
        let (mut largest, mut which) = (upper[i], 0);
        for (x, there) in [(upper[i + 1], 1), (lower[i], 2), (lower[i + 1], 3)] {
            which = if x > largest { there } else { which };
            largest = if x > largest { x } else { largest };
        }
        to[i] = largest;
        corners[i] = which;
    }
}

/// Every square's derivative goes to the corner that was the largest: one corner of all squares at a time, so that
/// neighbors that share a pixel do not wait for each other.
#[inline(always)]
fn give_back<F: Number>(by_squares: &[F], corners: &[u32], columns: usize, by_picture: &mut [F]) {
    let count = by_squares.len().min(by_picture.len() - columns - 1);
    let (by_squares, corners) = (&by_squares[..count], &corners[..count]);
    for (which, first) in [(0, 0), (1, 1), (2, columns), (3, columns + 1)] {
        let to = &mut by_picture[first..][..count];
        for i in 0..count {
            to[i] += if corners[i] == which { by_squares[i] } else { F::default() };
        }
    }
}

const SIDE: usize = 2;
