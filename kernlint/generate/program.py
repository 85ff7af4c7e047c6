"""A program's call written anew: which of its sizes stay open, so that the kernels hold for others too."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from kernlint.generate.computation import Lost
from kernlint.generate.values import CannotGenerate, Divided, Unbound
from kernlint.generate.writing import Rewritten, Writing
from kernlint.interpret.program import Program
from kernlint.workload import Expr, Symbol


def rewritten(program: Program, entry: str, itself: bool = False) -> Rewritten:
    """``entry`` of ``program`` with the computation of the reference, or of ``itself``. Raises :class:`CannotGenerate`."""
    constants = _constants(program)
    sizes: dict[str, Expr] = {name: Expr.atom(Symbol(name)) for name, v in constants.items() if isinstance(v, int)}
    if itself or program.reference is None:
        sizes = {}  # a kernel may compute something else at other sizes, as where its grid rounds down
    hopeless: bool | None = None
    for _ in range(2 * len(constants) + 2):
        try:
            return Writing(program, entry, constants, sizes, itself).write()
        except RecursionError:
            raise CannotGenerate("the reference nests too deep") from None
        except Lost:
            if hopeless is None:
                hopeless = _is_hopeless(program, entry, constants, itself)
            if hopeless:
                sizes = {}
            else:
                del sizes[_decisive(program, entry, constants, sizes, itself)]
        except Divided as found:
            sizes = {name: size.substitute({Symbol(found.name): found.whole}) for name, size in sizes.items()}
        except Unbound as found:
            # Nothing at hand tells this size: it is written as the number that it is.
            known = [name for name, size in sizes.items() if Symbol(found.name) in size.atoms()]
            if not known:
                break
            del sizes[known[0]]
    raise CannotGenerate("its sizes are not known")


def _is_hopeless(program: Program, entry: str, constants: Mapping[str, int | float], itself: bool) -> bool:
    """Whether the reference is not followed to its end even where no size is open, so that it is in vain to look for those that may
    be."""
    try:
        return Writing(program, entry, constants, {}, itself).lost
    except (CannotGenerate, Unbound):
        return True


def _decisive(
    program: Program, entry: str, constants: Mapping[str, int | float], sizes: Mapping[str, Expr], itself: bool
) -> str:
    """The size that has to be a number for the reference to be followed: the one that does alone, else the smallest."""
    order = sorted(sizes, key=lambda name: constants[name])
    for name in order:
        try:
            Writing(program, entry, constants, {n: size for n, size in sizes.items() if n != name}, itself)
        except Lost:
            continue
        except (CannotGenerate, Unbound, Divided):
            pass
        return name
    return order[0]


def _constants(program: Program) -> dict[str, int | float]:
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
