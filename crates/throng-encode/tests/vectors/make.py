#!/usr/bin/env python3
"""Writes draws.json: from values to fragments to instances, with randomness in and indices out.

    python3 make.py > draws.json

Written from docs/wire-format.md, section 12, with Python's standard library alone. It shares no code with Throng.
"""

import json
import struct
import tomllib
from decimal import Decimal, getcontext
from hashlib import sha256

getcontext().prec = 120


class Words:
    """The keystream of ChaCha20 (RFC 8439), in little-endian words of 4 and 8 bytes. The nonce is zero, or a number in the
    last 8 of its 12 bytes."""

    def __init__(self, key, nonce=0):
        self.key, self.counter, self.bytes = struct.unpack("<8I", key), 0, b""
        self.nonce = nonce % 2**32, nonce >> 32

    def block(self):
        start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *self.key, self.counter, 0, *self.nonce]
        state = list(start)

        def quarter(a, b, c, d):
            for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[x] = (state[x] + state[y]) & 0xFFFFFFFF
                mixed = state[z] ^ state[x]
                state[z] = (mixed << turn | mixed >> 32 - turn) & 0xFFFFFFFF

        for _ in range(10):
            for i in range(4):
                quarter(i, 4 + i, 8 + i, 12 + i)
            for i in range(4):
                quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        self.counter += 1
        return struct.pack("<16I", *((x + y) & 0xFFFFFFFF for x, y in zip(state, start)))

    def word(self, length=8):
        while len(self.bytes) < length:
            self.bytes += self.block()
        word, self.bytes = self.bytes[:length], self.bytes[length:]
        return int.from_bytes(word, "little")

    def below(self, bound, length=8):
        """Uniform below a bound: the high half of a product, unless the low half is one of those that are too many."""
        size = 1 << 8 * length
        while True:
            product = self.word(length) * bound
            if product % size >= size % bound:
                return product // size

    def coin(self, threshold):
        high = self.word()
        if high == threshold >> 64:
            return self.word() < threshold % 2**64
        return high < threshold >> 64

    def choose(self, items, count):
        """The first steps of Fisher and Yates."""
        items = list(items)
        for place in range(min(count, len(items))):
            other = place + self.below(len(items) - place)
            items[place], items[other] = items[other], items[place]
        return items[:count]


def threshold(epsilon):
    """ceil(2^128 / (1 + e^epsilon)), for the double that epsilon is."""
    exact = 2**128 / (1 + Decimal(epsilon).exp())
    return min(int(exact.to_integral_value("ROUND_CEILING")), 2**127)


def flip(bits, size, epsilon, words):
    """Blocks of 1024 bits: a toss for each as if it were clear, then again for those that are set, in rising order."""
    coin, out = threshold(epsilon), set()
    assert 16 * coin > 2**128, "the vectors have frequent flips"
    for start in range(0, size, 1024):
        block = range(start, min(size, start + 1024))
        flipped = {bit for bit in block if words.coin(coin)}
        for bit in sorted(set(bits) & set(block)):
            flipped.discard(bit)
            if not words.coin(coin):
                flipped.add(bit)
        out |= flipped
    return sorted(out)


def cell(seed, cells, row, value):
    words, prime, coefficients = Words(struct.pack("<Q", seed) + b"throng sketch hashes v1 "), 2**61 - 1, []
    while len(coefficients) < 3 * row + 3:
        coefficient = words.word() >> 3
        if coefficient < prime:
            coefficients.append(coefficient)
    a, b, c = coefficients[-3:]
    return ((a * value * value + b * value + c) % prime) * cells >> 61


def report(survey, value, words):
    """The first randomization: which bits are set, and of which row."""
    encoding, randomizer = survey["encoding"], survey["randomizer"]
    epsilon = randomizer.get("epsilon_local", randomizer.get("epsilon_backstop"))
    if encoding["kind"] == "one-hot":
        return None, flip([] if value is None else [value], encoding["domain"], epsilon, words)
    if encoding["kind"] == "sketch":
        row = words.below(encoding["rows"], 4)
        bits = [] if value is None else [cell(encoding["seed"], encoding["cells"], row, value)]
        return row, flip(bits, encoding["cells"], epsilon, words)
    sizes = [attribute["values"] for attribute in encoding["attributes"]]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    bits = [start + one for start, one in zip(starts, value or []) if one is not None]
    sampled = words.below(len(sizes))
    return None, flip(bits[sampled : sampled + 1], sum(sizes), epsilon, words)


