"""Which names of a module stand for nothing: used, but bound in no scope that the use can see."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence

import libcst as cst

from kernlint.records import dataclass
from kernlint.syntax.names import bound_by, targets
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import children, parameters, walk

_BUILTINS = frozenset(dir(builtins)) | {
    "__file__", "__name__", "__doc__", "__spec__", "__path__", "__package__", "__annotations__", "__builtins__",
    "reveal_type", "WindowsError", "get_ipython", "display", "ExceptionGroup", "BaseExceptionGroup", "aiter", "anext",
    "EncodingWarning", "PythonFinalizationError",
}  # fmt: skip

_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)

#: The kinds of nodes that bind names in the scope they stand in, by themselves.
_BINDING = frozenset(
    {cst.Import, cst.ImportFrom, cst.MatchAs, cst.MatchStar, cst.MatchMapping, cst.Global, cst.Nonlocal, cst.Assign}
    | {cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr, cst.AsName}
)
_DEFINITIONS = frozenset({cst.FunctionDef, cst.ClassDef})
_OWN_SCOPE = frozenset({cst.Lambda, *_COMPREHENSIONS})

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
    """The names bound in one scope; those of a class are not seen by the functions inside it."""

    names: set[str]
    parent: _Scope | None
    is_class: bool = False
    function: cst.FunctionDef | None = None

    def sees(self, name: str) -> bool:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return True
            scope = scope.parent
        return name in _BUILTINS


def undefined_names(module: Module) -> list[Undefined]:
    """Every use of a name that no scope around it, nor Python, binds.

    Empty where the module imports ``*`` or makes names at run time (``globals()``, ``exec``), and where it is nested too
    deeply to say.
    """
    if any(isinstance(node.names, cst.ImportStar) for node in module.of(cst.ImportFrom)):
        return []
    if any(node.value in ("globals", "exec", "eval", "__getattr__", "locals") for node in module.of(cst.Name)):
        return []
    names = _bound(module.tree.body) | {n for node in module.of(cst.Global) for n in _items(node)}
    found: list[Undefined] = []
    lazy = _lazy_annotations(module.tree)
    try:
        for statement in module.tree.body:
            _visit(statement, _Scope(names, None), found, lazy)
    except RecursionError:
        return []
    return found


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


def local_names(function: cst.FunctionDef) -> set[str]:
    """The names that ``function`` binds itself: its parameters, and what its body assigns, imports or defines."""
    return {p.name.value for p in _every_parameter(function)} | _bound(function.body.body)


def _bound(body: Sequence[cst.CSTNode]) -> set[str]:
    """The names that statements bind in their own scope."""
    names: set[str] = set()
    stack: list[cst.CSTNode] = list(body)
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind in _DEFINITIONS:
            assert isinstance(node, (cst.FunctionDef, cst.ClassDef))
            names.add(node.name.value)
            stack += [*node.decorators]
            continue
        if kind in _OWN_SCOPE:
            # Only `:=` inside binds a name outside.
            names |= {t.target.value for t in walk(node) if type(t) is cst.NamedExpr and isinstance(t.target, cst.Name)}
            continue
        if kind in _BINDING:
            names.update(_targets(node))
        stack += children(node)
    return names


def _targets(node: cst.CSTNode) -> Iterator[str]:
    """The names that one node of a kind in ``_BINDING`` binds by itself."""
    if isinstance(node, (cst.Import, cst.ImportFrom)):
        for alias in () if isinstance(node.names, cst.ImportStar) else node.names:
            yield alias.evaluated_alias or alias.evaluated_name.split(".")[0]
    elif isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None:
        yield node.name.value
    elif isinstance(node, cst.MatchMapping) and node.rest is not None:
        yield node.rest.value
    elif isinstance(node, (cst.Global, cst.Nonlocal)):
        yield from _items(node)
    else:
        yield from (name.value for name in bound_by(node))


def _visit(node: cst.CSTNode, scope: _Scope, found: list[Undefined], lazy: bool) -> None:
    """Look at the uses in ``node``, opening a scope where Python does."""
    if type(node) is cst.Name:
        if not scope.sees(node.value):
            found.append(Undefined(node.value, node, scope.function))
    elif type(node) is cst.Attribute or type(node) is cst.Arg:
        _visit(node.value, scope, found, lazy)
    elif type(node) in _SPECIAL:
        _special(node, scope, found, lazy)
    else:
        for child in children(node):
            _visit(child, scope, found, lazy)


def _special(node: cst.CSTNode, scope: _Scope, found: list[Undefined], lazy: bool) -> None:
    """:func:`_visit` for nodes of a kind in ``_SPECIAL``."""
    if isinstance(node, (cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal, cst.AsName)):
        return
    if isinstance(node, cst.Annotation):
        if not lazy:
            _visit(node.annotation, scope, found, lazy)
    elif isinstance(node, cst.FunctionDef):
        _function(node, scope, found, lazy)
    elif isinstance(node, cst.Lambda):
        _defaults(node, scope, found, lazy)
        names = {p.name.value for p in _every_parameter(node)}
        _visit(node.body, _Scope(names, scope, function=scope.function), found, lazy)
    elif isinstance(node, cst.ClassDef):
        for part in (*node.decorators, *node.bases, *node.keywords):
            _visit(part, scope, found, lazy)
        inner = _Scope(
            _bound(node.body.body) | {"__class__", "__qualname__", "__module__"}, scope, True, scope.function
        )
        for statement in node.body.body:
            _visit(statement, inner, found, lazy)
    elif isinstance(node, _COMPREHENSIONS):
        _comprehension(node, scope, found, lazy)


def _function(node: cst.FunctionDef, scope: _Scope, found: list[Undefined], lazy: bool) -> None:
    for decorator in node.decorators:
        _visit(decorator, scope, found, lazy)
    type_names = (
        {p.param.name.value for p in node.type_parameters.params} if node.type_parameters is not None else set()
    )
    around = _Scope(type_names, scope, function=scope.function) if type_names else scope
    _defaults(node, around, found, lazy)
    if node.returns is not None:
        _visit(node.returns, around, found, lazy)
    # The names of a class around are not seen; `__class__` is.
    inner = _Scope(local_names(node) | {"__class__"}, around, function=node)
    for statement in node.body.body:
        _visit(statement, inner, found, lazy)


def _every_parameter(function: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    starred = (function.params.star_arg, function.params.star_kwarg)
    return [*parameters(function), *(p for p in starred if isinstance(p, cst.Param))]


def _defaults(function: cst.FunctionDef | cst.Lambda, scope: _Scope, found: list[Undefined], lazy: bool) -> None:
    for param in _every_parameter(function):
        if param.default is not None:
            _visit(param.default, scope, found, lazy)
        if param.annotation is not None:
            _visit(param.annotation, scope, found, lazy)


def _comprehension(node: cst.CSTNode, scope: _Scope, found: list[Undefined], lazy: bool) -> None:
    names: set[str] = set()
    clause = getattr(node, "for_in", None)
    first = clause
    while isinstance(clause, cst.CompFor):
        names |= {name.value for name in targets(clause.target)}
        clause = clause.inner_for_in
    inner = _Scope(names, scope, function=scope.function)
    if scope.is_class and isinstance(first, cst.CompFor):
        # The first iterable is evaluated in the class, the rest does not see the class.
        _visit(first.iter, scope, found, lazy)
    for child in children(node):
        _visit(child, inner, found, lazy)
