"""Operations as torch records them below autograd, in the terms of the functions that programs call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernlint.workload import Tensor
from kernlint.workload import dtype as dt

Args = list[Any]
Call = tuple[str, Args, dict[str, Any]]


def translated(name: str, args: Args, kwargs: Mapping[str, Any]) -> Call:
    """The name and the arguments of the function that :mod:`~kernlint.interpret.torch` knows ``aten::name`` by."""
    change = _CHANGED.get(name)
    kwargs = {k: v for k, v in kwargs.items() if v is not None and k not in ("layout", "pin_memory", "device")}
    if change is not None:
        return change(args, kwargs)
    return _RENAMED.get(name, name), args, kwargs


def _at(args: Args, *places: int) -> Args:
    return [args[place] if place < len(args) else None for place in places]


def _convolution(args: Args, kwargs: dict[str, Any]) -> Call:
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = _at(args, *range(9))
    rank = len(weight.shape or ()) - 2 if isinstance(weight, Tensor) else 2
    # Where torch takes images of one dimension for some of two, the further one is of extent 1.
    if transposed:
        return f"conv_transpose{rank}d", [x, weight, bias, stride, padding, output_padding, groups, dilation], {}
    return f"conv{rank}d", [x, weight, bias, stride, padding, dilation, groups], {}


def _named(name: str, *places: int) -> Callable[[Args, dict[str, Any]], Call]:
    return lambda args, kwargs: (name, _at(args, *places), kwargs)


def _to_copy(args: Args, kwargs: dict[str, Any]) -> Call:
    dtype = kwargs.get("dtype")
    if isinstance(args[0], Tensor) and dtype is not None and dtype != args[0].dtype:
        return "to", [args[0], dtype], {}
    return "clone", args, {}


def _written(args: Args, kwargs: dict[str, Any]) -> Call:
    """``x[i] = y`` with tensors among the indices."""
    places = [slice(None) if index is None else index for index in args[1]]
    masked = any(isinstance(index, Tensor) and index.dtype == dt.BOOL for index in places)
    return "index_put" if masked else "index_put_", [args[0], places, *args[2:]], kwargs


def _indexed(args: Args, kwargs: dict[str, Any]) -> Call:
    ids = [index for index in args[1] if isinstance(index, Tensor)]
    return "take_along_dim", [args[0], *ids], {}


_CHANGED: Mapping[str, Callable[[Args, dict[str, Any]], Call]] = {
    "convolution": _convolution,
    "_convolution": _convolution,
    "cudnn_convolution": _convolution,
    "_to_copy": _to_copy,
    "embedding": _named("embedding", 1, 0),
    "native_layer_norm": _named("layer_norm", 0, 1, 2, 3),
    "_fused_rms_norm": _named("rms_norm", 0, 1, 2),
    "native_group_norm": _named("group_norm", 0, 6, 1, 2),
    "native_batch_norm": _named("batch_norm", 0, 3, 4, 1, 2),
    "_native_batch_norm_legit": _named("batch_norm", 0, 3, 4, 1, 2),
    "_native_batch_norm_legit_no_training": _named("batch_norm", 0, 3, 4, 1, 2),
    "_batch_norm_with_update": _named("batch_norm", 0, 3, 4, 1, 2),
    "_softmax": _named("softmax", 0, 1),
    "_log_softmax": _named("log_softmax", 0, 1),
    **{name: _named("gather", 0, 1) for name in ("nll_loss_forward", "nll_loss2d_forward")},
    **{f"upsample_{way}": _named("interpolate", 0, 1) for way in ("nearest2d", "bilinear2d", "bicubic2d", "linear1d")},
    "constant_pad_nd": _named("pad", 0, 1),
    "log_sigmoid_forward": _named("logsigmoid", 0),
    "index": _indexed,
    "index_put_": _written,
    "index_put": _written,
}

#: Those that differ in their names alone.
_RENAMED: Mapping[str, str] = {
    "_scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention": "scaled_dot_product_attention",
    "_scaled_dot_product_efficient_attention": "scaled_dot_product_attention",
    "linalg_vector_norm": "norm",
    "native_dropout": "dropout",
    "max_pool2d_with_indices": "max_pool2d",
    "max_pool3d_with_indices": "max_pool3d",
    "_adaptive_avg_pool2d": "adaptive_avg_pool2d",
    "_adaptive_avg_pool3d": "adaptive_avg_pool3d",
    "_int_mm": "mm",
    "_cdist_forward": "cdist",
    "im2col": "unfold",
    "linalg_cross": "cross",
    "_prelu_kernel": "prelu",
    **{f"{kind}_pad{rank}d": "pad" for kind in ("reflection", "replication") for rank in (1, 2, 3)},
    "copy": "clone",
}
