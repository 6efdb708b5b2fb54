//! Neural networks, with all parameters in one flat vector.

use rand_core::Rng;
use rayon::prelude::*;

use crate::Examples;
use crate::layer::{
    Activation, Convolution, Curve, Dense, Gradients, Layer, MaxPool, Memory, Pass, Shape, cross_entropy,
};
use crate::number::Number;

/// A neural network: layers that turn an input into a score for each class.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    layers: Vec<Layer>,
    /// Where each layer's parameters begin.
    offsets: Vec<usize>,
    dimension: usize,
}

impl Network {
    /// Softmax regression: one linear map, whose loss is convex.
    pub fn linear(inputs: usize, classes: usize) -> Self {
        Self::of(vec![Layer::Dense(Dense { inputs, outputs: classes })])
    }

    /// The paper's network for MNIST and Fashion-MNIST (Table mnist), 28 x 28 gray pixels: 26,010 parameters with pools of
    /// stride 1, 10,650 with stride 2. The first convolution has a border of 3, the second none.
    ///
    /// An activation is applied behind the pool instead of before it: both are monotone, so the result is the same, of
    /// fewer numbers.
    pub fn paper_cnn(pool_stride: usize, curve: Curve, classes: usize) -> Self {
        let mut layers = Vec::new();
        let mut shape = Shape { channels: 1, rows: 28, columns: 28 };
        for (filters, side, border) in [(16, 8, 3), (32, 4, 0)] {
            let convolution = Convolution::new(shape, filters, side, 2, border);
            let pool = MaxPool::new(convolution.output(), pool_stride);
            shape = pool.output();
            layers.push(Layer::Convolution(convolution));
            layers.push(Layer::MaxPool(pool));
            layers.push(Layer::Activation(Activation { len: shape.len(), curve }));
        }
        layers.push(Layer::Dense(Dense { inputs: shape.len(), outputs: 32 }));
        layers.push(Layer::Activation(Activation { len: 32, curve }));
        layers.push(Layer::Dense(Dense { inputs: 32, outputs: classes }));
        Self::of(layers)
    }

    /// The paper's network for CIFAR-10 (Table architecture_cifar), 32 x 32 pixels of three colours: two convolutions of
    /// each width, a pool after the first two pairs, a dense layer. The paper has widths 32, 64, 128 and 1,024.
    pub fn cifar(side: usize, widths: [usize; 3], dense: usize, classes: usize) -> Self {
        let mut layers = Vec::new();
        let mut shape = Shape { channels: 3, rows: side, columns: side };
        for (i, &filters) in widths.iter().enumerate() {
            for _ in 0..2 {
                let convolution = Convolution::new(shape, filters, 3, 1, 1);
                shape = convolution.output();
                layers.push(Layer::Convolution(convolution));
                layers.push(Layer::Activation(Activation { len: shape.len(), curve: Curve::Relu }));
            }
            if i < 2 {
                let pool = MaxPool::new(shape, 2);
                shape = pool.output();
                layers.push(Layer::MaxPool(pool));
            }
        }
        layers.push(Layer::Dense(Dense { inputs: shape.len(), outputs: dense }));
        layers.push(Layer::Activation(Activation { len: dense, curve: Curve::Relu }));
        layers.push(Layer::Dense(Dense { inputs: dense, outputs: classes }));
        Self::of(layers)
    }

    fn of(layers: Vec<Layer>) -> Self {
        debug_assert!(layers.windows(2).all(|pair| pair[0].outputs() == pair[1].inputs()));
        let mut dimension = 0;
        let offsets = layers
            .iter()
            .map(|layer| {
                dimension += layer.parameters();
                dimension - layer.parameters()
            })
            .collect();
        Self { layers, offsets, dimension }
    }

