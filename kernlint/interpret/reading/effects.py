"""Whether a call is part of what a program is there for, or tests, measures and warms up."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import libcst as cst

from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.workload import Atomic, Launch, Step, Store, Tensor, TorchOp, Workload
from kernlint.workload.kernel import Access

#: Functions that give the result of a test, or end one.
_ANSWERS = frozenset("bool isinstance hasattr all any allclose equal is_available skip xfail fail".split())


def has_effect(node: cst.FunctionDef, workload: Workload, module: Module, escapes: bool) -> bool:
    """Whether the call may be part of what a program is there for. One that returns no tensor is not where it works on
    data that it makes up, or where nobody sees what it computes: it keeps no tensor, writes to none that it was given and
    hands none to code that is not followed. Nor is one that is given no tensor, draws its own at random or writes them
    out, and has other functions work on them, whatever it returns. Such a call tests, measures or warms up."""
    steps = [step for step, _ in workload.first_call().walk()]
    given = {tensor.storage.id for tensor in workload.inputs}
    made_up = not any(_touches(step, given) for step in steps)
    if not _returns_answers(node, module):
        own = made_up and any(_draws(step) for step in steps)
        return not own or any(isinstance(step, Launch) and step.function == workload.entry for step in steps)
    return not made_up and (escapes or any(_writes_to_others(step) for step in steps))


def is_test(node: cst.FunctionDef, module: Module) -> bool:
    """Whether pytest calls the function: by its name, as it collects tests, in a module that imports pytest or is named as
    one of tests. What such a call waits for is what the test asserts."""
    named = PurePath(module.path).stem
    collected = named.startswith("test_") or named.endswith("_test")
    collected = collected or any(path.partition(".")[0] == "pytest" for path in module.imports.values())
    return collected and node.name.value.startswith("test") and _returns_answers(node, module)


def _returns_answers(node: cst.FunctionDef, module: Module) -> bool:
    """Whether a function of ``module`` returns nothing but None, constants and the results of tests."""
    returned = module.own(node.body, cst.Return)
    return all(_is_answer(part.value) for part in returned) and not module.own(node.body, cst.Yield)


def _is_answer(value: cst.BaseExpression | None) -> bool:
    if value is None or isinstance(value, (cst.Comparison, cst.SimpleString, cst.Integer, cst.Float)):
        return True
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.operator, cst.Not)
    if isinstance(value, cst.BooleanOperation):
        return _is_answer(value.left) and _is_answer(value.right)
    if isinstance(value, cst.Call):
        name = (dotted_name(value.func) or "").rpartition(".")[2]
        return name in _ANSWERS
    return isinstance(value, cst.Name) and value.value in ("None", "True", "False")


def _draws(step: Step) -> bool:
    """Whether ``step`` draws a tensor at random, or works on one that the program writes out."""
    if isinstance(step, TorchOp):
        return step.kind == "random" or any(t.storage.origin == "constant" for t in step.reads)
    given = step.arguments.values() if isinstance(step, Launch) else ()
    return any(isinstance(t, Tensor) and t.storage.origin == "constant" for t in given)


def _touches(step: Step, storages: set[int]) -> bool:
    """Whether ``step`` reads or writes one of ``storages``, or perhaps does."""
    if isinstance(step, TorchOp):
        return any(t.storage.id in storages for t in (*step.reads, *step.writes))
    if isinstance(step, Launch):
        accessed = [step.arguments.get(a.base) for a, _ in step.kernel.walk(Access)]  # type: ignore[union-attr]
        unseen = any(not isinstance(t, Tensor) or t.storage.id in storages for t in accessed)
        return unseen or not step.kernel.complete
    return False


def _writes_to_others(step: Step) -> bool:
    """Whether ``step`` writes to a tensor that the call was given, or perhaps does."""
    if isinstance(step, TorchOp):
        written: list[Any] = [] if step.kind == "alloc" else list(step.writes)
    elif isinstance(step, Launch) and step.kernel.complete:
        written = [step.arguments.get(a.base) for a, _ in step.kernel.walk((Store, Atomic))]  # type: ignore[union-attr]
    else:
        return isinstance(step, Launch)
    # What the call makes itself knows where that happened.
    return any(not isinstance(t, Tensor) or t.storage.span is None for t in written)
