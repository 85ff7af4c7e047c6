"""Functions about programs and indices, and hints to the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, takes
from kernlint.interpret.triton.language.arguments import integer, size_of
from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Expr, ProgramId
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Lane

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


@takes("axis")
def _program_id(k: KernelEvaluator, node: cst.CSTNode, axis: Any) -> Any:
    axis = integer(axis) or 0
    k.dims = max(k.dims, axis + 1)
    if axis < len(k.grid) and k.grid[axis] == 1:
        return Block(dt.INT32, expr=Expr.constant(0))
    return Block(dt.INT32, expr=Expr.atom(ProgramId(axis)))


@takes("axis")
def _num_programs(k: KernelEvaluator, node: cst.CSTNode, axis: Any) -> Any:
    axis = integer(axis) or 0
    k.counts_programs = True
    extent = k.grid[axis] if axis < len(k.grid) else 1
    return Block(dt.INT32, expr=ex.lift(extent))


@takes("x", "div")
def _cdiv(k: KernelEvaluator, node: cst.CSTNode, x: Any, div: Any) -> Any:
    a, b = size_of(x), size_of(div)
    if a is None or b is None:
        return Block(dt.INT32, expr=k.unknown_index())
    value = ex.ceildiv(a, b)
    return Block(dt.INT32, expr=ex.lift(value)) if isinstance(x, Block) or isinstance(div, Block) else value


@takes("n")
def _next_power_of_2(k: KernelEvaluator, node: cst.CSTNode, n: Any) -> Any:
    number = integer(n)
    return 1 << max(0, number - 1).bit_length() if number is not None else Unknown("next_power_of_2")


@takes("i", "j", "size_i", "size_j", "size_g")
def _swizzle2d(k: KernelEvaluator, node: cst.CSTNode, *given: Any) -> Any:
    """``tl.swizzle2d(i, j, size_i, size_j, size_g)``: column-major order inside groups of ``size_g`` rows."""
    i, j, size_i, size_j, size_g = (size_of(a) for a in given)
    if i is None or j is None or size_i is None or size_j is None or size_g is None:
        unknown = Block(dt.INT32, expr=k.unknown_index())
        return (unknown, unknown)
    flat = ex.lift(i) * size_j + j
    per_group = ex.lift(size_g) * size_j
    group = ex.floordiv(flat, per_group)
    first = ex.lift(group) * size_g
    rows = ex.minimum(ex.lift(size_i) - first, size_g)
    inside = ex.mod(flat, per_group)
    new_i = first + ex.mod(inside, rows)
    return (Block(dt.INT32, expr=ex.lift(new_i)), Block(dt.INT32, expr=ex.lift(ex.floordiv(inside, rows))))


@takes("input")
def _hint(k: KernelEvaluator, node: cst.CSTNode, value: Any) -> Any:
    return value


@takes("input", "values")
def _max_contiguous(k: KernelEvaluator, node: cst.CSTNode, value: Any, claimed: Any) -> Any:
    """``tl.max_contiguous(x, n)``: a clamped index, of which the compiler would not see it, goes in steps of one for ``n`` elements."""
    run = integer(claimed[0] if isinstance(claimed, (tuple, list)) and claimed else claimed)
    if not isinstance(value, Block) or value.expr is None or run is None:
        return value

    def told(atom: ex.Atom) -> Expr | None:
        clamped = isinstance(atom, ex.Opaque) and atom.op == "unknown" and len(atom.args) == 1
        return ex.opaque("unknown", atom.args[0], run, key=atom.key) if clamped else None  # type: ignore[union-attr]

    return replace(value, expr=value.expr.rewrite(told))


@takes("cond")
def _assume(k: KernelEvaluator, node: cst.CSTNode, value: Any) -> Any:
    """``tl.assume(condition)``: a fault where the first program of the grid breaks it."""
    for left, right in (isinstance(value, Block) and value.bounds) or ():
        slack = ex.concrete(ex.simplify(_at_programs(left, 0) - _at_programs(right, 0)))
        if slack is not None and slack >= 0:
            k.fault("false-assumption", node, "the condition does not hold for the program with index 0")
    return None


@takes("input", "values")
def _multiple_of(k: KernelEvaluator, node: cst.CSTNode, value: Any, claimed: Any) -> Any:
    """``tl.multiple_of(x, n)``: a fault where the second program of the grid breaks it, an uncertain one where a size that
    is open decides."""
    factor = integer(claimed[0] if isinstance(claimed, (tuple, list)) and claimed else claimed)
    if isinstance(value, Block) and value.expr is not None and not value.base and factor is not None and factor > 1:
        first = value.expr.rewrite(lambda atom: 0 if isinstance(atom, (Lane, ex.LoopIndex)) else None)
        here = ex.concrete(ex.simplify(_at_programs(first, 1)))
        if here is not None and here % factor and all((ex.concrete(extent) or 0) > 1 for extent in k.grid):
            text = f"the value is {here} for the program with index 1, no multiple of {factor}"
            k.fault("false-multiple", node, text)
        elif any(coefficient % factor for coefficient in _open_terms(first)):
            k.fault("false-multiple", node, f"nothing here makes the value a multiple of {factor}", certain=False)
    return value


def _at_programs(value: Expr, index: int) -> Expr:
    """``value`` for the program whose index is ``index`` along every axis."""
    return value.rewrite(lambda atom: index if isinstance(atom, ProgramId) else None)


def _open_terms(value: Expr) -> list[int]:
    """The coefficients of the terms of ``value`` that hold a size which the source does not fix."""
    return [
        coefficient
        for term, coefficient in value.terms.items()
        if any(isinstance(atom, ex.Symbol) for atom in term) and not any(isinstance(a, ex.Opaque) for a in term)
    ]


def _nothing(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return None


def _barrier(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    k.barriers += 1
    return None


TABLE: dict[str, Handler] = {
    "program_id": _program_id,
    "num_programs": _num_programs,
    "cdiv": _cdiv,
    "next_power_of_2": _next_power_of_2,
    "swizzle2d": _swizzle2d,
    "multiple_of": _multiple_of,
    "max_contiguous": _max_contiguous,
    "max_constancy": _hint,
    "assume": _assume,
    **dict.fromkeys(("static_assert", "static_print", "device_print", "device_assert"), _nothing),
    "debug_barrier": _barrier,
    "constexpr": _hint,
}