    /// How many parameters there are.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// How many numbers an input has.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, Layer::inputs)
    }

    /// How many classes it tells apart.
    pub fn classes(&self) -> usize {
        self.layers.last().map_or(0, Layer::outputs)
    }

    /// Whether the loss is convex in the parameters: one linear map.
    pub fn is_convex(&self) -> bool {
        self.layers.len() == 1
    }

    /// The tensors that the parameters make, by name, with their shapes, in order.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let mut tensors = Vec::new();
        let layers = self.layers.iter().filter_map(|layer| Some((layer, layer.fans()?)));
        for (i, (layer, (weights, fan_in, _))) in layers.enumerate() {
            let outputs = weights / fan_in;
            let (name, shape) = match layer {
                Layer::Convolution(convolution) => ("convolution", convolution.weight_shape().to_vec()),
                _ => ("dense", vec![outputs, fan_in]),
            };
            tensors.push((format!("{i}.{name}.weight"), shape));
            tensors.push((format!("{i}.{name}.bias"), vec![outputs]));
        }
        tensors
    }

    /// Where training starts: zeros for a linear map (the paper's θ₀); otherwise uniform weights of Glorot's size and zero
    /// biases, because from zeros the hidden layers of a network would never move.
    pub fn initial(&self, rng: &mut impl Rng) -> Vec<f32> {
        let mut parameters = vec![0.0; self.dimension];
        if self.is_convex() {
            return parameters;
        }
        for (layer, &offset) in self.layers.iter().zip(&self.offsets) {
            let Some((weights, fan_in, fan_out)) = layer.fans() else { continue };
            let limit = (6.0 / (fan_in + fan_out) as f32).sqrt();
            for weight in &mut parameters[offset..][..weights] {
                // The upper 24 bits: a multiple of 2^-24 in [0, 1).
                *weight = limit * ((rng.next_u32() >> 8) as f32 * 2f32.powi(-23) - 1.0);
            }
        }
        parameters
    }

    /// Room for the numbers of up to `examples` examples at once.
    pub fn workspace<F: Number>(&self, examples: usize) -> Workspace<F> {
        let numbers = |layer: &Layer| vec![F::default(); examples * layer.outputs()];
        Workspace {
            inputs: vec![F::default(); examples * self.inputs()],
            outputs: self.layers.iter().map(numbers).collect(),
            by_outputs: self.layers.iter().map(numbers).collect(),
            memories: vec![Memory::default(); self.layers.len()],
        }
    }

    /// The scores of some examples, class by class; as many at once as the workspace has room for.
    pub fn scores<'w, F: Number>(
        &self,
        parameters: &[F],
        inputs: &[&[f32]],
        workspace: &'w mut Workspace<F>,
    ) -> &'w [F] {
        self.up_to(self.layers.len(), parameters, inputs, workspace)
    }

    /// The numbers that the last layer gets: the features that a network has learned.
    pub fn features<'w, F: Number>(
        &self,
        parameters: &[F],
        inputs: &[&[f32]],
        workspace: &'w mut Workspace<F>,
    ) -> &'w [F] {
        self.up_to(self.layers.len() - 1, parameters, inputs, workspace)
    }

    /// The gradient of each example's loss, overwriting one vector of [`Network::dimension`] numbers for each.
    pub fn gradients<F: Number>(
        &self,
        parameters: &[F],
        inputs: &[&[f32]],
        labels: &[u8],
        workspace: &mut Workspace<F>,
        losses: &mut [f64],
        gradients: &mut [F],
    ) {
        let each = Gradients::each(gradients, self.dimension);
        self.both_ways(parameters, inputs, labels, workspace, losses, each);
    }

    /// The gradient of the sum of all examples' losses, added to `sum`.
    pub fn add_gradient<F: Number>(
        &self,
        parameters: &[F],
        inputs: &[&[f32]],
        labels: &[u8],
        workspace: &mut Workspace<F>,
        losses: &mut [f64],
        sum: &mut [F],
    ) {
        self.both_ways(parameters, inputs, labels, workspace, losses, Gradients::sum(sum));
    }

    /// The loss of every example, and whether its label has the highest score.
    pub fn judge(&self, parameters: &[f32], examples: &Examples) -> Vec<Evaluation> {
        let mut judged = vec![Evaluation::default(); examples.len()];
        judged.par_chunks_mut(JUDGED_AT_ONCE).enumerate().for_each_init(
            || self.workspace(JUDGED_AT_ONCE),
            |workspace, (chunk, judged)| {
                let positions = chunk * JUDGED_AT_ONCE..chunk * JUDGED_AT_ONCE + judged.len();
                let inputs: Vec<_> = positions.clone().map(|i| examples.input(i)).collect();
                let scores = self.scores(parameters, &inputs, workspace);
                for ((i, scores), judged) in positions.zip(scores.chunks(self.classes())).zip(judged) {
                    *judged = Evaluation::of(scores, examples.label(i));
                }
            },
        );
        judged
    }

    fn up_to<'w, F: Number>(
        &self,
        layers: usize,
        parameters: &[F],
        inputs: &[&[f32]],
        workspace: &'w mut Workspace<F>,
    ) -> &'w [F] {
        let count = inputs.len();
        let width = self.inputs();
        for (to, from) in workspace.inputs.chunks_exact_mut(width).zip(inputs) {
            to.iter_mut().zip(*from).for_each(|(to, &x)| *to = F::of(x.into()));
        }
        let mut input = &workspace.inputs[..count * width];
        let outputs = workspace.outputs.iter_mut().zip(&mut workspace.memories);
        for ((layer, &offset), (output, memory)) in
            self.layers[..layers].iter().zip(&self.offsets).zip(outputs)
        {
            let output = &mut output[..count * layer.outputs()];
            layer.forward(&parameters[offset..][..layer.parameters()], input, output, memory);
            input = output;
        }
        input
    }

    fn both_ways<F: Number>(
        &self,
        parameters: &[F],
        inputs: &[&[f32]],
        labels: &[u8],
        workspace: &mut Workspace<F>,
        losses: &mut [f64],
        mut gradients: Gradients<'_, F>,
    ) {
        let count = inputs.len();
        self.scores(parameters, inputs, workspace);
        let last = self.layers.len() - 1;
        let scores = &workspace.outputs[last][..count * self.classes()];
        cross_entropy(scores, labels, losses, &mut workspace.by_outputs[last][..scores.len()]);
        for (i, (layer, &offset)) in self.layers.iter().zip(&self.offsets).enumerate().rev() {
            let (before, behind) = workspace.by_outputs.split_at_mut(i);
            // Nobody asks how the loss changes with the pixels.
            let by_inputs = before.last_mut().map(|by_inputs| &mut by_inputs[..count * layer.inputs()]);
            let (earlier, later) = workspace.outputs.split_at(i);
            let inputs = earlier.last().unwrap_or(&workspace.inputs);
            let mut pass = Pass {
                inputs: &inputs[..count * layer.inputs()],
                outputs: &later[0][..count * layer.outputs()],
                by_outputs: &behind[0][..count * layer.outputs()],
                memory: &mut workspace.memories[i],
            };
            let parameters = &parameters[offset..][..layer.parameters()];
            layer.backward(parameters, &mut pass, by_inputs, gradients.from(offset));
        }
    }
}

