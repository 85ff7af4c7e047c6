"""Tensors: views of memory, with what is known of the numbers in it."""

from __future__ import annotations

from dataclasses import field
from math import prod

from kernlint.records import dataclass
from kernlint.workload.dtype import Dtype
from kernlint.workload.expr import Expr, Size, concrete, simplify
from kernlint.workload.span import Span


@dataclass(frozen=True)
class Expected:
    """What integers are in the mean: ``mean`` each, and ``step`` more than the one before it in memory. None where that is not known.
    ``spread`` is how far from it they are drawn, evenly, at the most: the steps, where these are known, else the numbers.
    ``equal`` where all of them are the mean, ``counted`` where they are made by counting, so that neighbours name neighbours (the
    corners of the cells of a grid), ``ordered`` where none is less than the one before it, or none more. ``numbers`` are all of them in
    the order of memory, where they are few and the program spells them out."""

    mean: float | None = None
    step: float | None = None
    spread: float = 0.0
    equal: bool = False
    counted: bool = False
    ordered: bool = False
    numbers: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Storage:
    """The memory behind a tensor. ``origin`` is input, parameter, empty, filled (zeros, ones, full), result,
    constant; ``expected`` what it holds in the mean, of that which launches are given."""

    id: int
    origin: str
    span: Span | None = None
    expected: Expected = field(default=Expected(), compare=False)


@dataclass(frozen=True)
class Tensor:
    """A view of a storage: dtype, shape and strides in elements; None where the source does not tell.

    ``name`` is what the source calls it, for messages.
    """

    name: str
    dtype: Dtype | None
    shape: tuple[Size, ...] | None
    strides: tuple[Size, ...] | None
    storage: Storage
    offset: Size = 0

    @property
    def elements(self) -> Size | None:
        """How many elements it has, in symbols where sizes are; None while nothing is known of its shape."""
        return None if self.shape is None else simplify(prod(self.shape, start=Expr.constant(1)))

    @property
    def extents(self) -> tuple[int, ...] | None:
        """The shape in numbers; None while a size is symbolic."""
        if self.shape is None:
            return None
        numbers = tuple(map(concrete, self.shape))
        return None if None in numbers else numbers  # type: ignore[return-value]

    @property
    def numel(self) -> int | None:
        """Elements, or None while a size is symbolic."""
        extents = self.extents
        return None if extents is None else prod(extents)

    @property
    def nbytes(self) -> int | None:
        """Bytes of the elements seen through this view."""
        count = self.numel
        return None if count is None or self.dtype is None else count * self.dtype.bytes

    @property
    def is_contiguous(self) -> bool | None:
        """Row-major without gaps; None when strides or sizes are not known."""
        if self.shape is None or self.strides is None:
            return None
        expected: Size = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if concrete(extent) != 1 and stride != expected:
                return False
            expected = expected * extent
        return True

    def __str__(self) -> str:
        shape = "?" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.name}: {self.dtype or 'unknown'}[{shape}]"
