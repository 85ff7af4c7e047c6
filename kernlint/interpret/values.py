"""Abstract values: what a name can stand for while kernlint reads a program.

Plain Python numbers, strings, tuples, lists and dicts stand for themselves. Everything else is one of the classes here,
or a :class:`~kernlint.workload.Tensor`, :class:`~kernlint.workload.Dtype` or :class:`~kernlint.workload.Expr`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import libcst as cst

from kernlint.records import dataclass
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.workload import Expr, Size, Span, Tensor, Tuning
from kernlint.workload import expr as ex


@dataclass(frozen=True)
class Unknown:
    """A value that was not followed; ``reason`` says why. Never an error, never a guess."""

    reason: str = ""


@dataclass(frozen=True)
class Rest(Unknown):
    """Stands in a list for the items ``of`` something whose length is not known: among arguments, nobody knows which parameters
    it and what follows reach."""

    of: Any = None


@dataclass(frozen=True)
class DtypeOf(Unknown):
    """The element type of ``tensor``, where that is not known."""

    tensor: Tensor | None = None


class Yielded(list[Any]):
    """What a generator yields, first to last."""


#: The name, which no program has, of what a generator has yielded so far.
YIELDED = "yield"


@dataclass(frozen=True)
class OpenFloat(Unknown):
    """A Python float of unknown value, which an annotation (``scale: float``) tells, or arithmetic on one; ``ratio`` are the
    integers that it is the quotient of, where it is one."""

    ratio: tuple[Expr, Expr] | None = None


class Presumed(int):
    """A flag of which only the type is known, an argument ``flag: bool`` of the entry: false for the path that is followed,
    and no proof of anything."""


@dataclass(frozen=True)
class Condition(Unknown):
    """A condition on open sizes: it holds where all of ``zeros`` are zero (``n % 64 == 0``)."""

    zeros: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Comparison(Unknown):
    """An order of two numbers that is not known: ``left name right``."""

    name: str = "<"
    left: Size = 0
    right: Size = 0

    @property
    def denied(self) -> Comparison:
        return Comparison(self.reason, {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[self.name], self.left, self.right)

    def chosen(self, a: Size, b: Size) -> Size | None:
        """What is ``a`` where it holds and else ``b``, if these are the two numbers compared: the lesser or the larger."""
        if (a, b) not in ((self.left, self.right), (self.right, self.left)):
            return None
        return ex.minimum(a, b) if (a == self.left) == (self.name in ("<", "<=")) else ex.maximum(a, b)


class Guess(int):
    """One of several numbers, which of them is not known; arithmetic makes it a plain one."""


@dataclass(frozen=True)
class ReadValue(Unknown):
    """A number that the host has read from a tensor, at one of ``places``, or computed from such a one."""

    places: frozenset[Span] = frozenset()


@dataclass(frozen=True)
class Namespace:
    """An external module or something inside one, by its canonical dotted path (``torch.nn.functional``)."""

    path: str


@dataclass(frozen=True)
class Reexported(Namespace):
    """What a package that is not in view calls ``tl`` or ``triton``: Triton, as far as its names go; others are the package's own."""


@dataclass(frozen=True)
class ModuleInView(Namespace):
    """A module of the same source tree, as the module ``importer`` imports it, ``level`` dots relative: ``find`` gives what a name
    stands for there, or raises ``KeyError``."""

    find: Callable[[str], Any]
    importer: Module
    level: int


@dataclass(frozen=True)
class Builtin:
    """A method bound to an abstract value: ``call(args, kwargs, node)``."""

    name: str
    call: Callable[[list[Any], dict[str, Any], cst.CSTNode], Any]


class Deferred:
    """What a name will stand for once somebody looks it up: most of what modules import and define is never asked for."""

    __slots__ = ("compute",)

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute


