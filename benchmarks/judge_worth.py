"""What the judge of ``kernlint batch`` is worth in a loop that writes kernels, against measured times of a public repository.

    python benchmarks/judge_worth.py ROWS.jsonl --tasks CHECKOUT > TASKS.jsonl
    kernlint batch TASKS.jsonl -o RESULTS.jsonl --device rtx-4090 --scope call
    python benchmarks/judge_worth.py ROWS.jsonl RESULTS.jsonl [--markdown FILE]

ROWS.jsonl (`benchmarks/llm_rows.jsonl`) has one object a line: path, reference, correct and, of correct ones, ref_ms and
kernel_ms (RTX 4090); CHECKOUT holds the files that it names, and an ``id`` of RESULTS is such a path. Two questions: does the
predicted speedup tell kernels that are faster than eager PyTorch from slower ones (area under the ROC curve: the chance that of
one of each the faster one is ranked first), and how many samples of a task need not be run on a GPU if the best of those that are
run is to be as good as the best of all.

A task says how its authors ran it (``utils/compile_and_run.py`` there): in evaluation mode, torch being told to take deterministic
algorithms alone, which fills what ``torch.empty`` makes and keeps dilated convolutions from cuDNN.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import random
import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from accuracy import as_markdown

#: What is left of the best speedup is to be at least this.
KEPT = 0.95
_DRAWS = 200


@dataclass(frozen=True)
class Sample:
    """A kernel: the ``task`` it was written for, its measured ``speed`` against eager PyTorch (None: not correct), and what the judge
    said of it before anything ran; ``off`` by how far, as ln(predicted / measured), its time and that of eager PyTorch were."""

    task: str
    speed: float | None
    predicted: float | None
    errors: int
    status: str
    off: tuple[float, float] | None = None

    @property
    def doomed(self) -> bool:
        """The judge is sure that it cannot be right."""
        return self.status == "invalid-source" or self.errors > 0

    @property
    def rank(self) -> float:
        """What it is ranked by: the predicted speedup, 0 where it cannot be right, as slow as eager where nothing is predicted."""
        return 0.0 if self.doomed else 1.0 if self.predicted is None else self.predicted


def samples(rows: Iterable[Mapping[str, object]], results: Mapping[str, Mapping[str, object]]) -> list[Sample]:
    found = []
    for row in rows:
        result = results[str(row["path"])]
        speed = float(row["ref_ms"]) / float(row["kernel_ms"]) if row["correct"] else None  # type: ignore[arg-type]
        predicted = result["call_speedup"]
        found.append(
            Sample(
                str(row["path"]).split("/")[2],
                speed,
                None if predicted is None else float(predicted),  # type: ignore[arg-type]
                int(result["errors"] or 0),  # type: ignore[call-overload]
                str(result["status"]),
                None if speed is None or predicted is None else _off(row, result),
            )
        )
    return found


def _off(row: Mapping[str, object], result: Mapping[str, object]) -> tuple[float, float]:
    pairs = (("call_us", "kernel_ms"), ("reference_call_us", "ref_ms"))
    kernel, eager = (math.log(float(result[us]) / float(row[ms]) / 1000) for us, ms in pairs)  # type: ignore[arg-type]
    return kernel, eager


def area(pairs: Sequence[tuple[float, bool]]) -> float:
    """The area under the ROC curve of (rank, is faster): ties count half."""
    faster = [rank for rank, is_faster in pairs if is_faster]
    slower = sorted(rank for rank, is_faster in pairs if not is_faster)
    if not faster or not slower:
        return math.nan
    won = sum(bisect_left(slower, rank) + bisect_right(slower, rank) for rank in faster) / 2
    return won / (len(faster) * len(slower))


def by_task(found: Iterable[Sample]) -> dict[str, list[Sample]]:
    tasks: dict[str, list[Sample]] = defaultdict(list)
    for sample in found:
        tasks[sample.task].append(sample)
    return tasks


def interval(found: Sequence[Sample], figure: Callable[[Sequence[Sample]], float]) -> tuple[float, float, float]:
    """``figure`` with its 95 % interval over tasks, drawn with replacement."""
    tasks = list(by_task(found).values())
    draw = random.Random(0)
    drawn = []
    for _ in range(_DRAWS):
        value = figure([sample for group in draw.choices(tasks, k=len(tasks)) for sample in group])
        if not math.isnan(value):
            drawn.append(value)
    drawn.sort()
    return figure(found), drawn[int(0.025 * len(drawn))], drawn[int(0.975 * len(drawn))]


def auc(found: Sequence[Sample], margin: float = 1.0) -> float:
    """Of those whose speed is known and at least ``margin`` away from eager on either side."""
    known = [s for s in found if s.speed is not None and s.predicted is not None]
    return area([(s.predicted or 0.0, s.speed > 1) for s in known if s.speed and not 1 / margin < s.speed < margin])


def concordance(found: Sequence[Sample], margin: float = 1.1) -> float:
    """Of pairs of one task whose measured speeds differ by ``margin`` or more, the share that is ranked as measured."""
    right = total = 0.0
    for group in by_task(found).values():
        known = [s for s in group if s.speed is not None and s.predicted is not None]
        for index, one in enumerate(known):
            for other in known[:index]:
                a, b = (one, other) if (one.speed or 0) > (other.speed or 0) else (other, one)
                if (a.speed or 0) >= margin * (b.speed or math.inf):
                    total += 1
                    right += (a.predicted > b.predicted) + 0.5 * (a.predicted == b.predicted)  # type: ignore[operator]
    return right / total if total else math.nan


Order = Callable[[Sequence[Sample], random.Random], list[Sample]]


def judged_order(group: Sequence[Sample], draw: random.Random) -> list[Sample]:
    """The judge's; equals as they come."""
    return sorted(draw.sample(group, len(group)), key=lambda s: -s.rank)


