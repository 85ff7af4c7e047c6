"""Kernels that are launched at many sizes, read once with these sizes open.

A network launches one kernel for each of its layers, and every what-if about the kernel launches it as often again. What a kernel
does at sizes that are not known is mostly what it does at any, with the numbers put in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst

from kernlint.interpret.edits import Literal
from kernlint.syntax.tree import Module
from kernlint.workload import Expr, Kernel, Loop, Span, Symbol
from kernlint.workload.at_sizes import kernel_at

#: Sizes that a kernel is read at before it is read with all of them open, and that this has to agree with: fewer with other tiles than
#: those that it was found to agree with first.
_READ_EACH, _READ_WITH_OTHER_TILES = 2, 1

Sizes = Mapping[str, int]


def open_sizes(arguments: Mapping[str, Any]) -> dict[str, int]:
    """The arguments that are integers of any size. None and one are special to kernels, and those of 64 bits have another type."""
    return {n: value for n, value in arguments.items() if type(value) in (int, Literal) and 1 < value < 2**31}


class KernelsRead:
    """The kernels of a program that were read so far."""

    def __init__(self) -> None:
        #: By all that decides what was read but the name.
        self.alike: dict[Any, dict[cst.CSTNode, Kernel]] = {}
        #: By that but for sizes, and those that were read with sizes open by that but for numbers of constexprs.
        self.families: dict[Any, Family] = {}
        self.opened: dict[Any, list[Family]] = {}
        #: The edits of literals that kernels of a module may see, by the module and all edits.
        self.in_sight: dict[tuple[Module, frozenset[tuple[Span, int]]], frozenset[tuple[Span, int]]] = {}


class Family:
    """One kernel launched in ways that differ in nothing but sizes. ``others`` is shared by the families that differ in tiles: it has
    one of them once that was read with sizes open."""

    def __init__(self, others: list[Family]) -> None:
        self._read: list[tuple[Sizes, Kernel]] = []
        self._open: Kernel | None = None
        self._tried, self._others = False, others

    def kernel(self, sizes: Sizes, read: Callable[[Mapping[str, Any]], Kernel]) -> Kernel:
        """The kernel at ``sizes``; ``read`` reads it with these arguments in the place of its own."""
        if sizes and len(self._read) >= (_READ_WITH_OTHER_TILES if self._others else _READ_EACH):
            opened = read({name: Expr.atom(_symbol(name)) for name in sizes})
            if all(_same(_at(opened, known), kernel) for known, kernel in self._read):
                self._open = opened
                self._others.append(self)
            self._read, self._tried = [], True
        found = None if self._open is None else _at(self._open, sizes)
        if found is None:
            found = read(sizes)
            if not self._tried:
                self._read.append((sizes, found))
        return found


def _symbol(name: str) -> Symbol:
    """What stands for the argument ``name``, and for no size of the host."""
    return Symbol(f"{name}, an argument")


def _at(kernel: Kernel, sizes: Sizes) -> Kernel | None:
    """``kernel``, read with open sizes, at these; None where that is not for sure what reading it gives: a loop goes no round or
    may be rolled out, or there are words about what was open."""
    words = kernel.notes or kernel.faults or kernel.assumed
    if words or kernel.random or kernel.coarse or kernel.counts_programs:
        return None
    found = kernel_at(kernel, {_symbol(name): value for name, value in sizes.items()})
    loops = zip(kernel.nodes(Loop), found.nodes(Loop))
    for before, loop in loops:
        if loop.trip == 0 or (loop.kind == "tl.static_range" and loop.trip is not before.trip):
            return None
    return found


def _same(one: Kernel | None, other: Kernel) -> bool:
    return one is not None and one == other
