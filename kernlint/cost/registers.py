"""Registers that a kernel's tiles need of each thread, and what becomes of those that do not fit.

A thread has at most 255 registers of 32 bits, and a program of many warps shares 65,536 between its threads. Three
things live long: tiles held across a reduction (a softmax row), accumulators carried around a loop, and the terms of a
broadcast product that are summed. ``h100-spilling.csv`` and ``h100-micro-binaries-2.csv`` tell what ptxas makes of them:
up to a little over the limit it spills a few values, at about twice the limit it keeps the whole tile in memory and the
kernel becomes 3 to 100 times slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from kernlint.cost.arithmetic import BRANCHING, slots_of_node
from kernlint.cost.layout import Layout
from kernlint.records import dataclass
from kernlint.workload import Branch, Compute, Dtype, Load, Loop, Node, Reduce

#: Registers a thread needs beside its tiles: addresses, indices, the stack. ptxas takes 28 where it has them.
BASE = 12.0
#: Registers per word of a tile held over a reduction or carried around a loop.
_HELD = 1.03
#: The same of a tile loaded after the reduction: vectors come as they are used, scalar loads are all hoisted.
_LATER_VECTORS = 0.05
_LATER_SCALARS = 0.75
#: The same for the terms of a product (they are summed as they are made) and for its outputs before the last step.
_TERMS = 0.48
_OUTPUTS = 0.9
#: Registers for each element of a thread that a function of doubles is worked out for, and for each result of those that branch: of few,
#: and of more, which ptxas works on side by side (``functions``). How many instructions of such a function, once its values live in
#: memory, touch a value once more (``composed``, sines times cosines).
_DOUBLE, _DOUBLE_BRANCHING, _SIDE_BY_SIDE, _FEW, _TOUCHES = 5.0, 7.0, 10.5, 8, 5.2
#: The same of floats. Up to what makes all live in memory, functions take no more than there are, and spill little (``composed``).
_FLOAT_BRANCHING, _MOST = 6.0, 258.0
#: Up to here loads are moved ahead of what uses them.
_ROOM = 200.0
#: Registers needed from which ptxas keeps the whole tile in memory: measured between 320 and 480.
COLLAPSE = 400.0


@dataclass(frozen=True)
class Pressure:
    """What one body (the kernel's or a loop's) needs: ``registers`` a thread, of which ``words`` are tiles; ``loops``
    are the loops around it, ``passes`` how often each value is touched once it lies in memory."""

    registers: float
    words: float
    loops: tuple[Loop, ...]
    passes: float = 1.0


class TileSizes:
    """What :func:`pressures` asks of a launch: threads, memory instructions of a load, the layout of a tile."""

    threads: int
    held: Mapping[tuple[int, int], float]

    def whole_vectors(self, load: Load) -> bool:
        """Each fetch of the load is 4 bytes or more."""
        raise NotImplementedError

    def layout(self, shape: tuple[int, ...]) -> Layout:
        raise NotImplementedError


def pressures(body: tuple[Node, ...], sizes: TileSizes, loops: tuple[Loop, ...] = ()) -> Iterator[Pressure]:
    """The :class:`Pressure` of ``body`` and of every loop in it."""
    flat = list(_flat(body))
    largest = max((load.elements for load in flat if isinstance(load, Load)), default=1) or 1
    reductions = [node for node in flat if isinstance(node, Reduce)]
    products = [node for node in reductions if len(node.shape) > 2 and math.prod(node.shape) > 2 * largest]
    words = 0.0
    need = 0.0
    last = max((index for index, node in enumerate(flat) if isinstance(node, Reduce)), default=-1)
    around = loops[-1].carried / sizes.threads if loops else 0.0
    reduced = max((math.prod(node.shape) for node in reductions), default=0)
    alive = sizes.held.get((loops[-1].id if loops else 0, reduced))
    if alive is not None:
        words, around = max(alive / sizes.threads, around), 0.0
        need = _HELD * words
    for index, node in enumerate(flat):
        if isinstance(node, Load):
            own = node.elements * _words(node.dtype) / sizes.threads
            if index > last:
                need += own * (_LATER_VECTORS if sizes.whole_vectors(node) else _LATER_SCALARS)
            elif alive is None:
                words += own
                need += _HELD * own
    if last < 0:
        # Nothing waits: of several loads only the largest is counted as held, where there is room for it.
        held = largest / sizes.threads
        need = max(need, _HELD * held, _HELD * around, min(_HELD * (around + held), _ROOM))
        words = max(held, around)
    else:
        need, words = need + _HELD * around, words + around
    passes = 1.0
    for product in products:
        layout = sizes.layout(product.shape)
        axis = (product.axis or 0) % len(product.shape)
        terms = math.prod(layout.values)
        outputs = terms / layout.values[axis]
        steps = math.log2(max(1, layout.lanes[axis]))
        of_product = max(_TERMS * terms, _OUTPUTS * outputs if steps else 0.0)
        if of_product > need:
            need, words, passes = of_product, float(terms), 1.0 + steps
    functions, results, touched = _of_functions(flat, sizes.threads)
    if functions > need:
        need, words, passes = functions, 2 * results, touched
    yield Pressure(BASE + need, words, loops, passes)
    for node in body:
        if isinstance(node, Loop):
            yield from pressures(node.body, sizes, (*loops, node))
        elif isinstance(node, Branch):
            for arm in node.arms:
                yield from (p for p in pressures(arm, sizes, loops) if len(p.loops) > len(loops))


def _of_functions(body: list[Node], threads: int) -> tuple[float, float, float]:
    """Registers of a thread that the functions of doubles in ``body`` take, their results, and how often each is touched; of floats those
    of functions that branch."""
    functions = [node for node in body if isinstance(node, Compute) and node.kind == "special"]
    functions.sort(key=lambda node: node.elements)  # of those of one name the largest counts
    doubles = [node for node in functions if node.dtype.is_float and node.dtype.bits == 64]
    branching = {node.op: node for node in doubles if node.op in BRANCHING}  # one of a chain is done before the next
    floats = {node.op: node.elements / threads for node in functions if node.op in BRANCHING and node not in doubles}
    results = sum(node.elements for node in branching.values()) / threads
    plain = max((node.elements for node in doubles), default=0) / threads
    need = max(_DOUBLE * plain, results * (_DOUBLE_BRANCHING if results <= _FEW else _SIDE_BY_SIDE))
    need = max(need if need > COLLAPSE else min(_MOST, need), min(_MOST, _FLOAT_BRANCHING * sum(floats.values())))
    slots = max((slots_of_node(node) for node in branching.values()), default=0.0)
    return need, max(plain, results), max(1.0, slots / _TOUCHES)


def _flat(body: tuple[Node, ...]) -> Iterator[Node]:
    """Nodes of ``body`` outside of its loops, all arms of a branch one after the other."""
    for node in body:
        if isinstance(node, Branch):
            for arm in node.arms:
                yield from _flat(arm)
        elif not isinstance(node, Loop):
            yield node


def _words(dtype: Dtype) -> int:
    """Registers of an element, which narrow types are widened to when they are worked on."""
    return 2 if dtype.bits == 64 else 1
