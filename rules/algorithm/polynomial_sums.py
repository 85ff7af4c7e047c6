"""Loops that add up polynomials of what they load: sums that moments about any other centre give as well."""

from __future__ import annotations

from collections.abc import Sequence

from kernlint.rules.proofs.iteration import Iteration, iteration
from kernlint.workload import Kernel, Loop
from kernlint.workload.values import Value

#: Functions whose first operand's elements come out as they went in, or added up.
_KEEPING = frozenset({"cast", "sum", "reshape", "axes", "broadcast_to"})


def sums_polynomials(kernel: Kernel, loop: Loop) -> bool:
    """Whether all that ``loop`` hands on are sums of polynomials of the values that it loads, one of higher degree among them.

    The coefficients may be whatever was known before the loop, so that such a sum about a mean follows from sums about any
    other number: sums, products and whole powers of loaded values, masks that do not depend on them.
    """
    steps = iteration(kernel, loop)
    return steps is not None and not steps.writes() and _Sums(steps).found()


class _Sums:
    """``data`` are the values of an iteration that depend on what it loads, ``carried`` the running sums of such."""

    def __init__(self, steps: Iteration) -> None:
        self.steps = steps
        self.values = steps.values
        self.data = steps.reached(value for value in steps.values if value.op == "load" and steps.holds(value))
        # A pointer that moves on is carried too, but nothing that is loaded reaches it.
        self.carried = [phi for phi in steps.carried if steps.end(phi).id in self.data]
        self.summed = steps.reached(self.carried)
        self.sums: set[int] = set()
        self.polynomials: dict[int, bool] = {}
        self.products = False

    def found(self) -> bool:
        grown = all(self._adds_to(phi, self.steps.end(phi)) for phi in self.carried)
        # Nothing else is made of what was summed so far.
        return grown and self.summed <= self.sums and all(map(self._polynomial, self._handed_on())) and self.products

    def _adds_to(self, phi: Value, value: Value) -> bool:
        """Whether ``value`` is ``phi`` with polynomials added."""
        self.sums.add(value.id)
        if value.id == phi.id:
            return True
        if value.op not in ("+", "-"):
            return False
        left, right = self.values.operands(value)
        for before, added in ((left, right), (right, left))[: 1 + (value.op == "+")]:
            if before.id in self.summed and added.id not in self.summed:
                return self._polynomial(added) and self._adds_to(phi, before)
        return False

    def _handed_on(self) -> list[Value]:
        """What else the loop leaves of what it loaded: the last tile, say."""
        exits = [value for value in self.values if value.op == "exit" and value.node == self.steps.loop.id]
        inside = [self.values.operands(value)[0] for value in exits if self.values.users(value)]
        return [value for value in inside if value.id in self.data]

    def _polynomial(self, value: Value) -> bool:
        """Whether ``value`` is a polynomial of the values loaded, or has nothing to do with them."""
        if value.id not in self.data:
            return True
        if value.id not in self.polynomials:
            self.polynomials[value.id] = False  # a loop in the loop comes back here
            self.polynomials[value.id] = self._made(value, self.values.operands(value))
        return self.polynomials[value.id]

    def _made(self, value: Value, operands: Sequence[Value]) -> bool:
        data = [one.id in self.data for one in operands]
        if value.op == "load":
            # Through an index that was loaded itself the values are another function of it.
            return not any(data)
        if value.op == "*":
            self.products |= all(data)
        elif value.op == "**":
            self.products |= data[0]
            return operands[1].detail in (2, 3, 4) and self._polynomial(operands[0])
        elif value.op == "/" or value.op in _KEEPING:
            return not any(data[1:]) and self._polynomial(operands[0])
        elif value.op == "where":
            return not data[0] and all(map(self._polynomial, operands[1:]))
        elif value.op not in ("+", "-", "negative"):
            return False
        return all(map(self._polynomial, operands))
