"""Indexing: views where the index is plain, a gather where it is a tensor; and the functions that pick or place elements by index."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.torch.arguments import note_read_sizes, tensors_in
from kernlint.interpret.torch.shapes import Shape, axis_in, broadcast, diagonal, with_extents
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Expr, Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState


#: Views of one tensor that are told apart.
MAX_VIEWS = 1024


def index(h: HostState, x: Tensor, key: Any, node: cst.CSTNode) -> Any:
    """``x[key]``: basic indexing is a view, a tensor index gathers."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(p, (Tensor, list)) for p in parts):
        return _gathered(h, x, parts, node)
    note_read_sizes(h, x, [part for part in parts if isinstance(part, slice)])
    if x.shape is None:
        return replace(x, shape=None, strides=None, name=x.name)
    rank = len(x.shape)
    if ... in parts:
        at = parts.index(...)
        missing = rank - sum(p is not None and p is not ... for p in parts)
        parts[at : at + 1] = [slice(None)] * max(0, missing)
    shape: list[Size] = []
    strides: list[Size | None] = []
    offset: Size = x.offset
    dim = 0
    for part in parts:
        if part is None:
            shape.append(1)
            strides.append(1)
            continue
        if dim >= rank:
            return Unknown("too many indices")
        size, stride = x.shape[dim], x.strides[dim] if x.strides is not None else None
        if isinstance(part, slice):
            start, stop, step = part.start, part.stop, part.step
            if start is None and stop is None and step in (None, 1):
                shape.append(size)
                strides.append(stride)
            else:
                begin, length = _sliced(size, start, stop, step)
                shape.append(length if length is not None else ex.opaque("unknown", key=id(node)))
                factor = step if isinstance(step, int) else 1
                strides.append(ex.simplify(ex.lift(stride) * factor) if stride is not None else None)
                if begin is not None and stride is not None:
                    offset = ex.simplify(ex.lift(offset) + ex.lift(begin) * stride)
        elif isinstance(part, (int, Expr)):
            if (-1 - ex.lift(part)).is_natural:
                part = ex.simplify(ex.lift(size) + part)
            if stride is not None:
                offset = ex.simplify(ex.lift(offset) + ex.lift(part) * stride)
        else:
            return replace(x, shape=None, strides=None)
        dim += 1
    shape += list(x.shape[dim:])
    strides += list(x.strides[dim:]) if x.strides is not None else [None] * (rank - dim)
    known = None if any(s is None for s in strides) else tuple(s for s in strides if s is not None)
    return replace(x, shape=tuple(shape), strides=known, offset=offset)


def _sliced(size: Size, start: Any, stop: Any, step: Any) -> tuple[Size | None, Size | None]:
    """First index and length of ``[start:stop:step]`` along an axis of ``size``."""
    parts = (start, stop, step)
    if isinstance(size, int) and all(p is None or isinstance(p, int) for p in parts):
        first, last, stride = slice(start, stop, step).indices(size)
        return first, len(range(first, last, stride))
    if not all(p is None or isinstance(p, (int, Expr)) for p in parts):
        return None, None
    begin: Size = start if start is not None else 0
    if isinstance(begin, int) and begin < 0:
        begin = ex.simplify(ex.lift(size) + begin)
    end: Size = stop if stop is not None else size
    if isinstance(end, int) and end < 0:
        end = ex.simplify(ex.lift(size) + end)
    length = ex.simplify(ex.lift(end) - begin)
    return begin, length if step in (None, 1) else ex.ceildiv(length, step)


