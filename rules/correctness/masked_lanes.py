"""Masked lanes that take part in a reduction: what they hold, and whether that is the reduction's identity."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Doubt, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import Site, Space, samples, sites, symbols_of
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Launch, Reduce, Span, Workload
from kernlint.workload.access import Load, Pad
from kernlint.workload.expr import Expr, Lane
from kernlint.workload.values import Value

#: Numbers beyond this stand for infinity in kernels (-1e9, the lowest float32).
LOWEST = 1e4


@dataclass(frozen=True)
class Padded:
    """A reduction of ``launch`` along an axis on which the mask of ``pad`` leaves lanes out; ``proven`` at the sizes in
    view."""

    launch: Launch
    reduce: Reduce
    pad: Pad
    proven: bool


def reductions(workload: Workload) -> Iterator[Padded]:
    """Every reduction over masked lanes, once per load."""
    seen: set[tuple[str, object, int]] = set()
    for launch in workload.launches():
        for site in sites(launch.kernel, Reduce):
            reduce = site.node
            assert isinstance(reduce, Reduce)
            for pad in reduce.pads:
                key = (launch.kernel.name, reduce.span, pad.load)
                if key in seen or not _along(pad, reduce):
                    continue
                left_out = _leaves_out(workload, launch, site, reduce, pad)
                if left_out is not None:
                    seen.add(key)
                    yield Padded(launch, reduce, pad, left_out)


def _along(pad: Pad, reduce: Reduce) -> bool:
    atoms = {a for pair in pad.bounds for side in pair for a in side.atoms()}
    return any(isinstance(a, Lane) and reduce.axis in (None, a.dim) for a in atoms)


def _leaves_out(workload: Workload, launch: Launch, site: Site, reduce: Reduce, pad: Pad) -> bool | None:
    """True where the mask is proven to leave a lane out, False where nothing rules it out, None where it never does."""
    exprs = [side for pair in pad.bounds for side in pair]
    if not all(side.is_followed for side in exprs):
        return False
    if launch.kernel.assumed and not launch.open_constexprs:
        return False
    trips = [loop.trip for loop in site.loops]
    symbols = symbols_of(*exprs, *launch.grid, *trips, *launch.open_constexprs.values())
    for sizes in samples(workload, symbols, launch):
        space = Space(launch, site, sizes, reduce.shape)
        if not space.known:
            return False
        for left, right in pad.bounds:
            beyond = space.largest(left - right, enough=-1)
            if beyond is not None and beyond[0] >= 0:
                return not symbols
    return None


def described(found: Padded) -> str:
    """What is wrong with the masked lanes of a reduction; empty where they do no harm or are not known."""
    op, value = found.reduce.op, found.pad.value
    if op == "sum":
        if value == "positive":
            return "which hold positive numbers there"
        if value == "data":
            return "which hold numbers that depend on the data there"
        if isinstance(value, float) and value != 0:
            return f"which hold {value:g} there"
    if not isinstance(value, float) or (found.reduce.dtype is not None and not found.reduce.dtype.is_float):
        return ""
    if _taken_in_anyway(found, value):
        return ""
    if op in ("max", "argmax") and value > -LOWEST and not (found.reduce.nonnegative and value <= 0):
        return f"which hold {value:g} there, more than any negative number"
    if op in ("min", "argmin") and value < LOWEST:
        return f"which hold {value:g} there, not infinity"
    if op == "prod" and value != 1:
        return f"which hold {value:g} there"
    return ""


def _taken_in_anyway(found: Padded, value: float) -> bool:
    """Whether the extreme is only used together with a number that is at least as extreme as ``value``: `tl.maximum(tl.max(x), 0)`."""
    values, further = found.launch.kernel.values, {"max": "maximum", "min": "minimum"}.get(found.reduce.op)
    if values is None or further is None:
        return False
    results = [one for one in values if one.op == found.reduce.op and one.span == found.reduce.span]
    users = [(one, user) for one in results for user in values.users(one)]

    def reaches(result: Value, user: Value) -> bool:
        numbers = [values[id].detail for id in user.operands if id != result.id and values[id].op == "constant"]
        numbers = [one for one in numbers if isinstance(one, (int, float))]
        return user.op == further and any(one >= value if further == "maximum" else one <= value for one in numbers)

    return bool(users) and all(reaches(result, user) for result, user in users)


def is_wrong(found: Padded) -> bool:
    """Whether the masked lanes of a reduction are undefined, or change its result."""
    return (found.pad.value == "undefined" and found.reduce.op != "reduce") or bool(described(found))


@dataclass(frozen=True)
class FittingOther(Repair):
    """The program with an ``other`` at the load at ``place`` of ``kernel`` that changes no reduction over its masked lanes."""

    kernel: str
    place: Span


def finding(rule: Rule, context: Context, found: Padded, what: str, *doubts: Doubt) -> Finding:
    load = next((s.node for s in sites(found.launch.kernel, Load) if s.access.id == found.pad.load), None)
    evidence = []
    if isinstance(load, Load):
        other = (
            "no `other`" if not load.filled else f"`other` {load.other:g}" if load.other is not None else "an `other`"
        )
        evidence.append(Evidence(f"`{load.base}` is loaded with a mask and {other}", load.span))
    masks = " and ".join(f"{_short(left)} < {_short(right)}" for left, right in found.pad.bounds)
    evidence.append(Evidence(f"the mask {masks} runs along the reduced axis", found.reduce.span))
    if not found.proven:
        evidence.append(Evidence("the sizes in view do not rule out that the mask leaves lanes out", found.launch.span))
    return rule.finding(
        f"`tl.{found.reduce.op}` takes in the masked lanes, {what}",
        found.reduce.span,
        found.launch.kernel.name,
        tuple(evidence),
        _other(context, found, load.span, what) if isinstance(load, Load) else None,
        doubts=doubts,
    )


def _other(context: Context, found: Padded, load: Span, what: str) -> Change:
    return mending(
        context,
        FittingOther(found.launch.kernel.name, load),
        f"`tl.{found.reduce.op}` takes in the masked lanes, {what}",
        f"Load with the `other` that leaves `tl.{found.reduce.op}` as it is: 0 for a sum, -inf for a maximum, inf for a minimum.",
        f"Set `other` of the load at line {load.line}.",
    )


def _short(expr: Expr) -> str:
    text = str(expr)
    return text if len(text) <= 60 else text[:57] + "..."
