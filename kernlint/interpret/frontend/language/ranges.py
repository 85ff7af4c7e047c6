"""The ranges that a kernel loops over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.values import Constexpr, Typed, shape_text
from kernlint.interpret.python.arguments import Args, Kwargs
from kernlint.interpret.values import Unknown
from kernlint.records import dataclass
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


#: Iterations of a ``tl.static_range`` that are looked at one by one.
MAX_UNROLLED = 8


@dataclass(frozen=True)
class Range:
    """``range``, ``tl.range`` or ``tl.static_range`` with the type of its variable; bounds are kept where static."""

    static: bool
    dtype: Dtype | None = dt.INT32
    bounds: tuple[Any, ...] = ()

    def values(self) -> list[int] | None:
        """The values of a static range; None where a bound is not known."""
        if not all(isinstance(b, int) for b in self.bounds) or not self.bounds:
            return None
        try:
            found = range(*self.bounds)
        except (TypeError, ValueError):
            return None
        return list(found[:MAX_UNROLLED])


def range_of(f: FrontEnd, path: str, args: Args, kwargs: Kwargs, node: cst.Call) -> Any:
    """The bounds of a loop."""
    static = path.endswith("static_range")
    names = ("arg1", "arg2", "step")
    bounds = [*args[: len(names)], *(kwargs[n] for n in names[len(args) :] if n in kwargs)]
    shown = "tl." + path.rpartition(".")[2] if path.startswith("triton") else "range"
    dtype: Dtype | None = None
    for bound in bounds:
        if static and isinstance(bound, Typed):
            f.fault("runtime-shape", node, "the bounds of tl.static_range must be compile-time constants")
            return Unknown("range")
        value = f.operand(bound)
        if value is None:
            return Range(static, None, ())
        if value.shape and any(e != 1 for e in value.shape):
            text = f"a bound of {shown} is a block of shape {shape_text(value.shape)}; it must be one value"
            f.fault("loop-bound", node, text)
        if value.pointer or value.is_float:
            f.fault("loop-bound", node, f"a bound of {shown} is {value}; it must be an integer")
        dtype = value.dtype if dtype is None or (value.dtype is not None and value.dtype.bits > dtype.bits) else dtype
    if any(isinstance(b, (Typed, Constexpr)) and getattr(b, "dtype", None) is None for b in bounds):
        dtype = None
    return Range(static, dtype, tuple(int(b) if isinstance(b, int) else b for b in bounds))
