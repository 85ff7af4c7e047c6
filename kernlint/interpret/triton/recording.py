"""What a kernel does, recorded while its body is followed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import libcst as cst

from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.python.evaluator import Evaluator
from kernlint.interpret.triton import numerics
from kernlint.interpret.triton.numerics import Verdict
from kernlint.interpret.triton.recorder import Recorder
from kernlint.interpret.triton.values import Block
from kernlint.records import replace
from kernlint.workload import Branch, Compute, Expr, Fault, Node, Span
from kernlint.workload import expr as ex
from kernlint.workload.access import Bounds, Narrow
from kernlint.workload.expr import Atom, Lane, Opaque
from kernlint.workload.kernel import Coarse
from kernlint.workload.values import Region

#: What integers are made by that are no places in memory: bits of two mixed, values that a loop carries on.
_MIXED = frozenset({"xor", "unknown"})


class KernelRecording(Evaluator):
    """Notes loads, stores, arithmetic and faults, in order; ``stack[-1]`` is the body that grows."""

    def __init__(
        self, grid: tuple[ex.Size, ...], recorder: Recorder, edits: Edits = NO_EDITS, budget: int = 120_000
    ) -> None:
        super().__init__(budget, edits)
        self.recorder = recorder
        self.new_precisions = dict(edits.precisions)
        self.dropped_casts: set[Span] = set()
        self.maybe_pointers: list[str] = []
        self.guards: list[tuple[list[tuple[Node, ...]], int, Span, tuple[Bounds | None, ...]]] = []
        self.grid = grid
        self.counts_programs = False
        #: The parameters that the kernel was asked for, and where it only hands one on to a helper, which may ask for it.
        self.met: set[str] = set()
        self.handed_on: frozenset[cst.CSTNode] = frozenset()
        #: The pointers between which it chooses, of which an access names one.
        self.chosen: set[str] = set()
        self.stack: list[list[Node]] = [[]]
        self.next_id = 0
        self.next_key = 0
        self.loops: list[int] = []
        self.notes: list[str] = []
        self.complete = True
        self.may_leave = False
        self.dims = 0
        self.faults: dict[tuple[str, Span], Fault] = {}
        self.barriers = 0
        self.random: list[Narrow] = []
        self.coarse: dict[Span, Coarse] = {}
        #: The masks, by the loads that decide them, of which the branch that is being followed makes sure that some hold.
        self.occupied: set[frozenset[int]] = set()

    @property
    def at_top(self) -> bool:
        """Whether the statement being run stands in the kernel's own body, outside loops, branches and helpers."""
        return len(self.calls) == 1 and not self.loops and len(self.stack) == 1 + len(self.guards)

    def emit(self, node: Node) -> None:
        self.stack[-1].append(node)

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id

    def close_guards(self) -> None:
        """Put the nodes after each conditional return into its branch."""
        while self.guards:
            arms, rest, span, conditions = self.guards.pop()
            arms[rest] = tuple(self.stack.pop())
            self.emit(Branch(tuple(arms), span, conditions))

    def unknown_index(self) -> Expr:
        """An integer that was not followed, different from any other."""
        self.next_key += 1
        return ex.opaque("unknown", key=self.next_key)

    def chosen_index(self, x: Expr, y: Expr) -> Expr:
        """An integer that is one or the other: mostly the one that was followed and is no constant, as a clamped index is; of
        two constants the larger, as what most programs wait for is the one with the most to do."""
        self.next_key += 1
        followed = [one for one in (y, x) if not any(map(_lost, one.atoms()))]
        followed.sort(key=lambda one: -math.inf if one.value is None else -one.value)
        return ex.opaque("unknown", *(_likely(followed[0]) if followed else ()), key=self.next_key)

    def counted_index(self, axis: int) -> Expr:
        """Running sums of integers along ``axis``: places of what was counted, which neighbours mostly have beside each other."""
        self.next_key += 1
        return ex.opaque("unknown", Expr.atom(Lane(axis)), key=self.next_key)

    @contextmanager
    def recording(self) -> Iterator[list[Node]]:
        body: list[Node] = []
        self.stack.append(body)
        try:
            yield body
        finally:
            self.stack.pop()

    def lose_track(self) -> None:
        """What is computed from here on is not told by operations on values: how the program got here counts too."""
        self.recorder.followed = False

    def arm(self, test: Any, holds: bool) -> Region:
        return Region(self.recorder.region, 0, test.value if isinstance(test, Block) else 0, holds)

    @contextmanager
    def where(self, test: Any, holds: bool) -> Iterator[None]:
        """Inside, ``test`` is ``holds``."""
        with self.recorder.inside(self.arm(test, holds)):
            yield

    @contextmanager
    def occupying(self, test: Any) -> Iterator[None]:
        """Inside, ``test`` holds."""
        form = test.form if isinstance(test, Block) else None
        new = {form.of} - self.occupied if form is not None and form.kind == "occupied" else set()
        self.occupied |= new
        try:
            yield
        finally:
            self.occupied -= new

    def perhaps_empty(self, mask: Any) -> Block | None:
        """``mask``, unless it is sure that some of it holds."""
        return mask if isinstance(mask, Block) and mask.loads not in self.occupied else None

    def give_up(self, what: str) -> None:
        """Remember that something was not followed."""
        self.complete = False
        if what not in self.notes:
            self.notes.append(what)

    def fault(self, kind: str, node: cst.CSTNode, text: str, certain: bool = True, name: str = "") -> tuple[str, Span]:
        """Remember a fault at ``node``, once however often it is evaluated; its key, by which it can be taken back."""
        key = (kind, self.span(node))
        self.faults.setdefault(key, Fault(kind, key[1], text, self.symbol, certain, name))
        return key

    def confirm(self, key: tuple[str, Span], certain: bool = True) -> None:
        """What a fault spoils is what the kernel gives; ``certain`` is False where the kernel sees to it."""
        if key in self.faults:
            self.faults[key] = replace(self.faults[key], certain=certain)

    def judged(self, verdict: Verdict, result: Block, node: cst.CSTNode) -> Block:
        """``result`` of the operation at ``node`` with the form, and the fault on record, that ``verdict`` says."""
        form = verdict.form
        if verdict.fault:
            key = self.fault(verdict.fault, node, verdict.text, verdict.certain)
            form = replace(form or numerics.SUSPECT, fault=key)
        return replace(result, form=form) if form is not result.form else result

    def compute(self, kind: str, op: str, block: Block, node: cst.CSTNode, accumulates: bool = False) -> None:
        """Count elementwise work, unless it is index arithmetic (free beside memory and tensor work)."""
        if block.dtype is None or block.dtype.kind == "bool" or (block.dtype.is_integer and self._is_index(block)):
            return
        self.emit(Compute(kind, math.prod(block.shape), block.dtype, self.span(node), accumulates=accumulates, op=op))

    def _is_index(self, block: Block) -> bool:
        """Whether an integer may say where to read or write: nothing that was read, no hash, no tile that a loop carries on."""
        if block.loads:
            return False
        if not block.shape:
            return True
        atoms = block.expr.atoms() if block.expr is not None else ()
        return not any(isinstance(atom, Opaque) and atom.op in _MIXED for atom in atoms)

    def chooses(self, node: cst.CSTNode, condition: Block, kept: Block, other: Block) -> None:
        """Note on the ``tl.where`` just counted at ``node`` how many it chooses, which may be a tile although both values are
        scalars, and that it is a mask, where it is one: ``other`` stands for nothing, and the condition is made of bounds."""
        last = self.stack[-1][-1] if self.stack[-1] else None
        if not isinstance(last, Compute) or last.span != self.span(node):
            return
        last = replace(last, elements=max(last.elements, math.prod(condition.shape)))
        blank = other.constant is not None and (other.constant == 0 or other.constant <= numerics.MASKED_OUT)
        if blank and condition.bounds:
            last = replace(last, keeps=condition.bounds, loads=kept.loads)
        self.stack[-1][-1] = last

    def noted(self, op: str, args: Sequence[Any], result: Any, node: cst.CSTNode) -> Any:
        """``result`` as the value of ``op`` on ``args``."""
        return self.recorder.note(op, args, result, node, self.modules[-1])

    def named(self, name: str, value: Any) -> Any:
        self.recorder.named(name, value)
        return value


def _lost(atom: Atom) -> bool:
    """An integer of which nothing is known."""
    return isinstance(atom, ex.Opaque) and atom.op == "unknown" and not atom.args


def _likely(expr: Expr) -> tuple[Expr, ...]:
    """What there is to say of an index that mostly is ``expr``: of one that was chosen before, what was said of it."""
    for monomial, coefficient in expr.terms.items():
        if (len(expr.terms), len(monomial), coefficient) == (1, 1, 1):
            (atom,) = monomial
            if isinstance(atom, ex.Opaque) and atom.op == "unknown":
                return atom.args
    return (expr,)
