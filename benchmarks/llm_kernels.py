"""How well verdicts separate slow LLM-written kernels from the rest, against measured times of a public repository.

    python benchmarks/llm_kernels.py ROWS.jsonl RESULTS.jsonl CHECKOUT [--markdown FILE]

ROWS.jsonl (`benchmarks/llm_rows.jsonl`) has one object a line: path, reference, correct, ref_ms, kernel_ms (RTX 4090, triton
3.3); RESULTS.jsonl is what `kernlint batch` says of them (`judge_worth.py` has both commands), CHECKOUT holds the files. Slow is
below half the speed of the PyTorch reference; found is a verdict of yes with a predicted speedup of at least 2x, or one without a
number (compiling or tuning on every call).
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from accuracy import as_markdown

SLOW = 0.5


@dataclass(frozen=True)
class Row:
    """One kernel: its measured speed against the reference, and the verdict."""

    path: str
    speed: float
    status: str
    rule: str = "-"
    predicted: float = 1.0
    worth: bool = False
    before_us: float | None = None
    reference_us: float | None = None
    measured_us: float = 0.0
    #: Creates or tunes kernels on every call, or measures in it: told by the text alone, not by kernlint.
    per_call: bool = False

    @property
    def problem(self) -> str:
        """The task, without its number."""
        return re.sub(r"^\d+_", "", self.path.split("/")[2]).strip("_")

    @property
    def slow(self) -> bool:
        return self.speed < SLOW

    @property
    def flagged(self) -> bool:
        return self.worth and (self.rule in ("KL603", "KL604") or self.predicted >= 1 / SLOW)

    @property
    def told(self) -> bool:
        """The verdict says that PyTorch's own kernels are at least twice as fast."""
        return (
            self.before_us is not None and self.reference_us is not None and self.before_us * SLOW > self.reference_us
        )


def judged(row: Mapping[str, object], result: Mapping[str, object], text: str) -> Row:
    """The :class:`Row` of a kernel that ran correctly, from what was measured and what was said of it."""

    def number(of: Mapping[str, object], name: str) -> float | None:
        value = of[name]
        return float(value) if isinstance(value, (int, float)) else None

    kernel_ms = number(row, "kernel_ms") or 0.0
    return Row(
        str(row["path"]),
        (number(row, "ref_ms") or 0.0) / kernel_ms,
        str(result["status"]),
        str(result["rule"] or "-"),
        number(result, "gain") or 1.0,
        bool(result["worth_optimizing"]),
        number(result, "call_us"),
        number(result, "reference_call_us"),
        1000 * kernel_ms,
        works_per_call(text),
    )


def works_per_call(text: str) -> bool:
    """Whether a function holds a decorated kernel, or calls a clock or a benchmark (outside of a main block)."""
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inner = {node for function in functions for node in ast.walk(function) if node is not function}
    for node in inner:
        decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        if any("triton." in ast.unparse(one) for one in decorators):
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in _CLOCKS:
            return True
    return False


_CLOCKS = frozenset({"do_bench", "do_bench_cudagraph", "perf_counter", "elapsed_time"})


def figures(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The figures that the targets are about."""
    answered = [r for r in rows if r.status == "ok"]
    slow, fast = [r for r in answered if r.slow], [r for r in answered if not r.slow]
    working = [r for r in slow if r.per_call]

    def share(some: Sequence[Row], total: Sequence[Row]) -> str:
        return f"{len(some)} of {len(total)} ({100 * len(some) / max(1, len(total)):.0f} %)"

    return [
        ("kernels with a verdict", share(answered, rows)),
        (f"slow (below {SLOW}x of PyTorch)", share(slow, answered)),
        ("slow, found", share([r for r in slow if r.flagged], slow)),
        ("slow, verdict yes", share([r for r in slow if r.worth], slow)),
        ("slow, found or told that the library is 2x faster", share([r for r in slow if r.flagged or r.told], slow)),
        ("not slow, flagged as 2x or more", share([r for r in fast if r.flagged], fast)),
        ("not slow, verdict yes", share([r for r in fast if r.worth], fast)),
        (
            "not slow, flagged or told that the library is 2x faster",
            share([r for r in fast if r.flagged or r.told], fast),
        ),
        ("slow, kernels created or measured in each call", share([r for r in working if r.flagged], working)),
        ("times known", share([r for r in answered if r.before_us is not None], answered)),
    ]


def missed(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The slow ones that were not found, by task: how many, how slow, what the model thought, and what the verdict named."""
    found = [("task", "missed", "speed", "time / model", "library told faster", "rules")]
    left = [r for r in rows if r.status == "ok" and r.slow and not r.flagged]
    for problem in sorted({r.problem for r in left}, key=lambda p: min(r.speed for r in left if r.problem == p)):
        mine = [r for r in left if r.problem == problem]
        speeds = sorted(r.speed for r in mine)
        ratios = sorted(r.measured_us / r.before_us for r in mine if r.before_us)
        rules = Counter(r.rule for r in mine if r.worth)
        found.append(
            (
                problem, str(len(mine)), _range(speeds), _range(ratios) if ratios else "not known",
                str(sum(r.told for r in mine)), ", ".join(rules) or "-",
            )
        )  # fmt: skip
    return found


def _range(values: Sequence[float]) -> str:
    low, high = f"{values[0]:.2g}", f"{values[-1]:.2g}"
    return low if low == high else f"{low} to {high}"


def report(rows: Sequence[Row]) -> str:
    slow = [r for r in rows if r.status == "ok" and r.slow]
    fast = [r for r in rows if r.status == "ok" and not r.slow]
    lines = [f"{name}: {value}" for name, value in figures(rows)]
    lines += [
        f"rules that find slow ones: {Counter(r.rule for r in slow if r.flagged).most_common()}",
        f"rules on slow ones: {Counter(r.rule for r in slow).most_common()}",
        f"rules on the others: {Counter(r.rule for r in fast).most_common()}",
        f"no verdict: {Counter(r.status[:60] for r in rows if r.status != 'ok').most_common(8)}",
        "slow ones missed:",
    ]
    for r in sorted(slow, key=lambda r: r.speed):
        if not r.flagged:
            times = f"{r.measured_us:.0f} us measured, model {r.before_us or 0:.0f}, library {r.reference_us or 0:.0f}"
            lines.append(f"  {r.speed:.3f}x  {r.path}  rule {r.rule} {r.predicted:.2f}x, {times}")
    lines += [
        "others flagged:",
        *(f"  {r.speed:.2f}x  {r.path}  {r.rule} {r.predicted:.2f}x" for r in fast if r.flagged),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--markdown")
    options = parser.parse_args(arguments)
    rows = [row for row in map(json.loads, options.rows.read_text().splitlines()) if row["correct"]]
    results = {row["id"]: row for row in map(json.loads, options.results.read_text().splitlines())}
    found = [judged(row, results[row["path"]], (options.checkout / row["path"]).read_text()) for row in rows]
    print(report(found))
    if options.markdown:
        tables = as_markdown([("figure", "value"), *figures(found)]), as_markdown(missed(found))
        Path(options.markdown).write_text("\n\n".join(tables) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
