"""Pooling: over small windows element by element, over larger ones as a reduction."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.calls.convolutions import MOST_TAPS, per_axis
from kernlint.generate.calls.writer import Writer
from kernlint.generate.values import CannotGenerate, Value, View, lane
from kernlint.interpret.torch.shapes import product
from kernlint.workload import Size
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift

#: What puts two elements of a window together.
_JOINED = {"sum": "add", "max": "maximum"}


def _pool(rank: int, largest: bool) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        shape, lead = x.shape or (), len(w.shape) - rank
        window = per_axis(w.argument(1, "kernel_size"), rank)
        stride = w.argument(2, "stride")
        steps = window if stride is None or stride == () else per_axis(stride, rank)
        pads = per_axis(w.argument(3, "padding", 0), rank)
        gaps = per_axis(w.argument(4, "dilation", 1), rank) if largest else [1] * rank
        if window is None or steps is None or pads is None or gaps is None or math.prod(window) <= 0:
            raise CannotGenerate("pooling over a window that is not known")
        whole = w.argument(5, "count_include_pad", True) if not largest else True
        if w.argument(5 if largest else 4, "ceil_mode", False) or (not whole and any(pads)):
            raise CannotGenerate("pooling over windows that reach out of the image")
        if not largest and w.argument(6, "divisor_override") is not None:
            raise CannotGenerate("pooling with a divisor of its own")
        filler = w.operand(-math.inf if largest else 0.0)

        def tap(at: Sequence[Size], space: tuple[Size, ...]) -> Value:
            """What lies at the place ``at`` of each window, looked at from ``space``."""
            places = [lane(lead + d) * steps[d] + lift(at[d]) * gaps[d] - pads[d] for d in range(rank)]
            bounds = tuple(
                (lift(pads[d]), places[d] + pads[d], lift(shape[lead + d]) + pads[d]) for d in range(rank) if pads[d]
            )
            view = w.operand(x)
            look = view.at([*(lane(d) for d in range(lead)), *places])
            return Value("choose", space, w.dtype, (look, filler) if bounds else (look,), {"cases": (bounds, ())})

        kind = "max" if largest else "sum"
        if math.prod(window) > MOST_TAPS:
            space = (*w.shape, *window)
            body = View(tap([lane(len(w.shape) + d) for d in range(rank)], space), tuple(map(lane, range(len(space)))))
            total = Value("reduce", w.shape, w.dtype, (body,), {"kind": kind, "over": tuple(window)})
        else:
            taps = [tap(at, w.shape) for at in itertools.product(*(range(n) for n in window))]
            total = functools.reduce(lambda a, b: w.map(_JOINED[kind], a, b), taps)
        return total if largest else w.map("div", total, float(math.prod(window)), dtype=w.dtype)

    return make


def _adaptive(rank: int, largest: bool) -> Callable[[Writer], Value]:
    """Pools of windows that lie side by side; of others the windows are not alike."""

    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        lead = len(w.shape) - rank
        spatial = (x.shape or ())[lead:]
        windows = [w.part(n, wanted) for n, wanted in zip(spatial, w.shape[lead:])]
        places = [
            lane(lead + d) * window + lane(lead + rank + d) if window.value != 1 else lane(lead + d)
            for d, window in enumerate(windows)
        ]
        view = w.operand(x)
        body = view.at([*(lane(d) for d in range(lead)), *places])
        over = tuple(map(ex.simplify, windows))
        made = Value("reduce", w.shape, w.dtype, (body,), {"kind": "max" if largest else "sum", "over": over})
        return made if largest else w.map("div", made, product(over))

    return make


_KINDS = [(name, rank) for name in ("max", "avg") for rank in (1, 2, 3)]

FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    **{f"{name}_pool{rank}d": _pool(rank, name == "max") for name, rank in _KINDS},
    **{f"adaptive_{name}_pool{rank}d": _adaptive(rank, name == "max") for name, rank in _KINDS},
}