def permanent(survey, value, words):
    """The backstop of an answer: what permanent coins say of nothing, and r1 of the answer's own bit."""
    encoding, coin = survey["encoding"], threshold(survey["randomizer"]["epsilon_backstop"])
    row, silent = report(survey, None, words)
    key = b"".join(words.word().to_bytes(8, "little") for _ in range(4))
    if encoding["kind"] == "one-hot":
        bit = value
    elif encoding["kind"] == "sketch":
        bit = None if value is None else cell(encoding["seed"], encoding["cells"], row, value)
    else:
        sizes = [attribute["values"] for attribute in encoding["attributes"]]
        sampled = Words(key, 2**32).below(len(sizes))
        one = (value or [None] * len(sizes))[sampled]
        bit = None if one is None else sum(sizes[:sampled]) + one
    bits = set(silent)
    if bit is not None and bit not in bits:
        pair = Words(key, bit + (row or 0) * encoding.get("cells", 0))
        u = 0
        while u < coin:
            u = pair.word() << 64 | pair.word()
        if u < 2**128 - coin:
            bits.add(bit)
    return (row, sorted(bits)), silent


def fragments(survey, first, words):
    """What is sent: attribute indices, those of one report fragment after another."""
    (row, bits), encoding, randomizer = first, survey["encoding"], survey["randomizer"]
    cells = encoding.get("cells", 0)
    if "fragments" not in randomizer:
        return [(row or 0) * cells + bit for bit in bits]
    size = encoding.get("cells") or encoding.get("domain") or sum(one["values"] for one in encoding["attributes"])
    sent = []
    for _ in range(randomizer["fragments"]):
        again = flip(bits, size, randomizer["epsilon_fragment"], words)
        sent += [(row or 0) * cells + bit for bit in again]
    return sent


def label(survey, name, words):
    if "labels" not in survey:
        return 0
    names = survey["labels"]["names"]
    true = names.index(name) + 1
    if "epsilon_label" not in survey["labels"]:
        return true
    coin = threshold(survey["labels"]["epsilon_label"])
    while True:
        proposed = 1 + words.below(len(names))
        if words.coin(coin) == (proposed != true):
            return proposed


def route(survey, number, sent, words):
    delivery = survey["delivery"]
    profiles = survey.get("labels", {}).get("profiles", {})
    name = survey["labels"]["names"][number - 1] if number else None
    receiving = profiles.get(name, list(range(1, delivery["instances"] + 1)))
    tau = survey["randomizer"].get("fragments", 1)
    routed = {instance: [] for instance in range(1, delivery["instances"] + 1)}
    for attribute in sorted(set(sent)):
        # Which of the tau fragments are the set ones; nothing is drawn where all are.
        count, draws = sent.count(attribute), list(range(tau))
        for t in words.choose(draws, count) if count < tau else draws:
            routed[receiving[(attribute + t) % len(receiving)]].append(attribute)
    return [words.choose(routed[instance], delivery["envelopes"]) for instance in routed]


