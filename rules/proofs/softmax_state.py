"""Loops that carry an online softmax: a running maximum, and sums whose weights are relative to it.

With ``w = exp(s - m)`` for scores ``s`` and ``m`` the maximum so far, sums of ``w`` and of ``w * v`` over two parts of the
loop, each relative to its own maximum, add up once both are multiplied by ``exp(m_part - m_all)``. So parts of such a loop
can run elsewhere. That holds for every state that is linear in the weights, which is what is proven here.
"""

from __future__ import annotations

from kernlint.records import dataclass
from kernlint.rules.proofs.iteration import Iteration, iteration
from kernlint.workload import Kernel, Loop
from kernlint.workload.values import Value

#: Operations that give back the values of their first operand, perhaps in another shape or type.
_SAME_VALUES = frozenset({"cast", "reshape", "axes", "broadcast_to", "trans"})
_EXPONENTIALS = frozenset({"exp", "exp2"})


@dataclass(frozen=True)
class SoftmaxState:
    """The carried variables: the running ``maximum`` and ``sums`` of weights, which are ``exponential`` (``exp`` or ``exp2``)
    of scores less the maximum."""

    maximum: str
    sums: frozenset[str]
    exponential: str


@dataclass(frozen=True)
class Part:
    """What a value is to the carried softmax.

    ``kind`` is ``free`` (does not depend on it), ``old`` and ``new`` (the maximum before and after the iteration),
    ``below`` (free less the new maximum), ``step`` (the old maximum less the new), ``scale`` (exp of a step), ``weight``
    (linear in exp of a below), ``state`` (a sum as it was), ``scaled`` (it times the scale), ``next`` (a scaled one with
    weights added) or ``other``. ``phi`` is the carried value that it belongs to, ``base`` the exponential.
    """

    kind: str
    phi: int = 0
    base: str = ""


_FREE, _OTHER = Part("free"), Part("other")


def softmax_state(kernel: Kernel, loop: Loop) -> SoftmaxState | None:
    """The running maximum that ``loop`` carries and the sums of weights relative to it; None where it carries anything else
    (but addresses that move by the same each time, and the counter that a ``while`` tests), stores something, or where that
    cannot be proven."""
    steps = iteration(kernel, loop)
    if steps is None or steps.writes():
        return None
    carried = [phi for phi in steps.carried if not steps.moves_evenly(phi)]
    for maximum in sorted(carried, key=lambda phi: phi.name):
        sums = [phi for phi in carried if phi is not maximum]
        parts = _Parts(steps, maximum, sums)
        if not sums or parts.of(steps.end(maximum)) != Part("new", maximum.id):
            continue
        ends = [parts.of(steps.end(phi)) for phi in sums]
        grown = all(end.kind == "next" and end.phi == phi.id for end, phi in zip(ends, sums))
        if grown and len({end.base for end in ends}) == 1:
            return SoftmaxState(maximum.name, frozenset(phi.name for phi in sums), ends[0].base)
    return None


class _Parts:
    """What the values of one iteration are to a softmax with this ``maximum`` and these ``sums``."""

    def __init__(self, steps: Iteration, maximum: Value, sums: list[Value]) -> None:
        self.values = steps.values
        self.reached = steps.reached((maximum, *sums))
        self.known = {maximum.id: Part("old", maximum.id), **{phi.id: Part("state", phi.id) for phi in sums}}

    def of(self, value: Value) -> Part:
        if value.id not in self.reached:
            return _FREE
        if value.id not in self.known:
            self.known[value.id] = _OTHER  # a loop in the loop comes back here
            self.known[value.id] = self._made(value, [self.of(one) for one in self.values.operands(value)])
        return self.known[value.id]

    def _made(self, value: Value, parts: list[Part]) -> Part:
        """What ``value``, of operands that are ``parts``, is."""
        op = value.op
        rest_is_free = all(part == _FREE for part in parts[1:])
        if op in _SAME_VALUES:
            return parts[0] if rest_is_free else _OTHER
        if op == "sum":
            return parts[0] if parts[0].kind == "weight" and rest_is_free else _OTHER
        if op == "maximum" and len(parts) == 2:
            old, other = sorted(parts, key=lambda part: part.kind != "old")
            return Part("new", old.phi) if old.kind == "old" and other == _FREE else _OTHER
        if op in _EXPONENTIALS:
            kind = {"below": "weight", "step": "scale"}.get(parts[0].kind)
            return Part(kind, 0, op) if kind is not None else _OTHER
        if op == "where" and parts[0] == _FREE:
            arms = zip(parts[1:], self.values.operands(value)[1:])
            kept = [part for part, one in arms if one.op != "constant" or one.detail != 0]
            return kept[0] if len(kept) == 1 and kept[0].kind == "weight" else _OTHER
        if op == "dot":
            return self._dot(value, dict(zip(value.roles, parts)))
        return _combined(op, *parts) if len(parts) == 2 else _OTHER

    def _dot(self, value: Value, parts: dict[str, Part]) -> Part:
        product = _combined("*", parts.pop("input"), parts.pop("other"))
        added = parts.pop("acc", _FREE)
        if any(part != _FREE for part in parts.values()):
            return _OTHER
        given = self.values.argument(value, "acc")
        return product if given is None or given.op == "constant" else _combined("+", added, product)


def _combined(operator: str, left: Part, right: Part) -> Part:
    if left == _FREE and right == _FREE:
        return _FREE
    if operator == "-" and right.kind == "new" and left.kind in ("free", "old"):
        return Part("below" if left.kind == "free" else "step")
    if operator == "*":
        return _first(_times(left, right), _times(right, left))
    if operator == "+":
        return _first(_plus(left, right), _plus(right, left))
    if operator == "/" and left.kind == "weight" and right == _FREE:
        return left
    return _OTHER


def _first(left: Part, right: Part) -> Part:
    return left if left != _OTHER else right


def _times(left: Part, right: Part) -> Part:
    if left.kind == "weight" and right == _FREE:
        return left
    if left.kind == "state" and right.kind == "scale":
        return Part("scaled", left.phi, right.base)
    return _OTHER


def _plus(left: Part, right: Part) -> Part:
    if left.base == right.base and right.kind == "weight":
        if left.kind in ("scaled", "next"):
            return Part("next", left.phi, left.base)
        if left.kind == "weight":
            return left
    return _OTHER
