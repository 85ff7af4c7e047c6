"""A kernel as one launch runs it: :func:`read_kernel` evaluates the body once for given arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import libcst as cst

from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.jit_source import annotated_integers
from kernlint.interpret.python.control import Break, Continue, OutOfBudget, Raised, Return
from kernlint.interpret.trace import Values
from kernlint.interpret.triton.evaluator import KernelEvaluator
from kernlint.interpret.triton.presumed import presumed, stands_alone
from kernlint.interpret.triton.recorder import Recorder
from kernlint.interpret.triton.values import Block, Descriptor
from kernlint.interpret.values import Function, Jit, OpenFloat, Scope, Unknown
from kernlint.records import replace
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import Compute, Dtype, Expr, Kernel, Loop, Span, Symbol, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.access import Access
from kernlint.workload.kernel import rewrite

#: Stands in for a constexpr that the source does not fix, of which the kernel wants a number.
ASSUMED_CONSTEXPR = 64


def read_kernel(
    jit: Jit,
    arguments: Mapping[str, Any],
    constexprs: Mapping[str, Any],
    grid: tuple[ex.Size, ...],
    edits: Edits = NO_EDITS,
    seen: Values | None = None,
) -> Kernel:
    """The kernel as each program runs it when launched with these arguments and with ``edits`` made to its source.

    ``seen`` is filled with the values of its expressions, if given.

    ``arguments`` maps run-time parameters to Tensor, int, Expr, float or None; ``constexprs`` the ``tl.constexpr``
    ones to Python values. Nothing raises: what cannot be followed is noted and ``complete`` is false.
    """
    assumed, needed = [], []
    given = dict(constexprs)
    for name, value in constexprs.items():
        if isinstance(value, Unknown):
            given[name] = presumed(jit.function, name)
            if given[name] is None:
                # A tile must have some extent to be followed at all; what depends on it is told as an assumption.
                given[name] = ASSUMED_CONSTEXPR
                needed.append(name)
            assumed.append(f"{name} = {given[name]}")
    blocks = {name: argument_block(name, value) for name, value in arguments.items()}
    for name, dtype in annotated_integers(jit.function.node).items():
        if isinstance(blocks.get(name), Block) and not blocks[name].base:
            blocks[name] = replace(blocks[name], dtype=dtype)
    unknown = [n for n, value in arguments.items() if isinstance(value, Unknown) and not isinstance(value, OpenFloat)]
    evaluator = _evaluated(jit.function, {**blocks, **given}, unknown, grid, edits, seen)
    if unknown:
        # What a parameter is shows in how the kernel uses it: as a pointer, as an index, or as neither.
        pointers, indices = _uses(evaluator)
        shown: dict[str, Block] = {}
        for name in unknown:
            if name in pointers:
                shown[name] = Block(None, expr=Expr.constant(0), base=name)
            elif name in indices and blocks[name].dtype is None:
                shown[name] = replace(blocks[name], dtype=dt.INT32)
        if shown:
            evaluator = _evaluated(jit.function, {**blocks, **shown, **given}, unknown, grid, edits, seen)
    body = tuple(evaluator.stack[0])
    if evaluator.dropped_casts:
        body = rewrite(body, lambda n: None if isinstance(n, Compute) and n.span in evaluator.dropped_casts else n)
    function = jit.function
    assert isinstance(function.node, cst.FunctionDef)

    def arbitrary() -> tuple[str, ...]:
        return tuple(name for name in needed if matters(name))

    def matters(name: str) -> bool:
        """Whether the kernel does other work with another number than was taken."""
        other = {**given, name: 2 * ASSUMED_CONSTEXPR}
        return stands_alone(function, name) or read_kernel(jit, arguments, other, grid, edits).body != body

    return Kernel(
        name=function.name,
        body=body,
        span=function.module.span(function.node),
        name_span=function.module.span(function.node.name),
        file=function.module.path,
        complete=evaluator.complete,
        may_leave=evaluator.may_leave,
        counts_programs=evaluator.counts_programs,
        notes=tuple(evaluator.notes),
        assumed=tuple(assumed),
        dims=max(evaluator.dims, len(grid)),
        random=tuple(dict.fromkeys(evaluator.random)),
        read=evaluator.recorder.values,
        tell_arbitrary=arbitrary if needed else None,
        coarse=tuple(evaluator.coarse.values()),
        perhaps_pointers=_unmet(function.node, evaluator.met) | evaluator.chosen,
        faults=tuple(sorted(evaluator.faults.values(), key=lambda fault: (fault.span, fault.kind))),
    )


def _evaluated(
    function: Function,
    variables: Mapping[str, Any],
    unknown: list[str],
    grid: tuple[ex.Size, ...],
    edits: Edits,
    seen: Values | None,
) -> KernelEvaluator:
    """An evaluator that has run the body of ``function``; ``unknown`` parameters may turn out to be pointers."""
    recorder = Recorder(function.module)
    evaluator = KernelEvaluator(grid, recorder, edits)
    evaluator.seen = seen
    evaluator.maybe_pointers += unknown
    scope = Scope(function.closure, recorder.parameters(variables, function.node))
    evaluator.modules.append(function.module)
    evaluator.calls.append(function)
    assert isinstance(function.node, cst.FunctionDef)
    evaluator.handed_on = frozenset(_handed_on(function))
    try:
        evaluator.run(function.node.body.body, scope)
    except Return:
        pass
    except Raised:
        evaluator.lose_track()
    except OutOfBudget:
        evaluator.give_up("kernel too long to follow to its end")
        evaluator.lose_track()
    except (Break, Continue):
        evaluator.give_up("break outside a loop")
        evaluator.lose_track()
    evaluator.close_guards()
    evaluator.count()
    return evaluator


def _handed_on(function: Function) -> Iterator[cst.CSTNode]:
    """The names in the body of ``function`` that are what it calls another function in view with."""
    known = function.closure.vars if function.closure is not None else {}
    for call in function.module.within(function.node, cst.Call):
        if type(call.func) is cst.Name and isinstance(known.get(call.func.value), (Function, Jit)):
            yield from (arg.value for arg in call.args if type(arg.value) is cst.Name)


def _unmet(function: cst.FunctionDef, met: AbstractSet[str]) -> frozenset[str]:
    """The parameters of which ``function`` speaks in code alone that is left out, where only the names in ``met`` were asked for."""
    unmet = {param.name.value for param in parameters(function)} - met
    return frozenset(unmet & {node.value for node in walk(function.body) if type(node) is cst.Name} if unmet else ())


def _uses(evaluator: KernelEvaluator) -> tuple[set[str], set[str]]:
    """The names that the accesses of a kernel point into, and those of the symbols in offsets, masks and trip counts."""
    kernel = Kernel("", tuple(evaluator.stack[0]), _NOWHERE, _NOWHERE, "")
    pointers: set[str] = set()
    exprs: list[Expr] = [n.value for n in evaluator.random]
    for node in kernel.nodes((Access, Loop)):
        if isinstance(node, Access):
            pointers.add(node.base)
            exprs += [*node.expressions, *(n.value for n in node.narrow)]
        elif isinstance(node, Loop) and isinstance(node.trip, Expr):
            exprs.append(node.trip)
    return pointers, {atom.name for e in exprs for atom in e.atoms() if isinstance(atom, Symbol)}


_NOWHERE = Span("", 1, 1, 1, 1)


def argument_block(name: str, value: Any) -> Any:
    """What parameter ``name`` is inside the kernel."""
    if isinstance(value, Tensor):
        return Block(value.dtype, expr=Expr.constant(0), base=name)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return Block(dt.INT32 if abs(value) < 2**31 else dt.INT64, expr=Expr.constant(value))
    if isinstance(value, Expr):
        return Block(dt.INT32, expr=value)
    if isinstance(value, (float, OpenFloat)):
        return Block(dt.FLOAT32)
    if isinstance(value, (tuple, list)):
        return tuple(argument_block(f"{name}[{i}]", item) for i, item in enumerate(value))
    if isinstance(value, (Descriptor, Jit, Function, Dtype)):
        return value
    return Block(None, expr=Expr.atom(Symbol(name)))
