"""What a program's call computes, as values: by its reference, or by the kernels that it launches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kernlint.generate.calls.exact import fed_exactly
from kernlint.generate.calls.reader import Reader, refuse_many
from kernlint.generate.calls.shares import attended, gated, narrowed
from kernlint.generate.host import values_of
from kernlint.generate.lifted import lifted, shown, with_known_arguments
from kernlint.generate.reassociated import reassociated
from kernlint.generate.reduced_products import row_by_row
from kernlint.generate.values import CannotGenerate, Divided, Named, Unbound, Value, walk_all
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.interpret.question import SHORT_LOOP
from kernlint.records import replace
from kernlint.rules.proofs.dataflow import storages, written_tensors
from kernlint.workload import Expr, Launch, Opaque, Repeat, Symbol, Tensor, TorchOp, Workload
from kernlint.workload.expr import Atom, lift


def _is_known(result: Any) -> bool:
    try:
        values_of(result)
        return True
    except CannotGenerate:
        return False


class Lost(Exception):
    """The reference is not followed to its end while so many sizes are open."""


def numbers(sizes: Mapping[str, Expr], constants: Mapping[str, int | float]) -> dict[Atom, float]:
    """What the symbols in ``sizes`` are at the sizes in force."""
    found: dict[Atom, float] = {Symbol(n): constants[n] for n, size in sizes.items() if size == Expr.atom(Symbol(n))}
    for _ in range(3):
        for name, size in sizes.items():
            new = [atom for atom in size.atoms() if atom not in found]
            if len(new) == 1:
                rest = size.coefficient(new[0])
                known = rest.evaluate(found) if rest is not None else None
                if known:
                    found[new[0]] = constants[name] // known
    return found


def _is_changed(workload: Workload, given: Any) -> bool:
    """Whether an argument is a tensor to which a step of ``workload`` gives other contents."""
    steps = workload.all_steps
    return isinstance(given, Tensor) and any(given.storage.id in storages(written_tensors(step)) for step in steps)


class Computation:
    """What ``entry`` of ``program`` computes, with ``open_sizes`` in the place of the module's numbers of these names."""

    def __init__(
        self,
        program: Program,
        entry: str,
        constants: Mapping[str, int | float],
        open_sizes: Mapping[str, Expr],
        itself: bool,
        unrolled: int = SHORT_LOOP,
    ) -> None:
        self.unrolled = unrolled
        self.text = program.kernel.text
        self.itself = itself
        self.sizes = numbers(open_sizes, constants)
        #: What arguments become that are changed in place, by their paths in the reference.
        self.updates: dict[str, Value] = {}
        #: What must not be below zero, that all views lie within their tensors.
        self.within: list[Expr] = []
        module = program.kernel if itself else program.reference
        if module is None:
            raise CannotGenerate("there is no reference")
        for word in ("autocast", "set_default_dtype"):
            if re.search(rf"\b{word}\b", module.text):
                raise CannotGenerate(f"the computation changes element types behind the scenes ({word})")
        if itself and (known := program.workload(entry, NO_EDITS)) is not None:
            # The steps are no fewer where torch calls are among them.
            refuse_many({step.span for step in known.steps if isinstance(step, Launch)})
        overrides: dict[str, Any] = dict(program.question.overrides)
        if not itself:
            overrides |= {name: Named(value, name) for name, value in constants.items() if isinstance(value, float)}
            overrides |= open_sizes
        question = replace(program.question, overrides=overrides, detailed=True, kernels=itself, unrolled=unrolled)
        workload = program.about(question).workload(entry, NO_EDITS)
        if workload is None:
            raise CannotGenerate(f"`{entry}` is not followed")
        if itself:
            workload = with_known_arguments(workload)
            values = self._lifted(workload)
            self.reference = workload
        else:
            if workload.reference is None:
                raise CannotGenerate("the reference is not followed")
            self.reference = workload.reference
            self._check_followed(self.reference)
            reader = Reader(self.reference, self.sizes)
            self.updates = reader.updates()
            values = [shown(reader, tensor) for tensor in values_of(self.reference.result)]
            self.within = list(reader.within)
            changed = [name for name, one in workload.arguments.items() if _is_changed(workload, one)]
            if len(changed) > len(self.updates):
                raise CannotGenerate(f"`{entry}` changes `{changed[0]}` in place, which the reference does not")
        self.workload: Workload = workload
        #: Whether something is added that is taken away again.
        values, self.cancels = reassociated(attended([*values, *self.updates.values()], self.sizes), self.sizes)
        values = row_by_row(gated(fed_exactly(values), self.sizes), self.sizes)
        #: Whether something is rounded that the computation does not round.
        values, self.narrowed = narrowed(values)
        self.updates = dict(zip(self.updates, values[len(values) - len(self.updates) :]))
        #: The values of the tensors that are returned, by their identity.
        self.results = dict(zip(map(id, values_of(self.reference.result)), values))

    def _lifted(self, workload: Workload) -> list[Value]:
        """The results as ``workload`` computes them itself."""
        tensors = [one for one in (*workload.arguments.values(), *workload.held.values()) if isinstance(one, Tensor)]
        if any(lift(extent).value is None for tensor in tensors for extent in tensor.shape or ()):
            raise CannotGenerate(
                "it is not known how large its arguments are, and at other sizes it may compute something else"
            )
        return lifted(workload)

    def _check_followed(self, reference: Workload) -> None:
        """Raise :class:`Unbound` for a size without which the reference is not followed."""
        lost = [
            s
            for s in reference.all_steps
            if isinstance(s, TorchOp) and (s.call is None or not s.writes or s.writes[0].shape is None)
        ]
        loops = [s for s in reference.steps if isinstance(s, Repeat) and (s.round is None or self._is_short(s))]
        for loop in loops:
            for atom in lift(loop.count if loop.count is not None else 0).atoms():
                if isinstance(atom, Symbol):
                    raise Unbound(atom.name)
        self.lost = bool(
            lost or loops or reference.unknowns or reference.open_choices or not _is_known(reference.result)
        )
        if self.lost and self.sizes:
            raise Lost
        if reference.open_choices:
            raise CannotGenerate("what the reference does depends on a condition that is not known")
        if reference.unknowns:
            raise CannotGenerate(f"the reference is not followed to its end ({reference.unknowns[0]})")

    def _is_short(self, loop: Repeat) -> bool:
        """Whether the rounds of ``loop`` are better written one after the other."""
        rounds = lift(loop.count).evaluate(self.sizes) if loop.count is not None else None
        return rounds is not None and rounds <= self.unrolled

    def _look_for_parts(self, outputs: Iterable[Value]) -> None:
        """Raise :class:`Divided` for a size that is divided without a rest."""
        values = list(walk_all(outputs))
        sizes = [size for value in values for size in (*value.shape, *value.attributes.get("over", ()))]
        sizes += [place for value in values for view in value.operands for place in view.index]
        for size in map(lift, sizes):
            for atom in size.atoms():
                if not isinstance(atom, Opaque) or atom.op != "floordiv":
                    continue
                whole, part = atom.args
                if (-whole).is_natural:
                    whole = -whole  # rounded up
                (symbol, *others) = whole.atoms() or (None,)
                if others or not isinstance(symbol, Symbol) or whole != Expr.atom(symbol) or part.value == 1:
                    continue
                first, second = whole.evaluate(self.sizes), part.evaluate(self.sizes)
                if first and second and first % second == 0:
                    inner = f"{symbol.name}_PER_{part}" if part.value is None else f"{symbol.name}_PART"
                    raise Divided(symbol.name, part * Expr.atom(Symbol(inner)))
