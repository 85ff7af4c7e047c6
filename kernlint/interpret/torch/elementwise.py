"""Elementwise functions, and the type that tensors and numbers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.expected import computed
from kernlint.interpret.torch.indexing import dynamic
from kernlint.interpret.torch.shapes import Shape, axis_in, broadcast, is_dense, product, with_extents
from kernlint.interpret.values import ReadValue, Unknown
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState


_POINTWISE = (
    "add sub mul div true_divide subtract multiply divide rsub pow exp exp2 log log2 log10 log1p expm1 sqrt rsqrt square abs "
    "neg negative sin cos tan tanh sinh cosh asin acos atan atan2 sigmoid relu gelu silu elu selu celu leaky_relu hardtanh "
    "hardswish hardsigmoid softplus softsign mish relu6 logsigmoid tanhshrink threshold prelu erf erfc reciprocal floor ceil "
    "round trunc frac sign clamp clip clamp_min clamp_max maximum minimum fmax fmin remainder fmod floor_divide bitwise_and "
    "bitwise_or bitwise_xor lerp addcmul addcdiv nan_to_num dropout masked_fill absolute abs_ sgn rot90 logaddexp hardshrink "
    "softshrink copysign hypot logit bitwise_not bitwise_left_shift bitwise_right_shift sinc asinh acosh atanh erfinv lgamma "
    "digamma i0 deg2rad rad2deg xlogy heaviside logaddexp2 ldexp"
).split()


#: What activations take behind their tensor, by place; the constructors of their layers take the same.
ACTIVATION_SETTINGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("sigmoid tanh softsign tanhshrink logsigmoid".split(), ()),
    **dict.fromkeys("relu relu6 silu mish selu hardswish hardsigmoid".split(), ("inplace",)),
    "leaky_relu": ("negative_slope", "inplace"),
    **dict.fromkeys(("elu", "celu"), ("alpha", "inplace")),
    "gelu": ("approximate",),
    "glu": ("dim",),
    "softplus": ("beta", "threshold"),
    **dict.fromkeys(("hardshrink", "softshrink"), ("lambd",)),
    "threshold": ("threshold", "value", "inplace"),
    "hardtanh": ("min_val", "max_val", "inplace"),
    "softmax": ("dim",),
    "log_softmax": ("dim",),
}


_LOGICAL = (
    "eq ne lt le gt ge equal isnan isinf isfinite logical_and logical_or logical_not logical_xor isclose isin signbit less less_equal "
    "greater greater_equal not_equal"
).split()


_DIVISIONS = frozenset({"div", "divide", "true_divide"})


#: What gives floats for integers too.
_OF_FLOATS = _DIVISIONS | frozenset(
    "exp exp2 log log2 log10 log1p expm1 sqrt rsqrt sin cos tan tanh sinh cosh asin acos atan atan2 sigmoid erf erfc reciprocal "
    "logaddexp logit sinc asinh acosh atanh erfinv lgamma digamma i0 deg2rad rad2deg xlogy ldexp".split()
)


def common_dtype(h: HostState, values: Any) -> Dtype | None:
    """The element type of what is computed from tensors and Python numbers, by torch's rule: tensors with dimensions decide,
    those without and numbers only where they are of a higher kind. None where that is not known."""
    tensors = [value for value in values if isinstance(value, Tensor) and not h.is_array(value)]
    arrays = [value for value in values if h.is_array(value)]
    if any(t.dtype is None for t in (*tensors, *arrays)):
        return None
    if arrays and not tensors:
        return _common_of_arrays(values, {x.dtype for x in arrays})
    if arrays:  # numbers of NumPy's are floats to torch
        return tensors[0].dtype if len(tensors) == 1 and tensors[0].dtype.is_float and arrays[0].shape == () else None  # type: ignore[union-attr]
    result: Dtype | None = None
    for part in ([t for t in tensors if t.shape != ()], [t for t in tensors if t.shape == ()]):
        found: Dtype | None = None
        for t in part:
            assert t.dtype is not None
            found = t.dtype if found is None else _promoted(found, t.dtype)
        if result is None or (found is not None and dt.RANK[found.kind] > dt.RANK[result.kind]):
            result = found
    if result is None or result.is_float:
        return result
    if any(isinstance(value, (Unknown, ReadValue)) for value in values):
        return None
    if any(isinstance(value, float) for value in values):
        return h.float_type
    return dt.INT64 if result == dt.BOOL and any(type(value) in (int, Expr) for value in values) else result


def _common_of_arrays(values: Any, types: set[Dtype]) -> Dtype | None:
    """The same by NumPy's rule, where its releases agree on it: scalars of its own count in some of them."""
    if any(isinstance(value, (Unknown, ReadValue)) for value in values):
        return None
    if len(types) > 1:
        return dt.FLOAT64 if dt.FLOAT64 in types else None
    (found,) = types
    if found.is_float:
        return found
    floats = any(isinstance(value, float) for value in values)
    return dt.FLOAT64 if floats else None if found == dt.BOOL and len(values) > 1 else found


