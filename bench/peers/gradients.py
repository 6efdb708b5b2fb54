"""The peers of per-example gradients: PyTorch and Opacus on the paper's network for MNIST.

    gradients.py CASE ROUNDS

prints one JSON line as peers.py does, with the unit "example". A case is `gradients-THREADS-PEER`. A round is at least half a
second of batches of 250, after a warm-up. One thread: CPU time of the process, which a busy machine disturbs little. Two:
wall-clock time, because CPU time does not see threads that wait, so nothing else should run on the machine.

The network: 28x28 pixels, 16 filters 8x8 with stride 2, 32 filters 4x4 with stride 2, max-pools 2x2 with stride 1, 32 hidden units,
10 classes, tanh; 26,010 parameters in single precision. Pixels are uniform, so that nothing is gained by passing over zeros.
"""

import json
import math
import os
import sys
import time
import warnings

CASES = {}
BATCH = 250
ROUND_SECONDS = 0.5


def main():
    name, rounds = sys.argv[1], int(sys.argv[2])
    _, threads, peer = (name.split("-", 2) + ["", ""])[:3]
    if peer not in CASES or threads not in ("1", "2"):
        sys.exit(f"no case {name}; a case is gradients-1-PEER or gradients-2-PEER, with {', '.join(CASES)}")
    # Before torch is imported: its libraries read these once.
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = threads
    import torch

    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    # Opacus names each deprecated call of its own, for every batch.
    warnings.simplefilter("ignore")
    pixels, labels = torch.rand(BATCH, 1, 28, 28), torch.randint(10, (BATCH,))
    call = CASES[peer](pixels, labels)
    clock = time.process_time if threads == "1" else time.perf_counter
    print(json.dumps({"case": name, "unit": "example", "seconds_per_unit": measure(call, clock, rounds)}))


def measure(call, clock, rounds):
    """Seconds per example, one figure per round."""
    for _ in range(3):  # The warm-up: memory is mapped, kernels are chosen.
        call()
    repeats = math.ceil(ROUND_SECONDS / seconds(call, clock))
    return [seconds(call, clock, repeats) / (repeats * BATCH) for _ in range(rounds)]


def seconds(call, clock, repeats=1):
    start = clock()
    for _ in range(repeats):
        call()
    return clock() - start


def case(name):
    """Registers a peer: a function of pixels and labels that returns the call to time."""

    def register(prepare):
        CASES[name] = prepare
        return prepare

    return register


def network():
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),
        nn.Tanh(),
        nn.MaxPool2d(2, stride=1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.Tanh(),
        nn.MaxPool2d(2, stride=1),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.Tanh(),
        nn.Linear(32, 10),
    )


# Gradients of every example, which is what our side makes too.


@case("hooks")
def opacus_hooks(pixels, labels):
    from opacus import GradSampleModule

    return grad_samples(GradSampleModule(network(), loss_reduction="sum"), pixels, labels)


@case("expanded-weights")
def opacus_expanded_weights(pixels, labels):
    from opacus.grad_sample import GradSampleModuleExpandedWeights

    return grad_samples(GradSampleModuleExpandedWeights(network(), loss_reduction="sum"), pixels, labels)


def grad_samples(model, pixels, labels):
    from torch.nn.functional import cross_entropy

    parameters = list(model.parameters())

    def call():
        for parameter in parameters:
            parameter.grad = parameter.grad_sample = None
        cross_entropy(model(pixels), labels, reduction="sum").backward()
        assert all(len(parameter.grad_sample) == BATCH for parameter in parameters)

    return call


@case("vmap")
def torch_vmap(pixels, labels):
    """PyTorch's own way: the gradient of one example, vectorized over the batch."""
    from torch.func import functional_call, grad, vmap
    from torch.nn.functional import cross_entropy

    model = network()
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters, pixels, label):
        return cross_entropy(functional_call(model, parameters, pixels[None]), label[None])

    gradients = vmap(grad(loss), in_dims=(None, 0, 0))
    return lambda: gradients(parameters, pixels, labels)


# Less than that, to compare with: the sum of the clipped gradients alone, and of the gradients alone.


@case("ghost")
def opacus_ghost_clipping(pixels, labels):
    """The norms of all gradients in one pass, and the sum of the clipped ones in a second, none of them ever written down."""
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from torch.nn.functional import cross_entropy

    model = GradSampleModuleFastGradientClipping(
        network(), max_grad_norm=1.0, use_ghost_clipping=True, loss_reduction="sum"
    )

    def call():
        model.zero_grad()
        losses = cross_entropy(model(pixels), labels, reduction="none")
        losses.sum().backward(retain_graph=True)
        weights = model.get_clipping_coef()
        model.zero_grad()
        model.disable_hooks()
        (weights * losses).sum().backward()
        model.enable_hooks()

    return call


@case("plain")
def torch_plain(pixels, labels):
    from torch.nn.functional import cross_entropy

    model = network()

    def call():
        model.zero_grad()
        cross_entropy(model(pixels), labels, reduction="sum").backward()

    return call


if __name__ == "__main__":
    main()