def _gathered(h: HostState, x: Tensor, parts: list[Any], node: cst.CSTNode) -> Any:
    indices = tensors_in(parts)
    shape: Shape | None = None
    lists = [p for p in parts if isinstance(p, list)]
    boolean = any(t.dtype == dt.BOOL for t in indices)
    if (
        x.shape is not None
        and len(parts) <= len(x.shape)
        and all(isinstance(p, (Tensor, list)) or p == slice(None) for p in parts)
        and all(type(element) in (int, Expr) for p in lists for element in p)
    ):
        common: Shape | None = ()
        for extents in (*(t.shape for t in indices), *((len(p),) for p in lists)):
            common = broadcast(common, extents)
        if common is not None and not boolean:
            places = [i for i, p in enumerate(parts) if isinstance(p, (Tensor, list))]
            together = places == list(range(places[0], places[-1] + 1))
            kept = [n for i, n in enumerate(x.shape) if i not in places]
            first = places[0] if together else 0
            shape = (*kept[:first], *common, *kept[first:])
    if boolean:
        h.sync("boolean-mask indexing waits for the number of true elements", node, x)
    result = h.allocate(x.dtype, shape, "result", node)
    count = len(indices)
    leading = not lists and not boolean and all(part is index for part, index in zip(parts, indices))
    dims = run_of(x, count) if leading and (count == 1 or count < len(x.shape or ())) else {}
    with h.inside("index", [x, tuple(parts)], {}):
        h.torch_op("index", "gather", (x, *indices), (result,), node, dims=dims)
    return result


def assign(h: HostState, x: Tensor, key: Any, value: Any, node: cst.CSTNode) -> None:
    """``x[key] = value``."""
    if isinstance(key, Tensor) and key.dtype == dt.BOOL and key.shape == x.shape and isinstance(value, (int, float)):
        # Which needs no places, and so waits for none.
        with h.inside("masked_fill_", [x, key, value], {}):
            h.torch_op("masked_fill_", "elementwise", (x, key), (x,), node, x.numel)
        return
    with h.silent():  # what is written is not read before
        target = index(h, x, key, node)
    if not isinstance(target, Tensor):
        return
    if isinstance(value, Unknown):
        h.unknown(f"line {h.span(node).line}: what `{h.code(node)}` is set to")
    reads = (value,) if isinstance(value, Tensor) else ()
    is_view = target.storage.id == x.storage.id
    places = () if is_view else tensors_in([key])
    with h.inside(*(("setitem", [target, value]) if is_view else ("index_put", [x, key, value])), {}):
        h.torch_op("setitem", "copy" if reads else "fill", (*reads, *places), (target,), node)
    if not is_view:
        h.overwritten((x,))


@takes("input", "indices", "values", "accumulate", operands=1)
def _put(h: HostState, node: cst.CSTNode, x: Tensor, places: Any, values: Any, adds: Any) -> Tensor:
    if adds:
        h.torch_op("index_put_", "gather", tensors_in([places, values]), (x,), node)
    else:
        assign(h, x, tuple(places), values, node)
    return x


def run_of(x: Tensor, axes: int = 1) -> dict[str, int]:
    """The ``dims`` of a gather along the first ``axes`` of ``x``: ``run``, the elements that one index of each picks, side by side."""
    extents = [ex.concrete(size) for size in x.shape[axes:]] if x.shape and x.is_contiguous else [None]
    known = [extent for extent in extents if extent is not None]
    return {"run": math.prod(known)} if len(known) == len(extents) else {}


@takes("input", "dim", "index", operands=1)
def _select(h: HostState, node: cst.CSTNode, x: Tensor, dim: Any, at: Any) -> Any:
    axis = axis_in(x, dim)
    return Unknown("select") if axis is None else index(h, x, _along(axis, at), node)


@takes("input", "dim", "start", "length", operands=1)
def _narrow(h: HostState, node: cst.CSTNode, x: Tensor, dim: Any, start: Any, length: Any) -> Any:
    axis = axis_in(x, dim)
    if axis is None or not isinstance(start, (int, Expr)) or not isinstance(length, (int, Expr)):
        return Unknown("narrow")
    return index(h, x, _along(axis, slice(start, ex.simplify(ex.lift(start) + length))), node)


def _along(axis: int, key: Any) -> tuple[Any, ...]:
    """The index that picks ``key`` along ``axis`` and all of the axes before it."""
    return (*[slice(None)] * axis, key)


