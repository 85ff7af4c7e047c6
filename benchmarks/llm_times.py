"""Predicted against published times of LLM-written kernels and of the PyTorch code that they replace, on a card never measured.

    python benchmarks/llm_times.py ROWS.jsonl CHECKOUT [--tasks]

ROWS.jsonl (`benchmarks/llm_rows.jsonl`) has one object a line: path, reference, correct and, of correct ones, ref_ms and
kernel_ms (RTX 4090); CHECKOUT holds the files it names. The halves are of tasks, by their hash: 0 for mending, 1 for quoting. The
times were taken in torch's deterministic mode, in which every ``torch.empty`` is filled, those inside some of ATen's functions
too; the programs are also priced as they stand.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median

from judge_worth import area

from kernlint.analysis import read_program
from kernlint.cost.device import find_device
from kernlint.cost.estimate import Estimator
from kernlint.errors import KernlintError
from kernlint.request import Request
from kernlint.workload import Repeat, Step, TorchOp, Workload

DEVICE = "rtx-4090"
#: Functions whose results ATen makes by ``at::empty`` or ``resize_``, which fill them in deterministic mode.
FILLED = frozenset("batch_norm instance_norm group_norm layer_norm max_pool3d huber_loss smooth_l1_loss".split())


@dataclass(frozen=True)
class Row:
    """ln(predicted / measured) of a kernel's time and of its reference's, and the measured speed against eager."""

    task: str
    kernel: float
    reference: float
    speed: float

    @property
    def ratio(self) -> float:
        """Of the speedup over eager."""
        return self.reference - self.kernel


def half_of(task: str) -> int:
    return int(hashlib.sha256(task.encode()).hexdigest(), 16) % 2


def filled(workload: Workload) -> Workload:
    """``workload`` in deterministic mode."""
    return replace(workload, steps=tuple(one for step in workload.steps for one in _filled(step)))


def _filled(step: Step) -> list[Step]:
    if isinstance(step, Repeat):
        return [replace(step, body=tuple(one for inner in step.body for one in _filled(inner)))]
    if not isinstance(step, TorchOp):
        return [step]
    if step.kind == "alloc" and step.name.startswith(("empty", "new_empty")):
        return [replace(step, kind="fill")]
    # ATen's own kernels make convolutions channel by channel; cuDNN's are not filled.
    by_channel = step.kind == "conv" and len(step.reads) > 1 and (step.reads[1].shape or (0, 0))[1] == 1
    if step.name in FILLED or (by_channel and "transpose" not in step.name):
        of = step.reads[:1] if step.kind == "reduce" and not step.writes[0].shape else step.writes
        return [replace(step, kind="fill", name="empty", reads=(), writes=of, flops=0, dims={}, call=None), step]
    return [step]


def priced(row: dict[str, object], checkout: Path) -> tuple[Row, Row] | str:
    """The :class:`Row` of one object in deterministic mode and as it stands, or why there is none."""
    path = str(row["path"])
    try:
        source, reference = (checkout / path).read_text(), (checkout / str(row["reference"])).read_text()
        reading = read_program(Request(source, path, reference, device=DEVICE))
    except (KernlintError, OSError) as error:
        return type(error).__name__
    workload, estimator = reading.workloads[0], Estimator(find_device(DEVICE))
    if workload.reference is None:
        return "no reference"
    kernel_ms, ref_ms = float(row["kernel_ms"]), float(row["ref_ms"])  # type: ignore[arg-type]

    def against(one: Workload, of: Workload) -> Row | None:
        times = [estimator.estimate(each).call_us for each in (one, of)]
        if not all(times):
            return None
        kernel, reference = (math.log((us or 1.0) / ms / 1000) for us, ms in zip(times, (kernel_ms, ref_ms)))
        return Row(path.split("/")[2], kernel, reference, ref_ms / kernel_ms)

    as_timed = against(filled(workload), filled(workload.reference))
    plain = against(workload, workload.reference)
    return "open sizes" if as_timed is None or plain is None else (as_timed, plain)


def report(rows: Sequence[Row]) -> list[str]:
    """The figures of ``rows``."""
    ranked = [(math.log(row.speed) + row.ratio, row.speed > 1) for row in rows]

    def line(name: str, errors: Sequence[float]) -> str:
        size = [abs(error) for error in errors]
        within = sum(one < math.log(1.5) for one in size) / len(size)
        figures = f"median {median(size):.3f}  mean {fmean(size):.3f}  bias {fmean(errors):+.3f}"
        return f"{name:22} {len(size):4}  {figures}  within 1.5x {within:.0%}"

    return [
        f"AUC of faster than eager {area(ranked):.3f}",
        line("ratio", [row.ratio for row in rows]),
        line("kernel", [row.kernel for row in rows]),
        line("reference, by task", [*{row.task: row.reference for row in rows}.values()]),
    ]


def main(arguments: Sequence[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--tasks", action="store_true")
    options = parser.parse_args(arguments)
    rows = [
        row for row in map(json.loads, options.rows.read_text().splitlines()) if row["correct"] and row.get("kernel_ms")
    ]
    with ProcessPoolExecutor(max_workers=2) as pool:
        found = list(pool.map(partial(priced, checkout=options.checkout), rows, chunksize=4))
    print(f"not priced: {[row for row in found if isinstance(row, str)]}")
    kept = [row for row, _ in (pair for pair in found if not isinstance(pair, str))]
    plain = [row for _, row in (pair for pair in found if not isinstance(pair, str))]
    for name, some in (
        ("tasks mended on", [row for row in kept if half_of(row.task) == 0]),
        ("other tasks", [row for row in kept if half_of(row.task) == 1]),
        ("all, as the programs stand", plain),
    ):
        print("\n".join([name, *report(some)]))
    if options.tasks:
        for row in sorted(kept, key=lambda row: -abs(row.ratio)):
            errors = f"kernel {row.kernel:+.2f}  reference {row.reference:+.2f}  ratio {row.ratio:+.2f}"
            print(f"{row.task[:60]:60}  {errors}  measured {row.speed:.2f}x")


if __name__ == "__main__":
    main(sys.argv[1:])
