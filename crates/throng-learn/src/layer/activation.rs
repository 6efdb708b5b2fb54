//! Activations: the same function of every number.

use super::Pass;
use crate::number::{Number, wide};

/// An activation of `len` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activation {
    /// How many numbers.
    pub(crate) len: usize,
    /// Which function.
    pub(crate) curve: Curve,
}

/// Functions of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Bounded, which keeps gradients alike in length: what private training wants.
    Tanh,
    /// max(0, x).
    Relu,
}

impl Activation {
    pub(super) fn forward<F: Number>(&self, inputs: &[F], outputs: &mut [F]) {
        outputs.copy_from_slice(inputs);
        match self.curve {
            Curve::Tanh => F::tanh_all(outputs),
            Curve::Relu => outputs.iter_mut().for_each(|x| {
                if *x < F::default() {
                    *x = F::default();
                }
            }),
        }
    }

    pub(super) fn backward<F: Number>(&self, pass: &Pass<'_, F>, by_inputs: Option<&mut [F]>) {
        let Some(by_inputs) = by_inputs else { return };
        wide(
            #[inline(always)]
            || {
                let behind = pass.outputs.iter().zip(pass.by_outputs);
                let both = by_inputs.iter_mut().zip(behind);
                match self.curve {
                    Curve::Tanh => both.for_each(|(by_input, (&y, &by_output))| {
                        *by_input = by_output * (F::of(1.0) - y * y);
                    }),
                    Curve::Relu => both.for_each(|(by_input, (&y, &by_output))| {
                        *by_input = if y > F::default() { by_output } else { F::default() };
                    }),
                }
            },
        );
    }
}
