"""What is known of a generated kernel and its launch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from kernlint.generate.terms import Buffer, Term
from kernlint.generate.values import CannotGenerate, Named
from kernlint.interpret.torch.shapes import product
from kernlint.records import dataclass, replace
from kernlint.workload import Expr, Size
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift
from kernlint.workload.synthesis import power_of_two

#: What the lines that every kernel has call things.
RESERVED = frozenset(
    "pid tiles across outer row rows cols mask row_mask col_mask start step chunk last ROWS BLOCK".split()
)
#: Makes an index one of 64 bits; what has more elements than this is addressed so.
WIDE, _LARGE = ".to(tl.int64)", 1 << 31
#: Programs that CUDA takes along each axis of a grid but the first.
MOST_BESIDE = (1 << 16) - 1
#: Characters of a line.
_WIDTH = 110


@dataclass(frozen=True)
class NextPower:
    """The least power of two that is not below ``total``, nor below ``least``, which the host takes."""

    total: Size
    least: int


@dataclass(frozen=True)
class Kernel:
    """The source of a kernel and what a launch of it says: ``grid`` (along each axis factors: an extent and the constant that
    it is divided by, rounded up) and the values of parameters as expressions over sizes, ``buffers`` in the order of the pointers, with
    whether they are written."""

    name: str
    source: str
    grid: tuple[tuple[tuple[Size, str], ...], ...]
    buffers: tuple[tuple[Buffer, bool], ...]
    sizes: Mapping[Expr, str]
    numbers: Mapping[str, Named]
    constants: Mapping[str, int | NextPower]
    num_warps: int
    num_stages: int | None = None
    #: Sources of functions that it calls, by name.
    helpers: Mapping[str, str] = field(default_factory=dict)

    def launched(self, sizes: Mapping[Atom, float]) -> Kernel:
        """This kernel with a grid that CUDA launches at ``sizes``: the axis of most programs is the first. Raises
        :class:`CannotGenerate` where there is none. At other sizes CUDA says so itself: a launch that is too large is an error."""
        programs = [self._programs(factors, sizes) for factors in self.grid]
        beside = [axis for axis, count in enumerate(programs) if axis and count > MOST_BESIDE]
        if not beside:
            return self
        (most, *others) = beside
        if others or programs[0] > MOST_BESIDE:
            raise CannotGenerate("it would take more programs along two axes of a grid than CUDA launches")
        order = {0: most, most: 0}
        grid = tuple(self.grid[order.get(axis, axis)] for axis in range(len(self.grid)))
        source = re.sub(
            r"tl\.(program_id|num_programs)\((\d)\)",
            lambda found: f"tl.{found[1]}({order.get(int(found[2]), int(found[2]))})",
            self.source,
        )
        return replace(self, grid=grid, source=source)

    def _programs(self, factors: Sequence[tuple[Size, str]], sizes: Mapping[Atom, float]) -> float:
        programs = 1.0
        for total, block in factors:
            step = self.constants.get(block, 1)
            programs *= count_at(total, sizes) / (step if isinstance(step, int) else 1)
        return programs


def count_at(size: Size, sizes: Mapping[Atom, float]) -> float:
    """The number that ``size`` is at ``sizes``. Raises :class:`CannotGenerate` where these do not tell."""
    value = lift(size).evaluate(sizes)
    if value is None:
        raise CannotGenerate("an extent that is not known")
    return float(value)


def is_large(elements: float) -> bool:
    """Whether an index of 32 bits does not reach all ``elements``."""
    return elements >= _LARGE


def product_of(extents: Iterable[Size]) -> Size:
    """Elements of a space with these extents."""
    return product(tuple(extents))


def arguments(text: str, read: Iterable[Buffer], written: Iterable[Buffer]) -> list[tuple[Buffer, bool]]:
    """The buffers of a kernel whose body is ``text``, each once, with whether it is written."""
    changed = {buffer.name: buffer for buffer in written}
    found = [(one, False) for one in read if f"{one.name}_ptr" in text and one.name not in changed]
    return [*found, *((one, True) for one in changed.values())]


def check_in_place(terms: Iterable[Term], name: str, address: Expr | None) -> None:
    """Raise :class:`CannotGenerate` where ``terms`` read of the buffer ``name``, which is written at ``address``, other elements; any
    where that is None, as several programs may write one."""
    if any(term.op == "load" and term.buffer == name and term.address != address for term in terms):
        raise CannotGenerate("an argument that is changed in place while other elements of it are needed")


def next_power(total: Size, least: int = 1) -> NextPower | int:
    number = ex.concrete(total)
    return max(least, power_of_two(number)) if number is not None else NextPower(total, least)


def function_text(name: str, parameters: Sequence[str], body: Sequence[str]) -> str:
    """A ``@triton.jit`` function, its parameters on lines of their own where they do not fit on one."""
    head = f"def {name}({', '.join(parameters)}):"
    if len(head) > _WIDTH:
        lines, line = [], "   "
        for parameter in parameters:
            if len(line) + len(parameter) + 2 > _WIDTH:
                lines.append(line)
                line = "   "
            line += f" {parameter},"
        head = "\n".join([f"def {name}(", *lines, line, "):"])
    return "\n".join(["@triton.jit", head, *(f"    {line}" for line in body)])
