"""From the time of a call down to what it could take, cause by cause, as plain data: the text and the picture both read this."""

from __future__ import annotations

from kernlint.records import dataclass
from kernlint.verdict.model import CauseReport, HeadroomReport

#: What is left after all causes is shown from here on, microseconds.
_SHOWN_US = 0.005


@dataclass(frozen=True)
class Row:
    """A level (``now``, ``achievable``, ``changed``, ``library``, ``bound``) or what takes the time down from one to the next
    (``cause``, ``rest``), ``us`` microseconds of device time. ``level_us`` is the time that is left below a cause; ``cause`` is what
    the row tells of, where it does."""

    kind: str
    name: str
    us: float
    level_us: float
    cause: CauseReport | None = None


def waterfall(found: HeadroomReport) -> list[Row]:
    """The rows in the order in which causes are removed, with the levels that there are."""
    level = found.now_us
    rows = [Row("now", "now", level, level)]
    for cause in found.causes:
        level -= cause.us
        rows.append(Row("cause", cause.cause, cause.us, level, cause))
    _, achievable, _ = found.achievable_us
    rest = found.now_us - achievable - sum(cause.us for cause in found.causes)
    if rest > _SHOWN_US:
        rows.append(Row("rest", "rest", rest, level - rest))
    rows.append(Row("achievable", "achievable", achievable, achievable))
    if found.changed_us is not None:
        rows.append(Row("changed", "... with tf32", found.changed_us, found.changed_us))
    if found.library_us is not None:
        rows.append(Row("library", "torch's kernels", found.library_us, found.library_us))
    rows.append(Row("bound", "bound", found.bound_us, found.bound_us))
    return rows