@takes("input", "chunks", "dim", dim=0, operands=1)
def _chunk(h: HostState, node: cst.CSTNode, x: Tensor, count: Any, dim: Any) -> Any:
    axis = axis_in(x, dim)
    if axis is None or x.shape is None or not isinstance(count, int) or not 0 < count <= 64:
        return Unknown("chunk")
    bounds = [ex.simplify(ex.lift(ex.ceildiv(x.shape[axis], count)) * i) for i in range(count + 1)]
    return tuple(index(h, x, _along(axis, slice(*ends)), node) for ends in pairwise(bounds))


@takes("input", "split_size_or_sections|split_size", "dim", dim=0, operands=1)
def _split(h: HostState, node: cst.CSTNode, x: Tensor, sizes: Any, dim: Any) -> Any:
    axis = axis_in(x, dim)
    total = x.shape[axis] if axis is not None and x.shape is not None else None
    if isinstance(sizes, int) and sizes > 0 and isinstance(total, int) and total // sizes <= 64:
        sizes = [min(sizes, total - s) for s in range(0, total, sizes)]
    if axis is None or not isinstance(sizes, (list, tuple)) or not all(isinstance(s, (int, Expr)) for s in sizes):
        return Unknown("split")
    ends = accumulate((0, *sizes), lambda start, size: ex.simplify(ex.lift(start) + size))
    return tuple(index(h, x, _along(axis, slice(*part)), node) for part in pairwise(ends))


@takes("input", "dim", dim=0, operands=1)
def _unbind(h: HostState, node: cst.CSTNode, x: Tensor, dim: Any) -> Any:
    axis = axis_in(x, dim)
    count = x.shape[axis] if axis is not None and x.shape is not None else None
    if axis is None or not isinstance(count, int) or count > MAX_VIEWS:
        return Unknown("unbind")
    return tuple(index(h, x, _along(axis, i), node) for i in range(count))


@takes("input", "weight", operands=2)
def _embedding(h: HostState, node: cst.CSTNode, ids: Tensor, table: Tensor) -> Any:
    shape = (*ids.shape, table.shape[-1]) if ids.shape is not None and table.shape else None
    return h.result_of("embedding", "gather", (ids, table), table.dtype, shape, node)


