#!/usr/bin/env python3
"""Writes autograd.json: losses and per-example gradients of every network here, by PyTorch's autograd in double precision.

    pip install torch==2.7.1
    python3 autograd.py > autograd.json

Written from the description of the networks, with another library; it shares no code with Throng.

# What is not stored, because it can be made again

Parameters and pixels are words of SplitMix64 (state += 0x9e3779b97f4a7c15, then the usual mix of three shifts and two
products, all modulo 2^64). The top 24 bits of a word are an integer u:

- the i-th parameter of a network is (u - 2^23) / 2^23 * scale, for the i-th word of the stream that starts at state
  `parameters_seed`; `scale` belongs to the layer that i is in, and is a power of two;
- the i-th pixel (or feature) of an example is u / 2^24, for the i-th word of the stream that starts at state `pixels_seed`.

Both are exact in single precision. Pixels are in channel, row, column order. `first_words` are the first four u of the
stream that starts at state 1000.

# The order of parameters

One flat vector: layer after layer, each its weights and then its biases, in row-major order. The weights of a convolution
are [out, in, row, column], of a dense layer [out, in].

# What is stored

For each example: the logits, the loss (softmax cross-entropy, natural logarithm) and, of its gradient g, the norm, the sum, the
coordinates at the `indices` of the case, and the checksum, the sum over all i of g_i * cos(0.1 * i + 0.3).
`margin` says how far the case is from a kink: the least gap between the two largest values of a max-pool window whose gradient
depends on which is chosen, and the least distance from 0 of what a ReLU is applied to. It is far above what single
precision rounds away, so the same inputs win there.
"""

import json
import math

import torch
from torch.nn import functional

MASK = 2**64 - 1


def splitmix64(state, count):
    """The top 24 bits of each of the first words."""
    words = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        words.append((z ^ (z >> 31)) >> 40)
    return words


class Layer:
    """What has parameters: the shape of its weights (its biases are as many as the first number) and their scale."""

    def __init__(self, name, shape, scale):
        self.name, self.shape, self.scale = name, shape, scale

    def weights(self):
        return math.prod(self.shape)

    def biases(self):
        return self.shape[0]

    def parameters(self):
        return self.weights() + self.biases()


class Kinks:
    """Applies what is not smooth everywhere, and remembers how close the values came to a kink."""

    def __init__(self, activation):
        self.activation, self.margin = activation, math.inf

    def activate(self, x):
        if self.activation == "tanh":
            return torch.tanh(x)
        self.margin = min(self.margin, x.abs().min().item())
        return torch.relu(x)

    def pool(self, x, stride):
        """Max-pool 2x2 without padding; a last row or column that fills no window is left out."""
        windows = x.detach().unfold(2, 2, stride).unfold(3, 2, stride).reshape(-1, 4)
        first, second = windows.topk(2).values.T
        if self.activation == "relu":
            # All zero: no gradient passes the ReLU below, whichever is chosen.
            first, second = first[first > 0], second[first > 0]
        self.margin = min(self.margin, (first - second).min().item())
        return functional.max_pool2d(x, 2, stride)


def cnn(pool_stride, activation):
    """The paper's network for MNIST."""
    side = {1: 4, 2: 1}[pool_stride]
    layers = [
        Layer("convolution 1", [16, 1, 8, 8], 2**-3),
        Layer("convolution 2", [32, 16, 4, 4], 2**-3),
        Layer("dense 1", [32, 32 * side * side], 2**-3),
        Layer("dense 2", [10, 32], 2**-1),
    ]

    def forward(x, p, kinks):
        x = functional.conv2d(x, p[0], p[1], stride=2, padding=3)
        x = kinks.pool(kinks.activate(x), pool_stride)
        x = functional.conv2d(x, p[2], p[3], stride=2)
        x = kinks.pool(kinks.activate(x), pool_stride)
        x = kinks.activate(functional.linear(x.flatten(1), p[4], p[5]))
        return functional.linear(x, p[6], p[7])

    description = {"network": "cnn", "pool_stride": pool_stride, "activation": activation}
    return description, [1, 28, 28], layers, forward, activation


def softmax_regression(features, classes):
    layers = [Layer("dense", [classes, features], 2**-3)]
    description = {"network": "softmax-regression", "features": features, "classes": classes}
    return description, [features], layers, lambda x, p, _: functional.linear(x, *p), None


