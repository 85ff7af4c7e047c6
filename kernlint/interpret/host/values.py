"""Values that only host code has: what is asked of tensors nobody knows enough of, and lists that loops fill."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from kernlint.interpret.triton.reading import argument_block
from kernlint.interpret.triton.values import Block, Descriptor
from kernlint.interpret.values import Builtin, Class, Instance, Jit, ReadValue, Unknown
from kernlint.records import dataclass
from kernlint.workload import Size, Span, Tensor
from kernlint.workload import expr as ex


@dataclass(frozen=True)
class ShapeOf:
    """The shape of a tensor whose rank is not known yet."""

    tensor: Tensor
    what: str


@dataclass(frozen=True)
class Parent:
    """``super()``: ``instance`` as an object of the ``classes`` behind the one whose method is being run, nearest first."""

    classes: tuple[Class, ...]
    instance: Instance


@dataclass(frozen=True)
class ContiguityTest:
    """``x.is_contiguous()`` where the layout of ``x`` is not known."""

    tensor: Tensor


class LongList(list[Any]):
    """A list that a loop filled: ``length`` elements (None: nobody knows how many), of which only some stand in it, in the order in which
    they came to it, whether it is turned round (``backwards``) or not."""

    def __init__(self, values: list[Any], length: Size | None, backwards: bool = False, of_rounds: bool = True) -> None:
        super().__init__(values)
        self._items, self._length = tuple(values), length
        self.backwards, self._of_rounds = backwards, of_rounds

    @property
    def length(self) -> Size | None:
        more = len(self) - len(self._items)
        return ex.simplify(ex.lift(self._length) + more) if more and self._length is not None else self._length

    @property
    def is_of_rounds(self) -> bool:
        """Whether it is as the one loop left it, or turned round."""
        return self._of_rounds and len(self) == len(self._items) and all(map(operator.is_, self, self._items))

    def is_open_at(self, index: Any) -> bool:
        """Whether ``index`` picks an item that does not stand in it."""
        inside = isinstance(index, int) and -len(self) <= index < len(self)
        return bool(self) and self.length != len(self) and isinstance(index, (int, ex.Expr)) and not inside

    @property
    def of_some_round(self) -> Any:
        """What the other rounds have appended is like, for the times alone: a number of one round is none of another's."""
        like = self[0 if self.backwards else -1]
        return Unknown("a number that some round has appended") if isinstance(like, (int, float, ex.Expr)) else like

    def may_change(self) -> None:
        """Somebody has an element of it, nobody knows which, and may change that."""
        self._of_rounds = False

    def copy(self) -> LongList:
        return LongList([*self], self.length, self.backwards, self.is_of_rounds)

    def reverse(self) -> None:
        self.backwards = not self.backwards

    def clear(self) -> None:
        super().clear()
        self._items, self._length, self._of_rounds = (), 0, False

    def __setitem__(self, index: Any, value: Any) -> None:
        self._of_rounds = self._of_rounds and not isinstance(index, int)
        super().__setitem__(index, value)

    def __add__(self, other: Iterable[Any]) -> LongList:
        return LongList([*self, *other], None)

    def __radd__(self, other: Iterable[Any]) -> LongList:
        return LongList([*other, *self], None)

    def __mul__(self, times: Any) -> LongList:
        return LongList([*self], None)

    __rmul__ = __mul__


class ParameterSet(tuple[Any, ...]):
    """``pytest.param(...)``: a value for each of the parameters that a decorator names."""


@dataclass(frozen=True)
class OpenItems:
    """What a loop over arguments of which nothing is known goes through: ``length`` times something like ``item``; ``name`` is that of
    the argument, where it is one."""

    item: Any
    length: Size
    name: str = ""


@dataclass(frozen=True)
class HostDescriptor:
    """``TensorDescriptor(base, shape, strides, block_shape)`` made on the host."""

    tensor: Tensor
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    block: tuple[int, ...]

    def inside(self, name: str) -> Descriptor:
        base = argument_block(name, self.tensor)
        assert isinstance(base, Block)
        return Descriptor(base, self.shape, self.strides, self.block)


@dataclass(frozen=True)
class Tuner(Builtin):
    """What ``triton.autotune(configs, kernel)`` gives, the kernel in place of the key: a decorator that nothing is decorated
    with."""

    kernel: Jit


def computed_from_read(name: str, values: Iterable[Any]) -> ReadValue:
    """What ``name`` makes of ``values``, of which some were read from tensors."""
    places = (value.places for value in values if isinstance(value, ReadValue))
    return ReadValue(name, frozenset[Span]().union(*places))
