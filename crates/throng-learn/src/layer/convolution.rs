//! Filters that are moved over pictures.

use faer::Accum;

use super::{Gradients, Memory, Pass, Shape};
use crate::number::{Number, matrix};

/// `filters` filters of `side` x `side` pixels and all channels, moved in steps of `stride` over pictures with `border`
/// zeros around them. Weights filter by filter, channel by channel, row by row; then the biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Convolution {
    input: Shape,
    filters: usize,
    side: usize,
    stride: usize,
    border: usize,
}

impl Convolution {
    /// A convolution over pictures that are, with their border, at least as large as a filter.
    pub(crate) fn new(input: Shape, filters: usize, side: usize, stride: usize, border: usize) -> Self {
        debug_assert!(side <= input.rows.min(input.columns) + 2 * border && stride > 0);
        Self { input, filters, side, stride, border }
    }

    pub(super) fn input(&self) -> Shape {
        self.input
    }

    /// What comes out: a channel for each filter.
    pub(crate) fn output(&self) -> Shape {
        let along = |len: usize| (len + 2 * self.border - self.side) / self.stride + 1;
        Shape { channels: self.filters, rows: along(self.input.rows), columns: along(self.input.columns) }
    }

    pub(super) fn parameters(&self) -> usize {
        self.filters * (self.patch() + 1)
    }

    pub(super) fn fans(&self) -> (usize, usize, usize) {
        (self.filters * self.patch(), self.patch(), self.filters * self.side * self.side)
    }

    /// Filters, channels, rows and columns.
    pub(crate) fn weight_shape(&self) -> [usize; 4] {
        [self.filters, self.input.channels, self.side, self.side]
    }

    /// How many numbers a filter looks at.
    fn patch(&self) -> usize {
        self.input.channels * self.side * self.side
    }

    pub(super) fn forward<F: Number>(
        &self,
        parameters: &[F],
        inputs: &[F],
        outputs: &mut [F],
        memory: &mut Memory<F>,
    ) {
        let (patch, to) = (self.patch(), self.output());
        let positions = to.rows * to.columns;
        let examples = inputs.len() / self.input.len();
        let (weights, biases) = parameters.split_at(self.filters * patch);
        memory.patches.resize(examples * patch * positions, F::default());
        let patches = memory.patches.chunks_exact_mut(patch * positions);
        let results = outputs.chunks_exact_mut(to.len()).zip(patches);
        for (input, (output, patches)) in inputs.chunks_exact(self.input.len()).zip(results) {
            self.rows(|row, from, at| place(&input[from..], &mut patches[at..], row));
            output.chunks_exact_mut(positions).zip(biases).for_each(|(channel, &bias)| channel.fill(bias));
            F::multiply(
                matrix(weights, self.filters, patch),
                matrix(patches, patch, positions),
                output,
                (self.filters, positions),
                Accum::Add,
            );
        }
    }

    pub(super) fn backward<F: Number>(
        &self,
        parameters: &[F],
        pass: &mut Pass<'_, F>,
        mut by_inputs: Option<&mut [F]>,
        mut gradients: Gradients<'_, F>,
    ) {
        let (patch, to) = (self.patch(), self.output());
        let positions = to.rows * to.columns;
        let by_outputs = pass.by_outputs.chunks_exact(to.len());
        let patches = pass.memory.patches.chunks_exact_mut(patch * positions);
        for (i, (by_outputs, patches)) in by_outputs.zip(patches).enumerate() {
            let (gradient, how) = gradients.of(i, self.parameters());
            let (by_weights, by_biases) = gradient.split_at_mut(self.filters * patch);
            let by_outputs_matrix = matrix(by_outputs, self.filters, positions);
            F::multiply(
                by_outputs_matrix,
                matrix(patches, patch, positions).transpose(),
                by_weights,
                (self.filters, patch),
                how,
            );
            for (sum, channel) in by_biases.iter_mut().zip(by_outputs.chunks_exact(positions)) {
                let before = if matches!(how, Accum::Add) { *sum } else { F::default() };
                *sum = channel.iter().fold(before, |sum, &x| sum + x);
            }
            if let Some(by_inputs) = &mut by_inputs {
                let by_input = &mut by_inputs[i * self.input.len()..][..self.input.len()];
                // The patches have done their work: their derivatives take their place.
                F::multiply(
                    matrix(parameters, self.filters, patch).transpose(),
                    by_outputs_matrix,
                    patches,
                    (patch, positions),
                    Accum::Replace,
                );
                by_input.fill(F::default());
                self.rows(|row, from, at| add(&patches[at..], &mut by_input[from..], row));
            }
        }
    }

    /// Calls `f` for every row of numbers that one weight meets: where it is in the picture (of its first number inside the
    /// border) and in the patches, and how it lies there.
    fn rows(&self, mut f: impl FnMut(Row, usize, usize)) {
        let to = self.output();
        let mut at = 0;
        for channel in 0..self.input.channels {
            for down in 0..self.side {
                for across in 0..self.side {
                    // Columns of the output that see the inside of the picture through this weight.
                    let first = self.border.saturating_sub(across).div_ceil(self.stride);
                    let end = (self.input.columns + self.border).saturating_sub(across);
                    let end = end.div_ceil(self.stride).min(to.columns).max(first);
                    for row in 0..to.rows {
                        let from = (row * self.stride + down).checked_sub(self.border);
                        let inside = from.filter(|&from| from < self.input.rows);
                        let (skip, len) =
                            if inside.is_some() { (first, end - first) } else { (to.columns, 0) };
                        let lie = Row { skip, len, columns: to.columns, stride: self.stride };
                        let column = if len == 0 { 0 } else { first * self.stride + across - self.border };
                        let line = channel * self.input.rows + inside.unwrap_or(0);
                        f(lie, line * self.input.columns + column, at);
                        at += to.columns;
                    }
                }
            }
        }
    }
}

/// `len` numbers of a picture, `stride` apart, that lie after `skip` zeros in a row of `columns`.
#[derive(Clone, Copy)]
struct Row {
    skip: usize,
    len: usize,
    columns: usize,
    stride: usize,
}

/// From the picture to the patches.
#[inline]
fn place<F: Number>(picture: &[F], patches: &mut [F], row: Row) {
    let to = &mut patches[..row.columns];
    let (before, rest) = to.split_at_mut(row.skip);
    let (inside, after) = rest.split_at_mut(row.len);
    before.fill(F::default());
    after.fill(F::default());
    match row.stride {
        1 => inside.copy_from_slice(&picture[..row.len]),
        2 => inside.iter_mut().zip(picture.chunks(2)).for_each(|(to, from)| *to = from[0]),
        stride => inside.iter_mut().zip(picture.chunks(stride)).for_each(|(to, from)| *to = from[0]),
    }
}

/// And back, added up.
#[inline]
fn add<F: Number>(patches: &[F], picture: &mut [F], row: Row) {
    let from = &patches[row.skip..][..row.len];
    match row.stride {
        1 => picture[..row.len].iter_mut().zip(from).for_each(|(to, &x)| *to += x),
        2 => picture.chunks_mut(2).zip(from).for_each(|(to, &x)| to[0] += x),
        stride => picture.chunks_mut(stride).zip(from).for_each(|(to, &x)| to[0] += x),
    }
}
