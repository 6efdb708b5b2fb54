"""Runs our Rust program and its peers in turn and prints how many times faster ours is.

Started by `run`, which makes the programs. A program is called as `PROGRAM CASE ROUNDS` and prints one JSON line:

    {"case": "...", "unit": "report", "seconds_per_unit": [r1, r2, ...]}
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# Both sides run their rounds in this many parts, ours and the peer's in turn,
# so that a change of load on the machine falls on both.
PARTS = 2


class Peer(NamedTuple):
    case: str  # as our program knows it
    name: str
    target: float | None  # the ratio we want; None: shown to be fair, no target is set
    program: str  # a key of `programs` in main
    peer_case: str  # as the peer's program knows it
    ours: str = "rust"  # which of our programs, a key of `programs`


PEERS = [
    Peer("one-hot-encode", "pure-ldp SUE", 4_000, "current", "one-hot-encode-pure-ldp"),
    Peer("one-hot-encode", "multi-freq-ldpy OUE", 6_000, "current", "one-hot-encode-multi-freq-ldpy"),
    Peer("one-hot-encode-large", "numpy, sparse", 0.7, "current", "one-hot-encode-large-numpy"),
    Peer("one-hot-encode-large", "numpy, sparse, table", None, "current", "one-hot-encode-large-numpy-table"),
    Peer("sketch-encode", "pure-ldp CMS", 1_500, "sketch", "sketch-encode-pure-ldp"),
    Peer("sketch-aggregate", "pure-ldp CMS", 300, "sketch", "sketch-aggregate-pure-ldp"),
    Peer("sketch-estimate", "pure-ldp CMS", 300, "sketch", "sketch-estimate-pure-ldp"),
    Peer("sum-sparse", "numpy bincount", 1.0, "current", "sum-sparse-numpy"),
    Peer("sum-sparse-large", "numpy bincount", 1.0, "current", "sum-sparse-large-numpy"),
    Peer("tally", "numpy bincount", 1.0, "current", "tally-numpy"),
    Peer("gradient-report", "numpy", 3, "current", "gradient-report-numpy"),
    Peer("direction-expand", "rand_distr", 1.5, "rust", "direction-expand-rand-distr"),
    Peer("pld-gaussian", "dp-accounting", None, "current", "pld-gaussian-dp-accounting", "account"),
    Peer("clones21-epsilon", "scipy by hand", None, "current", "clones21-epsilon-scipy", "account"),
    *(
        Peer(f"gradients-{threads}", name, target, "torch", f"gradients-{threads}-{peer_case}", "learn")
        for threads in (1, 2)
        for name, target, peer_case in (
            ("Opacus, hooks", 4, "hooks"),
            ("Opacus, expanded weights", None, "expanded-weights"),
            ("PyTorch, vmap", None, "vmap"),
            # These two make less than one gradient per example.
            ("Opacus, ghost clipping", None, "ghost"),
            ("PyTorch, sum only", None, "plain"),
        )
    ),
]
CASES = list(dict.fromkeys(peer.case for peer in PEERS))
# The others need PyTorch, which is large: `run` installs it only if they are asked for.
USUAL_CASES = list(dict.fromkeys(peer.case for peer in PEERS if peer.program != "torch"))


class Failure(Exception):
    """A program could not be run, or its answer not be used; the message says which, and what to change."""


def main():
    options = parse_options()
    peers_py = str(Path(__file__).with_name("peers.py"))
    gradients_py = str(Path(__file__).with_name("gradients.py"))
    programs = {
        "rust": [options.rust],
        "account": [options.account],
        "learn": [options.learn],
        "current": [options.current, peers_py],
        "sketch": [options.sketch, peers_py],
        "torch": [options.torch, gradients_py],
    }

    rows, failures = [], []
    for peer in PEERS:
        if peer.case in options.cases:
            print(f"{peer.case} against {peer.name} ...", file=sys.stderr)
            try:
                rows.append(compare(peer, programs, options.rounds))
            except Failure as failure:
                failures.append(f"{peer.case} against {peer.name}: {failure}")

    print_table(rows)
    if options.json:
        write_json(options.json, rows)
    for failure in failures:
        print(f"not measured: {failure}", file=sys.stderr)
    sys.exit(2 if failures else 0)


def parse_options():
    parser = argparse.ArgumentParser(prog="bench/peers/run", description="Measure the peers beside our code.")
    parser.add_argument(
        "--cases",
        type=case_list,
        default=USUAL_CASES,
        metavar="A,B",
        help=f"of {', '.join(CASES)} (default: all but gradients, whose peers take 3 GB to download)",
    )
    parser.add_argument("--rounds", type=round_count, default=7, metavar="N", help="per side, 5 or more (default 7)")
    # Opened now: a path that cannot be written is better known before minutes of measuring.
    parser.add_argument("--json", type=argparse.FileType("w"), metavar="FILE", help="write every round to FILE")
    for program in ("rust", "account", "learn", "current", "sketch", "torch"):  # `run` gives these.
        parser.add_argument(f"--{program}", required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def case_list(text):
    cases = text.split(",")
    for case in cases:
        if case not in CASES:
            raise argparse.ArgumentTypeError(f"no case {case!r}; choose from {', '.join(CASES)}")
    return cases


def round_count(text):
    if int(text) < 5:
        raise argparse.ArgumentTypeError("fewer than 5 rounds say too little about the noise; ask for more")
    return int(text)


def compare(peer, programs, rounds):
    """One row: ours and the peer's seconds per unit, interleaved, and the ratio of their medians."""
    ours, theirs, units = [], [], set()
    for part in range(PARTS):
        part_rounds = (rounds + part) // PARTS  # The parts add up to `rounds`.
        for seconds, program, case in (
            (ours, programs[peer.ours], peer.case),
            (theirs, programs[peer.program], peer.peer_case),
        ):
            unit, part_seconds = measure([*program, case, str(part_rounds)])
            seconds += part_seconds
            units.add(unit)
    if len(units) > 1:
        raise Failure(f"the sides count in different units, {' and '.join(units)}; make them agree")

    ratio = statistics.median(theirs) / statistics.median(ours)
    return {
        "case": peer.case,
        "peer": peer.name,
        "unit": units.pop(),
        "target": peer.target,
        "ratio": ratio,
        "met": None if peer.target is None else ratio >= peer.target,
        "ours_units_per_second": 1 / statistics.median(ours),
        "peer_units_per_second": 1 / statistics.median(theirs),
        "ours_seconds_per_unit": ours,
        "peer_seconds_per_unit": theirs,
    }


