"""What a kernel computes as static single assignment: each value once, with its operation and what it was made of.

Made beside the nodes that costs are counted from (:mod:`kernlint.workload.kernel`), of the same reading of the source.
Helpers are followed into, names are gone, whole tiles are one value. A question about what a kernel computes is a walk over
operands here; it needs no look at how that was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from kernlint.records import dataclass
from kernlint.workload.dtype import Dtype
from kernlint.workload.span import Span


@dataclass(frozen=True)
class Region:
    """Where a value is computed: in the kernel's own body (no ``parent``), in each iteration of ``loop`` (the id of its node;
    else 0), or where the value ``test`` is ``holds``."""

    parent: Region | None = None
    loop: int = 0
    test: int = 0
    holds: bool = True

    def around(self) -> Iterator[Region]:
        """This region and those that it lies in, innermost first."""
        region: Region | None = self
        while region is not None:
            yield region
            region = region.parent


#: Arguments that say how precisely something is computed.
MANNERS = frozenset({"propagate_nan", "sanitize_overflow", "ieee_rounding"})


@dataclass(frozen=True)
class Value:
    """One value: a scalar, a tile, or what a store leaves behind.

    ``op`` is the operation: an operator as Python spells it (``+``, ``<``, ``&``; ``negative``, ``not`` and ``~`` with one
    operand), a function of ``triton.language`` by its last name (``exp``, ``dot``, ``load``, ``sum``; ``cast``, ``reshape`` and
    ``trans`` however they are called), or one of these:

    - ``parameter`` (``detail``: its name) and ``constant`` (``detail``: what it is; sizes, types and flags too);
    - ``index``, the variable of a ``for`` loop, of the start, stop and step;
    - ``phi``, what the variable ``name`` holds when an iteration begins, of what it held before the loop and what it holds at
      the end of an iteration; ``exit``, what a value of a loop is after it (of the ``phi`` for a variable that is carried);
    - ``while``, of the test before each iteration;
    - ``either``, of a condition and what stands for it where that holds and where not;
    - ``axes``, a tile with new axes (``x[:, None]``); ``item``, one of several results (``detail``: which); ``tuple``;
    - ``unknown``, which was not followed.

    ``operands`` are the ids of other values; ``roles`` what the function calls each of them, empty strings for operators.
    ``node`` is the id of the access or dot that the value belongs to, of ``phi``, ``exit`` and ``while`` that of the loop.
    """

    id: int
    op: str
    operands: tuple[int, ...]
    dtype: Dtype | None
    shape: tuple[int, ...]
    span: Span
    region: Region
    roles: tuple[str, ...] = ()
    node: int = 0
    detail: Any = None
    name: str = ""


#: Operations that may give something else the next time.
_OF_THEIR_TIME = frozenset({"load", "call", "unknown", "rand", "randn", "inline_asm_elementwise"})


@dataclass(frozen=True)
class Values:
    """The values of a kernel by id, in program order but for the constants, which come where they are first used."""

    table: Mapping[int, Value]

    def __getitem__(self, id: int) -> Value:
        return self.table[id]

    def __iter__(self) -> Iterator[Value]:
        return iter(self.table.values())

    def operands(self, value: Value) -> tuple[Value, ...]:
        """What ``value`` was computed from."""
        return tuple(self.table[id] for id in value.operands)

    def argument(self, value: Value, role: str) -> Value | None:
        """The operand of a call that its function calls ``role``; None where it was not given."""
        return self.table[value.operands[value.roles.index(role)]] if role in value.roles else None

    def optional(self, value: Value, role: str) -> Value | None:
        """The same of what may be left out, or be None."""
        given = self.argument(value, role)
        return None if given is None or (given.op == "constant" and given.detail is None) else given

    def setting(self, value: Value, role: str) -> Any:
        """What the source says for ``role`` in a call (an axis, a type); None where it says nothing that is known there."""
        given = self.argument(value, role)
        return given.detail if given is not None and given.op == "constant" else None

    def flag(self, value: Value, role: str) -> bool | None:
        """Whether the option ``role`` of a call is on: it is off where it is left out; None where that is not known."""
        given = self.optional(value, role)
        if given is None:
            return False
        return bool(given.detail) if given.op == "constant" else None

    def phis(self, loop: int) -> tuple[Value, ...]:
        """What the loop with the node ``loop`` carries from one iteration to the next."""
        return self._phis.get(loop, ())

    def within(self, value: Value, loop: int) -> bool:
        """Whether ``value`` is computed in each iteration of ``loop``."""
        return any(region.loop == loop for region in value.region.around())

    def users(self, value: Value) -> tuple[Value, ...]:
        """The values that ``value`` is an operand of."""
        return self._users.get(value.id, ())

    def reached(self, starts: Iterable[Value]) -> frozenset[int]:
        """The ids of ``starts`` and of all that is computed from them."""
        left = list(starts)
        found = {value.id for value in left}
        while left:
            for user in self.users(left.pop()):
                if user.id not in found:
                    found.add(user.id)
                    left.append(user)
        return frozenset(found)

    def equal(self, one: Value, other: Value) -> bool:
        """Whether two values are surely the same number: one value, or arithmetic on equal ones."""
        left, seen = [(one, other)], set[tuple[int, int]]()
        while left:
            one, other = left.pop()
            if one is other or (one.id, other.id) in seen:
                continue
            seen.add((one.id, other.id))
            # Loads read what memory holds at their time, and what loops carry is equal only where it is one value.
            pure = one.op not in _OF_THEIR_TIME and not one.node and len(one.operands) == len(other.operands) > 0
            alike = (one.op, one.roles, one.detail, one.shape) == (other.op, other.roles, other.detail, other.shape)
            if not pure or not alike:
                return False
            left += zip(self.operands(one), self.operands(other))
        return True

    def at_node(self, node: int) -> Value | None:
        """The value of the load, store, atomic or dot with the id ``node``."""
        return self._at_nodes.get(node)

    @cached_property
    def _phis(self) -> dict[int, tuple[Value, ...]]:
        found: dict[int, list[Value]] = {}
        for value in self:
            if value.op == "phi":
                found.setdefault(value.node, []).append(value)
        return {loop: tuple(phis) for loop, phis in found.items()}

    @cached_property
    def _users(self) -> dict[int, tuple[Value, ...]]:
        found: dict[int, list[Value]] = {}
        for value in self:
            for id in dict.fromkeys(value.operands):
                found.setdefault(id, []).append(value)
        return {id: tuple(users) for id, users in found.items()}

    @cached_property
    def _at_nodes(self) -> dict[int, Value]:
        return {value.node: value for value in self if value.node and value.op not in ("phi", "exit", "while")}
