"""Chains of torch calls that are there to be computed one by one: those of checks, and those that autograd has to see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from kernlint.rules.finding import Context, Doubt
from kernlint.rules.proofs.dataflow import read_tensors, storages, written_tensors
from kernlint.syntax.names import origin_of
from kernlint.syntax.testing import is_check, measures, returns_answers
from kernlint.syntax.tree import Module
from kernlint.workload import Launch, TorchOp, Workload

#: The methods and functions by which a program has autograd look at the steps around it.
_METHODS = frozenset({"backward", "requires_grad_", "retain_grad"})
_FUNCTIONS = frozenset({"torch.autograd.grad", "torch.autograd.backward"})


def kept_apart(context: Context, steps: Sequence[Launch | TorchOp]) -> Iterator[Doubt]:
    """What speaks against doing ``steps`` in one kernel, of what the functions that they stand in do with them."""
    module = context.program.kernel
    around: dict[cst.FunctionDef | cst.Module, list[Launch | TorchOp]] = {}
    for step in steps:
        if step.span.file == module.path:
            around.setdefault(_around(module, step.span.line), []).append(step)
    for scope, within in around.items():
        name = f"`{scope.name.value}`" if isinstance(scope, cst.FunctionDef) else "the script"
        if any(isinstance(step, TorchOp) for step in within) and is_check(scope, module):
            yield Doubt(f"{name} checks results: nobody waits for its speed, and a reference is best computed plainly")
        if isinstance(scope, cst.FunctionDef) and measures(scope, module) and returns_answers(scope, module):
            yield Doubt(f"{name} measures: what it compares is kept apart, and nobody waits for it")
        lines = [step.span.line for step in within]
        for call, what in _graph_calls(module, scope):
            line = module.span(call).line
            if min(lines) <= line < max(lines):
                yield Doubt(f"`{what}` (line {line}) stands between them: autograd needs the values there")
                break


def makes_inputs(workload: Workload) -> frozenset[int]:
    """The identities of the torch calls that only make what a program without tensors for arguments, a test say, works on: random
    numbers, and copies of these that are made before anything computes with them."""
    if workload.inputs:
        return frozenset()
    found: set[int] = set()
    drawn: set[int] = set()
    for step in workload.all_steps:
        reads, writes = storages(read_tensors(step)), storages(written_tensors(step))
        if isinstance(step, TorchOp) and (step.kind == "random" or (step.kind == "copy" and reads and reads <= drawn)):
            found.add(id(step))
            drawn |= writes
        else:
            drawn -= writes
    return frozenset(found)


def _around(module: Module, line: int) -> cst.FunctionDef | cst.Module:
    """The innermost function that ``line`` is part of; the module where it is in none."""
    found: cst.FunctionDef | cst.Module = module.tree
    for function in module.of(cst.FunctionDef):
        span = module.span(function)
        if span.line <= line <= span.end_line:
            found = function
    return found


def _graph_calls(module: Module, scope: cst.FunctionDef | cst.Module) -> Iterator[tuple[cst.Call, str]]:
    """The calls in ``scope`` that make leaves of autograd's graph, or have it go back through that, each with what it calls."""
    for call in module.own(scope, cst.Call):
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        origin = origin_of(call, module.imports) or ""
        if origin in _FUNCTIONS or method in _METHODS:
            yield call, origin if origin in _FUNCTIONS else method
        for arg in call.args:
            if arg.keyword is not None and arg.keyword.value == "requires_grad" and module.code(arg.value) == "True":
                yield call, "requires_grad=True"
