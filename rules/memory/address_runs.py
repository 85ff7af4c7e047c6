"""Neighbouring elements that one atomic each sends to the same address."""

from __future__ import annotations

import math

from kernlint.records import dataclass
from kernlint.workload import (
    Access,
    Atomic,
    Compute,
    Expr,
    Launch,
    Load,
    Opaque,
    ProgramId,
    Size,
    Store,
    Symbol,
    concrete,
)
from kernlint.workload.expr import Atom, Lane
from kernlint.workload.synthesis import lane, pid

REDUCTIONS = frozenset({"add", "max", "min"})


@dataclass(frozen=True)
class AddressRuns:
    """A kernel that sends one ``atomic`` for each of ``count`` elements, ``run`` neighbours to one address.

    Every address in it is a function of the element's flat index alone, program id x elements of a program + lane.
    """

    launch: Launch
    atomic: Atomic
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
    return AddressRuns(launch, atomic, _count(atomic, block, programs), run)


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
