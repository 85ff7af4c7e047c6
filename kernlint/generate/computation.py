"""What is to be computed: by the reference of a program, or by the program itself, over sizes some of which are left open."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from kernlint.errors import UsageError
from kernlint.generate.calls.reader import Reader
from kernlint.generate.host import values_of
from kernlint.generate.lifted import lifted, seen, with_known_arguments
from kernlint.generate.opened import Differs
from kernlint.generate.values import CannotGenerate, Divided, Named, Unbound, Value
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.host.loops import SHORT_LOOP
from kernlint.interpret.program import Program
from kernlint.interpret.question import Fact
from kernlint.records import replace
from kernlint.workload import Expr, Opaque, Repeat, Symbol, Tensor, TorchOp, Workload
from kernlint.workload.expr import Atom, lift

#: What sizes are taken to be that nothing tells.
_ANY = 2048


class Lost(Exception):
    """What is to be computed is not followed to its end while so many sizes are open."""


class Computation:
    """What ``entry`` of ``program`` computes, by its reference or ``itself``, with ``open_sizes`` in the place of the module's numbers of
    these names. Raises :class:`CannotGenerate`, :class:`Lost`, :class:`Unbound`."""

    def __init__(
        self,
        program: Program,
        entry: str,
        constants: Mapping[str, int | float],
        open_sizes: Mapping[str, Expr],
        itself: bool,
    ) -> None:
        overrides: dict[str, Any] = dict(program.question.overrides)
        for name, value in constants.items():
            if name in open_sizes:
                overrides[name] = open_sizes[name]
            elif isinstance(value, float):
                overrides[name] = Named(value, name)
        #: Numbers for the sizes that are open.
        self.sizes = _numbers(open_sizes, constants)
        #: Whether it is not followed to its end as it stands.
        self.lost = False
        module = program.reference or program.kernel
        for word in ("autocast", "set_default_dtype"):
            if re.search(rf"\b{word}\b", module.text):
                raise CannotGenerate(f"the computation changes element types behind the scenes ({word})")
        question = replace(program.question, overrides=overrides, detailed=True, kernels=False)
        workload = program.variant(program.kernel, question).workload(entry, NO_EDITS)
        if workload is None:
            raise CannotGenerate(f"`{entry}` is not followed")
        told = [name for name, one in workload.arguments.items() if isinstance(one, Tensor) and one.dtype is None]
        #: The arguments whose element type is known from what happens to them alone.
        self.told = frozenset(told if itself else ())
        if itself:
            workload = with_known_arguments(workload)
            values = self._lifted(program, workload, open_sizes)
        elif workload.reference is None:
            raise CannotGenerate("there is no reference to write it from")
        else:
            self._check_followed(workload.reference)
            reader = Reader(workload.reference, self.sizes)
            values = [seen(reader, tensor) for tensor in values_of(workload.reference.result)]
        self.workload: Workload = workload
        #: The call whose arguments and result these are.
        self.model: Workload = workload if itself or workload.reference is None else workload.reference
        #: The values of the tensors that are returned, by their identity.
        self.results = dict(zip(map(id, values_of(self.model.result)), values))

    def _lifted(self, program: Program, workload: Workload, sizes: Mapping[str, Expr]) -> list[Value]:
        """The results as ``workload`` computes them itself."""
        tensors = [one for one in (*workload.arguments.values(), *workload.held.values()) if isinstance(one, Tensor)]
        atoms = {atom for tensor in tensors for extent in tensor.shape or () for atom in lift(extent).atoms()}
        told = sorted(atom for atom in atoms if isinstance(atom, Symbol) and atom not in self.sizes)
        self.sizes |= dict.fromkeys(told, _ANY)

        def read(at: Mapping[Symbol, int]) -> Workload:
            numbers = {name: lift(size).evaluate(at) for name, size in sizes.items()}  # type: ignore[arg-type]
            overrides = {**program.question.overrides, **{n: int(one) for n, one in numbers.items() if one is not None}}
            facts = (*program.question.facts, *(Fact(one.name, size=at[one]) for one in told))
            asked = replace(program.question, overrides=overrides, facts=facts, detailed=True)
            try:
                found = program.variant(program.kernel, asked).workload(workload.entry, NO_EDITS)
            except UsageError as error:
                raise CannotGenerate(str(error)) from None
            if found is None:
                raise CannotGenerate(f"`{workload.entry}` is not followed")
            return found

        try:
            made = lifted(read, {one: int(n) for one, n in self.sizes.items() if isinstance(one, Symbol)})
            if len(values_of(workload.result)) != len(made):
                raise Differs("a result that depends on the sizes")
        except Differs as error:
            if sizes:
                raise Lost from None
            raise CannotGenerate(str(error)) from None
        return made

    def _check_followed(self, reference: Workload) -> None:
        """Raise :class:`Unbound` for a size without which the reference is not followed."""
        lost = [
            s
            for s in reference.steps
            if isinstance(s, TorchOp) and (s.call is None or not s.writes or s.writes[0].shape is None)
        ]
        loops = [s for s in reference.steps if isinstance(s, Repeat) and (s.round is None or self._is_short(s))]
        for loop in loops:
            for atom in lift(loop.count if loop.count is not None else 0).atoms():
                if isinstance(atom, Symbol):
                    raise Unbound(atom.name)
        self.lost = bool(lost or loops or reference.unknowns or reference.open_choices)
        if self.lost and self.sizes:
            raise Lost
        if reference.open_choices:
            raise CannotGenerate("what the reference does depends on a condition that is not known")
        if reference.unknowns:
            raise CannotGenerate(f"the reference is not followed to its end ({reference.unknowns[0]})")

    def _is_short(self, loop: Repeat) -> bool:
        """Whether the rounds of ``loop`` are better written one after the other."""
        rounds = lift(loop.count).evaluate(self.sizes) if loop.count is not None else None
        return rounds is not None and rounds <= SHORT_LOOP

    def check_parts(self, outputs: Iterable[Value]) -> None:
        """Raise :class:`Divided` for a size that is divided without a rest."""
        seen: set[int] = set()
        values = [value for one in outputs for value in one.walk(seen)]
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


def extents_among(
    program: Program, entry: str, constants: Mapping[str, int | float], sizes: dict[str, Expr]
) -> dict[str, Expr]:
    """Those of ``sizes`` that a tensor is large by: all others say how a program goes about it."""
    overrides = {**program.question.overrides, **{name: sizes.get(name, n) for name, n in constants.items()}}
    asked = replace(program.question, overrides=overrides, detailed=True, kernels=False)
    workload = program.variant(program.kernel, asked).workload(entry, NO_EDITS)
    if workload is None:
        return {}
    tensors = [one for one in (*workload.arguments.values(), *workload.held.values()) if isinstance(one, Tensor)]
    used = {atom for tensor in tensors for extent in tensor.shape or () for atom in lift(extent).atoms()}
    return {name: size for name, size in sizes.items() if Symbol(name) in used}


def is_hopeless(program: Program, entry: str, constants: Mapping[str, int | float], itself: bool) -> bool:
    """Whether the reference is not followed to its end even where no size is open, so that it is in vain to look for those that may
    be."""
    try:
        return Computation(program, entry, constants, {}, itself).lost
    except (CannotGenerate, Unbound):
        return True


def decisive(
    program: Program, entry: str, constants: Mapping[str, int | float], sizes: Mapping[str, Expr], itself: bool
) -> str:
    """The size that has to be a number for the reference to be followed: the one that does alone, else the smallest."""
    order = sorted(sizes, key=lambda name: constants[name])
    for name in order:
        try:
            Computation(program, entry, constants, {n: size for n, size in sizes.items() if n != name}, itself)
        except Lost:
            continue
        except (CannotGenerate, Unbound, Divided):
            pass
        return name
    return order[0]


def constants_of(program: Program) -> dict[str, int | float]:
    """The numbers that the module of the reference (of the kernel, where they are one) gives names to, as they are in force."""
    module = program.reference or program.kernel
    found: dict[str, int | float] = {}
    for statement in ast.parse(module.text).body:
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
        ):
            try:
                value = ast.literal_eval(statement.value)
            except ValueError:
                continue
            if type(value) in (int, float) and math.isfinite(value):
                found[statement.targets[0].id] = value
    return {
        **found,
        **{name: v for name, v in program.question.overrides.items() if name in found and type(v) in (int, float)},
    }


def _numbers(sizes: Mapping[str, Expr], constants: Mapping[str, int | float]) -> dict[Atom, float]:
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
