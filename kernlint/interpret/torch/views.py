"""Functions that show the memory of a tensor in another way: they cost nothing, but where a reshape has to copy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, takes
from kernlint.interpret.torch.arguments import shape_given
from kernlint.interpret.torch.copies import copied
from kernlint.interpret.torch.shapes import (
    Shape,
    axis_in,
    axis_of,
    broadcast,
    contiguous_strides,
    diagonal,
    expanded_to,
    permuted,
    product,
    transposed,
    unsqueezed,
    view_strides,
    with_extents,
)
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, Size, Tensor
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState


def axes_reversed(x: Tensor) -> Tensor:
    return permuted(x, tuple(reversed(range(len(x.shape or ())))))


@takes("input", operands=1)
def _t(h: HostState, node: cst.CSTNode, x: Tensor) -> Any:
    x = h.rank(x, 2)
    return transposed(x, 0, 1) if x.shape is not None and len(x.shape) == 2 else x


@takes("input", "dim0", "dim1", operands=1)
def _transpose(h: HostState, node: cst.CSTNode, x: Tensor, a: Any, b: Any) -> Any:
    return transposed(x, a, b) if isinstance(a, int) and isinstance(b, int) else Unknown("transpose")


def _permute(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    order = shape_given([kwargs["dims"]] if "dims" in kwargs else args[1:])
    if not isinstance(x, Tensor) or order is None:
        return Unknown("permute")
    x = h.rank(x, len(order))
    rank = len(x.shape or ())
    axes = [axis_of(a, rank) for a in order]
    if x.shape is None or None in axes or len(axes) != rank:
        return replace(x, shape=None, strides=None)
    return permuted(x, tuple(a for a in axes if a is not None))


@takes("input", "source", "destination", operands=1)
def _movedim(h: HostState, node: cst.CSTNode, x: Tensor, source: Any, target: Any) -> Any:
    moved, places = ([axis_in(x, a) for a in (v if isinstance(v, (tuple, list)) else [v])] for v in (source, target))
    if x.shape is None or None in moved or None in places or len(moved) != len(places):
        return Unknown("movedim")
    order: list[Any] = [None] * len(x.shape)
    for axis, place in zip(moved, places):
        order[place or 0] = axis
    rest = iter(axis for axis in range(len(order)) if axis not in moved)
    return permuted(x, tuple(next(rest) if axis is None else axis for axis in order))


def _of_unknown_rank(x: Tensor, name: str) -> Tensor:
    """A view of ``x`` by a name of its own: what is learned of the rank of the one is not that of the other."""
    return replace(x, shape=None, strides=None, name=f"{x.name}.{name}" if x.name else "")


def _view(name: str) -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0]
        if not isinstance(x, Tensor):
            return Unknown(name)
        if len(args) == 2 and isinstance(args[1], Dtype):
            h.overwritten((x,))  # whose bits are other numbers
            return _view_dtype(x, args[1])
        target = shape_given([kwargs.get("shape", kwargs.get("size"))] if not args[1:] else args[1:])
        if target is None and args[1:] and isinstance(args[1], Tensor):
            target = args[1].shape
        shape = _infer(h, x, target) if target is not None else None
        if shape is None:
            return _of_unknown_rank(x, name)
        strides = view_strides(x, shape)
        if strides is not None:
            return replace(x, shape=shape, strides=strides)
        if name == "view" and _is_exact(x, shape) and x.storage.origin in ("input", "parameter", "empty", "filled"):
            text = (
                f"`.view({', '.join(map(str, shape))})` cannot give `{x.name or 'the tensor'}`, of shape "
                f"({', '.join(map(str, x.shape or ()))}) and strides ({', '.join(map(str, x.strides or ()))}), another "
                "shape without a copy; use `.reshape` or `.contiguous()`"
            )
            h.refuse("strided-view", node, text)
        if name == "reshape" and x.is_contiguous is False:
            return copied(h, "reshape", x, shape, x.dtype, node)
        return replace(x, shape=shape, strides=None)

    return handler


def _is_exact(x: Tensor, shape: Shape) -> bool:
    """Whether shape and strides of ``x`` and the new ``shape`` are numbers, of as many elements."""
    if x.shape is None or x.strides is None:
        return False
    numbers, fresh = [n for n in x.shape if isinstance(n, int)], [n for n in shape if isinstance(n, int)]
    known = (
        len(numbers) == len(x.shape) and len(fresh) == len(shape) and all(isinstance(step, int) for step in x.strides)
    )
    return known and math.prod(numbers) == math.prod(fresh) > 0


def _view_dtype(x: Tensor, target: Dtype) -> Tensor:
    if x.dtype is None or x.shape is None or x.dtype.bytes == target.bytes:
        return replace(x, dtype=target)
    last = ex.floordiv(ex.lift(x.shape[-1]) * x.dtype.bytes, target.bytes)
    shape = (*x.shape[:-1], last)
    return replace(x, dtype=target, shape=shape, strides=contiguous_strides(shape) if x.is_contiguous else None)


def _infer(h: HostState, x: Tensor, target: Shape) -> Shape | None:
    """``target`` with its -1 filled in."""
    holes = [i for i, extent in enumerate(target) if extent == -1]
    if not holes:
        return target
    known = product(tuple(e for e in target if e != -1))
    if len(holes) > 1 or known == 0:
        return None
    elements = product(x.shape) if x.shape is not None else h.symbol_for(x, "numel")
    return tuple(ex.floordiv(elements, known) if e == -1 else e for e in target)


@takes("input", "start_dim", "end_dim", start_dim=0, end_dim=-1)
def _flatten(h: HostState, node: cst.CSTNode, x: Any, first: Any, last: Any) -> Any:
    if not isinstance(x, Tensor) or x.shape is None:
        return x
    start, end = axis_in(x, first), axis_in(x, last)
    if start is None or end is None:
        return _of_unknown_rank(x, "flatten")
    shape = (*x.shape[:start], product(x.shape[start : end + 1]), *x.shape[end + 1 :])
    return _view("reshape")(h, [x, shape], {}, node)


@takes("input", "dim", "sizes|unflattened_size", operands=1)
def _unflatten(h: HostState, node: cst.CSTNode, x: Tensor, dim: Any, given: Any) -> Any:
    axis, sizes = axis_in(x, dim), shape_given([given])
    if axis is None or sizes is None or x.shape is None or not isinstance(x.shape[axis], (int, Expr)):
        return _of_unknown_rank(x, "unflatten")
    known = product(tuple(size for size in sizes if size != -1))
    parts = tuple(ex.floordiv(ex.lift(x.shape[axis]), known) if size == -1 else size for size in sizes)
    strides = None
    if x.strides is not None:
        inner = (ex.simplify(ex.lift(step) * x.strides[axis]) for step in contiguous_strides(parts))
        strides = with_extents(x.strides, axis, *inner)
    return replace(x, shape=with_extents(x.shape, axis, *parts), strides=strides)


@takes("input", "size", "stride", "storage_offset", operands=1)
def _as_strided(h: HostState, node: cst.CSTNode, x: Tensor, size: Any, stride: Any, offset: Any) -> Any:
    shape, strides = shape_given([size]), shape_given([stride])
    if shape is None or not isinstance(offset, (int, Expr, type(None))):
        return Unknown("as_strided")
    return replace(x, shape=shape, strides=strides, offset=x.offset if offset is None else offset)


@takes("input", "dim")
def _unsqueeze(h: HostState, node: cst.CSTNode, x: Any, dim: Any) -> Any:
    return unsqueezed(x, dim) if isinstance(x, Tensor) and isinstance(dim, int) else x


@takes("input", "dim")
def _squeeze(h: HostState, node: cst.CSTNode, x: Any, dim: Any) -> Any:
    if not isinstance(x, Tensor) or x.shape is None:
        return x
    axes = [axis_in(x, dim)] if dim is not None else list(range(len(x.shape)))
    keep = [i for i, n in enumerate(x.shape) if not (i in axes and n == 1)]
    strides = tuple(x.strides[i] for i in keep) if x.strides is not None else None
    return replace(x, shape=tuple(x.shape[i] for i in keep), strides=strides)


def _at_least(rank: int) -> Handler:
    """``atleast_1d`` and so on, of one tensor or of each of several: of a vector, ``atleast_2d`` makes a row, ``atleast_3d`` the middle
    of three axes."""

    def grown(h: HostState, given: Any) -> Any:
        x = h.operand(given)
        while x is not None and x.shape is not None and len(x.shape) < rank:
            x = unsqueezed(x, 0 if len(x.shape) < 2 else 2)
        return Unknown(f"atleast_{rank}d") if x is None else x

    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        given = args or [kwargs.get("tensors")]
        several = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
        found = tuple(grown(h, one) for one in several)
        return found if several is not given or len(given) > 1 else found[0]

    return handler


def _meshgrid(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """Each of some vectors along an axis of its own, the same along those of the others; with "xy" the first two axes change places."""
    vectors = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    sizes = [x.shape[0] for x in vectors if isinstance(x, Tensor) and x.shape and len(x.shape) == 1]
    order, swapped = list(range(len(sizes))), kwargs.get("indexing", "ij") == "xy"
    if not sizes or len(sizes) != len(vectors):
        return Unknown("meshgrid")
    order[:2] = reversed(order[:2]) if swapped else order[:2]
    found = []
    for axis, x in enumerate(vectors):
        strides = tuple(x.strides[0] if at == axis and x.strides else 0 for at in order)
        found.append(replace(x, shape=tuple(sizes[at] for at in order), strides=strides if x.strides else None))
    return tuple(found)


def _broadcast_together(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    shape: Shape | None = ()
    for x in args:
        shape = broadcast(shape, x.shape) if isinstance(x, Tensor) else None
    return Unknown("broadcast_tensors") if shape is None else tuple(expanded_to(x, shape) for x in args)


def _expand(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    shape = args[1].shape if len(args) > 1 and isinstance(args[1], Tensor) else shape_given(args[1:])
    if not isinstance(x, Tensor) or shape is None or x.shape is None:
        return x
    lead = len(shape) - len(x.shape)
    sizes: list[Size] = []
    strides: list[Size] = []
    for i, extent in enumerate(shape):
        old = x.shape[i - lead] if i >= lead else 1
        sizes.append(old if extent == -1 else extent)
        stride = x.strides[i - lead] if i >= lead and x.strides is not None else 0
        strides.append(0 if old == 1 and extent != 1 else stride)
    return replace(x, shape=tuple(sizes), strides=tuple(strides) if x.strides is not None else None)


@takes("input", "dimension", "size", "step", operands=1)
def _unfolded_view(h: HostState, node: cst.CSTNode, x: Tensor, dim: Any, size: Any, step: Any) -> Any:
    """``x.unfold(dimension, size, step)``: a view of overlapping windows, which get an axis of their own at the end."""
    axis = axis_in(x, dim)
    if axis is None or x.shape is None or not isinstance(size, (int, Expr)) or not isinstance(step, int) or step < 1:
        return Unknown("unfold")
    windows = ex.simplify(ex.lift(ex.floordiv(ex.lift(x.shape[axis]) - size, step)) + 1)
    strides = None
    if x.strides is not None:
        walked = ex.simplify(ex.lift(x.strides[axis]) * step)
        strides = (*with_extents(x.strides, axis, walked), x.strides[axis])
    return replace(x, shape=(*with_extents(x.shape, axis, windows), size), strides=strides)


@takes("input", "offset", "dim1", "dim2", offset=0, dim1=0, dim2=1, operands=1)
def _diagonal(h: HostState, node: cst.CSTNode, x: Tensor, offset: Any, first: Any, second: Any) -> Any:
    one, other = axis_in(x, first), axis_in(x, second)
    if one is None or other is None or not isinstance(offset, int):
        return Unknown("diagonal")
    found = diagonal(x, offset, one, other)
    return Unknown("diagonal") if found is None else found


def _same(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return args[0] if args else Unknown("argument")


TABLE: dict[str, Handler] = {
    "t": _t,
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), _transpose),
    "permute": _permute,
    **dict.fromkeys(("movedim", "moveaxis"), _movedim),
    **dict.fromkeys(("view", "view_as"), _view("view")),
    **dict.fromkeys(("reshape", "reshape_as"), _view("reshape")),
    **dict.fromkeys(("flatten", "ravel"), _flatten),
    "unflatten": _unflatten,
    "as_strided": _as_strided,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    **dict.fromkeys(("expand", "expand_as", "broadcast_to"), _expand),
    "unfolded_view": _unfolded_view,
    "diagonal": _diagonal,
    **{f"atleast_{rank}d": _at_least(rank) for rank in (1, 2, 3)},
    "meshgrid": _meshgrid,
    "broadcast_tensors": _broadcast_together,
    **dict.fromkeys(("detach", "requires_grad_", "to_dense", "pin_memory", "data", "as_subclass"), _same),
}
