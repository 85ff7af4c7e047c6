"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernlint.generate.calls.writer import Writer
from kernlint.generate.scans import State, carried, scanned
from kernlint.generate.values import Value, View, identity, lane, looked_through


def _running(op: str, start: float) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x = w.tensor(0, "input")
        axis = w.axis(w.argument(1, "dim"), len(w.shape))
        others = [d for d in range(len(w.shape)) if d != axis]
        space = (*(w.shape[d] for d in others), w.shape[axis])
        # Places run along the last axis of a recurrence.
        to = {axis: lane(len(others)), **{d: lane(number) for number, d in enumerate(others)}}
        view = w.spread(x, len(w.shape))
        own = View(view.value, looked_through(view.index, [to[d] for d in range(len(w.shape))]))
        before = carried(space, w.dtype)
        update = Value(op, space, w.dtype, (View(before, identity(space)), own))
        (made,) = scanned([State(before, w.operand(start if w.dtype.is_float else int(start)), update)], False)
        return w.cast(View(made, (*(lane(d) for d in others), lane(axis))), w.dtype)

    return make


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    "cumsum": _running("add", 0.0),
    "cumprod": _running("mul", 1.0),
}
