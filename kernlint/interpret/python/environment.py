"""What every evaluator has: a program, a budget, and an answer to what its values do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

import libcst as cst

from kernlint import work
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.python.control import OutOfBudget, Raised
from kernlint.interpret.python.methods import dict_method, list_method, lose, remove_at, set_slice, string_method
from kernlint.interpret.python.operators import python_binary, python_compare, same
from kernlint.interpret.trace import Values
from kernlint.interpret.values import (
    MAX_ITEMS,
    Builtin,
    Class,
    Condition,
    Function,
    Instance,
    Jit,
    Namespace,
    Scope,
    Unknown,
    is_concrete,
    is_huge,
    weight,
)
from kernlint.syntax.tree import Module
from kernlint.workload import Span
from kernlint.workload import expr as ex
from kernlint.workload.expr import Expr

#: Items of a sequence that are handled at the price of one step.
_ITEMS_A_STEP = 64


MAX_UNROLL = 4096


class _Methods(dict[type, Any]):
    """The methods of an evaluator by the class of node that they are for: ``eval_Name`` for a ``cst.Name``."""

    def __init__(self, owner: type, prefix: str) -> None:
        super().__init__()
        self.owner = owner
        self.prefix = prefix

    def __missing__(self, kind: type) -> Any:
        method = self[kind] = getattr(self.owner, self.prefix + kind.__name__, None)
        return method


class Environment:
    """Where one program is followed. What it says that values do, those who derive from it answer better."""

    _eval: ClassVar[_Methods]

    _exec: ClassVar[_Methods]

    def __init_subclass__(cls) -> None:
        cls._eval, cls._exec = _Methods(cls, "eval_"), _Methods(cls, "exec_")

    def __init__(self, budget: int = 400_000, edits: Edits = NO_EDITS) -> None:
        self.edits = edits
        self.new_literals = edits.new_literals
        self.budget = self._budget_counted = budget
        self.calls: list[Function] = []
        #: What each of them returns on the ways that were not followed, where nobody knows which is taken: if the others raise.
        self.ways_out: list[list[tuple[Any, Callable[[], None]]]] = []
        #: How many ``try`` statements are there to catch what is raised now.
        self.guarded = 0
        #: How many of them carry on whatever a kernel raises that does not compile or start.
        self.tried = 0
        #: Conditions that were met whose outcome is not known.
        self.open_choices = 0
        #: How much of what is around the current statement may not happen: conditions that nobody could decide, what may not be compiled.
        self.doubts = 0
        self.modules: list[Module] = []
        #: Scopes that functions and classes refer to, which they in turn refer to by name.
        self.captured: list[Scope] = []
        #: Where the values of expressions and names are kept, if somebody wants to know them.
        self.seen: Values | None = None

    @property
    def module(self) -> Module:
        return self.modules[-1]

    @contextmanager
    def within(self, module: Module) -> Iterator[None]:
        """What is evaluated inside stands in ``module``."""
        self.modules.append(module)
        try:
            yield
        finally:
            self.modules.pop()

    def span(self, node: cst.CSTNode) -> Span:
        return self.module.span(node)

    def code(self, node: cst.CSTNode) -> str:
        """The source of an expression in one line, or the beginning of it."""
        return " ".join(self.module.code(node).split())[:80]

    @property
    def symbol(self) -> str:
        """The function being evaluated, as people name it."""
        return self.calls[-1].symbol if self.calls else "<module>"

    def spend(self, amount: int = 1) -> None:
        self.budget -= amount
        if self.budget < 0:
            raise OutOfBudget

    def limited(self, value: Any) -> Any:
        """``value`` where it is handed on, to be looked at as a whole: Unknown in place of a huge one."""
        if not isinstance(value, (tuple, list, dict)):
            return value
        items = weight(value)
        self.spend(items // _ITEMS_A_STEP)
        return value if items <= MAX_ITEMS else Unknown("huge value")

    def count(self) -> None:
        """Count what was evaluated since this was last asked as work done."""
        work.spend(max(0, self._budget_counted - self.budget))
        self._budget_counted = self.budget

    def missing_name(self, name: str, node: cst.CSTNode) -> Any:
        return Namespace("builtins." + name) if name in _BUILTIN_NAMES else Unknown(f"name {name}")

    def named(self, name: str, value: Any) -> Any:
        return value

    def tested(self, value: Any, node: cst.BaseExpression) -> None:
        """A condition comes to ``value``; subclasses say what finding that out takes."""

    def setattr(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(owner, Instance):
            owner.attrs[name] = value

    def setitem(self, container: Any, index: Any, value: Any, node: cst.CSTNode) -> None:
        if isinstance(container, list) and isinstance(index, slice):
            set_slice(container, index, value)
        elif isinstance(container, (dict, list)) and is_concrete(index):
            with suppress(IndexError, TypeError):
                container[index] = value
        elif isinstance(container, list):
            lose(container)

    def delitem(self, container: Any, index: Any) -> None:
        if isinstance(container, (list, dict)):
            remove_at(container, index)

    def unpack(self, value: Any, count: int, starred: bool) -> list[Any] | None:
        return self.iterate(value)

    def binary(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        return python_binary(name, function, a, b)

    def unary(self, name: str, value: Any, node: cst.CSTNode) -> Any:
        if name == "not":
            return Unknown("not")
        if isinstance(value, Expr):
            return -value if name == "-" else Unknown("~")
        if isinstance(value, (int, float)):
            try:
                return -value if name == "-" else ~value  # type: ignore[operator]
            except TypeError:
                raise Raised from None
        return Unknown("unary")

    def boolean(self, name: str, a: Any, b: Any, node: cst.CSTNode) -> Any:
        if name == "and" and isinstance(a, Condition) and isinstance(b, Condition):
            return Condition(name, a.zeros + b.zeros)
        return Unknown(name)

    def compare(self, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any, node: cst.CSTNode) -> Any:
        return python_compare(name, function, a, b)

    def truth(self, value: Any) -> bool | None:
        if isinstance(value, Expr):
            return None if value.value is None else bool(value.value)
        if value is None or isinstance(value, (bool, int, float, str, tuple, list, dict)):
            return bool(value)
        if isinstance(value, (Function, Class, Jit, Namespace, Instance)):
            return True
        return None

    def merge(self, a: Any, b: Any, test: Any, node: cst.CSTNode) -> Any:
        return a if same(a, b) else Unknown("undecided choice")

    def iterate(self, value: Any) -> list[Any] | None:
        if isinstance(value, (tuple, list)):
            return list(value)
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, str):
            return list(value)
        if isinstance(value, range):
            return list(value) if len(value) <= MAX_UNROLL else None
        return None

    def getattr(self, value: Any, name: str, node: cst.CSTNode) -> Any:
        if isinstance(value, Namespace):
            return Namespace(f"{value.path}.{name}")
        if isinstance(value, dict):
            return dict_method(value, name)
        if isinstance(value, list):
            return list_method(value, name)
        if isinstance(value, str):
            return string_method(value, name)
        if isinstance(value, int) and name == "bit_length":
            return Builtin(
                name, lambda a, k, n: value.bit_length()
            )  # `1 << (n - 1).bit_length()` is the next power of two
        if type(value) is bool and not hasattr(value, name):
            raise Raised  # the shape of a flag that stands in the place of a tensor
        return Unknown(f"attribute {name}")

    def subscript(self, value: Any, index: Any, node: cst.CSTNode) -> Any:
        if isinstance(index, Expr):
            index = ex.simplify(index)
        if isinstance(value, (tuple, list, str)) and isinstance(index, (int, slice)):
            if isinstance(index, slice) and not all(p is None or isinstance(p, int) for p in _parts(index)):
                return Unknown("slice")
            try:
                return value[index]
            except IndexError:
                raise Raised from None
        if isinstance(value, dict) and not is_huge(index):
            try:
                return value[index] if index in value else Unknown("missing key")
            except TypeError:
                return Unknown("key")
        return Unknown("subscript")

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: cst.Call) -> Any:
        return function.call(args, kwargs, node) if isinstance(function, Builtin) else Unknown("call")


def _parts(index: slice) -> tuple[Any, Any, Any]:
    return index.start, index.stop, index.step


_BUILTIN_NAMES = frozenset(
    "abs all any bool dict divmod enumerate filter float getattr hasattr id int isinstance issubclass iter len list map "
    "max min next object pow print property range repr reversed round set setattr sorted staticmethod classmethod str "
    "sum super tuple type vars zip Exception ValueError TypeError RuntimeError AssertionError NotImplementedError "
    "KeyError IndexError ImportError AttributeError slice callable frozenset bytes complex".split()
)
