"""Predicted against published times of the Triton programs in TritonBench-G, on a card that kernlint never measured.

    python benchmarks/a100_rows.py CHECKOUT [--rows odd|even|all] [--worst N]

CHECKOUT is a working tree of ``thunlp/TritonBench``. Its times are of an A100-80GB by inference, taken with ``do_bench``: the L2 holds
none of the operands. Counted are rows of at least 50 us whose arguments the benchmark's script states as tensors, and whose call is one
launch without other work on the GPU. Odd and even are the places of the rows in the published files, whatever kernlint makes of them:
odd ones are for mending, even ones for quoting.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import statistics
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernlint.cost.device import Device, find_device
from kernlint.cost.estimate import Estimator, StepTime
from kernlint.errors import KernlintError
from kernlint.interpret.assume import parse_fact
from kernlint.interpret.program import Program, Question
from kernlint.interpret.question import host_facts, target_for
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch, Repeat, Tensor, TorchOp, Workload
from kernlint.workload.dtype import FLOAT32

DEVICE = "a100-80gb-sxm"
LEAST_US = 50.0
#: What ``do_bench`` writes between two calls.
FLUSHED_BYTES = 256 << 20
_DEFAULTS = {
    "rand": "float32",
    "randn": "float32",
    "zeros": "float32",
    "ones": "float32",
    "empty": "float32",
    "randint": "int64",
}
_CASTS = {"half": "float16", "float": "float32", "bfloat16": "bfloat16", "int": "int32", "long": "int64"}


@dataclass(frozen=True)
class Row:
    """A published row that can be compared: ``place`` among all rows of at least ``LEAST_US``, the time, and what was priced."""

    name: str
    place: int
    us: float
    workload: Workload


@dataclass(frozen=True)
class Script:
    """What a benchmark's script states: the names of the tensors of one row, with their types, and the call."""

    types: tuple[str | None, ...]
    argument: str
    body: tuple[ast.stmt, ...]
    aliases: tuple[tuple[str, str], ...]

    @staticmethod
    def read(text: str) -> Script | None:
        """None where the script is made otherwise."""
        tree = ast.parse(text)
        functions = {
            one.name: one
            for c in tree.body
            if isinstance(c, ast.ClassDef)
            for one in c.body
            if isinstance(one, ast.FunctionDef)
        }
        call, make = functions.get("call_op"), functions.get("get_input_tensors")
        if call is None or make is None or any("self." in ast.unparse(one) for one in call.body):
            return None
        types: dict[str, str | None] = {}
        for node in ast.walk(make):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                types[node.targets[0].id] = _type(node.value, types)
        kept = [
            node.args[0]
            for node in ast.walk(make)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "self.input_tensors.append"
        ]
        if not kept:
            return None
        items = kept[0].elts if isinstance(kept[0], ast.Tuple) else [kept[0]]
        aliases = [
            (name.name, name.asname)
            for one in tree.body
            if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("TritonBench")
            for name in one.names
            if name.asname
        ]
        found = tuple(types.get(ast.unparse(item)) for item in items)
        return Script(found, call.args.args[1].arg, tuple(call.body), tuple(aliases))

    def entry(self) -> str:
        """The source of a function whose arguments are the tensors."""
        names = ", ".join(f"t{index}" for index in range(len(self.types)))
        value = f"({names})" if len(self.types) > 1 else names
        lines = [
            *(f"{alias} = {name}" for name, alias in self.aliases),
            "",
            f"def bench_entry({names}):",
            f"    {self.argument} = {value}",
        ]
        return (
            "\n".join(lines) + "\n" + textwrap.indent("\n".join(ast.unparse(one) for one in self.body), "    ") + "\n"
        )