def times(survey, when, now_ms, words):
    length = 1000 * survey["epoch_s"]
    epoch = now_ms // length + (when == "next")
    margin = min(length // 20, 60_000)
    first = max(epoch * length + margin, now_ms)
    end = (epoch + 1) * length - margin
    return epoch, [first + words.below(end - first) for _ in range(survey["delivery"]["instances"])]


def survey(encoding, randomizer, delivery, labels=""):
    return f"""version = 1
name = "vector"
question = "Which one?"
epoch_s = 3600
encoding = {{ {encoding} }}
randomizer = {{ {randomizer} }}
crowd = {{ respondents_min = 1000, honest_fraction = 1.0, enrolment = "open" }}
delivery = {{ {delivery}, cover = "chaff" }}
claim = {{ epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }}
{labels}"""


ONE_HOT = 'kind = "one-hot", domain = 40'
LONG = 'kind = "one-hot", domain = 1100'
SKETCH = 'kind = "sketch", domain = 1000000000000, rows = 16, cells = 24, seed = 2020'
RECORD = (
    'kind = "record", attributes = [{ name = "age", values = 9 }, { name = "sex", values = 2 }, '
    '{ name = "county", values = 20 }]'
)
LOCAL = 'kind = "attribute-fragments", epsilon_local = 2.5'
TAU = 'kind = "report-fragments", epsilon_backstop = 2.5, epsilon_fragment = 2.0, fragments = 4'
THREE = "instances = 3, hops = 2, envelopes = 12"
LABELS = 'labels = { names = ["de", "fr", "it"], epsilon_deletion = 0.2, delta_deletion = 1e-9'
CASES = [
    ("one-hot", survey(ONE_HOT, LOCAL, THREE), 7, None, "next"),
    ("one-hot, nothing to say", survey(ONE_HOT, LOCAL, THREE), None, None, "next"),
    ("one-hot of more than a block", survey(LONG, LOCAL, "instances = 2, hops = 1, envelopes = 80"), 1099, None, "next"),
    ("overflow: most of it is dropped", survey(LONG, LOCAL, "instances = 2, hops = 1, envelopes = 3"), 0, None, "next"),
    ("sketch", survey(SKETCH, LOCAL, THREE), 999_999_999_999, None, "current"),
    ("sketch, nothing to say", survey(SKETCH, LOCAL, THREE), None, None, "current"),
    ("record", survey(RECORD, LOCAL, THREE), [3, 1, 19], None, "next"),
    ("record in which two are missing", survey(RECORD, LOCAL, THREE), [None, 1, None], None, "next"),
    ("one-hot behind a backstop", survey(ONE_HOT, TAU, "instances = 3, hops = 2, envelopes = 40"), 7, None, "next"),
    ("sketch behind a backstop", survey(SKETCH, TAU, "instances = 3, hops = 2, envelopes = 40"), 5, None, "next"),
    ("record behind a backstop", survey(RECORD, TAU, "instances = 5, hops = 2, envelopes = 40"), [8, None, 0], None, "next"),
    ("public labels", survey(ONE_HOT, LOCAL, THREE, LABELS + " }"), 7, "fr", "next"),
    ("labels that are drawn", survey(ONE_HOT, LOCAL, THREE, LABELS + ", epsilon_label = 0.5 }"), 7, "fr", "next"),
    (
        "a trust profile",
        survey(ONE_HOT, TAU, "instances = 3, hops = 2, envelopes = 40", LABELS + ", profiles = { fr = [1, 3] } }"),
        39,
        "fr",
        "next",
    ),
]


def main():
    cases = []
    for number, (what, text, value, name, when) in enumerate(CASES):
        parsed = tomllib.loads(text)
        step = ["report", "fragments", "label", "routing", "times"]
        keys = {step: sha256(f"{number} {step}".encode()).digest() for step in step}
        words = {step: Words(key) for step, key in keys.items()}
        silent = None
        if "fragments" in parsed["randomizer"]:
            first, silent = permanent(parsed, value, words["report"])
        else:
            first = report(parsed, value, words["report"])
        sent = fragments(parsed, first, words["fragments"])
        carried = label(parsed, name, words["label"])
        now_ms = 1_790_000_000_123
        epoch, send_at = times(parsed, when, now_ms, words["times"])
        case = {
            "what": what,
            "survey_toml": text,
            "value": value,
            "label": name,
            "when": when,
            "now_ms": now_ms,
            "keys": {step: key.hex() for step, key in keys.items()},
            "row": first[0],
            "silent": silent,
            "bits": first[1],
            "fragments": sent,
            "label_number": carried,
            "instances": route(parsed, carried, sent, words["routing"]),
            "epoch": epoch,
            "send_at_ms": send_at,
        }
        cases.append({key: item for key, item in case.items() if key not in ("row", "silent") or item is not None})
    words = Words(bytes(range(32)))
    stream = [words.word(length) for length in (8, 4, 8, 4, 8)]
    thresholds = [
        {"epsilon": epsilon, "threshold": str(threshold(epsilon))} for epsilon in (0.001, 1.0, 2.5, 5.25, 12.99, 60.0)
    ]
    words_and_coins = {"stream": stream, "thresholds": thresholds}
    print("{")
    for name, item in words_and_coins.items():
        print(f' "{name}": {json.dumps(item)},')
    print(' "cases": [')
    # A line for each field, so that a change shows.
    texts = ["  {\n" + ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in case.items()) + "\n  }" for case in cases]
    print(",\n".join(texts))
    print(" ]\n}")


main()
