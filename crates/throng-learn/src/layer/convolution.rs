//! Convolutions: filters that are moved over pictures.

use faer::Accum;

use super::{Gradients, Memory, Pass, Shape};
use crate::number::{Number, matrix, wide};

/// Rows of the widths that the paper's networks have are of a length that the compiler knows: a few instructions each,
/// instead of a loop.
macro_rules! each_width {
    ($columns:expr, $n:ident => $fixed:expr, $other:ident => $free:expr) => {
        match $columns {
            2 => {
                const $n: usize = 2;
                $fixed
            }
            5 => {
                const $n: usize = 5;
                $fixed
            }
            8 => {
                const $n: usize = 8;
                $fixed
            }
            14 => {
                const $n: usize = 14;
                $fixed
            }
            16 => {
                const $n: usize = 16;
                $fixed
            }
            32 => {
                const $n: usize = 32;
                $fixed
            }
            $other => $free,
        }
    };
}

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
        let kept = if self.keeps(examples) { examples } else { 1 };
        memory.patches.resize(kept * patch * positions, F::default());
        let Memory { patches, framed, .. } = memory;
        let results = outputs.chunks_exact_mut(to.len()).enumerate();
        for (input, (i, output)) in inputs.chunks_exact(self.input.len()).zip(results) {
            let patches = &mut patches[i % kept * patch * positions..][..patch * positions];
            self.frame(input, framed);
            self.place(framed, patches);
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
        let examples = pass.inputs.len() / self.input.len();
        let kept = if self.keeps(examples) { examples } else { 1 };
        let Memory { patches, framed, .. } = &mut *pass.memory;
        let each = pass.inputs.chunks_exact(self.input.len()).zip(pass.by_outputs.chunks_exact(to.len()));
        for (i, (input, by_outputs)) in each.enumerate() {
            let patches = &mut patches[i % kept * patch * positions..][..patch * positions];
            if kept < examples {
                self.frame(input, framed);
                self.place(framed, patches);
            }
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
            for (by_bias, channel) in by_biases.iter_mut().zip(by_outputs.chunks_exact(positions)) {
                let before = if matches!(how, Accum::Add) { *by_bias } else { F::default() };
                *by_bias = before + sum(channel);
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
                framed.clear();
                framed.resize(self.framed_len(), F::default());
                self.give_back(patches, framed);
                self.unframe(framed, by_input);
            }
        }
    }

    /// Whether the patches of all examples are kept from the forward pass for the backward one: making them again is faster
    /// than getting them back from outside the cache.
    fn keeps(&self, examples: usize) -> bool {
        let to = self.output();
        examples * self.patch() * to.rows * to.columns <= KEPT_MAX
    }

    /// How many numbers of a line of a framed picture are `stride` apart.
    fn phase(&self) -> usize {
        (self.input.columns + 2 * self.border).div_ceil(self.stride)
    }

    /// How many lines a framed picture has.
    fn lines(&self) -> usize {
        self.input.rows + 2 * self.border
    }

    fn framed_len(&self) -> usize {
        self.input.channels * self.lines() * self.stride * self.phase()
    }

    /// A picture with its border of zeros, each line sorted by column modulo the stride: what a weight meets on its way
    /// over a line then lies side by side.
    fn frame<F: Number>(&self, picture: &[F], framed: &mut Vec<F>) {
        framed.clear();
        framed.resize(self.framed_len(), F::default());
        let lines = picture.chunks_exact(self.input.columns).zip(self.inside());
        match self.stride {
            1 => lines.for_each(|(line, at)| framed[at + self.border..][..line.len()].copy_from_slice(line)),
            2 => wide(
                #[inline(always)]
                || {
                    for (line, at) in lines {
                        let (first, second) = self.two(framed, at);
                        let (pairs, rest) = line.as_chunks::<2>();
                        for ((pair, first), second) in pairs.iter().zip(&mut *first).zip(second) {
                            (*first, *second) = (pair[0], pair[1]);
                        }
                        if let [x] = rest {
                            first[pairs.len()] = *x;
                        }
                    }
                },
            ),
            _ => lines.for_each(|(line, at)| {
                line.iter().enumerate().for_each(|(i, &x)| framed[at + self.sorted(i)] = x);
            }),
        }
    }

    /// And back.
    fn unframe<F: Number>(&self, framed: &mut [F], picture: &mut [F]) {
        let lines = picture.chunks_exact_mut(self.input.columns).zip(self.inside());
        match self.stride {
            1 => lines.for_each(|(line, at)| line.copy_from_slice(&framed[at + self.border..][..line.len()])),
            2 => wide(
                #[inline(always)]
                || {
                    for (line, at) in lines {
                        let (first, second) = self.two(framed, at);
                        let (pairs, rest) = line.as_chunks_mut::<2>();
                        for ((pair, first), second) in pairs.iter_mut().zip(&*first).zip(&*second) {
                            *pair = [*first, *second];
                        }
                        if let [x] = rest {
                            *x = first[pairs.len()];
                        }
                    }
                },
            ),
            _ => lines.for_each(|(line, at)| {
                line.iter_mut().enumerate().for_each(|(i, x)| *x = framed[at + self.sorted(i)]);
            }),
        }
    }

    /// With a stride of 2: where the first, third, ... number of a line are in a framed picture, and the second, fourth, ...
    #[inline(always)]
    fn two<'f, F>(&self, framed: &'f mut [F], at: usize) -> (&'f mut [F], &'f mut [F]) {
        let (even, odd) = framed[at..][..2 * self.phase()].split_at_mut(self.phase());
        if self.border.is_multiple_of(2) {
            (&mut even[self.border / 2..], &mut odd[self.border / 2..])
        } else {
            (&mut odd[self.border / 2..], &mut even[self.border / 2 + 1..])
        }
    }

    /// Where the lines of a picture begin in a framed one.
    fn inside(&self) -> impl Iterator<Item = usize> {
        let (rows, lines, border) = (self.input.rows, self.lines(), self.border);
        let line = self.stride * self.phase();
        (0..self.input.channels)
            .flat_map(move |c| (0..rows).map(move |row| (c * lines + border + row) * line))
    }

    /// Where the i-th number of a line is in a framed one.
    fn sorted(&self, i: usize) -> usize {
        let column = i + self.border;
        column % self.stride * self.phase() + column / self.stride
    }

    /// From the framed picture to the patches.
    fn place<F: Number>(&self, framed: &[F], patches: &mut [F]) {
        each_width!(self.output().columns, N => wide(#[inline(always)] || self.rows(|from, at| {
            row::<F, N>(&mut patches[at..], &framed[from..], |to, x| *to = x);
        })), columns => wide(#[inline(always)] || self.rows(|from, at| {
            patches[at..][..columns].copy_from_slice(&framed[from..][..columns]);
        })));
    }

    /// And back, added up.
    fn give_back<F: Number>(&self, patches: &[F], framed: &mut [F]) {
        each_width!(self.output().columns, N => wide(#[inline(always)] || self.rows(|from, at| {
            row::<F, N>(&mut framed[from..], &patches[at..], |to, x| *to += x);
        })), columns => wide(#[inline(always)] || self.rows(|from, at| {
            let to = framed[from..][..columns].iter_mut();
            to.zip(&patches[at..][..columns]).for_each(|(to, &x)| *to += x);
        })));
    }

    /// Calls `f` for every row of numbers that one weight meets: where it begins in the framed picture and in the patches.
    #[inline(always)]
    fn rows(&self, mut f: impl FnMut(usize, usize)) {
        let (to, line) = (self.output(), self.stride * self.phase());
        let mut at = 0;
        for channel in 0..self.input.channels {
            for down in 0..self.side {
                for across in 0..self.side {
                    let within = across % self.stride * self.phase() + across / self.stride;
                    let first = (channel * self.lines() + down) * line + within;
                    for row in 0..to.rows {
                        f(first + row * self.stride * line, at);
                        at += to.columns;
                    }
                }
            }
        }
    }
}

/// Patches of this many numbers fit into a processor's cache beside all else.
const KEPT_MAX: usize = 1 << 18;

/// Does something with each of N pairs of numbers.
#[inline(always)]
fn row<F: Number, const N: usize>(to: &mut [F], from: &[F], f: impl Fn(&mut F, F)) {
    to[..N].iter_mut().zip(&from[..N]).for_each(|(to, &x)| f(to, x));
}

/// The sum, in independent parts, which the compiler can keep in vector registers.
fn sum<F: Number>(numbers: &[F]) -> F {
    let (chunks, rest) = numbers.as_chunks::<16>();
    let mut sums = [F::default(); 16];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, &x)| *sum += x);
    }
    sums.iter().chain(rest).fold(F::default(), |sum, &x| sum + x)
}
