"""Host times of ``kernlint/cost/host.py`` from eager loops of calls that give the device next to nothing to do.

    python calibration/fit_host.py [--dry-run]

``h200-host.csv`` has each call in a loop of its own. A program makes other calls in between, which takes longer (the chains there): by
``among_others``. A virtual machine runs now and then at another pace, for seconds: ``h200-host-busy.csv`` is the same card's some
minutes later, ``h100-host.csv`` another machine's, and both are busier than the first. The times are those of busy machines, the
spread is that of all three.
"""

from __future__ import annotations

import csv
import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FACTS = ROOT / "calibration" / "facts"
TARGET = ROOT / "kernlint" / "cost" / "data" / "host.json"
#: Machines, or their states, that the same calls were timed on.
PACES = ("h200-host.csv", "h200-host-busy.csv", "h100-host.csv")
#: Calls of one name that take this many times what their kind does, or less than its inverse, have a time of their own.
APART = 1.3
#: Kinds of torch operations of a workload that are timed.
KINDS = tuple(
    "alloc attention cast cat conv copy elementwise fill gather matmul norm random reduce scan softmax".split()
)
#: Kinds that nothing here times, or of calls so unlike that their middle is none of them: the call that most of them are like.
LIKE = {
    "transpose": ("copy", "contiguous_transposed"), "unknown": ("elementwise", "add"), "scan": ("scan", "cumsum"),
    "gather": ("gather", "index"), "alloc": ("alloc", "empty_like"),
}  # fmt: skip
#: What goes by another name in a workload.
NAMES = {
    "contiguous_transposed": "contiguous", "assigned_slice": "setitem", "empty_of_shape": "empty",
}  # fmt: skip


def rows(name: str) -> dict[tuple[str, str], float]:
    """Microseconds of a call by term and parameters."""
    with (FACTS / name).open(encoding="utf-8", newline="") as file:
        return {(row["term"], row["params"]): float(row["call_us"]) for row in csv.DictReader(file)}


def paces() -> list[float]:
    """How many times as long calls take on each of ``PACES`` as on the first, in the mean of those that both have."""
    first = rows(PACES[0])
    return [
        math.exp(statistics.fmean(math.log(us / first[key]) for key, us in rows(name).items() if key in first))
        for name in PACES
    ]


def line(points: list[tuple[float, float]]) -> tuple[float, float]:
    """(what it takes without any, what each takes) of times over numbers of arguments."""
    xs, ys = zip(*points, strict=True)
    slope, base = statistics.linear_regression(xs, ys)
    return base, slope


def launches(facts: dict[tuple[str, str], float]) -> tuple[tuple[float, float], float]:
    """A launch by its arguments, and what a tuner of several configurations adds to it (one of a single configuration looks nothing
    up). ``args`` counts run-time arguments, beside which kernels here have one constexpr, the longer ones three."""
    plain, tuned = [], []
    for (term, params), us in facts.items():
        said = dict(part.split("=") for part in params.split(";"))
        if term != "launch" or set(said) - {"args", "grid", "autotuned", "configurations"} or said["grid"] == "lambda":
            continue
        count = int(said["args"]) + (1 if int(said["args"]) < 12 else 3)
        if "autotuned" not in said:
            plain.append((float(count), us))
        elif count > 12 or "configurations" in said:
            tuned.append((float(count), us))
    base, each = line(plain)
    return (base, each), statistics.fmean(us - base - each * count for count, us in tuned)


def among_others(facts: dict[tuple[str, str], float], kinds: dict[str, float]) -> tuple[float, float]:
    """How many times as long (calls of torch, launches) take among others as in a loop of their own."""
    torch, launched = [], []
    alone = facts["launch", "args=3;grid=tuple"] + facts["alloc", "op=empty_like"]
    for (term, params), us in facts.items():
        said = dict(part.split("=") for part in params.split(";"))
        if term == "torch_chain":
            torch.append(us / sum(int(count) * kinds[kind] for kind, count in said.items() if kind in kinds))
        elif term == "empty_and_launch":
            launched.append(us / int(said["count"]) / alone)
    return tuple(math.exp(statistics.fmean(map(math.log, found))) for found in (torch, launched))  # type: ignore[return-value]


