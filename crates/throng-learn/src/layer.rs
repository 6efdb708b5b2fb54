//! The layers of a network, each with its gradient derived by hand.
//!
//! A layer works on a few examples at once, one after the other in memory. Its gradient is written straight to where it
//! belongs in the flat vector of all parameters: for each example apart, or summed over them.

mod activation;
mod convolution;
mod dense;
mod max_pool;
mod softmax;

pub(crate) use activation::Activation;
pub use activation::Curve;
pub(crate) use convolution::Convolution;
pub(crate) use dense::Dense;
pub(crate) use max_pool::MaxPool;
pub(crate) use softmax::cross_entropy;

use crate::number::Number;

/// A stack of pictures: channels, rows and columns, stored in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// How many pictures.
    pub(crate) channels: usize,
    /// How high they are.
    pub(crate) rows: usize,
    /// How wide they are.
    pub(crate) columns: usize,
}

impl Shape {
    /// How many numbers that is.
    pub(crate) fn len(self) -> usize {
        self.channels * self.rows * self.columns
    }
}

/// One step from the numbers of an example to the next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Layer {
    /// Filters that are moved over pictures.
    Convolution(Convolution),
    /// The largest number of each small square.
    MaxPool(MaxPool),
    /// A linear map.
    Dense(Dense),
    /// The same function of every number.
    Activation(Activation),
}

/// What a layer remembers of its forward pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory<F> {
    /// A picture with its border, as a convolution reads it, or all squares of one, as a pool does.
    pub(crate) framed: Vec<F>,
    /// The patches that a convolution multiplied.
    pub(crate) patches: Vec<F>,
    /// The corners that a pool took.
    pub(crate) corners: Vec<u32>,
}

/// Where gradients go.
#[derive(Debug)]
pub(crate) struct Gradients<'a, F> {
    numbers: &'a mut [F],
    /// From one example's gradient to the next; 0 if they are summed.
    stride: usize,
    offset: usize,
}

impl<'a, F: Number> Gradients<'a, F> {
    /// One vector of `dimension` numbers for each example, which is overwritten.
    pub(crate) fn each(numbers: &'a mut [F], dimension: usize) -> Self {
        Self { numbers, stride: dimension, offset: 0 }
    }

    /// One vector for all, to which theirs are added.
    pub(crate) fn sum(numbers: &'a mut [F]) -> Self {
        Self { numbers, stride: 0, offset: 0 }
    }

    /// The part that begins at a layer's first parameter.
    pub(crate) fn from(&mut self, offset: usize) -> Gradients<'_, F> {
        Gradients { numbers: self.numbers, stride: self.stride, offset: self.offset + offset }
    }

    fn summed(&self) -> bool {
        self.stride == 0
    }

    /// Where `example`'s gradient of the next `len` parameters goes, and whether it is added there.
    fn of(&mut self, example: usize, len: usize) -> (&mut [F], faer::Accum) {
        let how = if self.summed() { faer::Accum::Add } else { faer::Accum::Replace };
        (&mut self.numbers[example * self.stride + self.offset..][..len], how)
    }
}

impl Layer {
    /// How many numbers go in.
    pub(crate) fn inputs(&self) -> usize {
        match self {
            Self::Convolution(layer) => layer.input().len(),
            Self::MaxPool(layer) => layer.input().len(),
            Self::Dense(layer) => layer.inputs,
            Self::Activation(layer) => layer.len,
        }
    }

    /// How many come out.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Self::Convolution(layer) => layer.output().len(),
            Self::MaxPool(layer) => layer.output().len(),
            Self::Dense(layer) => layer.outputs,
            Self::Activation(layer) => layer.len,
        }
    }

    /// How many parameters it has: weights, then biases.
    pub(crate) fn parameters(&self) -> usize {
        match self {
            Self::Convolution(layer) => layer.parameters(),
            Self::Dense(layer) => layer.parameters(),
            Self::MaxPool(_) | Self::Activation(_) => 0,
        }
    }

    /// Weights, the number of inputs that one output depends on, and the number of outputs that one input acts on.
    pub(crate) fn fans(&self) -> Option<(usize, usize, usize)> {
        match self {
            Self::Convolution(layer) => Some(layer.fans()),
            Self::Dense(layer) => Some((layer.inputs * layer.outputs, layer.inputs, layer.outputs)),
            Self::MaxPool(_) | Self::Activation(_) => None,
        }
    }

    /// From inputs to outputs, for as many examples as there are inputs of.
    pub(crate) fn forward<F: Number>(
        &self,
        parameters: &[F],
        inputs: &[F],
        outputs: &mut [F],
        memory: &mut Memory<F>,
    ) {
        match self {
            Self::Convolution(layer) => layer.forward(parameters, inputs, outputs, memory),
            Self::MaxPool(layer) => layer.forward(inputs, outputs, memory),
            Self::Dense(layer) => layer.forward(parameters, inputs, outputs),
            Self::Activation(layer) => layer.forward(inputs, outputs),
        }
    }

    /// From the loss's derivatives by outputs to those by inputs, if somebody wants them, and by parameters.
    pub(crate) fn backward<F: Number>(
        &self,
        parameters: &[F],
        pass: &mut Pass<'_, F>,
        by_inputs: Option<&mut [F]>,
        gradients: Gradients<'_, F>,
    ) {
        match self {
            Self::Convolution(layer) => layer.backward(parameters, pass, by_inputs, gradients),
            Self::MaxPool(layer) => layer.backward(pass, by_inputs),
            Self::Dense(layer) => layer.backward(parameters, pass, by_inputs, gradients),
            Self::Activation(layer) => layer.backward(pass, by_inputs),
        }
    }
}

/// A forward pass through a layer, and what came back from the layers behind it.
pub(crate) struct Pass<'a, F> {
    pub(crate) inputs: &'a [F],
    pub(crate) outputs: &'a [F],
    pub(crate) by_outputs: &'a [F],
    pub(crate) memory: &'a mut Memory<F>,
}
