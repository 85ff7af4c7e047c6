"""How well verdicts and predicted speedups hold on the measured pairs in fixtures/.

    python benchmarks/accuracy.py [--scope gpu|call] [--pair NAME]... [--markdown FILE] [--plot FILE.svg]

Per pair and size: the verdict, the predicted interval, the measured speedup and time. Then the summary, beside
baselines. Cases whose right answer is "no" although the PyTorch reference is more than 1.1x faster than the kernel are
left out: there the right answer is not clear. The pairs are a test set; no fitting code opens them.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from kernlint.analysis import analysis
from kernlint.request import Request

PAIRS = Path(__file__).parent.parent / "fixtures" / "pairs"
WORTH = 1.2
UNCLEAR = 1.1
#: A measured value this close to an end of the interval counts as inside: the clock's own spread.
SPREAD = 1.05

#: A frontier LLM given the seed's prompt on 52 of these cases, scope gpu.
LLM = "decision 50/51 (98 %), coverage 22/41 (54 %), median high/low 1.5, mean |ln| 0.35, median |ln| 0.19"


@dataclass(frozen=True)
class Case:
    """One pair at one size: what was measured and what the verdict predicted, in one scope."""

    pair: str
    size: str
    measured: float
    before_us: float
    negative: bool
    clear: bool
    worth: bool
    predicted: float
    low: float
    high: float
    predicted_before_us: float
    rule: str
    category: str
    symbol: str
    kernel: str
    right_category: str
    right_symbol: str
    top: str

    @property
    def should(self) -> bool:
        return self.measured >= WORTH

    @property
    def right(self) -> bool:
        return self.worth == self.should

    @property
    def covered(self) -> bool:
        return self.low / SPREAD <= self.measured <= self.high * SPREAD

    @property
    def error(self) -> float:
        """|ln(predicted / measured)|."""
        return abs(math.log(self.predicted / self.measured))

    @property
    def right_cause(self) -> bool:
        """Whether the verdict names the right category, and the kernel or the host function to blame: a launch of it is as good a
        place to mend as its body, and a verdict names both. A method may go by its own name, or by that of its class."""
        places = {self.symbol, *self.symbol.rsplit(".", 1), self.kernel}
        return self.worth and self.category == self.right_category and self.right_symbol in places


def cases_of(pair: str, scope: str) -> list[Case]:
    folder = PAIRS / pair
    case = json.loads((folder / "case.json").read_text())
    measured = json.loads((folder / "measured.json").read_text())
    cases = []
    for size in measured["sizes"]:
        before = size["before"][f"{scope}_us"]
        speedup = 1.0 if case["worth_optimizing"] == "no" else (size.get("speedup") or {}).get(scope)
        if before is None or speedup is None:
            continue
        library_faster = size["before"]["cold_us"] > UNCLEAR * size["torch_cold_us"]
        cases.append(judged(folder, case, size, scope, Measured(speedup, before, library_faster)))
    return cases


@dataclass(frozen=True)
class Measured:
    """What a clock said of one case: the speedup, the time before in microseconds, and whether PyTorch beats the latter."""

    speedup: float
    before_us: float
    library_faster: bool


def judged(
    folder: Path, case: Mapping[str, Any], size: Mapping[str, Any], scope: str, measured: Measured, device: str = "h100"
) -> Case:
    """The verdict on ``before.py`` of ``folder`` at one size, beside what was measured.

    ``case`` is its case.json; ``also_category`` and ``also_symbol`` there are right answers too.
    """
    answer = analysis(
        Request(
            (folder / "before.py").read_text(),
            path=f"{folder.name}/before.py",
            reference=(folder / "reference.py").read_text(),
            device=device,
            scope=scope,
            overrides=size["set"],
        )
    ).verdict
    estimate = answer.details.estimate.chosen
    candidates = {f.rule.code: f.estimate.chosen.speedup for f in answer.details.findings if f.estimate is not None}
    location = answer.details.location
    category, symbol = answer.details.category, (location.symbol or "") if location else ""
    return Case(
        folder.name,
        size["name"],
        measured.speedup,
        measured.before_us,
        case["worth_optimizing"] == "no",
        measured.speedup >= WORTH or not measured.library_faster,
        answer.worth_optimizing,
        estimate.speedup or 1.0,
        estimate.low or 1.0,
        estimate.high or 1.0,
        estimate.before_us or math.nan,
        answer.details.rule.code if answer.details.rule else "-",
        category,
        symbol,
        answer.details.kernel or "",
        category if category in case.get("also_category", ()) else case["category"],
        symbol if symbol in case.get("also_symbol", ()) else case["symbol"],
        " ".join(f"{code}:{gain:.2f}" for code, gain in candidates.items() if gain is not None),
    )


def all_cases(scope: str, pairs: Sequence[str] = ()) -> list[Case]:
    names = sorted(p.name for p in PAIRS.iterdir() if p.is_dir() and (not pairs or p.name in pairs))
    with ProcessPoolExecutor(max_workers=2) as pool:
        return [case for cases in pool.map(cases_of, names, [scope] * len(names)) for case in cases]


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Spearman's: Pearson's correlation of ranks, ties sharing their mean rank."""

    def ranks(values: Sequence[float]) -> list[float]:
        ordered = sorted(values)
        return [(ordered.index(v) + len(ordered) - ordered[::-1].index(v) - 1) / 2 for v in values]

    a, b = ranks(xs), ranks(ys)
    ma, mb = mean(a), mean(b)
    spread = math.sqrt(sum((x - ma) ** 2 for x in a) * sum((y - mb) ** 2 for y in b))
    return sum((x - ma) * (y - mb) for x, y in zip(a, b)) / spread if spread else math.nan


