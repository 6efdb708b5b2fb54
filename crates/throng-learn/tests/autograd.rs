//! Losses and gradients against PyTorch's autograd (tests/vectors/autograd.py).

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use serde_json::Value;
use throng_learn::{Curve, Network, Number};

#[test]
fn gradients_in_double_precision_are_those_of_autograd() {
    check::<f64>(1e-11);
}

#[test]
fn gradients_in_single_precision_are_those_of_autograd() {
    check::<f32>(1e-5);
}

/// Compares every network and example; `tolerance` is relative to the length of what is compared.
fn check<F: Number>(tolerance: f64) {
    let vectors: Value = serde_json::from_str(include_str!("vectors/autograd.json")).expect("it is JSON");
    assert_eq!(numbers(&vectors["first_words"]), words(1000).take(4).map(f64::from).collect::<Vec<_>>());
    let networks = vectors["networks"].as_array().unwrap();
    assert_eq!(networks.len(), 7);
    for vector in networks {
        let network = network(vector);
        assert_eq!(network.dimension() as u64, vector["dimension"].as_u64().unwrap());
        let parameters: Vec<F> = parameters(vector).into_iter().map(F::of).collect();
        assert_eq!(parameters.len(), network.dimension());
        let examples = vector["examples"].as_array().unwrap();
        assert_eq!(examples.len(), 3);

        // All three at once, so that their gradients could be mixed up.
        let pixels: Vec<Vec<f32>> = examples
            .iter()
            .map(|example| {
                let words = words(example["pixels_seed"].as_u64().unwrap());
                words.take(network.inputs()).map(|u| u as f32 / 2f32.powi(24)).collect()
            })
            .collect();
        let inputs: Vec<&[f32]> = pixels.iter().map(Vec::as_slice).collect();
        let labels: Vec<u8> = examples.iter().map(|e| e["label"].as_u64().unwrap() as u8).collect();
        let mut workspace = network.workspace::<F>(3);
        let scores: Vec<f64> =
            network.scores(&parameters, &inputs, &mut workspace).iter().map(|x| x.double()).collect();
        let mut losses = [0.0; 3];
        let mut gradients = vec![F::default(); 3 * network.dimension()];
        network.gradients(&parameters, &inputs, &labels, &mut workspace, &mut losses, &mut gradients);

        let gradients = gradients.chunks(network.dimension());
        let ours = scores.chunks(network.classes()).zip(losses).zip(gradients);
        for (example, ((scores, loss), gradient)) in examples.iter().zip(ours) {
            let name = format!("{} {} {}", vector["network"], vector["pool_stride"], vector["activation"]);
            let near = |ours: &[f64], theirs: &[f64], length: f64, what: &str| {
                assert_eq!(ours.len(), theirs.len());
                let error = norm(ours.iter().zip(theirs).map(|(a, b)| a - b));
                assert!(error <= tolerance * length, "{name}: {what} is off by {error:e} for {length}");
            };
            let logits = numbers(&example["logits"]);
            near(scores, &logits, norm(logits.iter().copied()), "the score");
            let number = |key: &str| example[key].as_f64().unwrap();
            near(&[loss], &[number("loss")], number("loss"), "the loss");

            let gradient: Vec<f64> = gradient.iter().map(|x| x.double()).collect();
            let length = number("norm");
            near(&[norm(gradient.iter().copied())], &[length], length, "the norm");
            let chosen: Vec<f64> =
                numbers(&vector["indices"]).iter().map(|&i| gradient[i as usize]).collect();
            near(&chosen, &numbers(&example["values"]), length, "a coordinate");
            // A sum of d errors that are independent, or nearly so, is sqrt(d) times as long as one.
            let all = length * (gradient.len() as f64).sqrt();
            near(&[gradient.iter().sum()], &[number("sum")], all, "the sum");
            let weighted = gradient.iter().enumerate().map(|(i, g)| g * (0.1 * i as f64 + 0.3).cos());
            near(&[weighted.sum()], &[number("checksum")], length, "the checksum");
        }
    }
}

fn network(vector: &Value) -> Network {
    let size = |key: &str| vector[key].as_u64().unwrap() as usize;
    match vector["network"].as_str().unwrap() {
        "cnn" => {
            let curve = match vector["activation"].as_str().unwrap() {
                "tanh" => Curve::Tanh,
                "relu" => Curve::Relu,
                other => panic!("there is no activation {other}"),
            };
            Network::paper_cnn(size("pool_stride"), curve, 10)
        }
        "softmax-regression" => Network::linear(size("features"), size("classes")),
        "cifar" => {
            let widths = numbers(&vector["widths"]);
            let [a, b, c] = [0, 2, 4].map(|i| widths[i] as usize);
            Network::cifar(32, [a, b, c], size("dense"), size("classes"))
        }
        other => panic!("there is no network {other}"),
    }
}

fn parameters(vector: &Value) -> Vec<f64> {
    let mut words = words(vector["parameters_seed"].as_u64().unwrap());
    let mut parameters = Vec::new();
    for layer in vector["layers"].as_array().unwrap() {
        let shape = numbers(&layer["weights"]);
        let count = shape.iter().product::<f64>() + shape[0];
        let scale = layer["scale"].as_f64().unwrap();
        let layer = words.by_ref().take(count as usize);
        parameters.extend(layer.map(|u| (f64::from(u) / 2f64.powi(23) - 1.0) * scale));
    }
    parameters
}

/// The top 24 bits of the words of SplitMix64.
fn words(mut state: u64) -> impl Iterator<Item = u32> {
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as u32
    })
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn norm(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.map(|x| x * x).sum::<f64>().sqrt()
}
