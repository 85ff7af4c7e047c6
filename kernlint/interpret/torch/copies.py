"""Functions that write the elements of tensors anew: in another layout, type or place, repeated, padded, joined."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.torch.arguments import dtype_given, names_cpu, on_cpu, shape_given, tensors_in
from kernlint.interpret.torch.elementwise import common_dtype
from kernlint.interpret.torch.shapes import (
    Shape,
    axis_in,
    axis_of,
    channels_last,
    contiguous_strides,
    is_dense,
    product,
    unsqueezed,
    with_extents,
)
from kernlint.interpret.values import DtypeOf, Unknown
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState


def copied(
    h: HostState,
    name: str,
    x: Tensor,
    shape: Shape | None,
    dtype: Dtype | None,
    node: cst.CSTNode,
    strides: Shape | None = None,
) -> Tensor:
    """A new tensor with the elements of ``x``, row-major where no ``strides`` are given."""
    result = h.made_like(x, h.allocate(dtype, shape, "result", node))
    if strides is not None:
        result = replace(result, strides=strides)
    permutes = x.is_contiguous is False and is_dense(x) and strides != x.strides
    kind = "cast" if dtype != x.dtype else "transpose" if permutes else "copy"
    h.torch_op(name, kind, (x,), (result,), node)
    return result


@takes("input", "memory_format", operands=1)
def _contiguous(h: HostState, node: cst.CSTNode, x: Tensor, layout: Any) -> Any:
    if layout is not None and layout != "contiguous_format":
        return x if h.skips(node) else _in_format(h, "contiguous", x, x.dtype, layout, node)
    if x.is_contiguous or h.skips(node):
        return x
    if x.strides is None:
        # Layout not known: a copy may or may not happen. Say so and take the layout that holds either way.
        h.assume(f"{x.name} is contiguous, so .contiguous() copies nothing")
        if x.shape is None:
            h.contiguous.add(x.storage.id)  # for when its rank is learned
            return x
        return replace(x, strides=contiguous_strides(x.shape))
    return copied(h, "contiguous", x, x.shape, x.dtype, node)


@takes("input", options=True, operands=1)
def _clone(h: HostState, node: cst.CSTNode, x: Tensor, options: Kwargs) -> Any:
    if h.skips(node):
        return x
    layout = options.get("memory_format", "preserve_format")
    if layout not in ("preserve_format", "contiguous_format"):
        return _in_format(h, "clone", x, x.dtype, layout, node)
    kept = x.strides if layout == "preserve_format" and x.is_contiguous is False and is_dense(x) else None
    return copied(h, "clone", x, x.shape, x.dtype, node, kept)


def _in_format(h: HostState, name: str, x: Tensor, dtype: Dtype | None, layout: Any, node: cst.CSTNode) -> Tensor:
    """``x`` in another memory format than torch's usual one: channels last, or one that is not known."""
    strides = channels_last(x.shape) if layout == "channels_last" else None
    if strides is not None and strides == x.strides and dtype == x.dtype:
        return x
    return replace(copied(h, name, x, x.shape, dtype, node, strides), strides=strides)


