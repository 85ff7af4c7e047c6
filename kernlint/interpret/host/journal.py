"""What happened when a host was followed, call by call, so that one call can be followed again with an edit in force.

An edit of a tile or of a launch option changes what the functions around it do and nothing else. To ask what it is worth
takes following those again, not the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import libcst as cst

from kernlint.interpret.edits import Literal
from kernlint.interpret.values import Function, Scope, Unknown
from kernlint.records import dataclass
from kernlint.syntax.tree import Module
from kernlint.workload import Dtype, Expr, Launch, Span, Tensor


class OutOfReach(Exception):
    """A call that is followed again would change what outlives it."""


@dataclass(eq=False)
class Entry:
    """One evaluation of ``node``: a function called, or an expression ``kernel[grid](...)``.

    ``again`` evaluates it once more, which is told the host's state as it was then: the innermost ``function`` around it, the
    ``modules`` and ``calls`` that it was in, whether it was ``silent``, how many pieces of code that run once were around it, the
    last storage there was, and the ``numbers`` that ``function`` had come by. ``given`` are the values that it works on, those
    of ``scope`` where it is an expression, ``following`` is the entry point that was followed, if any, and ``around``
    are the identities of the nodes whose evaluation it was part of. It gave ``result`` and recorded ``launches``.
    """

    node: cst.CSTNode
    again: Callable[[], Any]
    function: cst.CSTNode | None
    modules: tuple[Module, ...]
    calls: tuple[Function, ...]
    silent: bool
    depth_once: int
    guarded: tuple[int, int]
    storage: int
    numbers: Mapping[Span, int]
    given: Callable[[], tuple[Any, ...]]
    scope: Scope | None
    following: str
    around: frozenset[int]
    result: Any = None
    launches: list[Launch] = field(default_factory=list)
    ended: bool = False


class Journal:
    """The entries by the identity of their node, in order."""

    def __init__(self) -> None:
        self.entries: dict[int, list[Entry]] = {}
        self.open: list[Entry] = []
        #: The entry point that is being followed.
        self.following = ""

    def add(self, entry: Entry) -> None:
        self.entries.setdefault(id(entry.node), []).append(entry)
        self.open.append(entry)

    def close(self, entry: Entry) -> None:
        while self.open and self.open.pop() is not entry:
            pass

    def launched(self, launch: Launch) -> None:
        for entry in self.open:
            entry.launches.append(launch)


def alike(value: Any, storages: dict[int, int], local: Scope | None = None, depth: int = 8) -> Any:
    """A key of ``value`` that others have too which differ in nothing but the identity of memory; ``storages`` numbers the
    memory that was met so far. Of a function defined in the scope ``local`` only its text counts: what it looks up there is
    among the values that are asked about anyway."""
    if isinstance(value, Tensor):
        number = storages.setdefault(value.storage.id, len(storages))
        return Tensor, value.dtype, value.shape, value.strides, value.offset, value.storage.origin, number
    if isinstance(value, Literal):
        return int, int(value)  # where it stands shows in what the launches are told of it
    if value is None or isinstance(value, (bool, int, float, str, Expr, Dtype)) or type(value) is Unknown:
        return type(value), value
    if depth and type(value) in (tuple, list):
        return type(value), tuple(alike(part, storages, local, depth - 1) for part in value)
    if depth and type(value) is dict:
        return dict, tuple((str(key), alike(part, storages, local, depth - 1)) for key, part in value.items())
    if isinstance(value, Function) and local is not None and value.closure is local:
        return Function, id(value.node)
    return object, id(value)
