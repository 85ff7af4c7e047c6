"""Which statements of a function run once, because what they make is kept for later calls.

A place is kept where it outlives the call: a ``global`` or ``nonlocal`` name, an attribute of an argument or of something
outside the function, an entry of such a container. Code that runs only while the place is empty, and fills it, runs once::

    if key not in TABLES:          if self.packed is None:        if key in SEEN:
        TABLES[key] = make()           self.packed = pack(w)          return SEEN[key]
                                                                  SEEN[key] = check()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property, partial

import libcst as cst

from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.testing import is_benchmark, is_guarded_main, is_test
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import NESTED, parameters, walk, walk_outside

#: Decorators of the library that keep what a function returned.
_MEMOISERS = frozenset({"lru_cache", "cache", "cached_property"})
#: Methods that put something into a container.
_FILLERS = frozenset({"setdefault", "add", "append", "update", "__setitem__", "put"})
#: Methods that run once per object.
SETUP_METHODS = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})


def run_once(function: cst.FunctionDef, module: Module) -> frozenset[cst.CSTNode]:
    """The statements of ``function``, nested ones left out, that run only while a kept place is empty and fill it."""
    known = module.once(_known_statements)
    if function not in known:
        known[function] = frozenset(_Places(function, module).statements(function.body.body))
    return known[function]


def memoises(function: cst.FunctionDef) -> bool:
    """Whether ``function`` is a decorator that keeps results: the function it makes returns, in some branch, before it calls
    the decorated one, and puts what that returned into a place outside itself."""
    given = {p.name.value for p in parameters(function)}
    for inner in walk(function.body):
        if type(inner) is not cst.FunctionDef:
            continue
        calls = [n for n in _own(inner) if type(n) is cst.Call and dotted_name(n.func) in given]
        returns = [n for n in _own(inner) if type(n) is cst.Return]
        bare = [r for r in returns if not any(c in calls for c in walk(r))]
        if len(calls) == 1 and len(bare) > 1 and _Places(inner, None).filled(inner.body.body):
            return True
    return False


def is_memoised(function: cst.FunctionDef, imports: Mapping[str, str]) -> bool:
    """Whether a decorator of the standard library keeps what ``function`` returns."""
    origins = (origin_of(d.decorator, imports) for d in function.decorators)
    return any(o is not None and o.rsplit(".", 1)[-1] in _MEMOISERS for o in origins)


def setup_functions(module: Module) -> frozenset[str]:
    """Module-level functions that the module uses, but only from code that runs once: constructors, memoised functions, what
    fills a cache, tests, and other such functions."""
    return module.once(_setup_functions)


def untested_setup_functions(module: Module) -> frozenset[str]:
    """As :func:`setup_functions`, where tests and benchmarks do not count as uses."""
    return module.once(_untested_setup_functions)


def _setup_functions(module: Module) -> frozenset[str]:
    return _used_once(module, lambda function: False)


def _untested_setup_functions(module: Module) -> frozenset[str]:
    return _used_once(module, partial(tries, module))


def _used_once(module: Module, ignored: Callable[[cst.FunctionDef], bool]) -> frozenset[str]:
    names = {s.name.value for s in module.tree.body if isinstance(s, cst.FunctionDef)}
    uses: dict[str, set[str]] = {name: set() for name in names}
    for user, name in _uses(module, names, ignored):
        uses[name].add(user)
    found = {name for name, users in uses.items() if users}
    while wrong := {name for name in found if not all(user == _ONCE or user in found for user in uses[name])}:
        found -= wrong
    return frozenset(found)


#: Stands for a user that runs once, and for one that is no function of the module.
_ONCE, _ANY = "<once>", "<any>"


def _uses(module: Module, names: set[str], ignored: Callable[[cst.FunctionDef], bool]) -> Iterator[tuple[str, str]]:
    """(user, name) for each mention of ``names`` outside the function itself: the module-level function that mentions it, or
    how often the mention runs. Mentions in functions at the top level that are ``ignored`` are left out."""
    for statement in module.tree.body:
        owner = _ANY
        methods: list[cst.CSTNode] = [statement]
        if isinstance(statement, cst.ClassDef):
            methods = list(statement.body.body)
        elif isinstance(statement, cst.FunctionDef):
            owner = statement.name.value
        elif isinstance(statement, cst.SimpleStatementLine) and _calls_only(statement, names):
            continue  # an example or a test of the module's own
        elif is_guarded_main(statement):
            continue
        if isinstance(statement, cst.FunctionDef) and ignored(statement):
            continue
        for part in methods:
            user = owner
            mentions = [node for node in module.within(part, cst.Name) if node.value in names and node.value != owner]
            once: list[cst.CSTNode] = []
            if isinstance(part, cst.FunctionDef) and mentions:
                if is_memoised(part, module.imports) or part.name.value in SETUP_METHODS:
                    user = _ONCE
                once = [*run_once(part, module), *filter(partial(tries, module), module.within(part, cst.FunctionDef))]
            inside = {id(node) for statement in once for node in module.within(statement, cst.Name)}
            for node in mentions:
                yield (_ONCE if id(node) in inside else user), node.value


def tries(module: Module, function: cst.FunctionDef) -> bool:
    """Whether ``function`` tests or measures."""
    return is_test(function, module) or is_benchmark(function, module)


def _calls_only(statement: cst.SimpleStatementLine, names: set[str]) -> bool:
    """Whether ``statement`` mentions ``names`` only to call them, then and there."""
    called = {id(n.func) for n in walk(statement) if isinstance(n, cst.Call)}
    return all(id(n) in called for n in walk(statement) if isinstance(n, cst.Name) and n.value in names)


def _without_managers(body: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The statements of a block with those of its ``with`` blocks in their place."""
    for statement in body:
        if isinstance(statement, cst.With):
            yield from _without_managers(statement.body.body)
        else:
            yield statement