def sound_order(group: Sequence[Sample], draw: random.Random) -> list[Sample]:
    """Those with a proven error last, else at random."""
    return sorted(draw.sample(group, len(group)), key=lambda s: s.doomed)


def random_order(group: Sequence[Sample], draw: random.Random) -> list[Sample]:
    return draw.sample(group, len(group))


def kept(found: Sequence[Sample], order: Order, share: float, runs: int = 10) -> tuple[float, float]:
    """(part of the samples that is run, geometric mean over tasks of the best speedup of those over the best of all) where of each
    task the first ``share`` of ``order`` is run, one at least, and nothing that is slower than eager replaces it."""
    draw = random.Random(0)
    ran = total = 0
    logs = []
    for _ in range(runs):
        for group in by_task(found).values():
            first = order(group, draw)[: max(1, math.ceil(share * len(group) - 1e-9))]
            ran, total = ran + len(first), total + len(group)
            logs.append(math.log(_best(first) / _best(group)))
    return ran / total, math.exp(fmean(logs))


def _best(group: Sequence[Sample]) -> float:
    return max([1.0, *(s.speed for s in group if s.speed is not None)])


def needless(found: Sequence[Sample], order: Order) -> float:
    """The largest part of the samples that need no run for ``KEPT`` of the best speedup."""
    shares = [step / 20 for step in range(21)]
    fits = [ran for ran, left in (kept(found, order, share) for share in shares) if left >= KEPT]
    return 1 - min(fits, default=1.0)


def report(found: Sequence[Sample]) -> list[tuple[str, str]]:
    timed = [s for s in found if s.speed is not None]
    faster = sum(s.speed > 1 for s in timed if s.speed is not None)
    known = [s for s in timed if s.predicted is not None]
    wrong = [s for s in found if s.speed is None]
    figures = [
        ("samples, of tasks", f"{len(found)} of {len(by_task(found))}"),
        ("correct, of them faster than eager", f"{len(timed)}, {faster}"),
        ("correct, with a predicted speedup", f"{len(known)} of {len(timed)}"),
        ("AUC of faster or slower than eager", _with_interval(interval(known, auc))),
        ("AUC, of those at least 1.2x away from eager", _with_interval(interval(known, lambda s: auc(s, 1.2)))),
        ("pairs of one task, at least 1.1x apart, ranked as measured", _with_interval(interval(known, concordance))),
        ("mean abs(ln(predicted / measured speedup))", f"{fmean(_missed(known)):.2f}"),
        (
            "median of it, of the kernel's time, of eager PyTorch's",
            ", ".join(
                f"{median(sizes):.2f}" for sizes in (_missed(known), *zip(*(map(abs, s.off or ()) for s in known)))
            ),
        ),
        ("not correct, with a proven error", f"{sum(s.doomed for s in wrong)} of {len(wrong)}"),
        ("correct, with a proven error", f"{sum(s.doomed for s in timed)} of {len(timed)}"),
    ]
    for name, order in (
        ("the judge's order", judged_order),
        ("proven errors last, else at random", sound_order),
        ("at random", random_order),
    ):
        figures.append(
            (f"samples that need no run for {KEPT:.0%} of the best: {name}", f"{needless(found, order):.0%}")
        )
    for name, order in (("the judge's order", judged_order), ("at random", random_order)):
        figures.append((f"the same of the correct ones alone: {name}", f"{needless(timed, order):.0%}"))
    for share in (0.25, 0.5):
        parts = [f"{kept(found, order, share)[1]:.0%}" for order in (judged_order, sound_order, random_order)]
        figures.append(
            (f"best speedup found by running {share:.0%} of each task: judge, errors last, random", ", ".join(parts))
        )
    return figures


def _missed(known: Sequence[Sample]) -> list[float]:
    return [abs(math.log((s.predicted or 1) / (s.speed or 1))) for s in known]


def _with_interval(values: tuple[float, float, float]) -> str:
    return "{:.2f} ({:.2f} to {:.2f})".format(*values)


def as_run(text: str, model: str) -> str:
    """``text`` with what the authors' harness did before it called ``model``; as it is where no such class can be read."""
    try:
        classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == model]
    except (SyntaxError, ValueError, RecursionError):
        return text
    methods = [node for one in classes for node in one.body if isinstance(node, ast.FunctionDef)]
    forward = next((method.body[0] for method in methods if method.name == "forward"), None)
    if forward is None:
        return text
    lines = text.splitlines(keepends=True)
    indent = " " * forward.col_offset
    lines.insert(forward.lineno - 1, f"{indent}self.eval()\n{indent}torch.use_deterministic_algorithms(True)\n")
    return "".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("results", nargs="?")
    parser.add_argument("--tasks", metavar="CHECKOUT", type=Path, help="print what is asked of `kernlint batch`")
    parser.add_argument("--markdown")
    options = parser.parse_args(arguments)
    rows = [json.loads(line) for line in Path(options.rows).read_text().splitlines()]
    if options.tasks:
        for row in rows:
            texts = {
                key: as_run((options.tasks / row[name]).read_text(), model)
                for key, name, model in (("source", "path", "ModelNew"), ("reference", "reference", "Model"))
            }
            print(json.dumps({"id": row["path"], **texts}))
        return
    if options.results is None:
        parser.error("RESULTS are missing")
    results = {row["id"]: row for row in map(json.loads, Path(options.results).read_text().splitlines())}
    figures = report(samples(rows, results))
    for name, value in figures:
        print(f"{name}: {value}")
    if options.markdown:
        Path(options.markdown).write_text(as_markdown([("figure", "value"), *figures]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
