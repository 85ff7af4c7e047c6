"""How functions of `triton.language` take their arguments, and what they refuse of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.values import Constexpr, Typed
from kernlint.interpret.values import Namespace, Unknown
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


Shape = tuple["int | None", ...]


def _extent(f: FrontEnd, value: Any, what: str, node: cst.CSTNode) -> int | Unknown | None:
    """One extent of a shape: a power of two known at compile time (None: its value is not known)."""
    if isinstance(value, Typed):
        return f.fault("runtime-shape", node, f"{what} must be a compile-time constant, not a run-time value")
    if isinstance(value, bool) or not isinstance(value, int):
        return Unknown("extent") if isinstance(value, Unknown) else None
    if value <= 0 or value & (value - 1):
        return f.fault("not-power-of-two", node, f"{what} is {int(value)}, which is not a power of two")
    return int(value)


def shape_of(f: FrontEnd, value: Any, what: str, node: cst.CSTNode) -> Shape | None:
    """A shape argument; None where it is not known at all or was refused."""
    if isinstance(value, (Unknown, Constexpr)) or value is None:
        return None
    if isinstance(value, Typed) and value.pointer is None and value.dtype is None:
        return None  # an argument of which nothing is known may be a tuple of constants
    items = value if isinstance(value, (tuple, list)) else (value,)
    extents = [_extent(f, item, f"extent {i} of {what}", node) for i, item in enumerate(items)]
    if any(isinstance(e, Unknown) for e in extents):
        return None
    return tuple(e for e in extents if not isinstance(e, Unknown))


def dtype_of(f: FrontEnd, value: Any, node: cst.CSTNode) -> Dtype | None:
    """A dtype argument; torch's types are refused."""
    if isinstance(value, Dtype):
        f.demand_fp8(value, node)
        return value
    if isinstance(value, Namespace) and value.path.startswith("torch."):
        name = value.path.removeprefix("torch.")
        dtype = dt.find(name)
        if dtype is not None:
            f.fault(
                "host-dtype", node, f"`{value.path}` is PyTorch's type; a kernel needs tl.{dtype.triton}", value.path
            )
    elif isinstance(value, Typed):
        f.fault("host-dtype", node, "a type must be a compile-time constant; this is a run-time argument")
    return None
