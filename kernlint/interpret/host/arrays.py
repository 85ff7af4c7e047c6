"""NumPy's functions and the methods of its arrays: each by the torch function that does the same, on tensors in the memory of the host.

Arrays are of doubles where nothing else is said. What no table here has is not followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host.builtins import math_function
from kernlint.interpret.python.arguments import argument
from kernlint.interpret.torch.arguments import shape_given, tensors_in
from kernlint.interpret.torch.functions import tensor_attribute, torch_function
from kernlint.interpret.torch.shapes import product
from kernlint.interpret.values import Builtin, Namespace, Unknown
from kernlint.workload import Dtype, Tensor
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator

#: Functions that torch has too, by the same name or by another one.
_OF_TORCH: dict[str, str] = {
    **{name: name for name in (
        "abs absolute add all any amax amin arange argmax argmin argsort atleast_1d atleast_2d broadcast_to ceil cos cosh cross "
        "cumprod cumsum deg2rad diag divide dot einsum empty empty_like exp exp2 expm1 eye flatten flip floor floor_divide fmod full "
        "full_like heaviside hstack hypot isfinite isinf isnan item kron log log10 log1p log2 logaddexp logical_and logical_not "
        "logical_or matmul maximum mean meshgrid minimum moveaxis multiply negative ones ones_like outer prod rad2deg ravel reciprocal "
        "remainder reshape roll round sign sin sinc sinh sort sqrt square squeeze stack std subtract sum swapaxes tan tanh tile tolist "
        "trace tril triu true_divide trunc var vstack where zeros zeros_like"
    ).split()},
    "arccos": "acos", "arcsin": "asin", "arctan": "atan", "arctan2": "atan2", "array": "tensor", "asarray": "tensor",
    "ascontiguousarray": "contiguous", "astype": "to", "clip": "clamp", "concatenate": "cat", "copy": "clone", "expand_dims": "unsqueeze",
    "identity": "eye", "max": "amax", "min": "amin", "mod": "remainder", "power": "pow", "repeat": "repeat_interleave",
}  # fmt: skip
#: Those that take a type by place, behind what they make an array of.
_TYPED = frozenset(
    "arange array asarray astype empty empty_like eye full full_like ones ones_like zeros zeros_like".split()
)
#: Functions that give an array of a size (quadratures two: nodes and weights): the place of that, None for all places, its name, and what
#: it is if nobody says.
_SIZED: dict[str, tuple[int | None, str, int | None]] = {
    **dict.fromkeys(("linspace", "logspace", "geomspace"), (2, "num", 50)),
    **dict.fromkeys(("bartlett", "blackman", "hamming", "hanning", "kaiser"), (0, "M", None)),
    **{f"polynomial.{family}gauss": (0, "deg", None)
       for family in ("chebyshev.cheb", "hermite.herm", "hermite_e.herme", "laguerre.lag", "legendre.leg")},
    "fft.fftfreq": (0, "n", None),
    **dict.fromkeys(("random.rand", "random.randn"), (None, "", None)),
    **dict.fromkeys(("random.random", "random.random_sample", "random.standard_normal"), (0, "size", None)),
    **dict.fromkeys(("random.uniform", "random.normal", "random.randint", "random.integers"), (2, "size", None)),
}  # fmt: skip


def attribute(h: HostEvaluator, x: Tensor, name: str, node: cst.CSTNode) -> Any:
    """``x.name`` for a tensor or an array: a property, or a method to call."""
    if name == "size" and h.is_array(x):
        return product(x.shape) if x.shape is not None else Unknown("size")
    found = tensor_attribute(h, x, name, node)
    if isinstance(found, Builtin) and h.is_array(x):
        found = Builtin(name, lambda args, kwargs, n: call_numpy(h, name, [x, *args], kwargs, n))
    return found


def call_numpy(h: HostEvaluator, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
    """``numpy.name(*args, **kwargs)``, or a method of the array that stands first."""
    if name in ("random.default_rng", "random.RandomState"):
        return Namespace("numpy.random")
    outer, h.float_type = h.float_type, dt.FLOAT64
    try:
        with h.silent():
            own = [h.shared(one, node) if isinstance(one, Tensor) and not h.is_array(one) else one for one in args]
            found = _called(h, name, own, dict(kwargs), node)
    finally:
        h.float_type = outer
    for x in tensors_in([found]):
        h.arrays.add(x.storage.id)
        h.host_tensor(x)
    given = tensors_in([*args, *kwargs.values()])
    if given and isinstance(found, Unknown):
        h.escape(given)
        h.unknown(f"call of numpy.{name}")
    return found


def _called(h: HostEvaluator, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
    if name in _SIZED:
        place, keyword, usual = _SIZED[name]
        size = args if place is None else [argument(args, kwargs, place, keyword, default=usual)]
        shape, whole = shape_given(size), name in ("random.randint", "random.integers")
        dtype = type_of(kwargs["dtype"]) if "dtype" in kwargs else dt.INT64 if whole else dt.FLOAT64
        made = [h.allocate(dtype, shape, "constant", node) for _ in range(1 + name.endswith("gauss"))]
        return Unknown("numpy") if shape is None else made[0] if len(made) == 1 else tuple(made)
    if name in ("prod", "ceil", "floor") and not tensors_in(args):
        return math_function(h, name, args, node)
    if name == "transpose":
        rank = len(args[0].shape or ()) if args and isinstance(args[0], Tensor) else 0
        axes = [one for one in kwargs.get("axes", args[1:]) or () if one is not None] or reversed(range(rank))
        return torch_function(h, "permute", [*args[:1], *axes], {}, node)
    return _by_torch(h, name, args, kwargs, node) if name in _OF_TORCH else Unknown(f"numpy.{name}")


def _by_torch(h: HostEvaluator, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
    typed = name in _TYPED and len(args) > 1 and type_of(args[-1]) is not None
    args, kwargs = (args[:-1], {"dtype": args[-1], **kwargs}) if typed else (args, kwargs)
    if kwargs.get("dtype") is not None:
        kwargs["dtype"] = type_of(kwargs["dtype"]) or Unknown("dtype")
    first: Any = args[0] if args else None
    listed = tensors_in([first]) if type(first) in (list, tuple) else ()
    if listed and name in ("array", "asarray"):
        return torch_function(h, "stack", args, {}, node) if len(listed) == len(first) else Unknown("array")
    if listed:
        parts = [one if isinstance(one, Tensor) else call_numpy(h, "array", [one], {}, node) for one in first]
        args = [parts, *args[1:]]
    if name in ("cumprod", "cumsum") and len(args) == 1 and "axis" not in kwargs:
        args = [torch_function(h, "ravel", args, {}, node), 0]
    elif (
        name in ("mean", "std", "var")
        and isinstance(first, Tensor)
        and first.dtype is not None
        and not first.dtype.is_float
    ):
        kwargs.setdefault("dtype", dt.FLOAT64)
    elif name == "meshgrid":
        kwargs.setdefault("indexing", "xy")
    renamed = {"axis": "dim", "keepdims": "keepdim"}
    named = {renamed.get(key, key): value for key, value in kwargs.items() if key not in ("copy", "order", "ddof")}
    found = torch_function(h, _OF_TORCH[name], args, named, node)
    return found[0] if name == "sort" and isinstance(found, tuple) else found


def type_of(value: Any) -> Dtype | None:
    """The element type that ``value`` names: a type, its name, or ``float`` and ``int``; None where it names none."""
    if isinstance(value, Namespace) and value.path in ("builtins.float", "builtins.int", "builtins.bool"):
        return {"float": dt.FLOAT64, "int": dt.INT64, "bool": dt.BOOL}[value.path.removeprefix("builtins.")]
    named = isinstance(value, str) and value not in ("float", "int", "long", "half", "double", "short", "bool")
    return value if isinstance(value, Dtype) else dt.find(value) if named else None
