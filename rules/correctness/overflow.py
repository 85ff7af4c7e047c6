"""32-bit indices that do not hold what they count: the shared part of the overflow rules."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import (
    Point,
    Site,
    Space,
    open_symbols,
    sites,
    symbols_of,
    told,
)
from kernlint.rules.proofs.like_launches import found_in
from kernlint.rules.proofs.source_text import text_at
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Launch, Span, Workload
from kernlint.workload.access import Narrow
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, Opaque, ProgramId, Symbol, lift
from kernlint.workload.size_names import counts_elements

#: The first value that a signed 32-bit integer cannot hold.
LIMIT = 1 << 31

#: Kinds of open products: an index read from memory; a scalar times a stride; a tile of rows times a stride; the flat
#: index of an element.
LOADED, SCALAR, TILE, FLAT = "loaded", "scalar", "tile", "flat"

#: What is said of the fix of all of them.
WIDENED = """
    Safe and exact: the program id or the loaded index is widened by `.to(tl.int64)` where it is made, or where it
    is multiplied if a variable must keep its type. It costs a few integer instructions per program.
    """


@dataclass(frozen=True)
class WideIndices(Repair):
    """The program with the 32-bit indices of ``kernel`` computed in 64 bits: those of ``kinds`` that nothing bounds, and those
    ``proven`` to overflow, or the offsets of ``random`` numbers."""

    kernel: str
    kinds: frozenset[str]
    proven: bool = False
    random: bool = False


@dataclass(frozen=True)
class Overflow:
    """A 32-bit index of ``launch``: ``value`` where it is proven to be too large at ``point``, else open (``kind``)."""

    launch: Launch
    narrow: Narrow
    kind: str
    value: int | None = None
    point: Point | None = None


def overflows(workload: Workload) -> list[Overflow]:
    """Each 32-bit index in an address, once: those proven to overflow, and those that nothing bounds."""
    return workload.once(_overflows)


def _overflows(workload: Workload) -> list[Overflow]:
    def overflowing(launch: Launch) -> Iterator[Overflow]:
        for site in sites(launch.kernel):
            judged = (_judged(workload, launch, narrow, site) for narrow in site.access.narrow)
            yield from (one for one in judged if one is not None)

    first: dict[tuple[str, Span], Overflow] = {}
    for one in found_in(workload.distinct_launches(), overflowing):
        first.setdefault((one.launch.kernel.name, one.narrow.span), one)
    return list(first.values())


def random_overflows(workload: Workload) -> Iterator[Overflow]:
    """The same for the offsets of random numbers."""
    for launch in workload.launches():
        for narrow in launch.kernel.random:
            if _is_open(narrow.value, launch):
                yield Overflow(launch, narrow, kind_of(narrow.value))


def reported(workload: Workload, asked: WideIndices) -> list[Span]:
    """The places of the products that ``asked`` is about."""
    found = random_overflows(workload) if asked.random else overflows(workload)
    return [
        one.narrow.span
        for one in found
        if one.launch.kernel.name == asked.kernel
        and (asked.proven if one.value is not None else one.kind in asked.kinds)
    ]


def _judged(workload: Workload, launch: Launch, narrow: Narrow, site: Site) -> Overflow | None:
    kind = kind_of(narrow.value)
    if kind != LOADED and not open_symbols(launch, site, narrow.value):
        if launch.kernel.assumed:
            return None
        found = Space(launch, site, {}).largest(narrow.value, enough=LIMIT - 1)
        if found is not None and found[0] >= LIMIT and narrow.known:
            return Overflow(launch, narrow, kind, found[0], found[1])
        return None
    if _is_open(narrow.value, launch) and not _is_bounded(workload, narrow.value):
        return Overflow(launch, narrow, kind)
    return None


def kind_of(value: Expr) -> str:
    """Which of the kinds an open 32-bit index is of, by its largest product."""
    if any(len(m) > 1 and any(isinstance(a, Opaque) and a.op == "load" for a in m) for m in value.terms):
        return LOADED
    products = [m for m in value.terms if len(m) > 1]
    if not products:
        return FLAT
    lanes = any(isinstance(a, Lane) for m in products for a in _inside(m))
    return TILE if lanes else SCALAR


def _inside(monomial: tuple[Atom, ...]) -> set[Atom]:
    found: set[Atom] = set()
    for atom in monomial:
        found |= Expr.atom(atom).atoms()
    return found


def _is_open(value: Expr, launch: Launch) -> bool:
    """Whether two factors of a product, or one of a flat index, have no bound in view."""
    if any(isinstance(a, Opaque) and a.op == "unknown" for a in value.atoms()):
        return False
    if any(_freedom(monomial, launch) >= 2 for monomial in value.terms):
        return True
    return kind_of(value) == FLAT and any(_unbounded(a, launch) for m in value.terms for a in m)


def _freedom(monomial: tuple[Atom, ...], launch: Launch) -> int:
    """How many factors of a product have no bound in view. The number of programs does not count, nor what is divided by
    it: ``iteration * programs`` and ``program * (rows / programs)`` are row numbers."""
    return sum(_unbounded(a, launch) and not _counts_programs(a, launch) for a in monomial)


def _counts_programs(atom: Atom, launch: Launch) -> bool:
    extents = [lift(extent) for extent in launch.grid]
    if isinstance(atom, Opaque) and atom.op == "floordiv":
        return any(atom.args[1] == extent for extent in extents if extent.value is None)
    return isinstance(atom, Symbol) and Expr.atom(atom) in extents


def _unbounded(atom: Atom, launch: Launch) -> bool:
    if isinstance(atom, Symbol):
        return True
    if isinstance(atom, ProgramId):
        return atom.axis >= len(launch.grid) or lift(launch.grid[atom.axis]).value is None
    if isinstance(atom, LoopIndex):
        return True
    if isinstance(atom, Opaque):
        if atom.op == "load":
            return True
        if atom.op in ("mod", "min"):
            # No larger than the divisor, or the smallest argument.
            return all(any(_unbounded(a, launch) for a in arg.atoms()) for arg in atom.args)
        return any(_unbounded(a, launch) for arg in atom.args for a in arg.atoms())
    return False


def _is_bounded(workload: Workload, value: Expr) -> bool:
    """Whether the program checks that something made of the symbols of ``value`` is below 2**31, or a number
    of elements."""
    symbols = symbols_of(value)
    checked = [symbols_of(left) for left, right in workload.bounds if right.value is not None and right.value <= LIMIT]
    return any(symbols & found or any(map(counts_elements, found)) for found in checked)


def widens_elsewhere(launch: Launch) -> Span | None:
    """Where ``launch`` computes an index in 64 bits that is as large as an open 32-bit one: its author expects such sizes."""
    for site in sites(launch.kernel):
        access = site.access
        if access.offset is None or access.checked:
            continue
        narrow = {monomial for one in access.narrow for monomial in one.value.terms}
        for monomial in access.offset.terms:
            moving = any(isinstance(a, (ProgramId, LoopIndex)) for a in monomial)
            if moving and monomial not in narrow and _freedom(monomial, launch) > 1:
                return access.span
    return None


def proven(rule: Rule, context: Context, found: Overflow, repair: WideIndices) -> Finding:
    """The finding for an index that overflows at the sizes in view, which ``repair`` mends."""
    assert found.value is not None and found.point is not None
    text = text_at(context, found.narrow.span) or "the index"
    factors = _largest_product(found)
    return rule.finding(
        f"`{text}` is computed in 32 bits and overflows at these sizes: {factors} > 2^31",
        found.narrow.span,
        found.launch.kernel.name,
        (
            Evidence(f"{told(found.point)} computes {found.value}, past 2147483647"),
            Evidence(f"launched with grid {_grid(found.launch)}", found.launch.span),
        ),
        _widening(context, repair, f"`{text}` overflows 32 bits"),
        at_any_size=True,
        severity="error",
    )


def _widening(context: Context, repair: WideIndices, wrong: str) -> Change:
    return mending(
        context,
        repair,
        wrong,
        "Widen the index to 64 bits where it is made.",
        f"In `{repair.kernel}`, write `.to(tl.int64)` behind the program id, the loaded index or the tile before it is multiplied.",
    )


def possible(rule: Rule, context: Context, found: list[Overflow], what: str, random: bool = False) -> Iterator[Finding]:
    """One finding per kernel for indices that nothing in view bounds."""
    kernels: dict[str, list[Overflow]] = {}
    for one in found:
        kernels.setdefault(one.launch.kernel.name, []).append(one)
    for name, group in kernels.items():
        first = group[0]
        wide = widens_elsewhere(first.launch)
        texts = list(dict.fromkeys(text_at(context, one.narrow.span) for one in group))
        others = f" (and {len(texts) - 1} more in this kernel)" if len(texts) > 1 else ""
        evidence = [
            Evidence(f"`{text or 'an index'}` is {_shown(one.narrow.value)} in 32-bit integers", one.narrow.span)
            for one in group[:6]
            for text in [text_at(context, one.narrow.span)]
        ]
        if wide is not None:
            evidence.append(Evidence("the same kernel computes another index of this size in 64 bits", wide))
        yield rule.finding(
            f"`{texts[0] or 'an index'}`{others} is computed in 32 bits: it overflows once {what} reaches 2^31",
            first.narrow.span,
            name,
            tuple(evidence),
            _widening(
                context,
                WideIndices(name, frozenset(one.kind for one in group), random=random),
                f"`{texts[0] or 'an index'}` is computed in 32 bits",
            ),
            severity="info",
        )


def _shown(value: Expr) -> str:
    text = str(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _grid(launch: Launch) -> str:
    return f"({', '.join(map(str, launch.grid))})"


def _largest_product(found: Overflow) -> str:
    """``131071 x 32000 = 4194272000``: the product that matters most at the witness."""
    assert found.point is not None
    best, text = 0, str(found.value)
    for monomial, coefficient in found.narrow.value.terms.items():
        values = [int(v) for a in monomial if (v := Expr.atom(a).evaluate(found.point)) is not None]
        factors = [v for v in values if v != 1] + ([coefficient] if coefficient != 1 else [])
        total = coefficient
        for value in values:
            total *= value
        if total > best:
            best, text = total, " x ".join(map(str, factors)) + f" = {total}"
    return text if best >= LIMIT else str(found.value)
