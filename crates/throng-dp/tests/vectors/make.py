#!/usr/bin/env python3
"""Writes vectors.json: what every implementation of the coins, hash functions and directions must agree on.

    pip install mpmath cryptography
    python3 make.py > vectors.json

Written from the descriptions in the Rust documentation, with other libraries: mpmath for the mathematics,
cryptography (OpenSSL) for ChaCha20. It shares no code with Throng.
"""

import hashlib
import json
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from mpmath import ceil, erfc, erfinv, exp, floor, mp, mpf, nint, pi, sqrt

mp.dps = 100


def chacha20(key, length):
    """The first bytes of the stream of RFC 8439, with counter and nonce zero."""
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return stream.update(bytes(length))


def threshold(epsilon):
    """The least multiple of 2^-128 that is at least 1/(1 + e^epsilon), times 2^128."""
    return int(ceil(mpf(2) ** 128 / (1 + exp(mpf(epsilon)))))


def hash_rows(seed, rows):
    """Three coefficients a row: the first 61 bits of each 64-bit word that are below 2^61 - 1."""
    key = struct.pack("<Q", seed) + b"throng sketch hashes v1 "
    words = struct.iter_unpack("<Q", chacha20(key, 8 * (3 * rows + 8)))
    coefficients = (word >> 3 for (word,) in words if word >> 3 < 2**61 - 1)
    return [[next(coefficients) for _ in range(3)] for _ in range(rows)]


def cell(row, value, cells):
    a, b, c = row
    return ((a * value * value + b * value + c) % (2**61 - 1)) * cells >> 61


def direction_table():
    """4096 times the quantile of |N(0, 1)| in the middle of each of 2^15 equally likely parts, rounded."""
    mp.dps = 20
    table = [int(nint(4096 * sqrt(mpf(2)) * erfinv((i + mpf(0.5)) / 2**15))) for i in range(2**15)]
    mp.dps = 100
    return table


def direction(table, seed, dimension):
    stream = chacha20(seed + b"throng direction", 2 * dimension)
    for (word,) in struct.iter_unpack("<H", stream):
        yield -table[word - 2**15] if word >= 2**15 else table[word]


def priv_unit(epsilon):
    """The cap of PrivUnit: where it begins (on a grid of 1/1024), q and p, and the scale at clipping norm 1."""
    best = (mpf("-inf"),)
    for i in range(4 * 1024):
        start = mpf(i) / 1024
        tail = erfc(start / sqrt(mpf(2))) / 2
        share = tail - mpf("0.0011")
        if share < mpf("0.0215"):
            break
        coin = 1 / (1 + (1 - share) / share * exp(-mpf(epsilon)))
        density = exp(-start * start / 2) / sqrt(2 * pi)
        best = max(best, (density * (coin / tail - (1 - coin) / (1 - tail)), start, share, coin))
    signal, start, share, coin = best
    whole = mpf(2) ** 128
    return {
        "epsilon": epsilon,
        "start": float(start),
        "share_threshold": str(int(floor(share * whole))),
        "coin_threshold": str(int(floor(coin * whole))),
        "scale": float(1 / signal),
    }


def main():
    table = direction_table()
    rows = hash_rows(2020, 1024)
    points = [(0, 0), (0, 1), (1, 1), (511, 87_679), (1023, 1_778_119)]
    directions = []
    for seed, dimension in [(bytes(16), 8), (bytes(range(16)), 26_010), (b"\xff" * 16, 100_003)]:
        coordinates = list(direction(table, seed, dimension))
        directions.append({
            "seed": seed.hex(),
            "dimension": dimension,
            "first": coordinates[:8],
            "last": coordinates[-1],
            "sha256": hashlib.sha256(struct.pack(f"<{dimension}h", *coordinates)).hexdigest(),
        })
    # Reports of signed directions, 17 bytes each, and what a server adds them up to.
    reports = [(bytes(range(i, i + 16)), i % 3 != 1) for i in range(5)]
    sums = [0] * 11
    for seed, positive in reports:
        for i, coordinate in enumerate(direction(table, seed, len(sums))):
            sums[i] += coordinate if positive else -coordinate
    vectors = {
        "thresholds": [
            {"epsilon": epsilon, "threshold": str(threshold(epsilon))}
            for epsilon in [0.001, 0.5, 1.0, 1.9, 2.94, 8.55, 12.99, 20.0, 25.0, 60.0]
        ],
        "sketch": {
            "seed": 2020,
            "rows": 1024,
            "cells": 65_536,
            "points": [
                {"row": row, "value": value, "cell": cell(rows[row], value, 65_536)} for row, value in points
            ],
        },
        "directions": directions,
        "gradient_reports": {
            "reports": [(seed + bytes([positive])).hex() for seed, positive in reports],
            "sums": sums,
        },
        "priv_unit": priv_unit(1.9),
    }
    print(json.dumps(vectors, indent=1))


main()
