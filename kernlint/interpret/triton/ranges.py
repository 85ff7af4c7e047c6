"""Ranges, of Python and of `triton.language`."""

from __future__ import annotations

from typing import Any

from kernlint.records import dataclass
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex


@dataclass(frozen=True)
class Range:
    """``range``, ``tl.range`` or ``tl.static_range`` inside a kernel; ``dtype`` is that of the loop variable, ``given``
    are start, stop and step as the source gives them."""

    kind: str
    start: ex.Size
    stop: ex.Size | None
    step: ex.Size
    num_stages: int | None = None
    dtype: Dtype = dt.INT32
    given: tuple[Any, ...] = (0, None, 1)

    @property
    def trip(self) -> ex.Size | None:
        """Iterations, never negative."""
        if self.stop is None:
            return None
        step = ex.concrete(self.step)
        if step is not None and step < 0:
            trip = ex.ceildiv(ex.lift(self.start) - self.stop, -step)
        else:
            trip = ex.ceildiv(ex.lift(self.stop) - self.start, self.step)
        return max(trip, 0) if isinstance(trip, int) else trip
