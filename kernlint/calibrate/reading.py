"""Kernels of a module of our own as the analysis reads them, launched on given arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import libcst as cst

from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.host.device import HostFacts
from kernlint.interpret.host.evaluator import HostEvaluator
from kernlint.interpret.values import Scope
from kernlint.syntax.tree import Module, parse_module
from kernlint.workload import Launch


@lru_cache(maxsize=32)
def _module(path: str) -> Module:
    return parse_module(Path(path).read_text(encoding="utf-8"), Path(path).name)


def read_launch(
    path: str, kernel: str, given: Mapping[str, Any], grid: Sequence[int], num_warps: int, num_stages: int
) -> Launch:
    """The :class:`~kernlint.workload.Launch` of ``kernel`` of the file ``path``; ``given`` are its arguments by name, as the interpreter
    holds them (tensors, numbers, dtypes)."""
    module = _module(path)
    evaluator = HostEvaluator(HostFacts(), {}, {}, {}, NO_EDITS)
    scope = Scope()
    evaluator.modules.append(module)
    for statement in module.tree.body:
        if isinstance(statement, cst.SimpleStatementLine) or _is_kernel(statement):
            evaluator.execute(statement, scope)
    options = {"num_warps": num_warps, "num_stages": num_stages}
    function: Any = scope.lookup(kernel)
    with evaluator.recording() as steps:
        evaluator.launch(function, tuple(grid), [], {**given, **options}, function.function.node)
    (made,) = steps
    assert isinstance(made, Launch)
    return made


def _is_kernel(statement: cst.CSTNode) -> bool:
    """Host functions are left out: no kernel is read from them."""
    return isinstance(statement, cst.FunctionDef) and bool(statement.decorators)
