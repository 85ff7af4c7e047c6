"""Reductions of a part of a row in each round of a loop, which puts their results together: parts of another length give the same."""

from __future__ import annotations

import math

from kernlint.rules.proofs.iteration import Iteration, iteration
from kernlint.rules.proofs.softmax_state import softmax_state
from kernlint.workload import Kernel, Loop, Reduce
from kernlint.workload.values import Value

#: By the reduction: what joins its results, and what changes none.
_JOINED = {"sum": ("+", 0.0), "max": ("maximum", -math.inf), "min": ("minimum", math.inf)}


def is_folded(kernel: Kernel, reduce: Reduce, loop: Loop) -> bool:
    """Whether ``loop`` joins what its rounds ``reduce`` as that does, or makes an online softmax of it, and uses it for nothing else.
    Masked lanes are not looked at."""
    steps = iteration(kernel, loop)
    if steps is None or reduce.op not in _JOINED or reduce.indexed:
        return False
    made = [
        value for value in steps.values if value.span == reduce.span and value.op == reduce.op and steps.holds(value)
    ]
    if len(made) != 1:
        return False
    phi = joined_by(steps, made[0])
    if phi is not None and _only_there(steps, phi):
        return True
    state = softmax_state(kernel, loop)
    if state is None:
        return False
    if phi is not None:
        return reduce.op == "max" and phi.name == state.maximum
    relative = steps.reached(phi for phi in steps.carried if phi.name in {state.maximum, *state.sums})
    return reduce.op == "sum" and made[0].id in relative


def joined_by(steps: Iteration, value: Value) -> Value | None:
    """What the loop of ``steps`` carries and joins ``value`` to at the end of a round, as the reduction that ``value`` is does; None
    where ``value`` is used in any other way."""
    join = _JOINED[value.op][0] if value.op in _JOINED else ""
    users = [user for user in steps.values.users(value) if user.op != "exit" or steps.values.users(user)]
    if len(users) != 1 or users[0].op != join:
        return None
    others = [one for one in steps.values.operands(users[0]) if one is not value]
    phis = [phi for phi in steps.carried if len(others) == 1 and others[0] is phi and steps.end(phi) is users[0]]
    return phis[0] if phis else None


def _only_there(steps: Iteration, phi: Value) -> bool:
    """Whether a round looks at what ``phi`` carries only to join something to it."""
    end = steps.end(phi)
    inside = {user.id for one in (phi, end) for user in steps.values.users(one) if steps.holds(user)}
    return inside <= {end.id, phi.id}


def is_neutral(reduce: Reduce) -> bool:
    """Whether masks leave lanes out of ``reduce``, and those change nothing, however many there are."""
    return bool(reduce.pads) and all(pad.value == _JOINED[reduce.op][1] for pad in reduce.pads)
