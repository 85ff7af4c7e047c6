"""One iteration of a kernel's loop as values: what it carries to the next, and what it makes of that."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from kernlint.records import dataclass
from kernlint.workload import Kernel, Loop
from kernlint.workload.values import Value, Values

#: What gives the same whenever its operands do.
_PURE = frozenset(
    "+ - * / // % < <= > >= == != & | ^ << >> and or not ~ negative abs maximum minimum cdiv".split()
    + "cast axes broadcast_to exp exp2 sqrt rsqrt program_id num_programs".split()
)
#: What changes memory.
_EFFECTS = ("store", "atomic_")


@dataclass(frozen=True)
class Iteration:
    """The iterations of ``loop``, of which ``values`` are those of the kernel."""

    values: Values
    loop: Loop

    @cached_property
    def carried(self) -> tuple[Value, ...]:
        """What an iteration hands to the next, but for what only the test of a ``while`` counts: a variable that is read before it
        is bound again."""
        counted = self._counted
        return tuple(
            phi
            for phi in self.values.phis(self.loop.id)
            if phi.id not in counted and any(self.holds(user) for user in self.values.users(phi))
        )

    def holds(self, value: Value) -> bool:
        """Whether ``value`` is computed in each iteration."""
        return self.values.within(value, self.loop.id)

    def begin(self, phi: Value) -> Value:
        """What the variable of ``phi`` holds before the first iteration."""
        return self.values.operands(phi)[0]

    def end(self, phi: Value) -> Value:
        """What the variable of ``phi`` holds when an iteration is over."""
        return self.values.operands(phi)[1]

    def reached(self, starts: Iterable[Value]) -> frozenset[int]:
        """The ids of ``starts`` and of all that one iteration computes from them."""
        starts = tuple(starts)
        found = {value.id for value in starts}
        left = list(starts)
        while left:
            for user in self.values.users(left.pop()):
                if user.id not in found and self.holds(user) and not self._is_phi(user):
                    found.add(user.id)
                    left.append(user)
        return frozenset(found)

    def writes(self) -> bool:
        """Whether an iteration changes memory."""
        return any(value.op.startswith(_EFFECTS) and self.holds(value) for value in self.values)

    def moves_evenly(self, phi: Value) -> bool:
        """Whether ``phi`` only grows by something that no iteration changes: an address, an index."""
        end = self.end(phi)
        return end.op == "+" and end.operands[0] == phi.id and self.is_steady(self.values.operands(end)[1])

    def is_steady(self, value: Value) -> bool:
        """Whether ``value`` is the same in each iteration: made of what is, where it is computed there."""
        if value.op == "constant" or not self.holds(value):
            return True
        pure = value.op in _PURE or (value.op == "load" and not self.writes())
        return pure and all(map(self.is_steady, self.values.operands(value)))

    def _is_phi(self, value: Value) -> bool:
        return value.op == "phi" and value.node == self.loop.id

    @cached_property
    def _counted(self) -> frozenset[int]:
        """The ids of the variables that the test of a ``while`` looks at."""
        if self.loop.kind != "while":
            return frozenset()
        tests = [value for value in self.values if value.op == "while" and value.node == self.loop.id]
        found: set[int] = set()
        left = [*tests]
        while left:
            for operand in self.values.operands(left.pop()):
                if self._is_phi(operand):
                    found.add(operand.id)
                elif self.holds(operand):
                    left.append(operand)
        return frozenset(found)


def iteration(kernel: Kernel, loop: Loop) -> Iteration | None:
    """The iterations of ``loop``; None where they were not followed, or where it is no loop of the source any more."""
    values = kernel.values
    if values is None or any(phi.span != loop.span for phi in values.phis(loop.id)):
        return None
    return Iteration(values, loop)
