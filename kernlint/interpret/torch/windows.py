"""Functions of windows that move over images: convolutions, pools, unfold."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.shapes import channels_last, lies_channels_last, product
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Expr, Size, Tensor
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState


def _convolution(name: str) -> Handler:
    """``F.convNd``: x [N, C, *spatial], weight [O, C / groups, *kernel]."""

    @takes("input", "weight", "bias", "stride", "padding", "dilation", operands=2)
    def handler(
        h: HostState, node: cst.CSTNode, x: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any
    ) -> Any:
        shape = None
        if x.shape is not None and weight.shape is not None and len(x.shape) == len(weight.shape):
            geometry = _along(len(x.shape) - 2, (padding, 0), (dilation, 1), (stride, 1))
            shape = (x.shape[0], weight.shape[0], *map(_windows, x.shape[2:], weight.shape[2:], *geometry))
        result = h.allocate(x.dtype, shape, "result", node)
        if shape is not None and any(lies_channels_last(one) for one in (x, weight)):
            result = replace(result, strides=channels_last(result.shape))
        return _convolved(h, name, x, weight, bias, node, result, result, stride=stride, dilation=dilation)

    return handler


def _windows(size: Size, taps: Any, pad: Any, gap: Any, step: Any, up: bool = False) -> Size:
    """How many windows of ``taps`` with ``gap`` between them lie along an axis of ``size``, ``step`` apart; with ``up`` the last may
    reach beyond its end."""
    reach = ex.lift(gap) * (ex.lift(taps) - 1)
    if pad == "same":
        pad = ex.floordiv(reach, 2)
    room = ex.lift(size) + ex.lift(pad) * 2 - reach - 1
    return ex.simplify(ex.lift((ex.ceildiv if up else ex.floordiv)(room, step)) + 1)


def _transposed_convolution(name: str) -> Handler:
    """``F.conv_transposeNd``: x [N, C, *spatial], weight [C, O / groups, *kernel]."""

    @takes("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation", operands=2)
    def handler(h: HostState, node: cst.CSTNode, x: Tensor, weight: Tensor, bias: Any, *given: Any) -> Any:
        stride, padding, output_padding, groups, dilation = given
        shape = None
        if x.shape is not None and weight.shape is not None and len(x.shape) == len(weight.shape):
            geometry = _along(len(x.shape) - 2, (stride, 1), (padding, 0), (output_padding, 0), (dilation, 1))
            spatial = map(_spread, x.shape[2:], weight.shape[2:], *geometry)
            channels = ex.simplify(ex.lift(weight.shape[1]) * (groups if isinstance(groups, (int, Expr)) else 1))
            shape = (x.shape[0], channels, *spatial)
        result = h.allocate(x.dtype, shape, "result", node)
        return _convolved(h, name, x, weight, bias, node, result, x, stride=stride, dilation=dilation, groups=groups)

    return handler


def _spread(size: Size, taps: Any, step: Any, pad: Any, more: Any, gap: Any) -> Size:
    """How far the windows of a transposed convolution reach along an axis of ``size``."""
    reach = ex.lift(gap) * (ex.lift(taps) - 1)
    return ex.simplify((ex.lift(size) - 1) * step - ex.lift(pad) * 2 + reach + ex.lift(more) + 1)


def _convolved(
    h: HostState,
    name: str,
    x: Tensor,
    weight: Tensor,
    bias: Any,
    node: cst.CSTNode,
    result: Tensor,
    windows: Tensor,
    **geometry: Any,
) -> Tensor:
    """``result``, recorded as a convolution in which each element of ``windows`` meets one filter's taps; of ``geometry`` the largest
    number along any axis."""
    taps = ex.concrete(product(weight.shape[1:])) if weight.shape is not None else None
    flops = 2 * windows.numel * taps if windows.numel is not None and taps is not None else None
    dims = {}
    for word, value in geometry.items():
        numbers = value if isinstance(value, (tuple, list)) else [value]
        dims[word] = max((number for number in numbers if isinstance(number, int)), default=1)
    h.torch_op(name, "conv", (x, weight, *tensors_in([bias])), (result,), node, flops=flops, dims=dims)
    return result


def _along(rank: int, *settings: tuple[Any, int]) -> list[list[Any]]:
    """Each of ``settings``, a value and its default, for every one of ``rank`` axes."""
    return [
        list(value)
        if isinstance(value, (tuple, list)) and len(value) == rank
        else [value if isinstance(value, (int, Expr, str)) else default] * rank
        for value, default in settings
    ]


def pool(name: str) -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0]
        if not isinstance(x, Tensor) or x.shape is None:
            return Unknown(name)
        rank = int(name[-2]) if name[-2:-1].isdigit() else 2
        outer, spatial = x.shape[:-rank], x.shape[-rank:]
        if name.startswith("adaptive"):
            (target,) = _along(rank, (argument(args, kwargs, 1, "output_size"), 1))
            shape = (*outer, *(size if wanted is None else wanted for size, wanted in zip(spatial, target)))
        else:
            window, stride = argument(args, kwargs, 1, "kernel_size"), argument(args, kwargs, 2, "stride")
            padding = argument(args, kwargs, 3, "padding", default=0)
            # An average has no dilation, and what a maximum has in its place says how its sizes are rounded.
            widest = name.startswith("max")
            dilation = argument(args, kwargs, 4, "dilation", default=1) if widest else 1
            up = argument(args, kwargs, 5 if widest else 4, "ceil_mode", default=False) is True
            step = window if stride is None else stride
            geometry = _along(rank, (window, 1), (padding, 0), (dilation, 1), (step, 1))
            shape = (*outer, *map(partial(_windows, up=up), spatial, *geometry))
        dims = {"inner": 1}
        if not name.startswith("adaptive"):
            taps = ex.concrete(ex.simplify(product(tuple(_along(rank, (window, 1))[0]))))
            dims |= {"taps": taps} if taps is not None else {}
        return h.result_of(name, "reduce", (x,), x.dtype, shape, node, flops=x.numel, dims=dims)

    return handler


@takes(
    "input", "kernel_size", "dilation", "padding", "stride", kernel_size=1, dilation=1, padding=0, stride=1, operands=1
)
def _unfold(h: HostState, node: cst.CSTNode, x: Tensor, *geometry: Any) -> Any:
    """``F.unfold``: x [N, C, H, W] to the columns [N, C * KH * KW, windows]; one launch an image."""
    if x.shape is None or len(x.shape) not in (3, 4):
        return Unknown("unfold")
    (kh, kw), dilation, padding, stride = _along(2, *((value, 1) for value in geometry))
    images: Size = x.shape[0] if len(x.shape) == 4 else 1
    high, wide = map(_windows, x.shape[-2:], (kh, kw), padding, dilation, stride)
    taps = ex.lift(kh) * kw
    shape = (*x.shape[:-3], ex.simplify(ex.lift(x.shape[-3]) * taps), ex.simplify(ex.lift(high) * wide))
    sizes = {
        "launches": images, "taps": taps, "kernel_height": kh, "kernel_width": kw, "windows_wide": wide,
        **{f"{word}_{side}": pair[i] for i, side in enumerate(("height", "width"))
           for word, pair in (("stride", stride), ("padding", padding), ("dilation", dilation))},
    }  # fmt: skip
    dims = {name: number for name, size in sizes.items() if (number := ex.concrete(size)) is not None}
    return h.result_of("unfold", "gather", (x,), x.dtype, shape, node, dims=dims)


@takes("input", "size", "scale_factor", operands=1)
def _interpolate(h: HostState, node: cst.CSTNode, x: Tensor, size: Any, factor: Any) -> Any:
    """An image of another size: by that size, or by how many times it is larger."""
    shape = None
    if x.shape is not None and len(x.shape) > 2:
        given = size if size is not None else factor
        spatial = x.shape[2:]
        along = list(given) if isinstance(given, (tuple, list)) else [given] * len(spatial)
        if size is not None and all(isinstance(one, (int, Expr)) for one in along) and len(along) == len(spatial):
            shape = (*x.shape[:2], *along)
        elif size is None and len(along) == len(spatial):
            shape = (*x.shape[:2], *map(_times, spatial, along))
    known = shape if shape is not None and None not in shape else None
    return h.result_of("interpolate", "gather", (x,), x.dtype, known, node)


def _times(extent: Size, factor: Any) -> Size | None:
    """``extent`` made ``factor`` times larger, rounded down."""
    if isinstance(factor, (int, Expr)):
        return ex.simplify(ex.lift(extent) * factor)
    number = ex.concrete(extent)
    if not isinstance(factor, float) or number is None:
        return ex.simplify(ex.lift(extent) * int(factor)) if isinstance(factor, float) and factor.is_integer() else None
    return math.floor(number * factor)


TABLE: dict[str, Handler] = {
    **{name: _convolution(name) for name in ("conv1d", "conv2d", "conv3d")},
    **{name: _transposed_convolution(name) for name in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")},
    "unfold": _unfold,
    **dict.fromkeys(("interpolate", "upsample"), _interpolate),
}
