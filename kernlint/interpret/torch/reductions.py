"""Functions that go through an axis: reductions, softmax and norms, scans, sorts, losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.torch.arguments import dtype_given, tensors_in
from kernlint.interpret.torch.elementwise import common_dtype, elementwise
from kernlint.interpret.torch.expected import in_order
from kernlint.interpret.torch.shapes import Shape, axis_in, axis_of, broadcast, with_extents
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, Tensor, concrete
from kernlint.workload import dtype as dt
from kernlint.workload.tensor import Expected

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState


#: Sums and products that are wide enough for integers whatever the operand is.
_SUMS = frozenset({"sum", "nansum", "prod", "cumsum", "cumprod"})


def _reduction(name: str, pair: bool = False, dtype: Dtype | None = None, both: bool = False) -> Handler:
    """A reduction; with ``pair`` it tells places too where an axis is given, with ``both`` it makes two alike."""

    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0] if args else None
        if not isinstance(x, Tensor):
            return Unknown(name)
        if name in ("max", "min") and len(args) > 1 and isinstance(args[1], Tensor):
            return elementwise(h, name + "imum", args[:2], node)
        position = 2 if name in ("norm", "quantile") else 1
        dim = argument(args, kwargs, position, "dim", "axis")
        behind = 2 if name.startswith(("var", "std")) else 1  # there a correction stands between
        keep = bool(argument(args, kwargs, position + behind, "keepdim", default=False))
        result_type = dtype_given(kwargs, dtype or x.dtype)
        if name in _SUMS and "dtype" not in kwargs and result_type is not None and not result_type.is_float:
            result_type = dt.INT64
        shape = _reduced(x.shape, dim, keep)
        result = h.allocate(result_type, shape, "result", node)
        axes = _axes(x.shape, dim)
        dims = {"inner": int(bool(axes) and x.shape is not None and max(axes) == len(x.shape) - 1)}
        made: tuple[Tensor, ...] = (result,)
        if both or (pair and dim is not None):
            made = (result, h.allocate(result_type if both else dt.INT64, shape, "result", node))
        h.torch_op(name, "reduce", (x,), made, node, flops=x.numel, dims=dims)
        return made if len(made) > 1 else result

    return handler


def _axes(shape: Shape | None, dim: Any) -> list[int]:
    if shape is None:
        return []
    if dim is None:
        return list(range(len(shape)))
    dims = dim if isinstance(dim, (tuple, list)) else [dim]
    return [a for a in (axis_of(d, len(shape)) for d in dims) if a is not None]


def _reduced(shape: Shape | None, dim: Any, keep: bool) -> Shape | None:
    if shape is None or isinstance(dim, Unknown):
        return None
    axes = _axes(shape, dim)
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes)


def _compared(name: str, axis: int) -> Handler:
    """Two tensors held against one another along an axis."""

    @takes("x1", "x2", "dim", operands=2, dim=axis, options=True)
    def handler(h: HostState, node: cst.CSTNode, x: Tensor, y: Tensor, dim: Any, options: Kwargs) -> Any:
        similar = name == "cosine_similarity"
        keep = not similar and bool(options.get("keepdim", False))
        shape = _reduced(broadcast(x.shape, y.shape), dim if similar else axis, keep)
        return h.result_of(name, "reduce", (x, y), common_dtype(h, (x, y)), shape, node, flops=x.numel)

    return handler


@takes("input", "weights", "minlength", minlength=0, operands=1)
def _counted(h: HostState, node: cst.CSTNode, x: Tensor, weights: Any, least: Any) -> Any:
    """``bincount``: as many places as the least number of them says, if no element is beyond."""
    known = isinstance(least, (int, Expr)) and least != 0
    dtype = weights.dtype if isinstance(weights, Tensor) else dt.INT64
    result = h.result_of("bincount", "scan", tensors_in([x, weights]), dtype, (least,) if known else None, node)
    h.sync("bincount waits for the largest element", node, x)
    places, count = concrete(least) if known and weights is None else None, concrete(x.numel)
    return h.expect(result, Expected(count / places)) if places and count else result


@takes("input", "bins", bins=100, operands=1)
def _histogram(h: HostState, node: cst.CSTNode, x: Tensor, bins: Any) -> Any:
    shape = (bins,) if isinstance(bins, (int, Expr)) else None
    return h.result_of("histc", "scan", (x,), x.dtype, shape, node, flops=x.numel)


@takes("input", "num_samples", operands=1)
def _sampled(h: HostState, node: cst.CSTNode, x: Tensor, count: Any) -> Any:
    """``multinomial``: places in each row, drawn by the weights that are there."""
    known = x.shape and isinstance(count, (int, Expr))
    shape = (*x.shape[:-1], count) if known else None  # type: ignore[index]
    return h.result_of("multinomial", "scan", (x,), dt.INT64, shape, node, flops=x.numel)


def _rowwise(name: str, kind: str, flops: int = 5) -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = argument(args, kwargs, 0, "input")
        if not isinstance(x, Tensor):
            return Unknown(name)
        default = next((value for value in args[1:] if isinstance(value, Dtype)), x.dtype)
        if name in _SUMS and default is not None and not default.is_float:
            default = dt.INT64
        result = h.allocate(dtype_given(kwargs, default), x.shape, "result", node)
        extra = tensors_in(args[1:]) + tensors_in(kwargs.values())
        count = x.numel
        axis = axis_in(x, argument(args, kwargs, 1, "dim"))
        dims = {"inner": int(axis == len(x.shape) - 1)} if axis is not None and x.shape else {}
        groups = concrete(argument(args, kwargs, 1, "num_groups")) if name == "group_norm" else None
        dims |= {"groups": groups} if groups is not None else {}
        # With statistics that are given it is one pass over the elements.
        given = name == "batch_norm" and argument(args, kwargs, 5, "training", default=False) is False
        h.torch_op(
            name,
            "elementwise" if given else kind,
            (x, *extra),
            (result,),
            node,
            None if count is None else flops * count,
            dims,
        )
        return result

    return handler


def _with_places(name: str) -> Handler:
    """A row-wise operation that tells beside the values where they come from."""

    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x, result = (
            argument(args, kwargs, 0, "input"),
            _rowwise(name, "scan", 16 if name == "sort" else 1)(h, args, kwargs, node),
        )
        if not isinstance(result, Tensor):
            return result
        places = replace(result, dtype=dt.INT64)
        if name == "sort" and not h.sinks and len(result.shape or ()) == 1:
            h.expect(result, in_order(h.expected.get(x.storage.id, Expected()), concrete(x.numel)))
            places = h.allocate(dt.INT64, result.shape, "result", node)
        return result, places

    return handler


@takes("input", "k", "dim", dim=-1, operands=1)
def _topk(h: HostState, node: cst.CSTNode, x: Tensor, k: Any, dim: Any) -> Any:
    axis, shape = axis_in(x, dim), x.shape
    if axis is not None and isinstance(k, (int, Expr)) and shape is not None:
        shape = with_extents(shape, axis, k)
    made = h.allocate(x.dtype, shape, "result", node), h.allocate(dt.INT64, shape, "result", node)
    h.torch_op("topk", "scan", (x,), made, node, flops=x.numel)
    return made


def _loss(name: str, kind: str = "softmax") -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = argument(args, kwargs, 0, "input")
        if not isinstance(x, Tensor):
            return Unknown(name)
        each = x.shape if kind == "reduce" and name != "triplet_margin_loss" else None
        # By place it is the one setting of a loss that is a text.
        reduction = kwargs.get("reduction", next((one for one in args if isinstance(one, str)), "mean"))
        shape: Shape | None = () if reduction != "none" else each
        reads = tensors_in([*args, *kwargs.values()])
        return h.result_of(name, kind, reads, x.dtype, shape, node, flops=x.numel)

    return handler


@takes(
    *("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"),
    operands=2,
    reduction="mean",
    label_smoothing=0.0,
)
def _cross_entropy(h: HostState, node: cst.CSTNode, x: Tensor, target: Tensor, *settings: Any) -> Any:
    """The logarithms of all probabilities are written and read again: one of each row, where the target is classes, and all of them with
    smoothing, or where it is probabilities too."""
    *_, reduction, smoothing = settings
    if x.shape is None or target.dtype is None:
        return _loss("cross_entropy")(h, [x, target], {"reduction": reduction}, node)
    axis = 1 if len(x.shape) > 1 else 0
    logs = _rowwise("log_softmax", "softmax")(h, [x, axis], {}, node)
    smooths, mean = smoothing != 0.0, reduction == "mean"
    rows = (*x.shape[:axis], *x.shape[axis + 1 :])
    shape: Shape | None = rows if reduction == "none" else ()
    if not target.dtype.is_integer:
        for name in ("mul", "add") if smooths else ():
            target = h.result_of(name, "elementwise", (target,), x.dtype, x.shape, node, flops=x.numel)
        both = h.result_of("mul", "elementwise", (logs, target), x.dtype, x.shape, node, flops=x.numel)
        return h.result_of("sum", "reduce", (both,), x.dtype, shape, node, flops=x.numel)
    picked = h.result_of("nll_loss", "gather", (logs, target), x.dtype, shape, node, flops=target.numel)
    if not smooths:
        return picked
    smooth = h.result_of(
        "sum", "reduce", (logs,), x.dtype, rows, node, flops=x.numel, dims={"inner": int(axis == len(rows))}
    )
    for name in ("neg", "eq", "masked_fill_", *(("bitwise_not", "sum", "sum", "div") if mean else ()), "mul", "mul"):
        kind = "reduce" if name == "sum" else "elementwise"
        smooth = h.result_of(name, kind, (smooth,), x.dtype, () if name == "sum" else smooth.shape, node)
    return h.result_of("add", "elementwise", (picked, smooth), x.dtype, shape, node)


TABLE: dict[str, Handler] = {
    **{
        name: _reduction(name)
        for name in "sum mean prod amax amin std var norm vector_norm logsumexp nansum nanmean".split()
    },
    **{name: _reduction(name, True) for name in ("max", "min", "median")},
    **{name: _reduction(name, dtype=dt.INT64) for name in ("argmax", "argmin", "count_nonzero")},
    **{name: _reduction(name, dtype=dt.BOOL) for name in ("any", "all")},
    **{name: _reduction(name, both=True) for name in ("var_mean", "std_mean", "aminmax")},
    **{name: _rowwise(name, "softmax") for name in ("softmax", "log_softmax")},
    **{
        name: _rowwise(name, "norm")
        for name in "layer_norm rms_norm group_norm batch_norm instance_norm normalize".split()
    },
    **{name: _rowwise(name, "scan", 1) for name in ("cumsum", "cumprod", "logcumsumexp")},
    **{name: _rowwise(name, "copy", 0) for name in ("flip", "roll")},
    **{name: _rowwise(name, "elementwise", 1) for name in ("tril", "triu")},
    **{name: _with_places(name) for name in ("cummax", "cummin", "sort")},
    "cosine_similarity": _compared("cosine_similarity", 1),
    "pairwise_distance": _compared("pairwise_distance", -1),
    "bincount": _counted,
    "histc": _histogram,
    "multinomial": _sampled,
    "argsort": lambda h, a, k, n: _rowwise("argsort", "scan", 16)(h, a, {**k, "dtype": dt.INT64}, n),
    "topk": _topk,
    "cross_entropy": _cross_entropy,
    "nll_loss": _loss("nll_loss"),
    **{
        name: _loss(name, "reduce")
        for name in (
            "mse_loss l1_loss smooth_l1_loss kl_div huber_loss triplet_margin_loss binary_cross_entropy "
            "binary_cross_entropy_with_logits margin_ranking_loss soft_margin_loss hinge_embedding_loss poisson_nll_loss "
            "gaussian_nll_loss"
        ).split()
    },
}
