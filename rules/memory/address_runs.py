"""Neighbouring elements that one atomic each sends to the same address, and the sum in registers that takes their place."""

from __future__ import annotations

import math

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.counterparts import launches_at
from kernlint.workload import (
    Access,
    Atomic,
    Compute,
    Expr,
    Kernel,
    Launch,
    Load,
    Loop,
    Node,
    Opaque,
    ProgramId,
    Reduce,
    Size,
    Span,
    Store,
    Symbol,
    Workload,
    concrete,
)
from kernlint.workload.expr import Atom, Lane, floordiv, lift, mod
from kernlint.workload.kernel import rewrite
from kernlint.workload.steps import map_launch
from kernlint.workload.synthesis import arith, iteration, lane, pid, power_of_two

REDUCTIONS = frozenset({"add", "max", "min"})
#: The least tile that the changed kernel works on: a warp.
_WARP = 32


@dataclass(frozen=True)
class AddressRuns:
    """A kernel that sends one ``atomic`` for each of ``count`` elements, ``run`` neighbours to one address.

    Every address in it is a function of the element's flat index alone, program id x ``block`` + lane.
    """

    launch: Launch
    atomic: Atomic
    block: int
    count: int
    run: int


def address_runs(launch: Launch) -> AddressRuns | None:
    """The runs of equal addresses in the one vector atomic of ``launch``; None where that is not proven, where there are
    other atomics, or where the old value is used."""
    kernel, programs = launch.kernel, launch.programs
    atomics = [node for node in kernel.body if isinstance(node, Atomic)]
    if not kernel.complete or launch.autotuned or len(launch.grid) != 1 or programs is None or len(atomics) != 1:
        return None
    if not all(isinstance(node, (Load, Store, Atomic, Compute)) for node in kernel.body):
        return None
    (atomic,) = atomics
    if atomic.op not in REDUCTIONS or len(atomic.shape) != 1 or atomic.elements < 2:
        return None
    if any(atomic.id in getattr(node, "depends", ()) for node in kernel.body if node is not atomic):
        return None
    block = atomic.elements
    flat = [_flat(node, block) for node in kernel.body if isinstance(node, Access)]
    if not all(flat):
        return None
    run = _run(_by_element(atomic.offset, block), programs * block)
    if run is None or run < 2:
        return None
    return AddressRuns(launch, atomic, block, _count(atomic, block, programs), run)


def _by_element(value: Expr | None, block: int) -> Expr | None:
    """``value`` by the flat index of the element, in the place of lane 0; None where it is not a function of that."""
    if value is None or not value.is_followed:
        return None
    result = value.substitute({Lane(0): lane(0) - pid(0) * block})
    return None if any(isinstance(atom, ProgramId) for atom in result.atoms()) else result


def _flat(access: Access, block: int) -> bool:
    """Whether the addresses and bounds of ``access`` are functions of the flat index, one for each element or all alike."""
    if access.shape not in ((), (1,), (block,)):
        return False
    bounds = [side for bound in access.mask or () for side in bound]
    return all(_by_element(value, block) is not None for value in (access.offset, *bounds))


def _run(address: Expr | None, elements: int) -> int | None:
    """How many neighbouring flat indices have one address: those that a floor division of the index does not tell apart."""
    if address is None:
        return None
    divisors = {
        concrete(atom.args[1])
        for atom in address.atoms()
        if isinstance(atom, Opaque) and atom.op == "floordiv" and atom.args[0] == lane(0)
    }

    def segment(atom: Atom) -> Size | None:
        divided = isinstance(atom, Opaque) and atom.op == "floordiv" and atom.args[0] == lane(0)
        return Expr.atom(Symbol("segment")) if divided else None

    if None in divisors or Lane(0) in address.rewrite(segment).atoms():
        return None
    return math.gcd(*(divisor for divisor in divisors if divisor)) if divisors else elements


def _count(atomic: Atomic, block: int, programs: int) -> int:
    """Elements that the mask lets through, or all lanes of all programs."""
    ends = [
        concrete(right)
        for left, right in atomic.mask or ()
        if _by_element(left, block) == lane(0) and concrete(right) is not None
    ]
    return min([programs * block, *(end for end in ends if end)])


@dataclass(frozen=True)
class SummedRuns:
    """The workload with one launch whose programs add up ``chunk`` elements of one address in registers and send one atomic
    for them."""

    launch: Span
    chunk: int

    def __call__(self, workload: Workload) -> Workload:
        found = [runs for one in launches_at(workload, self.launch) if (runs := address_runs(one)) is not None]
        return map_launch(workload, self.launch, lambda _: self._summed(found[0])) if len(found) == 1 else workload

    def _summed(self, found: AddressRuns) -> Launch:
        kernel, atomic, span = found.launch.kernel, found.atomic, found.atomic.span
        chunk = min(self.chunk, found.run)
        tile = max(_WARP, min(found.block, power_of_two(chunk)))
        parts = -(-found.run // chunk)
        loop = 1 + max(node.id for node in kernel.body if isinstance(node, Access))
        trip = -(-chunk // tile)
        step: Size = iteration(loop) * tile if trip > 1 else 0
        first = lift(floordiv(pid(0), parts)) * found.run + lift(mod(pid(0), parts)) * chunk
        within = lift(mod(pid(0), parts)) * chunk + step + lane(0)
        ends = (within, lift(min(found.run, found.count)))

        def moved(value: Expr) -> Expr:
            flat = _by_element(value, found.block)
            assert flat is not None
            return flat.substitute({Lane(0): first + step + lane(0)})

        def inside(node: Node) -> Node | None:
            if isinstance(node, Atomic):
                return arith(tile, span, atomic.dtype)
            if isinstance(node, Compute):
                return replace(node, elements=tile) if node.elements == found.block else node
            if not isinstance(node, Access) or node.shape != (found.block,) or node.offset is None:
                return node
            mask = tuple((moved(left), moved(right)) for left, right in node.mask or ())
            return replace(node, shape=(tile,), offset=moved(node.offset), mask=(*mask, ends))

        body = rewrite(kernel.body, inside)
        if trip > 1:
            body = (Loop(loop, "range", trip, body, span, carried=True),)
        op = "sum" if atomic.op == "add" else atomic.op
        address = _by_element(atomic.offset, found.block)
        assert address is not None
        summed = (
            *body,
            Reduce(op, (tile,), 0, True, atomic.depends, span, atomic.dtype),
            replace(atomic, shape=(), offset=address.substitute({Lane(0): first}), mask=None),
        )
        changed = Kernel(kernel.name, summed, kernel.span, kernel.name_span, kernel.file, dims=1)
        return replace(found.launch, kernel=changed, grid=(-(-found.count // found.run) * parts,))