def summary(cases: Sequence[Case]) -> list[tuple[str, str]]:
    """The figures of merit, over the cases whose right answer is clear."""
    clear = [c for c in cases if c.clear]
    positive = [c for c in clear if not c.negative]
    slow = [c for c in clear if c.should]
    fast = [c for c in clear if c.measured < UNCLEAR]
    absolute = [abs(math.log(c.predicted_before_us / c.before_us)) for c in cases]
    within = sum(a <= math.log(1.5) for a in absolute)
    return [
        ("cases", f"{len(clear)} of {len(cases)} with a clear answer, {len(positive)} of them of positive pairs"),
        ("decision at 1.2x", _share(sum(c.right for c in clear), len(clear))),
        ("interval contains the measurement", _share(sum(c.covered for c in clear), len(clear))),
        ("... of positive pairs", _share(sum(c.covered for c in positive), len(positive))),
        ("mean |ln(predicted/measured)|", f"{mean(c.error for c in clear):.3f}"),
        ("median |ln(predicted/measured)|", f"{median(c.error for c in clear):.3f}"),
        (
            "... mean, median of positive pairs",
            f"{mean(c.error for c in positive):.3f}, {median(c.error for c in positive):.3f}",
        ),
        ("median high/low", f"{median(c.high / c.low for c in clear):.2f}"),
        ("... of positive pairs", f"{median(c.high / c.low for c in positive):.2f}"),
        ("rank correlation", f"{rank_correlation([c.predicted for c in clear], [c.measured for c in clear]):.3f}"),
        ("right cause where gain >= 1.2x", _share(sum(c.right_cause for c in slow), len(slow))),
        ("no where gain < 1.1x", _share(sum(not c.worth for c in fast), len(fast))),
        ("before_us within 1.5x", _share(within, len(absolute))),
        ("before_us median |ln|", f"{median(absolute):.3f}"),
        ("baseline: always 1.0x", f"mean |ln| {mean(abs(math.log(c.measured)) for c in clear):.3f}"),
        ("baseline: always no", "decision " + _share(sum(not c.should for c in clear), len(clear))),
        ("baseline: frontier LLM (gpu)", LLM),
    ]


def _share(count: int, total: int) -> str:
    return f"{count}/{total} ({100 * count / total:.0f} %)" if total else "0/0"


HEADER = (
    "pair",
    "size",
    "measured",
    "predicted",
    "interval",
    "in",
    "verdict",
    "right",
    "rule",
    "cause",
    "before us",
    "model us",
    "candidates",
)


def rows(cases: Iterable[Case]) -> list[tuple[str, ...]]:
    return [
        (
            c.pair,
            c.size + ("" if c.clear else " (unclear)"),
            f"{c.measured:.2f}",
            f"{c.predicted:.2f}",
            f"{c.low:.2f}-{c.high:.2f}",
            "yes" if c.covered else "NO",
            "yes" if c.worth else "no",
            "ok" if c.right else "WRONG",
            c.rule,
            "ok" if c.right_cause or not c.should else f"{c.category}/{c.symbol}",
            f"{c.before_us:.1f}",
            f"{c.predicted_before_us:.1f}",
            c.top,
        )
        for c in cases
    ]


def as_text(table: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in table)


def as_markdown(table: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in table]
    return "\n".join([lines[0], "|" + " --- |" * len(table[0]), *lines[1:]])


def plot(cases: Sequence[Case], path: str) -> None:
    """Predicted against measured speedup, both logarithmic, with the 80 % intervals."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "kernlint"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 7))
    positive = [c for c in cases if c.clear and not c.negative]
    for c in positive:
        colour = "tab:blue" if c.covered else "tab:red"
        axes.plot([c.measured, c.measured], [c.low, c.high], color=colour, alpha=0.35, linewidth=1.5)
        axes.plot(c.measured, c.predicted, "o", color=colour, markersize=4)
    ends = [0.8, 1.3 * max(max(c.measured, c.high) for c in positive)]
    axes.plot(ends, ends, color="grey", linewidth=1)
    axes.set(
        xscale="log",
        yscale="log",
        xlim=ends,
        ylim=ends,
        xlabel="measured speedup",
        ylabel="predicted speedup (80 % interval)",
    )
    axes.grid(True, which="both", alpha=0.2)
    figure.savefig(path, metadata={"Date": None})


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scope", choices=("gpu", "call"), default="gpu")
    parser.add_argument("--pair", action="append", default=[])
    parser.add_argument("--markdown")
    parser.add_argument("--plot")
    options = parser.parse_args(arguments)
    cases = all_cases(options.scope, options.pair)
    table = [HEADER, *rows(cases)]
    figures = [("figure", "value"), *summary(cases)]
    print(as_text(table), as_text(figures), sep="\n\n")
    if options.markdown:
        Path(options.markdown).write_text(f"{as_markdown(figures)}\n\n{as_markdown([r[:-1] for r in table])}\n")
    if options.plot:
        plot(cases, options.plot)


if __name__ == "__main__":
    main(sys.argv[1:])
