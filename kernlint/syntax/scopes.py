"""Which names of a module stand for nothing: used, but bound in no scope that the use can see."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from functools import partial
from typing import Any

import libcst as cst

from kernlint.records import dataclass
from kernlint.syntax.names import bound_by, targets
from kernlint.syntax.tree import Module
from kernlint.syntax.unreached import Constants, before_end
from kernlint.syntax.walk import NESTED, children, parameters, walk, walk_outside

_BUILTINS = frozenset(dir(builtins)) | {
    "__file__", "__name__", "__doc__", "__spec__", "__path__", "__package__", "__annotations__", "__builtins__",
    "reveal_type", "WindowsError", "get_ipython", "display", "ExceptionGroup", "BaseExceptionGroup", "aiter", "anext",
    "EncodingWarning", "PythonFinalizationError",
}  # fmt: skip

#: What may make names at run time.
_MAKERS = frozenset({"globals", "exec", "eval", "__getattr__", "locals"})

#: Names of types and of their parameters.
_TYPES = (cst.TypeAlias, cst.TypeVar, cst.TypeVarTuple, cst.ParamSpec)
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)

#: The kinds of nodes that bind names in the scope they stand in, by themselves.
_BINDING = frozenset(
    {cst.Import, cst.ImportFrom, cst.MatchAs, cst.MatchStar, cst.MatchMapping, cst.Global, cst.Nonlocal, cst.Assign}
    | {cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr, cst.AsName}
)
_DEFINITIONS = frozenset({cst.FunctionDef, cst.ClassDef})
_OWN_SCOPE = frozenset({cst.Lambda, *_COMPREHENSIONS})

#: The kinds of nodes that bind nothing, nor anything in them, in a module without `:=`.
_INERT = frozenset(
    {cst.Expr, cst.Return, cst.Assign, cst.AugAssign, cst.AnnAssign, cst.Call, cst.Attribute, cst.Subscript, cst.Name}
    | {cst.BinaryOperation, cst.BooleanOperation, cst.UnaryOperation, cst.Comparison, cst.Raise, cst.Assert, cst.Import}
    | {cst.ImportFrom, cst.Arg, cst.Tuple}
)

#: The kinds of nodes of which more is to be said than of their children.
_SPECIAL = frozenset(
    {cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal, cst.AsName, cst.Annotation, cst.FunctionDef, cst.Lambda}
    | {cst.ClassDef, *_COMPREHENSIONS, cst.MatchAs, cst.MatchStar, cst.MatchMapping, cst.MatchClass}
    | {cst.MatchKeywordElement}
)


@dataclass(frozen=True)
class Undefined:
    """A use of a name that nothing binds; ``function`` is the innermost ``def`` around it (None at module level)."""

    name: str
    node: cst.Name
    function: cst.FunctionDef | None


@dataclass
class _Scope:
    """The names bound in one scope; those of a class are not seen by the functions inside it. ``choices`` are the values that
    some of the names may have."""

    names: set[str]
    parent: _Scope | None
    is_class: bool = False
    function: cst.FunctionDef | None = None
    choices: Mapping[str, list[Any]] = field(default_factory=dict)

    def sees(self, name: str) -> bool:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return True
            scope = scope.parent
        return name in _BUILTINS

    def unseen(self, names: set[str]) -> set[str]:
        """Those of ``names`` that it does not see."""
        left, scope = names - _BUILTINS, self.parent
        left -= self.names
        while scope is not None and left:
            if not scope.is_class:
                left -= scope.names
            scope = scope.parent
        return left


def outdated_variables(module: Module) -> frozenset[str]:
    """The variables of ``module`` that get another value after the last call of a function that reads them, which so saw an earlier one:
    as the cells of a notebook do."""
    functions: list[cst.FunctionDef] = []
    bound: dict[str, list[int]] = {}
    mentioned: dict[str, int] = {}
    for place, statement in enumerate(module.tree.body):
        if isinstance(statement, cst.FunctionDef):
            functions.append(statement)
            continue
        for name in (name for node in walk_outside(statement, NESTED) for name in bound_by(node)):
            bound.setdefault(name.value, []).append(place)
        mentioned.update((name.value, place) for name in module.within(statement, cst.Name))
    found = set()
    for function in functions:
        called = mentioned.get(function.name.value, len(module.tree.body))
        own = {p.name.value for p in parameters(function)} | _bound(function.body.body)
        read = {name.value for name in module.within(function.body, cst.Name)} - own
        found |= {name for name in read & bound.keys() if bound[name][0] <= called < bound[name][-1]}
    return frozenset(found)


def undefined_names(module: Module) -> list[Undefined]:
    """Every use of a name that no scope around it, nor Python, binds.

    Empty where the module imports ``*`` or makes names at run time (``globals()``, ``exec``), and where it is nested too
    deeply to say.
    """
    if any(isinstance(node.names, cst.ImportStar) for node in module.of(cst.ImportFrom)):
        return []
    evaluated = {node.attr for node in module.of(cst.Attribute)}  # as `model.eval()` is, which is no `eval`
    if any(node.value in _MAKERS and (node.value != "eval" or node not in evaluated) for node in module.of(cst.Name)):
        return []
    inert = frozenset() if module.of(cst.NamedExpr) else _INERT
    names = _bound(module.tree.body, inert) | {n for node in module.of(cst.Global) for n in _items(node)}
    # `type Row[T] = list[T]`, `def first[T](...)`: of these names it is not asked where they hold.
    names |= {node.name.value for kind in _TYPES for node in module.of(kind)}  # type: ignore[attr-defined]
    search = _Search(module, inert)
    try:
        for statement in module.tree.body:
            search.visit(statement, _Scope(names, None))
    except RecursionError:
        return []
    return search.found


def _items(node: cst.Global | cst.Nonlocal) -> list[str]:
    return [item.name.value for item in node.names]


def _lazy_annotations(tree: cst.Module) -> bool:
    """Whether annotations are not evaluated (``from __future__ import annotations``)."""
    for node in tree.body:
        for part in node.body if isinstance(node, cst.SimpleStatementLine) else ():
            if (
                isinstance(part, cst.ImportFrom)
                and isinstance(part.module, cst.Name)
                and part.module.value == "__future__"
            ):
                return True
    return False


def local_names(function: cst.FunctionDef, inert: AbstractSet[type] = frozenset()) -> set[str]:
    """The names that ``function`` binds itself: its parameters, and what its body assigns, imports or defines. Nothing is
    looked for in nodes of the kinds ``inert``."""
    return {p.name.value for p in _every_parameter(function)} | _bound(function.body.body, inert)


def _bound(body: Sequence[cst.CSTNode], inert: AbstractSet[type] = frozenset()) -> set[str]:
    """The names that statements bind in their own scope; nothing is looked for in nodes of the kinds ``inert``."""
    names: set[str] = set()
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in _DEFINITIONS:
            names.add(node.name.value)
            stack += [*node.decorators]
            continue
        if kind in _OWN_SCOPE:
            # Only `:=` inside binds a name outside.
            names |= {t.target.value for t in walk(node) if type(t) is cst.NamedExpr and isinstance(t.target, cst.Name)}
            continue
        if kind in _BINDING:
            names.update(_targets(node))
        if kind not in inert:
            stack += children(node)
    return names


def _targets(node: cst.CSTNode) -> Iterator[str]:
    """The names that one node of a kind in ``_BINDING`` binds by itself."""
    if type(node) is cst.Import or type(node) is cst.ImportFrom:
        for alias in () if isinstance(node.names, cst.ImportStar) else node.names:
            yield alias.evaluated_alias or alias.evaluated_name.split(".")[0]
    elif type(node) is cst.MatchAs or type(node) is cst.MatchStar:
        if node.name is not None:
            yield node.name.value
    elif type(node) is cst.MatchMapping:
        if node.rest is not None:
            yield node.rest.value
    elif type(node) is cst.Global or type(node) is cst.Nonlocal:
        yield from _items(node)
    else:
        yield from (name.value for name in bound_by(node))


def _every_parameter(function: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    starred = (function.params.star_arg, function.params.star_kwarg)
    return [*parameters(function), *(p for p in starred if type(p) is cst.Param)]


class _Search:
    """Goes through the uses of ``module``, with a scope opened where Python opens one, and notes those that nothing binds
    in ``found``. Where annotations are ``lazy`` they are no uses; nodes of the kinds ``inert`` bind nothing."""

    def __init__(self, module: Module, inert: AbstractSet[type]) -> None:
        self.module = module
        self.lazy = _lazy_annotations(module.tree)
        self.inert = inert
        self.constants = Constants(module)
        self.found: list[Undefined] = []

    def visit(self, node: cst.CSTNode, scope: _Scope) -> None:
        """Look at the uses in ``node``, in source order."""
        stack: list[Any] = [node]
        while stack:
            part = stack.pop()
            kind = type(part)
            if kind is cst.Name:
                if not scope.sees(part.value):
                    self.found.append(Undefined(part.value, part, scope.function))
            elif kind is cst.Attribute or kind is cst.Arg:
                stack.append(part.value)
            elif kind is cst.If and self.constants.never(part.test, partial(self._choices, scope)):
                stack += [child for child in (part.orelse, part.test) if child is not None]
            elif kind is cst.BooleanOperation and self._decides(part, scope):
                stack.append(part.left)
            elif kind in _SPECIAL:
                self._special(part, scope)
            elif kind is cst.IndentedBlock:
                stack += reversed([*before_end(part.body)])
            else:
                stack += reversed(children(part))

    def _decides(self, node: cst.BooleanOperation, scope: _Scope) -> bool:
        """Whether the right operand is never evaluated, as constants make the left one decide."""
        either = isinstance(node.operator, cst.Or)
        test = cst.UnaryOperation(cst.Not(), node.left) if either else node.left
        return self.constants.never(test, partial(self._choices, scope))

    def _choices(self, scope: _Scope, name: str) -> list[Any] | None:
        """The values that ``name`` may have in ``scope``; None where they are open."""
        around: _Scope | None = scope
        while around is not None:
            if name in around.names and (around is scope or not around.is_class):
                return self.constants.of_module(name) if around.parent is None else around.choices.get(name)
            around = around.parent
        return None

    def _special(self, node: Any, scope: _Scope) -> None:
        """:meth:`visit` for nodes of a kind in ``_SPECIAL``."""
        kind = type(node)
        if kind is cst.FunctionDef:
            self._function(node, scope)
        elif kind is cst.Annotation:
            if not self.lazy:
                self.visit(node.annotation, scope)
        elif kind is cst.Lambda:
            self._defaults(node, scope)
            names = {p.name.value for p in _every_parameter(node)}
            self.visit(node.body, _Scope(names, scope, function=scope.function))
        elif kind is cst.ClassDef:
            for part in (*node.decorators, *node.bases, *node.keywords):
                self.visit(part, scope)
            names = _bound(node.body.body, self.inert) | {"__class__", "__qualname__", "__module__"}
            inner = _Scope(names, scope, True, scope.function)
            for statement in node.body.body:
                self.visit(statement, inner)
        elif kind in _COMPREHENSIONS:
            self._comprehension(node, scope)

    def _function(self, node: cst.FunctionDef, scope: _Scope) -> None:
        for decorator in node.decorators:
            self.visit(decorator, scope)
        type_names = (
            {p.param.name.value for p in node.type_parameters.params} if node.type_parameters is not None else set()
        )
        around = _Scope(type_names, scope, function=scope.function) if type_names else scope
        self._defaults(node, around)
        if node.returns is not None:
            self.visit(node.returns, around)
        # The names of a class around are not seen; `__class__` is.
        inner = _Scope(local_names(node, self.inert) | {"__class__"}, around, function=node)
        if not self._sees_all(inner, node):
            inner.choices = self.constants.measured(node)
            for statement in before_end(node.body.body):
                self.visit(statement, inner)

    def _sees_all(self, scope: _Scope, function: cst.FunctionDef) -> bool:
        """Whether ``scope`` sees every name that stands anywhere in its ``function``, but for those of attributes and keywords,
        which are no uses. It mostly does, and then nobody need go through the uses."""
        unseen = scope.unseen({name.value for name in self.module.within(function, cst.Name)})
        if not unseen:
            return True
        standing = Counter(name.value for name in self.module.within(function, cst.Name))
        others = Counter(attribute.attr.value for attribute in self.module.within(function, cst.Attribute))
        others.update(arg.keyword.value for arg in self.module.within(function, cst.Arg) if arg.keyword is not None)
        others[function.name.value] += 1
        return all(standing[name] == others[name] for name in unseen)

    def _defaults(self, function: cst.FunctionDef | cst.Lambda, scope: _Scope) -> None:
        for param in _every_parameter(function):
            if param.default is not None:
                self.visit(param.default, scope)
            if param.annotation is not None:
                self.visit(param.annotation, scope)

    def _comprehension(self, node: cst.CSTNode, scope: _Scope) -> None:
        names: set[str] = set()
        clause = getattr(node, "for_in", None)
        first = clause
        while isinstance(clause, cst.CompFor):
            names |= {name.value for name in targets(clause.target)}
            clause = clause.inner_for_in
        inner = _Scope(names, scope, function=scope.function)
        if scope.is_class and isinstance(first, cst.CompFor):
            # The first iterable is evaluated in the class, the rest does not see the class.
            self.visit(first.iter, scope)
        for child in children(node):
            self.visit(child, inner)
