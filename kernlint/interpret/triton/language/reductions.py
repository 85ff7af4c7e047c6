"""Functions that go through an axis of a tile: reductions, scans, sorts, histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.api import keywords
from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.triton import masked_lanes, numerics
from kernlint.interpret.triton.language.arguments import integer
from kernlint.interpret.triton.tiles import rename_lanes
from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Reduce, Scan
from kernlint.workload import dtype as dt
from kernlint.workload.access import Pad
from kernlint.workload.expr import Lane
from kernlint.workload.histogram import histogram_steps

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


REDUCTIONS = frozenset("sum max min argmax argmin xor_sum reduce_or prod".split())


def reduce(k: KernelEvaluator, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = args[0] if args else kwargs.get("input")
    if isinstance(value, tuple):
        return tuple(reduce(k, name, [v, *args[1:]], kwargs, node) for v in value)
    kwargs = keywords(name, args, kwargs, 2)
    value = k.lift(value)
    if value is None:
        return Unknown(name)
    axis = integer(argument(args, kwargs, 1, "axis"))
    if axis is not None and value.shape and axis < 0:
        axis += len(value.shape)
    keep = bool(kwargs.get("keep_dims", False))
    if axis is None:
        shape: tuple[int, ...] = (1,) * len(value.shape) if keep else ()
    elif axis >= len(value.shape):
        return Unknown(name)
    else:
        middle = (1,) if keep else ()
        shape = value.shape[:axis] + middle + value.shape[axis + 1 :]
    scalar = not shape or all(e == 1 for e in shape)
    indexed = kwargs.get("return_indices") is True
    k.emit(
        Reduce(
            name,
            value.shape,
            axis,
            scalar,
            value.loads,
            k.span(node),
            value.dtype,
            value.pads,
            value.nonnegative,
            name.startswith("arg") or indexed,
        )
    )
    wanted = kwargs.get("dtype")
    if wanted is None:
        _check_precision(k, name, value, axis, node)
    left = masked_lanes.reduced(name, value.pads, lambda pad: _runs_along(pad, axis))
    if axis is not None and not keep:
        left = masked_lanes.renamed(left, lambda e: rename_lanes(e, {d: d - 1 for d in range(axis + 1, 8)}))
    result = Block(
        dt.reduced(name, value.dtype, wanted, indexed),
        shape,
        loads=value.loads,
        carried=value.carried,
        pads=left,
        form=numerics.of_reduction(name, value),
        nonnegative=value.nonnegative and name in ("sum", "max", "min"),
        growth=value.growth if name == "sum" and value.growth == "grown" else "",
    )
    if indexed:
        return (result, replace(result, dtype=dt.INT32))
    return result


def _check_precision(k: KernelEvaluator, name: str, value: Block, axis: int | None, node: cst.CSTNode) -> None:
    verdict = numerics.of_sum(name, value, axis)
    if verdict.fault:
        k.fault(verdict.fault, node, verdict.text, verdict.certain)


def _runs_along(pad: Pad, axis: int | None) -> bool:
    """Whether the mask of ``pad`` depends on the lane along ``axis`` (any lane: None)."""
    atoms = {atom for pair in pad.bounds for side in pair for atom in side.atoms()}
    return any(isinstance(atom, Lane) and axis in (None, atom.dim) for atom in atoms)


@takes("input", "num_bins", operands=1)
def _histogram(k: KernelEvaluator, node: cst.CSTNode, block: Block, num_bins: Any) -> Any:
    bins = integer(num_bins) or 1
    for step in histogram_steps(block.shape, bins, k.span(node)):
        k.emit(step)
    return block.computed(shape=(bins,), dtype=dt.INT32)


def _custom_reduce(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    given = keywords("reduce", args, kwargs, 0)
    flags = {name: value for name, value in given.items() if name == "keep_dims"}
    return reduce(k, "reduce", [given["input"], given.get("axis")], flags, node)


def _scan(op: str) -> Handler:
    def handler(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        value = args[0] if args else kwargs.get("input")
        first = value[0] if isinstance(value, tuple) and value else value
        block = k.lift(first)
        if block is None:
            return Unknown(op)
        axis = integer(argument(args, kwargs, 1, "axis", default=0)) or 0
        axis %= max(1, len(block.shape))
        tensors = len(value) if isinstance(value, tuple) else 1
        k.emit(Scan(op, block.shape, axis, k.span(node), tensors))
        wanted = keywords(op, args, kwargs, 2).get("dtype")
        if wanted is None:
            _check_precision(k, op, block, axis, node)
        if isinstance(value, tuple):
            return tuple((k.lift(v) or block).computed() for v in value)
        growth = block.growth if op == "cumsum" and block.growth == "data" else ""
        result = block.computed(dtype=dt.reduced(op, block.dtype, wanted), growth=growth)
        counted = op == "cumsum" and block.shape and result.dtype is not None and result.dtype.is_integer
        return replace(result, expr=k.counted_index(axis)) if counted else result

    return handler


@takes("x", "dim", "descending", operands=1)
def _sort(k: KernelEvaluator, node: cst.CSTNode, block: Block, dim: Any = None, descending: Any = None) -> Any:
    _sorted_along(k, node, block, dim)
    return block.computed()


@takes("x", "k", "dim", "descending", operands=1)
def _topk(
    k: KernelEvaluator, node: cst.CSTNode, block: Block, most: Any, dim: Any = None, descending: Any = None
) -> Any:
    axis, kept = _sorted_along(k, node, block, dim), integer(most)
    return block.computed(shape=tuple(kept or n if place == axis else n for place, n in enumerate(block.shape)))


def _sorted_along(k: KernelEvaluator, node: cst.CSTNode, block: Block, dim: Any) -> int:
    """The axis of ``block`` that is sorted, the last one unless ``dim`` says otherwise."""
    rank, given = max(1, len(block.shape)), integer(dim)
    axis = (rank - 1 if given is None else given) % rank
    k.emit(Scan("sort", block.shape, axis, k.span(node), 1))
    return axis


TABLE: dict[str, Handler] = {
    **{name: _scan(name) for name in ("cumsum", "cumprod", "associative_scan")},
    "sort": _sort,
    "topk": _topk,
    "reduce": _custom_reduce,
    "histogram": _histogram,
}