def _to(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if isinstance(x, Unknown):
        return _converted(h, dtype_given(kwargs, next(filter(None, map(_type_in, args[1:])), None)), node)
    if not isinstance(x, Tensor):
        return x
    target = dtype_given(kwargs, x.dtype)
    moves = False
    for value in args[1:]:
        if isinstance(value, (Dtype, Tensor, DtypeOf)):
            target = _type_in(value)
        else:
            moves = moves or not isinstance(value, bool)
    if any(names_cpu(value) for value in args[1:]) or on_cpu(kwargs):
        return replace(_cpu(h, args, kwargs, node), dtype=target)
    if h.is_hosted(x) and (moves or kwargs.get("device") is not None):
        return _cuda(h, [replace(x, dtype=target)], kwargs, node)
    layout = kwargs.get("memory_format", "preserve_format")
    if layout != "preserve_format" and not h.skips(node):
        if layout != "contiguous_format":
            return _in_format(h, "to", x, target, layout, node)
        return x if x.is_contiguous and target == x.dtype else copied(h, "to", x, x.shape, target, node)
    return _cast(h, "to", x, target, node)


def _type_in(value: Any) -> Dtype | None:
    """The element type that ``value``, a type or a tensor, stands for in a conversion."""
    return value if isinstance(value, Dtype) else value.dtype if isinstance(value, Tensor) else None


def _converted(h: HostState, target: Dtype | None, node: cst.CSTNode) -> Any:
    """What was not followed, converted to ``target``: of the tensor that it is taken for the type is known, and nothing else."""
    if target is None:
        return Unknown("to")
    h.unknown("what is converted to a type")
    return h.allocate(target, None, "result", node)


def _cast(h: HostState, name: str, x: Tensor, target: Dtype | None, node: cst.CSTNode) -> Tensor:
    if x.dtype == target or h.skips(node):
        return x
    result = h.made_like(x, h.allocate(target, x.shape, "result", node))
    if x.is_contiguous is False and is_dense(x):
        result = replace(result, strides=x.strides)  # preserve_format keeps the order of the axes
    h.torch_op(name, "cast", (x,), (result,), node)
    return result


def _cast_to(target: Dtype) -> Handler:
    @takes("input")
    def handler(h: HostState, node: cst.CSTNode, x: Any) -> Any:
        return _cast(h, str(target), x, target, node) if isinstance(x, Tensor) else _converted(h, target, node)

    return handler


@takes("input", "src")
def _copy_(h: HostState, node: cst.CSTNode, x: Any, source: Any) -> Any:
    if isinstance(x, Tensor) and isinstance(source, Tensor) and not h.skips(node):
        h.torch_op("copy_", "cast" if x.dtype != source.dtype else "copy", (source,), (x,), node)
    return x


@takes("input", operands=1)
def _cpu(h: HostState, node: cst.CSTNode, x: Tensor) -> Any:
    if h.is_hosted(x) or not h.sinks:
        return x  # which is made beforehand: of that no call tells where it lies
    if x.storage.id in h.unplaced:
        h.overwritten((x,))  # it may be there, and what is written to the result in it
    h.sync("copy to the CPU", node, x)
    return h.expect(h.host_tensor(h.allocate(x.dtype, x.shape, "result", node, x.name)), h.held_by(x))


@takes("input", operands=1)
def _numpy(h: HostState, node: cst.CSTNode, x: Tensor) -> Any:
    """The same memory, which is written in ways that are not followed."""
    return h.shared(_cpu(h, [x], {}, node), node)


@takes("input")
def _cuda(h: HostState, node: cst.CSTNode, x: Any) -> Any:
    if not isinstance(x, Tensor) or not h.is_hosted(x):
        return x
    result = h.allocate(x.dtype, x.shape, "constant", node, x.name)
    h.torch_op("to", "fill", (), (result,), node)
    return result


@takes("tensors", "dim", dim=0)
def _cat(h: HostState, node: cst.CSTNode, parts: Any, dim: Any) -> Any:
    parts = parts if isinstance(parts, (tuple, list)) else []
    tensors = tensors_in(parts)
    if not tensors or len(tensors) != len(parts):
        return Unknown("cat")
    axis = axis_in(tensors[0], dim)
    shapes = [t.shape for t in tensors if t.shape is not None]
    count, shape = h.list_length(parts), None
    if (
        axis is not None
        and count is not None
        and {len(one) for one in shapes} == {len(shapes[0])}
        and len(shapes) == len(tensors)
    ):
        total: Size = 0
        for one in shapes:
            total = ex.simplify(ex.lift(total) + one[axis])
        if count != len(parts):  # filled by a loop: all but the first are like the last
            total = ex.simplify(ex.lift(total) + (ex.lift(count) - len(parts)) * (shapes[-1] or (1,))[axis])
        shape = with_extents(shapes[0], axis, total)
    return h.result_of("cat", "cat", tensors, common_dtype(h, tensors), shape, node)


@takes("tensors", "dim", dim=0)
def _stack(h: HostState, node: cst.CSTNode, parts: Any, dim: Any) -> Any:
    tensors = tensors_in(parts if isinstance(parts, (tuple, list)) else [])
    if not tensors or tensors[0].shape is None:
        return Unknown("stack")
    shape = tensors[0].shape
    axis = axis_of(dim, len(shape) + 1)
    count = h.list_length(parts)
    result_shape = (*shape[:axis], count, *shape[axis:]) if axis is not None and count is not None else None
    return h.result_of("stack", "cat", tensors, common_dtype(h, tensors), result_shape, node)


def _stacked(axis: int) -> Handler:
    """``vstack`` and ``hstack``: joined along ``axis``, vectors as rows of a matrix, or along the only axis that they have."""

    @takes("tensors")
    def handler(h: HostState, node: cst.CSTNode, parts: Any) -> Any:
        tensors = tensors_in(parts if isinstance(parts, (tuple, list)) else [])
        ranks = [None if x.shape is None else len(x.shape) for x in tensors]
        if 0 in ranks:
            return Unknown("stack")
        if axis == 0 and {*ranks} == {1}:
            return _stack(h, [parts], {}, node)
        if axis == 0 and {*ranks} == {1, 2}:
            if h.list_length(parts) != len(tensors):
                return Unknown("stack")
            parts = [unsqueezed(x, 0) if rank == 1 else x for x, rank in zip(tensors, ranks)]
        return _cat(h, [parts, 0 if ranks[:1] == [1] else axis], {}, node)

    return handler


def _blocks(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``block_diag`` of matrices: as many rows and columns as all of them have."""
    tensors = tensors_in(args)
    shapes = [x.shape for x in tensors if x.shape is not None and len(x.shape) == 2]
    shape = None
    if len(shapes) == len(args):
        shape = tuple(ex.simplify(sum((ex.lift(one[axis]) for one in shapes), ex.lift(0))) for axis in (0, 1))
    return h.result_of("block_diag", "cat", tensors, common_dtype(h, tensors), shape, node)


def _cartesian(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """All choices of one element of each of some vectors, in rows."""
    tensors = tensors_in(args)
    sizes = tuple(x.shape[0] for x in tensors if x.shape and len(x.shape) == 1)
    known = len(sizes) == len(args) > 1
    shape = (product(sizes), len(sizes)) if known else None
    return h.result_of("cartesian_prod", "cat", tensors, common_dtype(h, tensors), shape, node)


def _repeat(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode, tiles: bool = False) -> Any:
    x, times = args[0], shape_given(args[1:] or [argument([], kwargs, 0, "repeats", "dims")])
    if not isinstance(x, Tensor):
        return Unknown("repeat")
    shape = None
    if tiles and times is not None and x.shape is not None:
        times = (1,) * (len(x.shape) - len(times)) + times
    if times is not None and x.shape is not None and len(times) >= len(x.shape):
        old = (1,) * (len(times) - len(x.shape)) + x.shape
        shape = tuple(ex.simplify(ex.lift(a) * b) for a, b in zip(old, times))
    return h.result_of("repeat", "copy", (x,), x.dtype, shape, node)


@takes("input", "repeats", "dim", options=True, operands=1)
def _repeat_interleave(h: HostState, node: cst.CSTNode, x: Tensor, times: Any, dim: Any, options: Kwargs) -> Any:
    shape, axis, told = None, axis_in(x, dim), options.get("output_size")
    axis = 0 if axis is None and len(x.shape or ()) == 1 else axis
    if axis is not None and isinstance(times, (int, Expr)) and x.shape is not None:
        shape = with_extents(x.shape, axis, ex.simplify(ex.lift(x.shape[axis]) * times))
    elif axis is not None and isinstance(times, Tensor) and x.shape:
        if told is None and h.makes_inputs and (told := h.likely_total(times)) is not None:
            h.input_guesses.add(f"line {h.span(node).line}: the inputs are taken to draw {told}")
        shape = with_extents(x.shape, axis, told) if isinstance(told, (int, Expr)) else None
    return h.result_of("repeat_interleave", "copy", (x,), x.dtype, shape, node)


@takes("input", "pad", operands=1)
def _pad(h: HostState, node: cst.CSTNode, x: Tensor, widths: Any) -> Any:
    if x.shape is None or not isinstance(widths, (tuple, list)):
        return Unknown("pad")
    shape = list(x.shape)
    for i in range(len(widths) // 2):
        shape[-1 - i] = ex.simplify(ex.lift(shape[-1 - i]) + widths[2 * i] + widths[2 * i + 1])
    return h.result_of("pad", "copy", (x,), x.dtype, tuple(shape), node)


def _pixel_shuffle(up: bool) -> Handler:
    name = "pixel_shuffle" if up else "pixel_unshuffle"

    @takes("input", "upscale_factor|downscale_factor", operands=1)
    def handler(h: HostState, node: cst.CSTNode, x: Tensor, factor: Any) -> Any:
        if x.shape is None or len(x.shape) < 3 or not isinstance(factor, int) or factor < 1:
            return Unknown(name)
        *lead, channels, high, wide = x.shape
        sizes: tuple[Size, Size, Size]
        if up:
            sizes = ex.floordiv(channels, factor * factor), ex.lift(high) * factor, ex.lift(wide) * factor
        else:
            sizes = ex.lift(channels) * (factor * factor), ex.floordiv(high, factor), ex.floordiv(wide, factor)
        return h.result_of(name, "transpose", (x,), x.dtype, (*lead, *map(ex.simplify, sizes)), node)

    return handler


#: Methods that say what type their result has, whatever they are asked of.
CONVERSIONS: dict[str, Handler] = {
    **dict.fromkeys(("to", "type", "type_as"), _to),
    "half": _cast_to(dt.FLOAT16),
    "float": _cast_to(dt.FLOAT32),
    "double": _cast_to(dt.FLOAT64),
    "bfloat16": _cast_to(dt.BFLOAT16),
    "int": _cast_to(dt.INT32),
    "long": _cast_to(dt.INT64),
    "bool": _cast_to(dt.BOOL),
    "char": _cast_to(dt.INT8),
}

TABLE: dict[str, Handler] = {
    "contiguous": _contiguous,
    "clone": _clone,
    **CONVERSIONS,
    "copy_": _copy_,
    "cpu": _cpu,
    "numpy": _numpy,
    "cuda": _cuda,
    **dict.fromkeys(("cat", "concat", "concatenate"), _cat),
    "stack": _stack,
    **dict.fromkeys(("vstack", "row_stack"), _stacked(0)),
    "hstack": _stacked(1),
    "block_diag": _blocks,
    "cartesian_prod": _cartesian,
    "repeat": _repeat,
    "tile": partial(_repeat, tiles=True),
    "repeat_interleave": _repeat_interleave,
    "pad": _pad,
    "pixel_shuffle": _pixel_shuffle(True),
    "pixel_unshuffle": _pixel_shuffle(False),
}
