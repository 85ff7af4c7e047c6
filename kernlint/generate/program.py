"""A program's call written anew: which of its sizes stay open, so that the kernels hold for others too."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping

from kernlint.generate.computation import Lost
from kernlint.generate.tiles import Chosen
from kernlint.generate.values import CannotGenerate, Divided, Unbound
from kernlint.generate.writing import Rewritten, Writing
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.interpret.question import SHORT_LOOP
from kernlint.syntax.positions import python_tree
from kernlint.workload import Expr, Repeat, Symbol


def rewritten(program: Program, entry: str, itself: bool, chosen: Chosen | None = None) -> Rewritten:
    """``entry`` of ``program`` with the computation of the reference, or of ``itself``, at the sizes that it was read at: a kernel
    may compute something else at others, as where its grid rounds down. Raises :class:`CannotGenerate`."""
    try:
        return (_as_it_is if itself else _shorter)(program, entry, chosen or {})
    except RecursionError:
        raise CannotGenerate("the computation nests too deep") from None
    except Unbound:
        raise CannotGenerate("its sizes are not known") from None


def _as_it_is(program: Program, entry: str, chosen: Chosen) -> Rewritten:
    """From what the program computes itself: the rounds of its loops at once, or else one after the other."""
    workload = program.workload(entry, NO_EDITS)
    if workload is not None and any(isinstance(step, Repeat) for step in workload.steps):
        try:
            return Writing(program, entry, {}, {}, True, 1, chosen).write()
        except (CannotGenerate, Unbound):
            pass
    return Writing(program, entry, {}, {}, True, chosen=chosen).write()


#: Kernels from which on it is looked whether loops of the reference can be loops of one.
_MANY_KERNELS = 4


def _shorter(program: Program, entry: str, chosen: Chosen) -> Rewritten:
    """With the rounds of short loops one after the other, or in one kernel where that takes fewer."""
    found: Rewritten | CannotGenerate
    try:
        found = _as_the_reference(program, entry, SHORT_LOOP, chosen)
    except CannotGenerate as error:
        found = error
    loops = program.reference is not None and re.search(r"\b(for|while)\b", program.reference.text)
    if loops and (isinstance(found, CannotGenerate) or len(found.kernels) >= _MANY_KERNELS):
        try:
            other = _as_the_reference(program, entry, 1, chosen)
        except (CannotGenerate, Unbound):
            other = None
        if other is not None and (isinstance(found, CannotGenerate) or 2 * len(other.kernels) <= len(found.kernels)):
            return other
    if isinstance(found, CannotGenerate):
        raise found
    return found


def _as_the_reference(program: Program, entry: str, unrolled: int, chosen: Chosen) -> Rewritten:
    """Over as many open sizes as the reference is followed with; loops of up to ``unrolled`` rounds are read round by round."""
    constants = _constants(program)
    sizes: dict[str, Expr] = {name: Expr.atom(Symbol(name)) for name, v in constants.items() if isinstance(v, int)}
    hopeless: bool | None = None
    for _ in range(2 * len(constants) + 2):
        try:
            return Writing(program, entry, constants, sizes, False, unrolled, chosen).write()
        except Lost:
            if hopeless is None:
                hopeless = _is_hopeless(program, entry, constants, unrolled)
            if hopeless:
                sizes = {}
            else:
                del sizes[_decisive(program, entry, constants, sizes, unrolled)]
        except Divided as found:
            sizes = {name: size.substitute({Symbol(found.name): found.whole}) for name, size in sizes.items()}
        except Unbound as found:
            # Nothing at hand tells this size: it is written as the number that it is.
            known = [name for name, size in sizes.items() if Symbol(found.name) in size.atoms()]
            if not known:
                raise
            del sizes[known[0]]
    raise CannotGenerate("its sizes are not known")


def _is_hopeless(program: Program, entry: str, constants: Mapping[str, int | float], unrolled: int) -> bool:
    """Whether the reference is not followed to its end even where no size is open, so that it is in vain to look for those that may
    be."""
    try:
        return Writing(program, entry, constants, {}, False, unrolled).lost
    except (CannotGenerate, Unbound):
        return True


def _decisive(
    program: Program, entry: str, constants: Mapping[str, int | float], sizes: Mapping[str, Expr], unrolled: int
) -> str:
    """The size that has to be a number for the reference to be followed: the one that does alone, else the smallest."""
    order = sorted(sizes, key=lambda name: constants[name])
    for name in order:
        try:
            Writing(program, entry, constants, {n: size for n, size in sizes.items() if n != name}, False, unrolled)
        except Lost:
            continue
        except (CannotGenerate, Unbound, Divided):
            pass
        return name
    return order[0]


def _constants(program: Program) -> dict[str, int | float]:
    """The numbers that the module of the reference gives names to, as they are in force."""
    found: dict[str, int | float] = {}
    tree = python_tree(program.reference.text) if program.reference is not None else None
    for statement in tree.body if tree is not None else ():
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
