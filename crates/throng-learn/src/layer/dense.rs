//! A linear map with a bias.

use faer::Accum;

use super::{Gradients, Pass};
use crate::number::{Number, matrix};

/// Every output is a weighted sum of all inputs: weights output by output, then the biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dense {
    /// How many numbers go in.
    pub(crate) inputs: usize,
    /// How many come out.
    pub(crate) outputs: usize,
}

impl Dense {
    pub(super) fn parameters(&self) -> usize {
        (self.inputs + 1) * self.outputs
    }

    pub(super) fn forward<F: Number>(&self, parameters: &[F], inputs: &[F], outputs: &mut [F]) {
        let examples = inputs.len() / self.inputs;
        let (weights, biases) = parameters.split_at(self.inputs * self.outputs);
        outputs.chunks_exact_mut(self.outputs).for_each(|row| row.copy_from_slice(biases));
        F::multiply(
            matrix(inputs, examples, self.inputs),
            matrix(weights, self.outputs, self.inputs).transpose(),
            outputs,
            (examples, self.outputs),
            Accum::Add,
        );
    }

    pub(super) fn backward<F: Number>(
        &self,
        parameters: &[F],
        pass: &Pass<'_, F>,
        by_inputs: Option<&mut [F]>,
        mut gradients: Gradients<'_, F>,
    ) {
        let examples = pass.inputs.len() / self.inputs;
        // The sum over examples of (by outputs) x (inputs) is one product, and one example's is it alone.
        let at_once = if gradients.summed() { examples } else { 1 };
        let inputs = pass.inputs.chunks_exact(self.inputs * at_once);
        let by_outputs = pass.by_outputs.chunks_exact(self.outputs * at_once);
        for (i, (inputs, by_outputs)) in inputs.zip(by_outputs).enumerate() {
            let (gradient, how) = gradients.of(i, self.parameters());
            let (by_weights, by_biases) = gradient.split_at_mut(self.inputs * self.outputs);
            F::multiply(
                matrix(by_outputs, at_once, self.outputs).transpose(),
                matrix(inputs, at_once, self.inputs),
                by_weights,
                (self.outputs, self.inputs),
                how,
            );
            if matches!(how, Accum::Replace) {
                by_biases.fill(F::default());
            }
            for row in by_outputs.chunks_exact(self.outputs) {
                by_biases.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x);
            }
        }
        if let Some(by_inputs) = by_inputs {
            F::multiply(
                matrix(pass.by_outputs, examples, self.outputs),
                matrix(parameters, self.outputs, self.inputs),
                by_inputs,
                (examples, self.inputs),
                Accum::Replace,
            );
        }
    }
}