/// What the layers of a network compute on the way. Holds what respondents know; nothing of it is ever shown.
pub struct Workspace<F> {
    inputs: Vec<F>,
    outputs: Vec<Vec<F>>,
    by_outputs: Vec<Vec<F>>,
    memories: Vec<Memory<F>>,
}

impl<F> std::fmt::Debug for Workspace<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").finish_non_exhaustive()
    }
}

/// How a model does on one example.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// −ln of the probability that it gives to the true label.
    pub loss: f64,
    /// Whether the true label has the highest score.
    pub right: bool,
}

impl Evaluation {
    fn of(scores: &[f32], label: u8) -> Self {
        let label = usize::from(label);
        let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = scores.iter().map(|&x| f64::from(x - largest).exp()).sum();
        let others = scores.iter().enumerate().filter(|&(i, _)| i != label);
        Self {
            loss: sum.ln() + f64::from(largest) - f64::from(scores[label]),
            // A model that says nothing is right about nothing.
            right: others.fold(true, |right, (_, &x)| right && x < scores[label]),
        }
    }

    /// The share of examples that are right.
    pub fn accuracy(judged: &[Self]) -> f64 {
        judged.iter().filter(|one| one.right).count() as f64 / judged.len() as f64
    }
}

const JUDGED_AT_ONCE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand_core::SeedableRng;

    fn uniform(len: usize, scale: f32, rng: &mut impl Rng) -> Vec<f32> {
        (0..len).map(|_| scale * ((rng.next_u32() >> 8) as f32 * 2f32.powi(-23) - 1.0)).collect()
    }

    /// Every kind of layer: each example's gradient is the slope of its loss, in f64, in random directions and along
    /// single parameters of every layer; the summed gradient is the sum; f32 agrees with f64.
    #[test]
    fn gradients_are_the_slopes_of_the_loss() {
        let networks = [
            Network::linear(7, 3),
            Network::paper_cnn(1, Curve::Tanh, 10),
            Network::paper_cnn(2, Curve::Tanh, 10),
            Network::paper_cnn(1, Curve::Relu, 10),
            Network::cifar(8, [3, 4, 5], 6, 4),
        ];
        for (number, network) in networks.iter().enumerate() {
            let rng = &mut ChaCha8Rng::seed_from_u64(number as u64);
            let d = network.dimension();
            let mut parameters = network.initial(rng);
            uniform(d, 0.1, rng).iter().zip(&mut parameters).for_each(|(x, parameter)| *parameter += x);
            let inputs: Vec<Vec<f32>> = (0..3).map(|_| uniform(network.inputs(), 1.0, rng)).collect();
            let inputs: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
            let labels = [1, 0, 2];

            let wide: Vec<f64> = parameters.iter().map(|&x| x.into()).collect();
            let workspace = &mut network.workspace::<f64>(3);
            let (mut losses, mut gradients) = ([0.0; 3], vec![f64::NAN; 3 * d]);
            network.gradients(&wide, &inputs, &labels, workspace, &mut losses, &mut gradients);

            let mut directions: Vec<Vec<f64>> =
                (0..3).map(|_| uniform(d, 1.0, rng).iter().map(|&x| x.into()).collect()).collect();
            directions.extend((0..40).map(|_| {
                let mut direction = vec![0.0; d];
                direction[rng.next_u32() as usize % d] = 1.0;
                direction
            }));
            for direction in directions {
                let at = |step: f64, workspace: &mut Workspace<f64>| {
                    let moved: Vec<f64> = wide.iter().zip(&direction).map(|(x, v)| x + step * v).collect();
                    let (mut losses, mut sum) = ([0.0; 3], vec![0.0; d]);
                    network.add_gradient(&moved, &inputs, &labels, workspace, &mut losses, &mut sum);
                    losses
                };
                let h = 1e-6;
                let (ahead, behind) = (at(h, workspace), at(-h, workspace));
                for i in 0..3 {
                    let slope = (ahead[i] - behind[i]) / (2.0 * h);
                    let by_hand: f64 =
                        gradients[i * d..][..d].iter().zip(&direction).map(|(g, v)| g * v).sum();
                    let close = (slope - by_hand).abs() <= 1e-6 * (1.0 + by_hand.abs());
                    assert!(close, "network {number}, example {i}: {slope} {by_hand}");
                }
            }

            let mut sum = vec![1.0; d];
            network.add_gradient(&wide, &inputs, &labels, workspace, &mut losses, &mut sum);
            for (i, sum) in sum.iter().enumerate() {
                let expected = 1.0 + gradients[i] + gradients[d + i] + gradients[2 * d + i];
                assert!((sum - expected).abs() < 1e-12 * (1.0 + expected.abs()), "network {number}");
            }

            let (mut narrow_losses, mut narrow) = ([0.0; 3], vec![f32::NAN; 3 * d]);
            let workspace = &mut network.workspace::<f32>(3);
            network.gradients(&parameters, &inputs, &labels, workspace, &mut narrow_losses, &mut narrow);
            for i in 0..3 {
                assert!((narrow_losses[i] - losses[i]).abs() < 1e-5 * (1.0 + losses[i]));
                let (wide, narrow) = (&gradients[i * d..][..d], &narrow[i * d..][..d]);
                let norm = wide.iter().map(|g| g * g).sum::<f64>().sqrt();
                let off: f64 = wide.iter().zip(narrow).map(|(w, n)| (w - f64::from(*n)).powi(2)).sum();
                assert!(off.sqrt() < 1e-5 * norm, "network {number}: {} of {norm}", off.sqrt());
            }
        }
    }

    /// A convolution makes the patches of many examples again, and keeps those of few: the gradients are the same.
    #[test]
    fn many_examples_at_once_are_as_one_by_one() {
        let network = Network::cifar(32, [2, 3, 4], 5, 4);
        let rng = &mut ChaCha8Rng::seed_from_u64(3);
        let (d, many) = (network.dimension(), 16);
        let parameters = network.initial(rng);
        let inputs: Vec<Vec<f32>> = (0..many).map(|_| uniform(network.inputs(), 1.0, rng)).collect();
        let inputs: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
        let labels: Vec<u8> = (0..many).map(|i| (i % 4) as u8).collect();
        let (mut losses, mut together) = (vec![0.0; many], vec![f32::NAN; many * d]);
        let workspace = &mut network.workspace(many);
        network.gradients(&parameters, &inputs, &labels, workspace, &mut losses, &mut together);
        let (mut loss, mut alone) = ([0.0], vec![f32::NAN; d]);
        for i in 0..many {
            let workspace = &mut network.workspace(1);
            network.gradients(
                &parameters,
                &inputs[i..][..1],
                &labels[i..][..1],
                workspace,
                &mut loss,
                &mut alone,
            );
            // Dense layers multiply other shapes, whose sums may be rounded otherwise.
            let off = alone.iter().zip(&together[i * d..]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-6 && (loss[0] - losses[i]).abs() < 1e-5, "example {i}: {off}");
        }
    }

    #[test]
    fn networks_have_the_papers_sizes() {
        assert_eq!(Network::paper_cnn(1, Curve::Tanh, 10).dimension(), 26_010);
        assert_eq!(Network::paper_cnn(2, Curve::Tanh, 10).dimension(), 10_650);
        let cifar = Network::cifar(32, [32, 64, 128], 1024, 10);
        assert_eq!((cifar.inputs(), cifar.classes()), (3072, 10));
        assert_eq!(cifar.dimension(), 8_686_890);
        let sizes: usize = cifar.tensors().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        assert_eq!(sizes, cifar.dimension());
    }

    /// From zeros a linear model starts; a network does not, and its weights are within Glorot's limits.
    #[test]
    fn training_starts_where_it_can_move() {
        let rng = &mut ChaCha8Rng::seed_from_u64(5);
        assert!(Network::linear(5, 2).initial(rng).iter().all(|&x| x == 0.0));
        let network = Network::paper_cnn(1, Curve::Tanh, 10);
        let start = network.initial(rng);
        let (first, biases) = start.split_at(16 * 64);
        let limit = (6.0f32 / (64 + 16 * 64) as f32).sqrt();
        assert!(first.iter().all(|x| x.abs() <= limit) && first.iter().any(|x| x.abs() > 0.9 * limit));
        assert!(biases[..16].iter().all(|&x| x == 0.0));
    }

    /// Scores that are all alike are right about nothing, and judging is the forward pass of training.
    #[test]
    fn a_model_that_says_nothing_is_right_about_nothing() {
        let rng = &mut ChaCha8Rng::seed_from_u64(6);
        let labels: Vec<u8> = (0..70).map(|i| i % 3).collect();
        let examples = Examples::new(uniform(70 * 5, 1.0, rng), 5, labels.clone(), 3).unwrap();
        let network = Network::linear(5, 3);
        let judged = network.judge(&[0.0; 18], &examples);
        assert_eq!(Evaluation::accuracy(&judged), 0.0);
        assert!(judged.iter().all(|one| (one.loss - 3f64.ln()).abs() < 1e-12));

        let parameters = uniform(18, 1.0, rng);
        let judged = network.judge(&parameters, &examples);
        let inputs: Vec<_> = (0..70).map(|i| examples.input(i)).collect();
        let (mut losses, mut sum) = ([0.0; 70], vec![0.0; 18]);
        network.add_gradient(
            &parameters,
            &inputs,
            &labels,
            &mut network.workspace(70),
            &mut losses,
            &mut sum,
        );
        assert!(judged.iter().zip(losses).all(|(one, loss)| (one.loss - loss).abs() < 1e-5));
        assert!(judged.iter().any(|one| one.right) && judged.iter().any(|one| !one.right));
    }
}