@takes("input", "weight", "offsets", operands=2, options=True)
def _embedding_bag(h: HostState, node: cst.CSTNode, ids: Tensor, table: Tensor, offsets: Any, options: Kwargs) -> Any:
    bags = (offsets if isinstance(offsets, Tensor) else ids).shape
    shape = (bags[0], table.shape[-1]) if bags and table.shape and not options.get("include_last_offset") else None
    each = ex.concrete(ids.numel), ex.concrete(bags[0]) if bags else None
    dims = {"each": max(1, each[0] // each[1])} if each[0] and each[1] else {}
    return h.result_of(
        "embedding_bag", "gather", tensors_in([ids, table, offsets]), table.dtype, shape, node, dims=dims
    )


def _place_among(name: str, first: str, second: str) -> Handler:
    @takes(first, second, options=True)
    def handler(h: HostState, node: cst.CSTNode, one: Any, other: Any, options: Kwargs) -> Any:
        x = other if name == "searchsorted" else one
        if not isinstance(x, Tensor):
            return Unknown(name)
        dtype = dt.INT32 if options.get("out_int32") is True else dt.INT64
        return h.result_of(name, "gather", tensors_in([one, other]), dtype, x.shape, node)

    return handler


@takes("input", "n", "dim", n=1, dim=-1, options=True)
def _differences(h: HostState, node: cst.CSTNode, x: Any, times: Any, dim: Any, options: Kwargs) -> Any:
    axis = axis_in(x, dim) if isinstance(x, Tensor) else None
    shape = None
    if axis is not None and x.shape is not None and times == 1 and not {"prepend", "append"} & options.keys():
        shape = with_extents(x.shape, axis, ex.simplify(ex.lift(x.shape[axis]) - 1))
    return h.result_of("diff", "elementwise", tensors_in([x]), x.dtype if isinstance(x, Tensor) else None, shape, node)


def _gather(name: str) -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        tensors = tensors_in(args) + tensors_in(kwargs.values())
        if len(tensors) < 2:
            return Unknown(name)
        x, ids = tensors[0], tensors[1]
        shape = ids.shape
        dim = argument(args, kwargs, 1, "dim")
        dims: dict[str, int] = {}
        if name == "index_select" and x.shape is not None and ids.shape is not None:
            axis = axis_in(x, dim)
            shape = with_extents(x.shape, axis, ids.shape[0]) if axis is not None else None
            dims = run_of(x) if axis == 0 else {}
        elif name == "take_along_dim" and x.shape is not None and ids.shape is not None:
            axis = axis_in(x, argument(args, kwargs, 2, "dim"))
            shape = broadcast(with_extents(x.shape, axis, 1), ids.shape) if axis is not None else None
        elif name.startswith(("scatter", "index_")):
            shape = x.shape
        return h.result_of(name, "gather", tensors, x.dtype, shape, node, dims=dims)

    return handler


@takes("tensor|input", "num_classes", num_classes=-1, operands=1)
def _one_hot(h: HostState, node: cst.CSTNode, ids: Tensor, classes: Any) -> Any:
    told = isinstance(classes, (int, Expr)) and classes != -1
    shape = (*ids.shape, classes) if ids.shape is not None and told else None
    result = h.result_of("one_hot", "gather", (ids,), dt.INT64, shape, node)
    if not told:
        h.sync("one_hot waits for the largest class", node, ids)
    return result


@takes("input", "diagonal", diagonal=0, operands=1)
def _diagonal(h: HostState, node: cst.CSTNode, x: Tensor, offset: Any) -> Any:
    """``torch.diag`` of a vector, zeros with it along a diagonal, or of a matrix, a copy of its diagonal."""
    if x.shape is None or len(x.shape) not in (1, 2) or type(offset) is not int:
        return Unknown("diag")
    if len(x.shape) == 2:
        view = diagonal(x, offset, 0, 1)
        return h.result_of("diag", "gather", (x,), x.dtype, None if view is None else view.shape, node)
    side = ex.simplify(ex.lift(x.shape[0]) + abs(offset))
    return h.result_of("diag", "fill", (x,), x.dtype, (side, side), node)


@takes("input", "offset", "dim1", "dim2", offset=0, dim1=-2, dim2=-1, operands=1)
def _along_diagonal(h: HostState, node: cst.CSTNode, x: Tensor, offset: Any, first: Any, second: Any) -> Any:
    """``diag_embed``: zeros, with the last axis of ``x`` along a diagonal of two."""
    shape = None
    if x.shape and isinstance(offset, int) and (first, second) == (-2, -1):
        side = ex.simplify(ex.lift(x.shape[-1]) + abs(offset))
        shape = (*x.shape[:-1], side, side)
    return h.result_of("diag_embed", "fill", (x,), x.dtype, shape, node)


def dynamic(name: str) -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        tensors = tensors_in(args)
        result = h.result_of(name, "scan", tensors, tensors[0].dtype if tensors else None, None, node)
        h.sync(f"{name} waits for the size of its result", node, tensors[0] if tensors else None)
        return result

    return handler


@takes("input", operands=1)
def _trace(h: HostState, node: cst.CSTNode, x: Tensor) -> Any:
    if x.dtype is None or not x.dtype.is_float:
        return Unknown("trace")
    return h.result_of("trace", "reduce", (x,), x.dtype, (), node)


TABLE: dict[str, Handler] = {
    "diag": _diagonal,
    "diag_embed": _along_diagonal,
    "trace": _trace,
    "select": _select,
    "narrow": _narrow,
    "chunk": _chunk,
    "split": _split,
    "unbind": _unbind,
    "embedding": _embedding,
    "embedding_bag": _embedding_bag,
    "searchsorted": _place_among("searchsorted", "sorted_sequence", "input|values"),
    "bucketize": _place_among("bucketize", "input", "boundaries"),
    "diff": _differences,
    **{
        name: _gather(name)
        for name in (
            "gather index_select take scatter scatter_add take_along_dim index_add index_copy index_fill index_put scatter_reduce"
        ).split()
    },
    "index_put_": _put,
    "one_hot": _one_hot,
    **{name: dynamic(name) for name in "nonzero unique masked_select unique_consecutive argwhere".split()},
}