def _known_statements(module: Module) -> dict[cst.FunctionDef, frozenset[cst.CSTNode]]:
    return {}


def _own(function: cst.FunctionDef) -> Iterator[cst.CSTNode]:
    """The nodes of a function's body without those of nested functions and classes."""
    return walk_outside(function.body, NESTED)


class _Names:
    """The names that a function binds itself: ``declared`` global or nonlocal, and ``local`` ones, the parameters ``given``
    among them; ``values`` are what local names are set to."""

    def __init__(self, function: cst.FunctionDef, given: AbstractSet[str]) -> None:
        self.declared: set[str] = set()
        self.local = set(given)
        self.values: dict[str, list[cst.BaseExpression]] = {}
        for node in _own(function):
            kind = type(node)
            if kind is cst.Global or kind is cst.Nonlocal:
                self.declared.update(item.name.value for item in node.names)  # type: ignore[attr-defined]
            elif kind is cst.Assign and len(node.targets) == 1:  # type: ignore[attr-defined]
                self._bind(node.targets[0].target, node.value)  # type: ignore[attr-defined]
            elif kind is cst.AnnAssign or kind is cst.NamedExpr:
                self._bind(node.target, node.value)  # type: ignore[attr-defined]
            elif kind is cst.For or kind is cst.CompFor:
                self._bind(node.target, None)  # type: ignore[attr-defined]
            elif kind is cst.AsName:
                self._bind(node.name, None)  # type: ignore[attr-defined]
        self.local -= self.declared

    def _bind(self, target: cst.CSTNode, value: cst.BaseExpression | None) -> None:
        if isinstance(target, cst.Name):
            self.local.add(target.value)
            if value is not None:
                self.values.setdefault(target.value, []).append(value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._bind(element.value, None)


class _Places:
    """What outlives a call of one function, by how the function calls it."""

    def __init__(self, function: cst.FunctionDef, module: Module | None) -> None:
        self.function = function
        self.module = module
        star = function.params.star_kwarg
        #: Containers that are made for the call.
        self.fresh = {star.name.value} if star is not None else set[str]()
        self.given = frozenset(p.name.value for p in parameters(function))

    @cached_property
    def names(self) -> _Names:
        """What the function binds; most are never asked, for want of a test that may be about a kept place."""
        return _Names(self.function, self.given)

    # -- places -----------------------------------------------------------------------------------------------------

    def place(self, node: cst.CSTNode | None, depth: int = 0) -> str | None:
        """The name of the kept place that ``node`` stands for; an entry of a container counts as the container."""
        if depth > 4 or node is None:
            return None
        if isinstance(node, cst.Subscript):
            return self.container(node.value, depth + 1)
        if isinstance(node, cst.Name):
            if node.value in self.names.declared:
                return node.value
            return self._alias(node.value, depth)
        if isinstance(node, cst.NamedExpr):
            return self.place(node.value, depth + 1)
        if isinstance(node, cst.Attribute):
            name = dotted_name(node)
            if name is None:
                return None
            root = name.split(".")[0]
            return name if root in self.given or root not in self.names.local else None
        if isinstance(node, cst.Call):
            return self._looked_up(node, depth)
        return None

    def _alias(self, name: str, depth: int) -> str | None:
        """The place that every value of a local variable comes from, those it is filled with aside."""
        values = self.names.values.get(name, [])
        return self.place(values[0], depth + 1) if values and name not in self.given else None

    def container(self, node: cst.CSTNode, depth: int = 0) -> str | None:
        """The kept container that ``node`` stands for."""
        if isinstance(node, cst.Name) and node.value not in self.names.local | self.fresh:
            return node.value
        if isinstance(node, cst.Name) and node.value in self.given:
            return node.value
        if isinstance(node, cst.Name) and node.value not in self.fresh and depth <= 4:
            values = self.names.values.get(node.value, [])
            return self.container(values[0], depth + 1) if values else None
        return self.place(node, depth)

    def _looked_up(self, call: cst.Call, depth: int) -> str | None:
        """The place that ``C.get(key)`` or ``getattr(owner, "name", None)`` looks at."""
        function = call.func
        if isinstance(function, cst.Attribute) and function.attr.value in ("get", "pop") and call.args:
            return self.container(function.value, depth + 1)
        if dotted_name(function) in ("getattr", "hasattr") and len(call.args) > 1:
            return self._attribute(call)
        if isinstance(function, cst.Name) and not call.args and function.value not in self.names.local:
            return f"{function.value}()"  # which hands out what is kept, if that is looked up and filled
        return None

    def _attribute(self, call: cst.Call) -> str | None:
        owner, name = dotted_name(call.args[0].value), call.args[1].value
        if owner is None or not isinstance(name, cst.SimpleString):
            return None
        root = owner.split(".")[0]
        kept = root in self.given or root not in self.names.local
        return f"{owner}.{name.raw_value}" if kept else None

    # -- conditions -------------------------------------------------------------------------------------------------

    def guards(self, test: cst.CSTNode, filled: Callable[[], AbstractSet[str]], holds: bool = True) -> bool:
        """Whether ``test`` is true (false, if not ``holds``) only while one of the places ``filled()`` is empty or out of
        date, so that filling them ends it. Most tests are about no place, and nobody asks what is filled."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.guards(test.expression, filled, not holds)
        if isinstance(test, cst.BooleanOperation):
            sides = (test.left, test.right)
            guarded = [self.guards(side, filled, holds) for side in sides]
            if isinstance(test.operator, cst.And) is holds:
                return any(guarded)
            # Either side alone lets the code run: a flag beside the place lets it run again, unless it has to be asked for.
            return any(guarded) and all(
                yes or self._is_off(side, holds) or self._reads(side, filled()) for yes, side in zip(guarded, sides)
            )
        place = self._empty(test, holds)
        return place is not None and place in filled()

    def _empty(self, test: cst.CSTNode, holds: bool) -> str | None:
        """The place that is empty when ``test``, which is no combination of others, is true (false, if not ``holds``)."""
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            target = test.comparisons[0]
            none = isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
            if none and isinstance(target.operator, cst.Is if holds else cst.IsNot):
                return self.place(test.left)
            if isinstance(target.operator, cst.NotIn if holds else cst.In):
                return self.container(target.comparator)
            return None
        if not holds and isinstance(test, (cst.Name, cst.Attribute, cst.Call, cst.NamedExpr)):
            return self.place(test)
        return None

    def _is_off(self, test: cst.CSTNode, holds: bool) -> bool:
        """Whether ``test`` is a parameter that by its default is false (true, if not ``holds``), or a setting of the module."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self._is_off(test.expression, not holds)
        if isinstance(test, cst.Call) and not test.args:
            return True
        if not isinstance(test, cst.Name):
            return False
        default = next((p.default for p in parameters(self.function) if p.name.value == test.value), None)
        return isinstance(default, cst.Name) and default.value in (("False", "None") if holds else ("True",))

    def _reads(self, test: cst.CSTNode, filled: AbstractSet[str]) -> bool:
        """Whether ``test`` looks at what one of ``filled`` holds, and so may say that it is out of date."""
        return any(
            self.place(node) in filled or (isinstance(node, cst.Name) and self.container(node) in filled)
            for node in walk(test)
            if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call))
        )

    def _one(self, place: str | None) -> set[str]:
        return set() if place is None else {place}

    # -- statements -------------------------------------------------------------------------------------------------

    def statements(self, body: Sequence[cst.CSTNode]) -> Iterator[cst.CSTNode]:
        """Those of a block, and of the blocks in it, that run once."""
        body = list(_without_managers(body))
        for index, statement in enumerate(body):
            if type(statement) is cst.SimpleStatementLine:
                continue
            if isinstance(statement, cst.If):
                block = statement.body.body
                if self._fills(block, statement.test):
                    yield from block
                else:
                    yield from self.statements(block)
                rest = body[index + 1 :]
                if _leaves(block) and self._fills(rest, statement.test, holds=False):
                    yield from rest
                    return
                orelse = statement.orelse
                if isinstance(orelse, cst.Else):
                    if self._fills(orelse.body.body, statement.test, holds=False):
                        yield from orelse.body.body
                    else:
                        yield from self.statements(orelse.body.body)
                elif orelse is not None:
                    yield from self.statements([orelse])
            elif isinstance(statement, (cst.For, cst.While)):
                yield from self.statements(statement.body.body)
            elif isinstance(statement, cst.Try):
                yield from self.statements(statement.body.body)
                if statement.finalbody is not None:
                    yield from self.statements(statement.finalbody.body.body)

    def _fills(self, body: Sequence[cst.CSTNode], test: cst.CSTNode, holds: bool = True) -> bool:
        """Whether the statements give something to a place that is empty when ``test`` is true (false, if not ``holds``)."""
        return self.guards(test, cache(lambda: self.filled(body)), holds)

    def filled(self, body: Iterable[cst.CSTNode], depth: int = 0) -> set[str]:
        """The kept places that the statements give something, themselves or in a method that they call."""
        found: set[str] = set()
        for statement in body:
            for node in walk_outside(statement, NESTED):
                kind = type(node)
                if kind is cst.Assign:
                    if dotted_name(node.value) != "None":  # type: ignore[attr-defined]
                        for target in node.targets:  # type: ignore[attr-defined]
                            found |= self._targets(target.target)
                elif (kind is cst.AnnAssign and node.value is not None) or kind is cst.AugAssign:  # type: ignore[attr-defined]
                    found |= self._targets(node.target)  # type: ignore[attr-defined]
                elif kind is cst.Call:
                    found |= self._filled_by(node, depth)  # type: ignore[arg-type]
        return found

    def _targets(self, target: cst.CSTNode) -> set[str]:
        if isinstance(target, (cst.Tuple, cst.List)):
            return set[str]().union(*(self._targets(element.value) for element in target.elements))
        if isinstance(target, cst.Name):
            return {target.value} if target.value in self.names.declared else set()
        return self._one(self.place(target))

    def _filled_by(self, call: cst.Call, depth: int) -> set[str]:
        function = call.func
        if dotted_name(function) == "setattr" and len(call.args) == 3:
            return self._one(self._attribute(call))
        if not isinstance(function, cst.Attribute):
            return set()
        if function.attr.value in _FILLERS and call.args:
            return self._one(self.container(function.value))
        method = self._method(function) if depth < 2 else None
        if method is None:
            return set()
        # The method calls the object by its own name.
        inner = _Places(method, self.module).filled(method.body.body, depth + 1)
        own = parameters(method)[0].name.value if parameters(method) else ""
        owner = dotted_name(function.value)
        return {owner + place[len(own) :] for place in inner if owner and place.startswith(own + ".")}

    def _method(self, function: cst.Attribute) -> cst.FunctionDef | None:
        """The one method of the module that ``function`` may name."""
        if self.module is None:
            return None
        methods = self.module.once(_methods).get(function.attr.value, [])
        return methods[0] if len(methods) == 1 else None


def _methods(module: Module) -> dict[str, list[cst.FunctionDef]]:
    found: dict[str, list[cst.FunctionDef]] = {}
    for owner in module.tree.body:
        if isinstance(owner, cst.ClassDef):
            for method in owner.body.body:
                if isinstance(method, cst.FunctionDef):
                    found.setdefault(method.name.value, []).append(method)
    return found


def _leaves(block: Sequence[cst.CSTNode]) -> bool:
    """Whether a block ends in ``return`` or ``raise``."""
    last = block[-1] if block else None
    if isinstance(last, cst.SimpleStatementLine) and last.body:
        last = last.body[-1]
    return isinstance(last, (cst.Return, cst.Raise))