def measure(command):
    """Runs one program and reads its JSON line: the unit, and seconds per unit of every round."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"cannot start {command[0]} ({error.strerror}); bench/peers/run makes it") from error
    if done.returncode != 0:
        last_words = (done.stderr.strip() or "no message").splitlines()[-1]
        raise Failure(f"`{' '.join(command)}` failed, run it alone to see more: {last_words}")
    try:
        answer = json.loads(done.stdout)
        return answer["unit"], answer["seconds_per_unit"]
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"`{' '.join(command)}` should print one JSON line with unit and seconds_per_unit") from error


def print_table(rows):
    """A Markdown table with aligned columns: for the terminal and for pasting."""
    table = [("case", "peer", "target", "ratio", "met", "ours: median (min..max)", "peer: median (min..max)")]
    for row in rows:
        table.append(
            (
                row["case"],
                row["peer"],
                "-" if row["target"] is None else f"{row['target']:,}x",
                f"{row['ratio']:,.0f}x" if row["ratio"] >= 100 else f"{row['ratio']:.2f}x",
                {True: "yes", False: "no", None: "-"}[row["met"]],
                duration(row["ours_seconds_per_unit"], row["unit"]),
                duration(row["peer_seconds_per_unit"], row["unit"]),
            )
        )
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    table.insert(1, ["-" * width for width in widths])
    for cells in table:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |")


def duration(seconds, unit):
    """Median, least and most, in the scale that suits the median: `224 ns/report (219..231)`."""
    median = statistics.median(seconds)
    scale, name = next((s, n) for s, n in ((1e-3, "ms"), (1e-6, "us"), (0, "ns")) if median >= s)
    least, middle, most = (f"{value / (scale or 1e-9):.3g}" for value in (min(seconds), median, max(seconds)))
    return f"{middle} {name}/{unit} ({least}..{most})"


def write_json(file, rows):
    machine = {
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
    }
    print(json.dumps({"machine": machine, "rows": rows}, indent=2), file=file)


if __name__ == "__main__":
    main()
