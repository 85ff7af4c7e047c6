"""Keeps what an evaluator of a kernel computes, so that the kernel's values can be told when somebody asks for them.

Almost nobody does: while the kernel is read only operands are noted, and :meth:`Recorder.values` does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.triton.values import Block, Descriptor
from kernlint.interpret.values import Unknown, is_huge
from kernlint.records import replace
from kernlint.syntax.tree import Module
from kernlint.workload.dtype import Dtype
from kernlint.workload.expr import Expr
from kernlint.workload.span import Span
from kernlint.workload.values import Region, Value, Values

#: The functions that have several names.
_SPELLINGS = {
    "to": "cast",
    "view": "reshape",
    "ravel": "reshape",
    "flatten": "reshape",
    "permute": "trans",
    "T": "trans",
    "expand_dims": "axes",
    "__add__": "+",
    "__mul__": "*",
    "__sub__": "-",
}

#: An operand as it is noted: the id of a value, or what it is in a tuple of its own.
_Operand = Any


class _Entry(NamedTuple):
    """A value as it is noted; the names of ``keywords`` belong to the last operands."""

    op: str
    operands: tuple[_Operand, ...]
    keywords: tuple[str, ...]
    dtype: Dtype | None
    shape: tuple[int, ...]
    node: cst.CSTNode
    module: Module
    region: Region
    id: int
    detail: Any


class Recorder:
    """What was computed so far. ``followed`` is false once something was not: there are no values then."""

    def __init__(self, module: Module) -> None:
        self.region = Region()
        self.followed = True
        self.module = module
        self._entries: list[_Entry | None] = [None]  # ids begin at 1
        self._names: dict[int, str] = {}

    # -- while the kernel is read -----------------------------------------------------------------------------------

    @property
    def mark(self) -> int:
        """The id that the next value gets."""
        return len(self._entries)

    def forget(self, mark: int) -> None:
        """Drop the values from ``mark`` on: they are computed again."""
        del self._entries[mark:]
        self._names = {id: name for id, name in self._names.items() if id < mark}

    def note(
        self,
        op: str,
        args: Sequence[Any],
        result: Any,
        node: cst.CSTNode,
        module: Module,
        kwargs: Mapping[str, Any] | None = None,
        since: int | None = None,
        id: int = 0,
        detail: Any = None,
    ) -> Any:
        """``result`` of ``op`` on the operands ``args`` and ``kwargs``, as a value of its own unless it is one already: an
        operand, or one that was noted from the mark ``since`` on."""
        if type(result) is Block:
            if result.value and ((since is not None and result.value >= since) or _is_in(result, args)):
                return result
            own = self._add(op, args, result, node, module, kwargs, id, detail)
            return self.marked(result, own)
        if type(result) is tuple and any(type(one) is Block and not _is_in(one, args) for one in result):
            own = self._add(op, args, None, node, module, kwargs, id, detail)
            return tuple(
                self.marked(one, self._add("item", (_Own(own),), one, node, module, None, 0, place))
                if type(one) is Block
                else one
                for place, one in enumerate(result)
            )
        if result is None and op in EFFECTS:
            self._add(op, args, None, node, module, kwargs, id, detail)
        return result

    def _add(
        self,
        op: str,
        args: Sequence[Any],
        block: Block | None,
        node: cst.CSTNode,
        module: Module,
        kwargs: Mapping[str, Any] | None,
        id: int,
        detail: Any,
    ) -> int:
        names: tuple[str, ...] = ()
        if kwargs:
            names, args = tuple(kwargs), (*args, *kwargs.values())
        operands = tuple([_operand(arg) for arg in args])
        dtype, shape = (None, ()) if block is None else (block.dtype, block.shape)
        self._entries.append(_Entry(op, operands, names, dtype, shape, node, module, self.region, id, detail))
        return len(self._entries) - 1

    @staticmethod
    def marked(block: Block, id: int) -> Block:
        """``block`` as the value ``id``."""
        if block.value:
            return replace(block, value=id)
        block.__dict__["value"] = id  # nobody has seen it yet
        return block

    def named(self, name: str, value: Any) -> None:
        """Note the variable that holds ``value``."""
        if type(value) is Block and value.value:
            self._names[value.value] = name

    @contextmanager
    def inside(self, region: Region) -> Iterator[None]:
        outer, self.region = self.region, region
        try:
            yield
        finally:
            self.region = outer

    def parameters(self, variables: Mapping[str, Any], node: cst.CSTNode) -> dict[str, Any]:
        """``variables``, which a kernel is launched with, as values."""
        return {name: self._parameter(name, value, node) for name, value in variables.items()}

    def _parameter(self, name: str, value: Any, node: cst.CSTNode) -> Any:
        if type(value) is Block:
            return replace(value, value=self._add("parameter", (), value, node, self.module, None, 0, name))
        if type(value) is tuple and any(type(one) in (Block, tuple) for one in value):
            return tuple(self._parameter(f"{name}[{place}]", one, node) for place, one in enumerate(value))
        if type(value) is Descriptor:
            return replace(value, base=self._parameter(name, value.base, node))
        return value

    def either(self, test: Any, a: Any, b: Any, merged: Block, node: cst.CSTNode, module: Module) -> Block:
        """``merged``, which is ``a`` where ``test`` holds and else ``b``, as a value of its own."""
        own = self._add("either", (test, a, b), merged, node, module, None, 0, None)
        return replace(merged, value=own)

    def begin_phi(self, name: str, before: Any, loop: int, node: cst.CSTNode, module: Module, block: Block) -> Block:
        """``block`` as what the variable ``name`` holds at the start of an iteration of ``loop``."""
        own = self._add("phi", (before,), block, node, module, None, loop, None)
        self._names[own] = name
        return replace(block, value=own)

    def exit(self, inside: Block, after: Block, loop: int, node: cst.CSTNode, module: Module) -> Block:
        """``after``, which ``inside`` of ``loop`` is when the loop is over."""
        return replace(after, value=self._add("exit", (inside,), after, node, module, None, loop, None))

    def end_phi(self, phi: int, end: Any) -> None:
        """The value that ``phi`` stands for holds ``end`` when an iteration ends."""
        entry = self._entries[phi]
        assert entry is not None
        self._entries[phi] = entry._replace(operands=(entry.operands[0], _operand(end)))

    # -- afterwards -------------------------------------------------------------------------------------------------

    def values(self) -> Values | None:
        """The values; None where something is not told by operations on values alone."""
        return _Table(self._entries, self._names).values if self.followed else None


#: What does something without giving a value; the test of a ``while`` among it.
EFFECTS = frozenset({"store", "debug_barrier", "while", "static_assert", "device_assert"})


class _Own(int):
    """The id of a value that stands for itself among operands."""


def _is_in(block: Block, args: Sequence[Any]) -> bool:
    return any(block is arg for arg in args)


def _operand(value: Any) -> _Operand:
    if type(value) is Block and value.value:
        return value.value
    if type(value) is _Own:
        return int(value)
    if type(value) is list:
        value = tuple(value)
    return (value,)


def unchanged(before: Any, after: Any) -> bool:
    """Whether two things are the same values."""
    if before is after:
        return True
    if type(before) is Block and type(after) is Block:
        return before.value == after.value != 0
    if isinstance(before, (tuple, list)) and isinstance(after, (tuple, list)):
        return len(before) == len(after) and all(map(unchanged, before, after))
    if type(before) is Descriptor and type(after) is Descriptor:
        return unchanged(before.base, after.base)
    return type(before) is not Block and type(after) is not Block and type(before) is type(after) and before == after


#: What a variable may hold that is a block from the second iteration on.
_LIFTED = (Block, int, float, Expr)


class LoopRecord:
    """What the loop with the node ``id`` carries, while it is evaluated again and again."""

    def __init__(self, recorder: Recorder, id: int, node: cst.CSTNode, module: Module) -> None:
        self.recorder = recorder
        self.id = id
        self.node = node
        self.module = module
        self.mark = recorder.mark
        self.names: list[str] = []
        self.region = Region(recorder.region, id)

    @contextmanager
    def inside(self) -> Iterator[None]:
        with self.recorder.inside(self.region):
            try:
                yield
            except BaseException:
                self.recorder.followed = False  # a return out of a loop
                raise

    def begin(self, start: dict[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
        """The variables at the start of an iteration, those that are carried as values of their own."""
        self.recorder.forget(self.mark)
        with self.inside():
            for name in self.names:
                block = start[name]
                start[name] = self.recorder.begin_phi(name, entry[name], self.id, self.node, self.module, block)
        return start

    def found(self, entry: Mapping[str, Any], start: Mapping[str, Any], end: Mapping[str, Any]) -> None:
        """One iteration makes ``end`` of ``entry``, and any begins with ``start``."""
        general = [name for name, value in start.items() if name in entry and value is not entry[name]]
        self.names = [n for n in general if type(start[n]) is Block and isinstance(entry[n], _LIFTED)]
        changed = {name for name in end if name in entry and not unchanged(entry[name], end[name])}
        self.recorder.followed &= changed <= set(self.names)

    def close(self, after: dict[str, Any], entry: Mapping[str, Any], end: Mapping[str, Any]) -> dict[str, Any]:
        """The variables ``after`` the loop, of which each iteration leaves ``end``, as values of their own."""
        recorder = self.recorder
        phis = dict(zip(self.names, range(self.mark, self.mark + len(self.names))))
        for name, phi in phis.items():
            recorder.end_phi(phi, end.get(name))
        for name, value in end.items():
            inside = phis.get(name)
            if inside is None and name in entry and not unchanged(entry[name], value):
                recorder.followed = False  # it is carried under a condition that the first iteration decides
            if type(value) is Block and (inside is not None or value.value >= self.mark):
                source = replace(value, value=inside) if inside is not None else value
                after[name] = recorder.exit(source, after[name], self.id, self.node, self.module)
        return after


class _Table:
    """The values of ``entries`` with the constants among their operands as values too."""

    def __init__(self, entries: Sequence[_Entry | None], names: Mapping[int, str]) -> None:
        self.table: dict[int, Value] = {}
        self.next = len(entries)
        self.constants: dict[Any, int] = {}
        self.same = _same(entries)
        for id, entry in enumerate(entries):
            if entry is not None and id not in self.same:
                self._add(id, entry, names.get(id, ""))
        self.values = Values(self.table)

    def _add(self, id: int, entry: _Entry, name: str) -> None:
        op = _SPELLINGS.get(entry.op, entry.op)
        span = entry.module.span(entry.node)
        operands = tuple(self._id(one, span, entry.region) for one in entry.operands)
        roles, operands = _in_order(entry, op, operands)
        self.table[id] = Value(
            id, op, operands, entry.dtype, entry.shape, span, entry.region, roles, entry.id, entry.detail, name
        )

    def _id(self, operand: _Operand, span: Span, region: Region) -> int:
        while type(operand) is int:
            if operand not in self.same:
                return operand
            operand = self.same[operand]
        (value,) = operand
        if type(value) is Block:
            if value.value:
                return self._id(value.value, span, region)
            if value.constant is None:
                return self._new("unknown", (), value.dtype, value.shape, span, region, None)
            value = value.constant
        if isinstance(value, Descriptor):
            return self._id((value.base,), span, region)
        if isinstance(value, Unknown) or is_huge(value):
            return self._new("unknown", (), None, (), span, region, None)
        if isinstance(value, (tuple, list)):
            parts = tuple(self._id(_operand(one), span, region) for one in value)
            if not all(part in self.table and self.table[part].op == "constant" for part in parts):
                return self._new("tuple", parts, None, (), span, region, None)
            value = tuple(self.table[part].detail for part in parts)
        key = (type(value), value)
        try:
            if key not in self.constants:
                self.constants[key] = self._new("constant", (), None, (), span, Region(), value)
            return self.constants[key]
        except TypeError:  # not to be hashed
            return self._new("constant", (), None, (), span, Region(), value)

    def _new(
        self,
        op: str,
        operands: tuple[int, ...],
        dtype: Dtype | None,
        shape: tuple[int, ...],
        span: Span,
        region: Region,
        detail: Any,
    ) -> int:
        id, self.next = self.next, self.next + 1
        self.table[id] = Value(id, op, operands, dtype, shape, span, region, detail=detail)
        return id


def _same(entries: Sequence[_Entry | None]) -> dict[int, _Operand]:
    """What each value is that a loop might have changed and did not: what it was before."""
    same: dict[int, _Operand] = {}

    def resolved(operand: _Operand) -> _Operand:
        while type(operand) is int and operand in same:
            operand = same[operand]
        return operand

    # The last are the innermost: what they leave alone, the loops around them do.
    open_ends = [(id, entry) for id, entry in enumerate(entries) if entry is not None and entry.op in ("phi", "exit")]
    before = -1
    while before != len(same):
        before = len(same)
        for id, entry in reversed(open_ends):
            if id in same:
                continue
            if (entry.op == "phi" and resolved(entry.operands[1]) == id) or (
                entry.op == "exit" and entry.operands[0] in same
            ):
                same[id] = entry.operands[0]
    return same


@cache
def _signature(function: str) -> tuple[str, ...]:
    """The parameters of ``tl.<function>``; nothing for an operator."""
    if function in _SIGNATURES:
        return _SIGNATURES[function]
    return tuple(name.rstrip("!") for name in Target().parameters(f"triton.language.{function}") or ())


#: Where the table of releases does not name them all.
_SIGNATURES = {
    "load": ("pointer", "mask", "other", "boundary_check"),
    "store": ("pointer", "value", "mask", "boundary_check"),
    "axes": ("input", "index"),
    "phi": ("before", "end"),
    "exit": ("inside",),
    "either": ("condition", "x", "y"),
    "index": ("start", "stop", "step"),
}


def _in_order(entry: _Entry, op: str, operands: tuple[int, ...]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The roles of ``operands``, and these in the order of the function's parameters however they were given."""
    names = _signature(entry.op) or _signature(op)
    positional = len(operands) - len(entry.keywords)
    roles = (*names[:positional], *("" for _ in range(positional - len(names))), *entry.keywords)
    if not entry.keywords or not set(roles) <= set(names):
        return roles, operands
    pairs = sorted(zip(roles, operands), key=lambda pair: names.index(pair[0]))
    return tuple(role for role, _ in pairs), tuple(operand for _, operand in pairs)
