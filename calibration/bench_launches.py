"""The kernels of ``calibration/h100`` as the interpreter reads them: launches to price beside their measured times.

The benchmark's own modules build their cases; only the decorators of Triton are needed for that, so a stand-in serves
where Triton is not installed. Each kernel is then read from its source, as the analysis of a user's file does.
"""

from __future__ import annotations

import csv
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import libcst as cst
from micro_launches import Sample

from kernlint.cost.device import find_device
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.host.device import HostFacts
from kernlint.interpret.host.evaluator import HostEvaluator
from kernlint.interpret.values import Scope
from kernlint.syntax.tree import Module, parse_module
from kernlint.workload import Launch, Storage, Tensor
from kernlint.workload import dtype as dtypes

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "calibration" / "h100"
FACTS = ROOT / "calibration" / "facts"


class _Anything(ModuleType):
    """A module whose every attribute is there: annotations and defaults of kernels that are never called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{self.__name__}.{name}"


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    function.arg_names = list(inspect.signature(function).parameters)  # type: ignore[attr-defined]
    return function


def _stand_in() -> None:
    """Put a module called ``triton`` where there is none."""
    if "triton" not in sys.modules and importlib.util.find_spec("triton") is None:
        triton, language = _Anything("triton"), _Anything("triton.language")
        triton.jit = _jit  # type: ignore[attr-defined]
        triton.language = language  # type: ignore[attr-defined]
        sys.modules["triton"], sys.modules["triton.language"] = triton, language


@cache
def bench_module(name: str) -> ModuleType:
    """The benchmark module ``name``, such as ``rows``."""
    _stand_in()
    if str(BENCH) not in sys.path:
        sys.path.append(str(BENCH))
    return importlib.import_module(name)


@cache
def _source(path: str) -> Module:
    return parse_module(Path(path).read_text(encoding="utf-8"), Path(path).name)


def _tensor(buffer: Any) -> Tensor:
    dtype = dtypes.find(buffer.dtype)
    # Equal names share memory, as in the benchmark.
    storage = Storage(sum(ord(c) << (8 * (i % 7)) for i, c in enumerate(buffer.name + buffer.dtype)), "input")
    return Tensor(buffer.name, dtype, (buffer.numel,), (1,), storage)


def read(launch: Any) -> Launch:
    """The :class:`~kernlint.workload.Launch` of a launch of the benchmark."""
    kernel = launch.kernel
    function = getattr(kernel, "fn", kernel)
    module = _source(str(Path(inspect.getsourcefile(function) or "")))
    evaluator = HostEvaluator(HostFacts(), {}, {}, {}, NO_EDITS)
    scope = Scope()
    evaluator.modules.append(module)
    wanted = (cst.FunctionDef, cst.SimpleStatementLine)
    for statement in module.tree.body:
        if isinstance(statement, wanted) and not _is_cases(statement):
            evaluator.execute(statement, scope)
    values = iter(launch.args)
    given = {
        name: launch.constants[name] if name in launch.constants else next(values) for name in kernel.arg_names
    }  # fmt: skip
    given = {name: _tensor(v) if hasattr(v, "numel") else _constant(v) for name, v in given.items()}
    options = {"num_warps": launch.num_warps, "num_stages": launch.num_stages}
    jit = scope.lookup(kernel.__name__)
    with evaluator.recording() as steps:
        evaluator.launch(jit, tuple(launch.grid), [], {**given, **options}, jit.function.node)
    (made,) = steps
    assert isinstance(made, Launch)
    return made


def _constant(value: Any) -> Any:
    """A constexpr as the interpreter holds it: dtypes by name."""
    text = str(value)
    if text.startswith("triton.language."):
        return dtypes.find(text.rsplit(".", 1)[1])
    if type(value).__name__ == "dtype":  # where Triton is installed
        return dtypes.find(text.replace("fp8", "float8"))
    return value


def _is_cases(statement: cst.CSTNode) -> bool:
    """A host function of the benchmark: no kernel is read from it."""
    return isinstance(statement, cst.FunctionDef) and not statement.decorators


def bench_cases(modules: Iterable[str]) -> Iterator[Any]:
    """The micro cases of these benchmark modules."""
    for name in modules:
        yield from (case for case in bench_module(name).cases() if case.table == "micro")


#: Benchmark modules and result files of the micro-benchmarks that need no model of dots.
PROGRAM_FILES = {
    "h100-micro-2.csv": ("rows", "columns", "elementwise", "fma", "matvec"),
    "h100-spilling.csv": ("spilling",),
    "h200-lanes.csv": ("lanes",),
    "h100-scatter.csv": ("scatter",),
    "h200-grids.csv": ("grids",),
    "h200-products.csv": ("products",),
    "h200-blends.csv": ("blends",),
    "h200-walks.csv": ("walks",),
    "h200-uneven.csv": ("uneven",),
    "h200-survey.csv": ("survey",),
    "h200-composites.csv": ("composites",),
}
#: Terms of these files that are fitted; of the others all are. The rest tells what the model makes of kernels that it never met.
FITTED: Mapping[str, frozenset[str]] = {
    "h200-products.csv": frozenset({"depthwise"}), "h200-blends.csv": frozenset({"sort_rows"}), "h200-walks.csv": frozenset(),
}  # fmt: skip
#: Files of which every other row is fitted: the rest tells how far the model is off on what it has not seen of the same classes.
HALVES = frozenset({"h200-uneven.csv", "h200-survey.csv", "h200-composites.csv"})
UNSEEN_FILES = {name: PROGRAM_FILES[name] for name in (*FITTED, *sorted(HALVES))}
#: Chains of one operation and formulas, which ``calibration/fit_arithmetic.py`` reads.
ARITHMETIC_FILES = {"h100-arithmetic.csv": ("arithmetic",)}
#: Products that Triton turns into a ``tl.dot`` of its own.
_DOTS = frozenset({"broadcast_product", "implicit_gemm_conv"})
#: Orders of loaded indices in which neighbours meet in memory.
ORDERED = ("sorted", "near", "few")
_SIZES = ("n", "rows", "cols", "steps", "table", "M", "N", "K", "B", "C", "H", "programs", "count", "megabytes")


def bench_samples(
    step: int = 1,
    files: Mapping[str, tuple[str, ...]] = PROGRAM_FILES,
    fitted: bool = True,
    ordered: bool | None = None,
) -> Iterator[Sample]:
    """Measured cases of one launch without a dot: all, or every ``step``-th of a file; those that are fitted, or the others;
    those whose indices are in order, or the others, where it is said which."""
    for file, modules in files.items():
        if not (FACTS / file).exists():
            continue
        us, device = measured(file), card_of(file)
        for place, case in enumerate(itertools.islice(bench_cases(modules), 0, None, step)):
            if case.key not in us or len(case.launches) > 1 or case.term in _DOTS:
                continue
            seen = place % 2 == 0 if file in HALVES else case.term in FITTED.get(file, {case.term})
            if seen != fitted:
                continue
            if case.term != "chain_gemm_elementwise":
                size = ";".join(f"{name}={case.params[name]}" for name in _SIZES if name in case.params)
                name, in_order = case.key.replace(",", " "), case.params.get("order") in ORDERED
                if ordered is not None and in_order != ordered:
                    continue
                launch = read(case.launches[0])
                if not launch.kernel.dots():
                    yield Sample(case.term, name, launch, us[case.key], size, device, in_order)


def card_of(file: str) -> str:
    """The device that the rows of a file were measured on, all on one."""
    with (FACTS / file).open(encoding="utf-8", newline="") as rows:
        return find_device(next(csv.DictReader(rows))["device"]).id


def measured(file: str) -> dict[str, float]:
    """Microseconds of a warm graph replay by ``term,params``."""
    with (FACTS / file).open(encoding="utf-8", newline="") as rows:
        return {f"{row['term']},{row['params']}": float(row["gpu_us"]) for row in csv.DictReader(rows)}
