"""A program at other sizes than its own: what is proven of one call may not hold of the next."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.asked_once import AskedOnce
from kernlint.errors import KernlintError
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.records import dataclass, replace
from kernlint.syntax.sizes import LEAST_LITERAL, lifted, varied_names
from kernlint.syntax.tree import Module, parse_module
from kernlint.workload import Launch, Workload


@dataclass(frozen=True)
class OtherCall:
    """``program`` asked about a call of other sizes, all that the host does kept, and its ``workload``; ``sizes`` says which these
    are, empty where they are the given ones."""

    program: Program
    workload: Workload
    sizes: str = ""


def other_calls(program: Program, workload: Workload, step: int) -> list[OtherCall]:
    """Calls whose sizes are larger than those of ``workload`` by ``step``, and by what makes products of two of them multiples of it;
    where the program does not take these, those of one larger size that it does take; where there are none, or nothing says
    what makes its arguments, the given one."""
    return program.once(_other_calls, workload.entry, step, workload.bare)


def _other_calls(program: Program, entry: str, step: int, bare: bool) -> list[OtherCall]:
    workload = program.workload(entry, NO_EDITS, bare)
    return [] if workload is None else list(_at_other_sizes(program.once(_Sized), workload, step))


def _at_other_sizes(sized: _Sized, workload: Workload, step: int) -> Iterator[OtherCall]:
    taken = 0
    for more in dict.fromkeys((step, 1 << (step.bit_length() // 2))):
        groups = [sized.extents, *([size] for size in sized.extents if len(sized.extents) > 1)]
        for place, group in enumerate(groups):
            call = sized.call(workload, {size: size + more for size in group}) if group else None
            if call is not None:
                taken += 1
                yield call
                if place == 0:
                    break
    given = None if taken else sized.call(workload, {})
    if given is not None:
        yield given


class _Sized(AskedOnce):
    """A program whose sizes can be set: those that are written where its arguments are made are constants of their module."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kernel, self.reference = program.kernel, program.reference
        self.constants: dict[str, int] = {}
        if self.reference is not None:
            self.reference, self.constants = _with_constants(self.reference)
        if not self.constants:
            self.kernel, self.constants = _with_constants(self.kernel)
        overridden = program.question.overrides
        self.constants = {name: overridden.get(name, value) for name, value in self.constants.items()}
        #: Sizes that are equal are one, as what has to agree goes on agreeing then.
        self.extents = sorted({value for value in self.constants.values() if value >= LEAST_LITERAL})

    def call(self, before: Workload, sizes: dict[int, int]) -> OtherCall | None:
        """The call ``before`` where each size is what ``sizes`` has for it; None where the program does not take it."""
        moved = {name: sizes[value] for name, value in self.constants.items() if value in sizes}
        program = self.once(_Sized._with, tuple(moved.items()))
        try:
            workload = program.workload(before.entry, NO_EDITS, before.bare)
        except KernlintError:
            return None
        if workload is None or (sizes and not takes(before, workload)):
            return None
        return OtherCall(program, workload, ", ".join(f"{name} = {value:,}" for name, value in moved.items()))

    def _with(self, moved: tuple[tuple[str, int], ...]) -> Program:
        """The program with other sizes, asked about one entry after another."""
        question = self.program.question
        question = replace(question, overrides={**question.overrides, **dict(moved)}, detailed=True)
        return self.program.variant(self.kernel, question, self.reference)


def _with_constants(module: Module) -> tuple[Module, dict[str, int]]:
    """``module`` with the sizes that its ``get_inputs`` has as literals in constants, and all constants that it depends on."""
    text, literals = lifted(module.text)
    if literals:
        try:
            module = parse_module(text, module.path, module.first_line)
        except KernlintError:
            return module, {}
    return module, varied_names(text)


def takes(before: Workload, other: Workload) -> bool:
    """Whether the call ``other`` gets as far as ``before``, and nothing that is said of it is not said of that one."""
    kernels = [[one.kernel for one in workload.launches()] for workload in (before, other)]
    alike = [one.name_span for one in kernels[0]] == [one.name_span for one in kernels[1]]
    return alike and _troubles(other) <= _troubles(before)


def _troubles(workload: Workload) -> int:
    launches: list[Launch] = workload.launches()
    of_launches = sum(len(one.faults) + len(one.kernel.faults) + (not one.kernel.complete) for one in launches)
    return len(workload.faults) + len(workload.unknowns) + of_launches
