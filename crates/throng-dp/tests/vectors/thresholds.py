"""Makes thresholds.json: coins of docs/wire-format.md, section 12, by integers alone.

    python3 crates/throng-dp/tests/vectors/thresholds.py > crates/throng-dp/tests/vectors/thresholds.json
"""

import json
import struct


def threshold(bits):
    """The threshold over 2^128 of the epsilon whose double has these bits."""
    x, f = bits >> 52, bits & (2**52 - 1)
    m, e = (f, -1074) if x == 0 else (2**52 + f, x - 1075)
    if m * 2 ** max(e, 0) >= 89 * 2 ** max(-e, 0):
        return 1
    p = 256
    while True:
        shift = e + p - 7
        y = m << shift if shift >= 0 else m >> -shift
        term = total = 1 << p
        n = 0
        while term:
            n += 1
            term = (term * y >> p) // n
            total += term
        high = total + 2 * n + 2
        for _ in range(7):
            total = total * total >> p
            high = (high * high >> p) + 1
        least, most = (-(-(1 << 128 + p) // ((1 << p) + sum)) for sum in (high, total))
        if least == most:
            return least
        p *= 2


EPSILONS = [
    "1e-37", "1e-36", "1e-20", "1e-9", "0.001", "0.1", "0.30000000000000004", "0.5", "0.6931471805599453", "1", "1.0986122886681098",
    "1.9", "2", "2.94", "3.5", "4", "5.25", "8.55", "12.99", "20", "25", "40", "44.3614195558365", "80", "88.5", "88.72283905206834",
    "88.72283905206835", "88.73", "89", "710", "1e300",
]  # fmt: skip


def main():
    lines = []
    for text in EPSILONS:
        (bits,) = struct.unpack(">Q", struct.pack(">d", float(text)))
        lines.append(json.dumps({"epsilon": text, "bits": f"{bits:016x}", "threshold": str(threshold(bits))}))
    print("[\n  " + ",\n  ".join(lines) + "\n]")


if __name__ == "__main__":
    main()