def cifar(widths, dense, classes):
    """The paper's network for CIFAR-10, whose widths are 32, 32, 64, 64, 128, 128 and 1024."""
    channels = [3, *widths]
    layers = [
        Layer(f"convolution {i + 1}", [out, into, 3, 3], 2**-1 if into < 4 else 2**-2)
        for i, (into, out) in enumerate(zip(channels, widths))
    ]
    layers.append(Layer("dense 1", [dense, widths[-1] * 8 * 8], 2**-3))
    layers.append(Layer("dense 2", [classes, dense], 2**-1))

    def forward(x, p, kinks):
        for i in range(len(widths)):
            x = kinks.activate(functional.conv2d(x, p[2 * i], p[2 * i + 1], padding=1))
            if i in (1, 3):
                x = kinks.pool(x, 2)
        x = kinks.activate(functional.linear(x.flatten(1), p[-4], p[-3]))
        return functional.linear(x, p[-2], p[-1])

    description = {"network": "cifar", "widths": widths, "dense": dense, "classes": classes}
    return description, [3, 32, 32], layers, forward, "relu"


def parameters(layers, seed):
    """The flat vector, and the tensors of it that a network uses: weights and biases of each layer in turn."""
    words = iter(splitmix64(seed, sum(layer.parameters() for layer in layers)))
    values = [(next(words) - 2**23) / 2**23 * layer.scale for layer in layers for _ in range(layer.parameters())]
    flat = torch.tensor(values, dtype=torch.double, requires_grad=True)
    shapes = [shape for layer in layers for shape in (layer.shape, layer.shape[:1])]
    parts = flat.split([math.prod(shape) for shape in shapes])
    return flat, [part.reshape(shape) for part, shape in zip(parts, shapes)]


def chosen_indices(layers, seed):
    """All biases, and of the weights of every layer the first, the last and some between: about 200 in all."""
    each = (200 - sum(layer.biases() for layer in layers)) // len(layers)
    start, indices = 0, set()
    for i, layer in enumerate(layers):
        weights, end = layer.weights(), start + layer.parameters()
        between = splitmix64(seed + i, each - 2)
        indices |= {start, start + weights - 1} | {start + word * weights // 2**24 for word in between}
        indices |= set(range(start + weights, end))
        start = end
    return sorted(indices)


def vectors(seed, description, shape, layers, forward, activation):
    flat, tensors = parameters(layers, seed)
    indices = chosen_indices(layers, seed + 100)
    kinks = Kinks(activation)
    weights = torch.cos(0.1 * torch.arange(len(flat), dtype=torch.double) + 0.3)
    examples = []
    for i in range(3):
        pixels_seed = seed + 1 + i
        words = splitmix64(pixels_seed, math.prod(shape))
        x = (torch.tensor(words, dtype=torch.double) / 2**24).reshape(1, *shape)
        logits = forward(x, tensors, kinks)
        label = (seed + 3 * i) % logits.shape[1]
        loss = functional.cross_entropy(logits, torch.tensor([label]))
        (gradient,) = torch.autograd.grad(loss, flat, retain_graph=True)
        values = gradient[indices].tolist()
        assert sum(value != 0 for value in values) >= len(values) / 2, "too many coordinates say nothing"
        examples.append({
            "pixels_seed": pixels_seed,
            "label": label,
            "logits": logits[0].tolist(),
            "loss": loss.item(),
            "norm": gradient.norm().item(),
            "sum": gradient.sum().item(),
            "checksum": (gradient @ weights).item(),
            "values": values,
        })
    assert kinks.margin > 1e-5, f"{description} is too close to a kink, {kinks.margin}: take another seed"
    return {
        **description,
        "dimension": len(flat),
        "parameters_seed": seed,
        "layers": [{"name": layer.name, "weights": layer.shape, "scale": layer.scale} for layer in layers],
        "margin": kinks.margin if math.isfinite(kinks.margin) else None,
        "indices": indices,
        "examples": examples,
    }


def main():
    torch.set_num_threads(1)
    networks = [
        (1000, cnn(1, "tanh")),
        (2200, cnn(1, "relu")),
        (3000, cnn(2, "tanh")),
        (4000, cnn(2, "relu")),
        (5000, softmax_regression(784, 10)),
        (6000, softmax_regression(20, 4)),
        (7000, cifar([4, 4, 6, 6, 8, 8], 16, 10)),
    ]
    made = {
        "source": f"autograd.py, torch {torch.__version__.split('+')[0]}, double precision",
        "first_words": splitmix64(1000, 4),
        "networks": [vectors(seed, *network) for seed, network in networks],
    }
    print(text(made))


def text(value, indent="\n"):
    """JSON with a line for each number or list of numbers: short to read, and a change of one value shows as one line."""
    inner = indent + " "
    if isinstance(value, dict):
        return "{" + ",".join(f"{inner}{json.dumps(key)}: {text(item, inner)}" for key, item in value.items()) + indent + "}"
    if isinstance(value, list) and isinstance(value[0], dict):
        return "[" + ",".join(inner + text(item, inner) for item in value) + indent + "]"
    return json.dumps(value)


main()