class Scope:
    """Variables of a function call, chained to those around it."""

    __slots__ = ("nonlocals", "parent", "vars")

    def __init__(self, parent: Scope | None = None, vars: dict[str, Any] | None = None) -> None:
        self.parent = parent
        self.vars: dict[str, Any] = {} if vars is None else vars
        self.nonlocals: set[str] = set()

    def lookup(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.vars:
                value = scope.vars[name]
                if type(value) is Deferred:
                    # Until it is known, so that a definition that needs itself comes to an end.
                    scope.vars[name] = Unknown(f"{name} while it is being defined")
                    value = scope.vars[name] = value.compute()
                return value
            scope = scope.parent
        raise KeyError(name)

    def get(self, name: str) -> Any:
        """What ``name`` stands for here or around; None where nothing binds it."""
        try:
            return self.lookup(name)
        except KeyError:
            return None

    def assign(self, name: str, value: Any) -> None:
        if name in self.nonlocals:
            scope = self.parent
            while scope is not None:
                if name in scope.vars:
                    scope.vars[name] = value
                    return
                scope = scope.parent
        self.vars[name] = value


@dataclass(eq=False)
class Function:
    """A ``def`` or ``lambda`` with its closure, and what ``names`` in its defaults stand for there; ``memoised`` where a decorator in
    view keeps what it returns, ``either`` where it is one of two, under a condition that could not be decided."""

    name: str
    node: cst.FunctionDef | cst.Lambda
    module: Module
    closure: Scope
    owner: str = ""
    memoised: bool = False
    either: bool = False
    names: Mapping[str, Any] = field(default_factory=dict)

    @property
    def symbol(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name

    @property
    def decorators(self) -> frozenset[str | None]:
        """The names that stand before it with ``@`` and are not called."""
        return frozenset(dotted_name(one.decorator) for one in getattr(self.node, "decorators", ()))


@dataclass(eq=False)
class Config:
    """``triton.Config``: meta-parameters and launch options; ``hook`` is its ``pre_hook``, if it has one."""

    kwargs: Mapping[str, Any]
    num_warps: Any = 4
    num_stages: Any = 3
    hook: Any = None


@dataclass(eq=False)
class Jit:
    """A ``@triton.jit`` function with the autotuner and heuristics around it.

    ``unspecialised`` are the parameters that it is told not to specialise on, ``tuning`` what the autotuner was asked for.
    ``open_ended`` says that heuristics which were not followed set parameters, ``either`` that it is one of two definitions,
    under a condition that could not be decided.
    """

    function: Function
    configs: tuple[Config, ...] = ()
    key: tuple[str, ...] = ()
    heuristics: Mapping[str, Any] = field(default_factory=dict)
    autotuned: bool = False
    unspecialised: frozenset[str] = frozenset()
    tuning: Tuning | None = None
    open_ended: bool = False
    either: bool = False

    @property
    def within(self) -> Jit:
        """What the outermost of an autotuner and heuristics is around; which of two that is is left open."""
        opened = self.open_ended or (self.autotuned and bool(self.heuristics))
        return Jit(self.function, unspecialised=self.unspecialised, open_ended=opened, either=self.either)


@dataclass(eq=False)
class GridLauncher:
    """``kernel[grid]``: calling it launches."""

    kernel: Jit
    grid: Any


@dataclass(eq=False)
class Class:
    """A class statement; ``bases`` are evaluated, ``scope`` holds its body's names."""

    name: str
    bases: tuple[Any, ...] = field(repr=False)
    scope: Scope
    module: Module
    node: cst.ClassDef


@dataclass(eq=False)
class Instance:
    """An object of a class in view, or of a library class (``kind`` is then its dotted path)."""

    cls: Class | None
    kind: str = ""
    #: Objects refer to one another, in any number of ways.
    attrs: dict[str, Any] = field(default_factory=dict, repr=False)


class Distinct(list[Any]):
    """A set: its items, each once, in the order in which they came."""

    def copy(self) -> Distinct:
        return Distinct(self)


#: How much is in the largest value that is looked at as a whole, in items, and how deep: whoever prints it, compares it or
#: hands it to a kernel goes through all of it. Programs stay far below.
MAX_ITEMS = 10_000
MAX_NESTING = 50

#: What a container in another one weighs besides what is in it, and how many characters weigh as much as one item.
_CONTAINER = 4
_CHARACTERS = 32

_CONTAINERS = (tuple, list, dict)


def weight(value: Any) -> int:
    """How many items are in a container, each counted as often as it is in there: a list of twice the same list of twice the
    same list is short, and its text is not. More than ``MAX_ITEMS`` for a huge one, and one that is in itself."""
    level: list[Any] = [value]
    count = 0
    for _ in range(MAX_NESTING):
        below: list[Any] = []
        for container in level:
            count += len(container)
            if count > MAX_ITEMS:
                return count
            for item in [*container, *container.values()] if isinstance(container, dict) else container:
                if isinstance(item, _CONTAINERS):
                    count += _CONTAINER
                    below.append(item)
                elif type(item) is str:
                    count += len(item) // _CHARACTERS
        if not below:
            return count
        level = below
    return MAX_ITEMS + 1


def is_huge(value: Any) -> bool:
    """Whether ``value`` has more in it than programs compute with."""
    if isinstance(value, _CONTAINERS):
        return weight(value) > MAX_ITEMS
    return isinstance(value, str) and len(value) > MAX_ITEMS


def is_concrete(value: Any) -> bool:
    """Whether ``value`` is an ordinary Python value all the way down, and not a huge one."""
    if isinstance(value, (tuple, list)):
        return not is_huge(value) and _is_concrete(value)
    return _is_concrete(value)


def _is_concrete(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_concrete, value))
    return value is None or isinstance(value, (bool, int, float, str, complex))