#: What each round of the composed calls is made of: launches, their parameters, tensors that are allocated, views.
COMPOSED = {
    "empty_and_launch": (4, 1, 0), "chain": (4, 1, 0), "module_call": (4, 1, 0), "autograd_function": (4, 1, 0),
    "strided": (15, 1, 0), "loop_of_launches_on_views": (15, 0, 3), "over_chunks": (4, 0, 1),
}  # fmt: skip


def composed_sigma(constants: dict[str, Any]) -> float:
    """Spread of ln(measured / predicted) over the calls that launch several kernels, or one among other calls: what wrapper code and
    the arguments' kinds make of two versions of one call."""
    errors = []
    for (term, params), us in rows(PACES[0]).items():
        said = dict(part.split("=") for part in params.split(";"))
        if term in COMPOSED:
            arguments, made, views = COMPOSED[term]
            each = constants["triton_launch_us"] + constants["argument_us"] * arguments
            if "autotuned" in said:
                each += constants["autotune_us"]
            each += made * constants["torch_us"]["alloc"] + views * constants["view_us"]
            errors.append(math.log(us / int(said.get("count", 1)) / each))
    return statistics.pstdev(errors)


def main() -> None:
    facts = rows(PACES[0])
    pace = math.exp(statistics.fmean(map(math.log, paces()[1:])))
    by_kind: dict[str, dict[str, float]] = {}
    for (term, params), us in facts.items():
        if params.startswith("op="):
            by_kind.setdefault(term, {})[params.removeprefix("op=")] = us
    kinds = {kind: statistics.median(named.values()) for kind, named in by_kind.items()}
    kinds |= {kind: by_kind[like][name] for kind, (like, name) in LIKE.items()}
    others, launches_among = among_others(facts, kinds)
    scale, launch_scale = pace * others, pace * launches_among
    (launch, argument), tuner = launches(facts)
    apart = {
        NAMES.get(name, name): us
        for kind in KINDS for name, us in by_kind[kind].items() if not 1 / APART < us / kinds[kind] < APART
    }  # fmt: skip
    off = [
        math.log(us / kinds[kind])
        for kind in KINDS
        for name, us in by_kind[kind].items()
        if NAMES.get(name, name) not in apart
    ]
    within = sorted(map(abs, off))[int(0.8 * len(off))] / 1.2816
    spread = statistics.pstdev(map(math.log, paces()))
    report: dict[str, Any] = {
        "_about": "Host microseconds of kernlint/cost/host.py, written by calibration/fit_host.py; do not edit.",
        "source": [f"calibration/facts/{name}" for name in PACES],
        "pace": round(pace, 3),
        "among_others": {"torch": round(others, 3), "launch": round(launches_among, 3)},
        "triton_launch_us": round(launch * launch_scale, 1),
        "argument_us": round(argument * launch_scale, 2),
        "autotune_us": round(tuner * launch_scale, 1),
        "view_us": round(statistics.median(by_kind["view"].values()) * scale, 1),
        "sync_us": round(by_kind["sync"]["item"] * pace, 1),
        "loop_iteration_us": 0.1,
        "sigma": round(math.hypot(spread, min(within, spread)), 3),
        "torch_us": {
            **{kind: round(kinds[kind] * scale, 1) for kind in sorted((*KINDS, "transpose", "unknown"))},
            "rnn": 60.0,
        },
        "named_us": {name: round(us * scale, 1) for name, us in sorted(apart.items())},
    }
    report["item_sigma"] = round(within, 3)
    report["ratio_sigma"] = round(composed_sigma(report), 3)
    print(json.dumps(report, indent=1))
    if "--dry-run" not in sys.argv:
        TARGET.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
