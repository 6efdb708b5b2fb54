"""The Python peers, one small function per case.

    peers.py CASE ROUNDS

prints one JSON line, the same that our Rust program prints for its cases:

    {"case": "...", "unit": "report", "seconds_per_unit": [r1, r2, ...]}

Seconds are CPU time of this thread, one figure per round after a warm-up. CPU time leaves out the scheduler,
so a busy machine disturbs it little; it sees only one thread, so a peer must not hand work to others.
"""

import itertools
import json
import math
import os
import secrets
import sys
import time

# Before numpy is imported: it and what it loads read these once.
for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

# The paper's two histograms: size of the domain, ε (removal).
SMALL = (87_680, 8.55)
LARGE = (1_778_120, 12.99)

# The paper's count sketch, at the small histogram's ε.
HASHES, CELLS = 1_024, 65_536

# pure-ldp states ε for replacement and flips with 1 / (1 + e^(ε/2)); twice our removal ε gives our flip probability.
REPLACEMENT_EPSILON = 2 * SMALL[1]

# Long enough that the clock and the loop around a call cost nothing, short enough for two cores that others share.
ROUND_SECONDS = 0.2

CASES = {}


def case(name, unit):
    """Registers a case: a function that prepares it and returns (units per call, the call to time)."""

    def register(prepare):
        CASES[name] = (unit, prepare)
        return prepare

    return register


def main():
    name, rounds = sys.argv[1], int(sys.argv[2])
    if name not in CASES:
        sys.exit(f"no case {name}; the cases are {', '.join(CASES)}")
    unit, prepare = CASES[name]
    units, call = prepare()
    print(json.dumps({"case": name, "unit": unit, "seconds_per_unit": measure(call, units, rounds)}))


def measure(call, units, rounds):
    """Seconds per unit, one figure per round."""
    call()  # The warm-up: numba compiles, memory is mapped.
    repeats = math.ceil(ROUND_SECONDS / seconds(call))
    return [seconds(call, repeats) / (repeats * units) for _ in range(rounds)]


def seconds(call, repeats=1):
    start = time.thread_time()
    for _ in range(repeats):
        call()
    return time.thread_time() - start


# Encoding a one-hot histogram.


@case("one-hot-encode-pure-ldp", unit="report")
def one_hot_pure_ldp():
    from pure_ldp.frequency_oracles import UEClient

    size, _ = SMALL
    client = UEClient(REPLACEMENT_EPSILON, size)
    values = itertools.cycle(uniform_values(size, 1_000).tolist())
    return 1, lambda: client.privatise(next(values) + 1)  # Its values count from one.


@case("one-hot-encode-multi-freq-ldpy", unit="report")
def one_hot_multi_freq_ldpy():
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    # OUE flips a zero with 1 / (1 + e^ε), as we do, so ε needs no factor; it keeps the one with 1/2.
    size, epsilon = SMALL
    values = itertools.cycle(uniform_values(size, 1_000).tolist())
    return 1, lambda: UE_Client(next(values), size, epsilon, True)


# The honest opponent: not a library, but what somebody who knows the trick writes in numpy. It draws the few set bits
# instead of all bits. Unlike ours it ignores collisions of positions, and its generator is not a secure one.


@case("one-hot-encode-large-numpy", unit="report")
def one_hot_numpy():
    size, epsilon = LARGE
    rng, flip, values = np.random.default_rng(), flip_probability(epsilon), uniform_values(size, 20_000)
    return len(values), lambda: sparse_reports(
        rng, flip, size, values, noise_bits=rng.binomial(size - 1, flip, len(values))
    )


@case("one-hot-encode-large-numpy-table", unit="report")
def one_hot_numpy_table():
    """The same, with the binomial counts looked up in their distribution function: faster than numpy's own sampler."""
    from scipy.stats import binom

    size, epsilon = LARGE
    rng, flip, values = np.random.default_rng(), flip_probability(epsilon), uniform_values(size, 20_000)
    cumulative = binom.cdf(np.arange(64), size - 1, flip)  # 64 is past 1 − 2^-53: no draw falls off its end.
    return len(values), lambda: sparse_reports(
        rng, flip, size, values, noise_bits=cumulative.searchsorted(rng.random(len(values)), side="right")
    )


def sparse_reports(rng, flip, size, values, noise_bits):
    """The set bits of a batch of reports, `noise_bits[i]` for the i-th, then every value that was not flipped."""
    noise = rng.integers(size, size=noise_bits.sum(), dtype=np.int32)
    kept = values[rng.random(len(values)) >= flip]
    return np.concatenate((noise, kept)), noise_bits


def uniform_values(size, respondents):
    # int32 holds every domain here, and halves the memory that the batches above go through.
    return np.random.default_rng().integers(size, size=respondents, dtype=np.int32)


def flip_probability(epsilon):
    return 1 / (1 + math.exp(epsilon))


# Adding up sparse reports.


