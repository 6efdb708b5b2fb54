//! Dense layers: a linear map with a bias.

use faer::Accum;

use super::{Gradients, Pass};
use crate::number::{Number, matrix, wide};

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
        if gradients.summed() {
            let (gradient, how) = gradients.of(0, self.parameters());
            let (by_weights, by_biases) = gradient.split_at_mut(self.inputs * self.outputs);
            F::multiply(
                matrix(pass.by_outputs, examples, self.outputs).transpose(),
                matrix(pass.inputs, examples, self.inputs),
                by_weights,
                (self.outputs, self.inputs),
                how,
            );
            for row in pass.by_outputs.chunks_exact(self.outputs) {
                by_biases.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x);
            }
        } else {
            let each = pass.inputs.chunks_exact(self.inputs).zip(pass.by_outputs.chunks_exact(self.outputs));
            for (i, (inputs, by_outputs)) in each.enumerate() {
                let (gradient, _) = gradients.of(i, self.parameters());
                let (by_weights, by_biases) = gradient.split_at_mut(self.inputs * self.outputs);
                outer(by_outputs, inputs, by_weights);
                by_biases.copy_from_slice(by_outputs);
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

/// Every product of a number of one vector with one of another: a matrix of rank 1, for which a general product has too
/// much to prepare.
fn outer<F: Number>(rows: &[F], columns: &[F], to: &mut [F]) {
    wide(
        #[inline(always)]
        || {
            for (to, &x) in to.chunks_exact_mut(columns.len()).zip(rows) {
                to.iter_mut().zip(columns).for_each(|(to, &y)| *to = x * y);
            }
        },
    );
}
