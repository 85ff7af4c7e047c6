"""Carried variables that scans can compute one after the other, each from those that do not depend on it."""

from __future__ import annotations

from collections.abc import Mapping

from kernlint.records import dataclass
from kernlint.rules.proofs.dependence import OTHER, SAME, Dependence
from kernlint.rules.proofs.iteration import Iteration, iteration
from kernlint.workload import Kernel, Loop
from kernlint.workload.values import Value


@dataclass(frozen=True)
class Cascade:
    """``kinds`` of the carried variables (sum, product, linear, extremum), those first that others need. ``each`` are those
    whose value is needed in each iteration, by another variable or by a store; the others are needed at the end.
    ``coupled`` says that a variable needs another one."""

    kinds: Mapping[str, str]
    each: frozenset[str]
    coupled: bool = False


def cascade(kernel: Kernel, loop: Loop) -> Cascade | None:
    """The variables that ``loop`` carries, but for the counter that a ``while`` tests and addresses; None where they were not
    followed, or where scans one after the other cannot do it: a variable is updated by a function of itself that is neither
    first-order linear nor an extremum, or two variables wait for each other.
    """
    steps = iteration(kernel, loop)
    if steps is None:
        return None
    carried = {phi.id: phi for phi in steps.carried if not _addresses(steps, phi)}
    dependence = Dependence(steps.values, carried.values(), steps.reached(carried.values()))
    forms = {id: dependence.of(steps.end(phi)) for id, phi in carried.items()}
    needs = {id: set(form) - {id} for id, form in forms.items()}
    # A value of the iteration before alone is no recurrence: a block of them is a block of values moved by one.
    kinds = {id: form[id] for id, form in forms.items() if id in form}
    if any(kind in (OTHER, SAME) for kind in kinds.values()):
        return None
    order: list[int] = []
    while len(order) < len(carried):
        ready = [id for id in carried if id not in order and needs[id] <= set(order)]
        if not ready:
            return None
        order += sorted(ready, key=lambda id: carried[id].name)
    left = [id for id in order if id in kinds]
    stores = [value for value in steps.values if value.op.startswith(("store", "atomic_")) and steps.holds(value)]
    stored = {id for store in stores for one in steps.values.operands(store) for id in dependence.of(one)}
    each = frozenset(carried[id].name for id in stored.union(*needs.values()) & set(left))
    coupled = any(needs[id] & set(left) for id in left)
    return Cascade({carried[id].name: kinds[id] for id in left}, each, coupled) if left else None


def _addresses(steps: Iteration, phi: Value) -> bool:
    """Whether ``phi`` is a pointer or index that only counts on: it ends in addresses and in its own updates alone."""
    own = steps.end(phi)
    left, seen, accessed = [phi], {phi.id}, False
    while left:
        value = left.pop()
        for user in steps.values.users(value):
            if not steps.holds(user) or user.id in seen or user is phi:
                continue
            if user.op == "phi":
                return False
            if user.op == "load" or user.op.startswith(("store", "atomic_")):
                if steps.values.argument(user, "pointer") is not value or list(user.operands).count(value.id) > 1:
                    return False
                accessed = True
                continue
            seen.add(user.id)
            left.append(user)
    return accessed and own.id in seen