def _promoted(a: Dtype, b: Dtype) -> Dtype:
    return dt.INT16 if {a, b} == {dt.UINT8, dt.INT8} else dt.promote(a, b)


def elementwise(
    h: HostState,
    name: str,
    args: Args,
    node: cst.CSTNode,
    dtype: Dtype | None = None,
    flops: int = 1,
    into: Tensor | None = None,
) -> Any:
    """One elementwise kernel over tensors and scalars; ``dtype`` overrides promotion; ``into`` is written in place."""
    tensors = tensors_in(args)
    if not tensors:
        return Unknown(name)
    shape: Shape | None = tensors[0].shape
    for t in () if name == "prelu" else tensors[1:]:  # slopes are those of the channels, whatever the last axis is
        shape = broadcast(shape, t.shape)
    result_type = common_dtype(h, args)
    if name in _OF_FLOATS and result_type is not None and not result_type.is_float:
        doubles = dt.FLOAT64 if result_type.bits >= 32 else None
        result_type = doubles if all(map(h.is_array, tensors)) else h.float_type
    if into is not None:
        result = into
    else:
        lead = tensors[0]
        result = h.allocate(dtype or result_type, shape, "result", node)
        if len(tensors) == 1:
            result = h.made_like(lead, result)
        if lead.shape == shape and lead.strides is not None and lead.is_contiguous is False and is_dense(lead):
            result = replace(result, strides=lead.strides)
    count = result.numel
    h.torch_op(name, "elementwise", tensors, (result,), node, flops=None if count is None else count * flops)
    if into is None and h.expected and result.dtype is not None and result.dtype.is_integer:
        computed(h.expected, name, args, result)
    return result


def _elementwise(name: str, dtype: Dtype | None = None, flops: int = 1) -> Handler:
    def handler(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        out = kwargs.get("out")
        values = [*args, *(v for k, v in kwargs.items() if k != "out" and isinstance(v, (Tensor, float)))]
        if name in ("clamp", "clip"):
            values = [argument(args, kwargs, place, bound) for place, bound in enumerate(("input", "min", "max"))]
        operation = "floor_divide" if name in _DIVISIONS and kwargs.get("rounding_mode") is not None else name
        return elementwise(h, operation, values, node, dtype, flops, out if isinstance(out, Tensor) else None)

    return handler


def _where(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    if len(args) == 1:
        return dynamic("where")(h, args, kwargs, node)
    args = [*args, *(kwargs[name] for name in ("input", "other") if name in kwargs)]
    # The condition comes first, or second where this is a method.
    condition = next((a for a in args[:2] if isinstance(a, Tensor) and a.dtype == dt.BOOL), None)
    values = [a for a in args if a is not condition]
    integers = dt.BOOL if all(isinstance(a, bool) for a in values) else dt.INT64
    numbers = h.float_type if any(isinstance(a, float) for a in values) else integers
    dtype = None if condition is None else common_dtype(h, values) if tensors_in(values) else numbers
    result = elementwise(h, "where", args, node, dtype)
    return result if dtype is not None or not isinstance(result, Tensor) else replace(result, dtype=None)


@takes("input", "dim", dim=-1, operands=1)
def _glu(h: HostState, node: cst.CSTNode, x: Tensor, dim: Any) -> Any:
    """Half of an axis, gated by the other half."""
    axis = axis_in(x, dim)
    known = axis is not None and x.shape is not None
    shape = with_extents(x.shape, axis, ex.floordiv(x.shape[axis], 2)) if known else None  # type: ignore[arg-type, index]
    return h.result_of("glu", "elementwise", (x,), x.dtype, shape, node)


@takes("input", "other", operands=2)
def _kron(h: HostState, node: cst.CSTNode, a: Tensor, b: Tensor) -> Any:
    """Each element of ``a`` times all of ``b``, block by block."""
    shape = None
    if a.shape is not None and b.shape is not None:
        rank = max(len(a.shape), len(b.shape))
        padded = ((1,) * (rank - len(one)) + one for one in (a.shape, b.shape))
        shape = tuple(product(pair) for pair in zip(*padded))
    return h.result_of("kron", "copy", (a, b), common_dtype(h, (a, b)), shape, node)


def _common(h: HostState, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``result_type`` of values, ``promote_types`` of types."""
    types = [value for value in args if isinstance(value, Dtype)]
    found = _promoted(*types) if len(types) == 2 else common_dtype(h, args)
    return found or Unknown("common type")


TABLE: dict[str, Handler] = {
    **{name: _elementwise(name) for name in (*_POINTWISE, "cross")},
    "glu": _glu,
    **{name: _elementwise(name, dt.BOOL) for name in _LOGICAL},
    "where": _where,
    "kron": _kron,
    **dict.fromkeys(("result_type", "promote_types"), _common),
}
