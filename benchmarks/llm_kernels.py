"""How well verdicts separate slow LLM-written kernels from the rest, against measured times of a public repository.

    python benchmarks/llm_kernels.py ROWS.jsonl CHECKOUT [--limit N] [--markdown FILE]

ROWS.jsonl has one object a line: path, reference, correct, ref_ms, kernel_ms (RTX 4090, triton 3.3); CHECKOUT holds the
files it names. Slow is below half the speed of the PyTorch reference; found is a verdict of yes with a predicted speedup of
at least 2x, or one without a number (compiling or tuning on every call).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernlint.analysis import analysis
from kernlint.errors import KernlintError

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


def judge(row: dict[str, object], checkout: str) -> Row:
    path, reference = str(row["path"]), str(row["reference"])
    speed = float(row["ref_ms"]) / float(row["kernel_ms"])  # type: ignore[arg-type]
    measured = 1000 * float(row["kernel_ms"])  # type: ignore[arg-type]
    try:
        answer = analysis(
            (Path(checkout) / path).read_text(),
            path=path,
            reference=(Path(checkout) / reference).read_text(),
            device="rtx-4090",
            scope="call",
        ).verdict
    except (KernlintError, OSError) as error:
        return Row(path, speed, f"no verdict: {str(error)[-80:]}", measured_us=measured)
    except Exception as error:
        return Row(path, speed, f"CRASH {type(error).__name__}: {error}", measured_us=measured)
    estimate = answer.details.estimate.chosen
    rule = answer.details.rule.code if answer.details.rule is not None else "-"
    return Row(
        path,
        speed,
        "ok",
        rule,
        estimate.speedup or 1.0,
        answer.worth_optimizing,
        estimate.before_us,
        estimate.reference_us,
        measured,
    )


def report(rows: Sequence[Row]) -> str:
    answered = [r for r in rows if r.status == "ok"]
    slow, fast = [r for r in answered if r.slow], [r for r in answered if not r.slow]
    lines = [
        f"kernels: {len(rows)}, with a verdict: {len(answered)}",
        f"slow (below {SLOW}x of PyTorch): {len(slow)}, found {sum(r.flagged for r in slow)}, verdict yes {sum(r.worth for r in slow)}",
        f"not slow: {len(fast)}, flagged as 2x or more {sum(r.flagged for r in fast)}, verdict yes {sum(r.worth for r in fast)}",
        f"slow ones found or told that the library is 2x faster: {sum(r.flagged or r.told for r in slow)} of {len(slow)}",
        f"others flagged or told so: {sum(r.flagged or r.told for r in fast)} of {len(fast)}",
        f"times known: {sum(r.before_us is not None for r in answered)} of {len(answered)}",
        f"rules on slow ones: {Counter(r.rule for r in slow).most_common()}",
        f"rules on the others: {Counter(r.rule for r in fast).most_common()}",
        f"no verdict: {Counter(r.status[:60] for r in rows if r.status != 'ok').most_common(8)}",
        "slow ones missed:",
    ]
    for r in sorted(slow, key=lambda r: r.speed):
        if not r.flagged:
            times = f"{r.measured_us:.0f} us measured, model {r.before_us or 0:.0f}, library {r.reference_us or 0:.0f}"
            lines.append(f"  {r.speed:.3f}x  {r.path}  rule {r.rule} {r.predicted:.2f}x, {times}")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("checkout")
    parser.add_argument("--limit", type=int)
    options = parser.parse_args(arguments)
    rows = [json.loads(line) for line in Path(options.rows).read_text().splitlines()]
    rows = [row for row in rows if row["correct"]][: options.limit]
    with ProcessPoolExecutor(max_workers=2) as pool:
        judged = list(pool.map(judge, rows, [options.checkout] * len(rows), chunksize=4))
    print(report(judged))


if __name__ == "__main__":
    main(sys.argv[1:])