def _type(value: ast.expr, known: dict[str, str | None]) -> str | None:
    """The element type of a tensor that a script makes; None where it does not state it."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    name, on = value.func.attr, value.func.value
    for keyword in value.keywords:
        if keyword.arg == "dtype":
            return ast.unparse(keyword.value)[6:] if ast.unparse(keyword.value).startswith("torch.") else None
    if not (isinstance(on, ast.Name) and on.id == "torch"):
        cast = _CASTS.get(name)
        given = [ast.unparse(one) for one in value.args]
        if name == "to" and given and given[0].startswith("torch."):
            cast = given[0][6:]
        return cast or _type(on, known)
    if name.endswith("_like") and value.args:
        return known.get(ast.unparse(value.args[0]))
    if name == "arange":
        return "int64"
    return _DEFAULTS.get(name)


def rows(checkout: Path, device: Device, refused: Counter[str] | None = None) -> Iterator[Row]:
    """Those of all published rows that can be compared; what keeps the others out is counted in ``refused``."""
    why = Counter[str]() if refused is None else refused
    place = 0
    for path in sorted((checkout / "performance_metrics/perf_G/golden_results").glob("*.json")):
        text = path.read_text().strip()
        published = [one for one in (json.loads(text) if text else []) if one.get("ms", 0) * 1000 >= LEAST_US]
        source = checkout / f"data/TritonBench_G_v1/{path.stem}.py"
        script = Script.read((checkout / f"performance_metrics/perf_G/golden_metrics/{path.stem}_perf.py").read_text())
        for one in published:
            place += 1
            workload = _workload(script, source, one.get("input_size"), device)
            if isinstance(workload, str):
                why[workload] += 1
            else:
                yield Row(path.stem, place, one["ms"] * 1000, workload)


def _workload(script: Script | None, source: Path, sizes: object, device: Device) -> Workload | str:
    """What the call does for tensors of these sizes, or why it is not compared."""
    if script is None or None in script.types:
        return "arguments not stated as tensors"
    shapes = [size for size in sizes if isinstance(size, list)] if isinstance(sizes, list) else []
    if not shapes and isinstance(sizes, list):
        shapes = [sizes]
    if len(shapes) != len(script.types):
        return "sizes not stated"
    facts = [f"t{i}:{kind}[{','.join(map(str, shape))}]" for i, (kind, shape) in enumerate(zip(script.types, shapes))]
    try:
        module = parse_module(source.read_text() + "\n\n" + script.entry(), f"{source.stem}.py")
        question = Question(
            "bench_entry", {}, tuple(map(parse_fact, facts)), host_facts(device), target_for(None, device)
        )
        (workload,) = Program(module, None, question).workloads()
    except KernlintError as error:
        return type(error).__name__
    steps = [step for step, _ in workload.walk()]
    busy = [step for step in steps if isinstance(step, TorchOp) and step.kind != "alloc"]
    if any(isinstance(step, Repeat) for step in steps) or sum(isinstance(step, Launch) for step in steps) != 1 or busy:
        return "not one launch"
    return workload


def priced(workload: Workload, device: Device) -> StepTime | None:
    """The launch of ``workload`` behind a fill that leaves nothing of it in the L2; None where sizes are open."""
    launch = next(step for step, _ in workload.walk() if isinstance(step, Launch))
    some = next(value for value in launch.arguments.values() if isinstance(value, Tensor))
    flushed = replace(
        some, dtype=FLOAT32, shape=(FLUSHED_BYTES // 4,), strides=(1,), storage=replace(some.storage, id=1 << 40)
    )
    fill = TorchOp("zero_", "fill", (), (flushed,), launch.span, launch.function)
    found = Estimator(device).estimate(replace(workload, steps=(fill, *workload.steps)))
    return next((step for step in found.steps if isinstance(step.step, Launch)), None)


def line(name: str, errors: Sequence[float]) -> str:
    """One line of figures; ``errors`` are ln(predicted / measured)."""
    size = [abs(error) for error in errors]
    within = [f"within {limit}x {sum(one < math.log(limit) for one in size) / len(size):4.0%}" for limit in (1.5, 2)]
    figures = (
        f"median {statistics.median(size):.3f}  mean {statistics.fmean(size):.3f}  bias {statistics.fmean(errors):+.3f}"
    )
    return f"{name:32} {len(size):4}  {'  '.join(within)}  {figures}"


def main(arguments: Sequence[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--rows", choices=("odd", "even", "all"), default="odd")
    parser.add_argument("--worst", type=int, default=0)
    options = parser.parse_args(arguments)
    device, refused = find_device(DEVICE), Counter[str]()
    errors: dict[str, list[float]] = {}
    said = []
    for row in rows(options.checkout, device, refused):
        if options.rows != "all" and (row.place % 2 == 1) != (options.rows == "odd"):
            continue
        step = priced(row.workload, device)
        if step is None:
            refused["open sizes"] += 1
            continue
        error = math.log(step.total_gpu_us / row.us)
        errors.setdefault(row.name, []).append(error)
        terms = " ".join(f"{name}={us:.0f}" for name, us in step.terms.items() if us > 0.1 * step.gpu_us)
        said.append(
            (abs(error), f"{row.us:10.1f} {step.total_gpu_us:10.1f} {row.name} {step.kind} {step.bound} {terms}")
        )
    print(f"not compared: {dict(refused)}")
    print(line(options.rows, [error for found in errors.values() for error in found]))
    if options.worst:
        for name, found in sorted(errors.items(), key=lambda one: -max(map(abs, one[1]))):
            print(line(f"  {name}", found))
        for _, text in sorted(said, reverse=True)[: options.worst]:
            print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