@case("sum-sparse-numpy", unit="report")
def sum_numpy():
    return sum_reports(*SMALL, reports=20_000)


@case("sum-sparse-large-numpy", unit="report")
def sum_numpy_large():
    # A large batch, so that the 14 MB of counters that bincount makes anew are a small part of the work.
    return sum_reports(*LARGE, reports=1_000_000)


@case("tally-numpy", unit="index")
def tally_numpy():
    # As many fragments as a large batch has, all attributes alike.
    return count_best(SMALL[0], uniform_values(SMALL[0], 100_000_000), units=100_000_000)


def sum_reports(size, epsilon, reports):
    rng, flip = np.random.default_rng(), flip_probability(epsilon)
    noise_bits = rng.binomial(size - 1, flip, reports)
    indices, _ = sparse_reports(rng, flip, size, uniform_values(size, reports), noise_bits)
    return count_best(size, indices, units=reports)


def count_best(size, indices, units):
    def count(indices):
        return np.bincount(indices, minlength=size)

    # bincount converts int32 to its own int64, which may cost more or less than reading twice the bytes.
    forms = [indices, indices.astype(np.int64)]
    best = min(forms, key=lambda form: min(seconds(lambda: count(form)) for _ in range(5)))
    return units, lambda: count(best)


# Apple's count-mean sketch.


@case("sketch-encode-pure-ldp", unit="report")
def sketch_encode_pure_ldp():
    client = sketch_client(sketch_server())
    items = itertools.count()
    return 1, lambda: client.privatise(next(items))


@case("sketch-aggregate-pure-ldp", unit="report")
def sketch_aggregate_pure_ldp():
    server = sketch_server()
    client = sketch_client(server)
    # Dense reports of 512 KiB: enough of them to visit much of the sketch, few enough for memory.
    reports = itertools.cycle([client.privatise(item) for item in range(512)])
    return 1, lambda: server.aggregate(next(reports))


@case("sketch-estimate-pure-ldp", unit="item")
def sketch_estimate_pure_ldp():
    server = sketch_server()
    items = itertools.count()
    return 1, lambda: server.estimate(next(items), suppress_warnings=True)


def sketch_server():
    from pure_ldp.frequency_oracles import CMSServer

    server = CMSServer(REPLACEMENT_EPSILON, HASHES, CELLS)
    # Maps all 512 MiB now, as after many reports; untouched, the rounds would time page faults or one page of zeros.
    server.sketch_matrix.fill(1.0)
    return server


def sketch_client(server):
    from pure_ldp.frequency_oracles import CMSClient

    return CMSClient(REPLACEMENT_EPSILON, server.get_hash_funcs(), CELLS)


# LDP-SGD.


@case("gradient-report-numpy", unit="report")
def gradient_report_numpy():
    dimension, epsilon, clip = 26_000, 1.9, 1.0
    gradient = np.random.default_rng().standard_normal(dimension, dtype=np.float32)
    gradient *= 0.5 * clip / np.linalg.norm(gradient)
    coins = np.random.default_rng()

    def report():
        # A Gaussian has a uniform direction, and its length does not change the sign, so it is not normalised.
        seed = secrets.randbits(128)
        direction = np.random.default_rng(seed).standard_normal(dimension, dtype=np.float32)
        positive = gradient @ direction >= 0
        norm = min(math.sqrt(gradient @ gradient), clip)
        if coins.random() >= 0.5 + norm / (2 * clip):
            positive = not positive
        if coins.random() < flip_probability(epsilon):
            positive = not positive
        return seed, positive

    return 1, report


# The accountant.


@case("pld-gaussian-dp-accounting", unit="answer")
def pld_gaussian_dp_accounting():
    from dp_accounting.pld import privacy_loss_distribution

    def epsilon():
        one = privacy_loss_distribution.from_gaussian_mechanism(100.0)
        return one.self_compose(10_000).get_epsilon_for_delta(1e-6)

    return 1, epsilon


@case("clones21-epsilon-scipy", unit="answer")
def clones21_epsilon_scipy():
    """The numerical bound as one would write it: bisection over epsilon, all numbers of clones at once."""
    from scipy.stats import binom

    n, local, delta = 100_000, 4.0, 1e-6
    clones = np.arange(n)
    weight = binom.pmf(clones, n - 1, math.exp(-local))
    clones, weight = clones[weight > 1e-20], weight[weight > 1e-20]
    q = 1 / (1 + math.exp(-local))

    def delta_at(epsilon):
        alpha, beta = q - math.exp(epsilon) * (1 - q), math.exp(epsilon) * q - (1 - q)
        threshold = np.floor(alpha * (clones + 1) / (alpha + beta))
        given = alpha * binom.cdf(threshold, clones, 0.5) - beta * binom.cdf(threshold - 1, clones, 0.5)
        return weight @ given

    def epsilon():
        low, high = 0.0, local
        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
        return high

    return 1, epsilon


if __name__ == "__main__":
    main()
