"""What was read of kernels in earlier versions of a file: an editor asks again at each keystroke, and most kernels stay.

A reading rests on the source of the kernel, on what the names in it stand for (constants, helpers with all that these rest on, in
other files too), on what the module around says that no value does, and on the launch. Where all of it is as it was, so is what
was read, if on other lines; where it cannot be told, the kernel is read anew. What is looked up to find out is what reading the
kernel looks up. What rests on values alone, such as a comparison of numbers, is told by what these say (:class:`Content`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import libcst as cst

from kernlint import work
from kernlint.interpret.content import Content, content_of
from kernlint.interpret.edits import Literal
from kernlint.interpret.moved import Moves, placed
from kernlint.interpret.triton.values import Descriptor
from kernlint.interpret.values import Deferred, Function, Jit, Namespace, Scope, Unknown, is_huge
from kernlint.records import dataclass
from kernlint.syntax.names import origin_of
from kernlint.syntax.tree import Module
from kernlint.workload import Dtype, Expr, Span, Tensor

_T = TypeVar("_T")

#: Kernels of which something is kept, those asked about last: each may keep a version of its file.
_MOST = 128
#: Answers about all of them, and calls of which something is kept.
_MOST_ANSWERS, _MOST_CALLS = 512, 16


class _Untold(Exception):
    """What cannot be compared with what there was in another version."""


@dataclass(frozen=True)
class _Source:
    """A function as it stands, and what the ``names`` in it stand for; those are left out that nobody has looked up yet."""

    symbol: str
    span: Span
    lines: tuple[str, ...]
    around: tuple[Any, ...]
    names: Mapping[str, Any]

    def holds(self, span: Span) -> bool:
        """Whether ``span`` lies in it, or in a function that it calls."""
        called = (known for known in self.names.values() if isinstance(known, _Source))
        return self.span.contains(span) or any(one.holds(span) for one in called)


@dataclass(eq=False)
class _Version:
    """A kernel's ``source``, and what was found out about it, with the work that it took, by what was asked."""

    source: _Source
    answers: dict[Any, tuple[Any, int]]


class Earlier:
    """The versions of kernels that this process has read last, by file and name and by the constants that were replaced there."""

    def __init__(self) -> None:
        self._versions: OrderedDict[tuple[str, str, str], _Version] = OrderedDict()
        #: By what was asked and what it rests on: that as it was, the answer, and the work that it took.
        self._told: OrderedDict[tuple[str, bytes], tuple[Content, Any, int]] = OrderedDict()

    def recalled(self, what: str, about: Any, find_out: Callable[[], _T]) -> _T:
        """``find_out()``, which rests on what ``about`` says and names none but its places; ``what`` is what is asked of it."""
        now = content_of(about)
        if now is None:
            return find_out()
        key = what, now.digest
        if key in self._told:
            before, answer, spent = self._told[key]
            moved = before.moved_to(now)
            if moved is not None:
                self._told.move_to_end(key)
                work.spend(spent)
                known: _T = placed(answer, moved.__getitem__)
                return known
        begun = work.spent()
        result = find_out()
        self._told[key] = now, result, work.spent() - begun
        while len(self._told) > _MOST_CALLS:
            self._told.popitem(last=False)
        return result

    def find(self, function: Function, constants: str) -> _Version | None:
        """The version that ``function`` still is, if there is one."""
        key = function.module.path, function.symbol, constants
        version = self._versions.get(key)
        moves = Moves()
        if version is None or not _is_still(function, version.source, {}, moves):
            return None
        if moves:
            answers = {
                moves.made(asked): (moves.made(answer), spent) for asked, (answer, spent) in version.answers.items()
            }
            version = _Version(moves.made(version.source), answers)
            self.keep(function, constants, version)
        self._versions.move_to_end(key)
        return version

    def keep(self, function: Function, constants: str, version: _Version) -> None:
        """Have ``version`` as the one of ``function``."""
        self._versions[function.module.path, function.symbol, constants] = version
        self._versions.move_to_end((function.module.path, function.symbol, constants))
        while len(self._versions) > _MOST or sum(len(one.answers) for one in self._versions.values()) > _MOST_ANSWERS:
            self._versions.popitem(last=False)


class Readings:
    """What one program asks of kernels, answered from an ``earlier`` version where that says the same; ``constants`` are those of the
    modules that the question replaces."""

    def __init__(self, earlier: Earlier, constants: Mapping[str, Any]) -> None:
        self.earlier = earlier
        self._constants = repr(sorted(constants.items())) if constants else ""
        #: By the identity of a function's node, with the function.
        self._versions: dict[int, tuple[Function, _Version | None]] = {}

    def ask(
        self,
        jit: Jit,
        what: Any,
        values: Mapping[str, Any],
        find_out: Callable[[], _T],
        literals: frozenset[tuple[Span, int]] = frozenset(),
    ) -> _T:
        """``find_out()`` about the kernel of ``jit`` when it gets ``values``; ``what`` tells apart what is asked about these, and
        ``literals`` are in force."""
        function = jit.function
        if id(function.node) not in self._versions:
            found = self.earlier.find(function, self._constants) if function.closure.parent is None else None
            self._versions[id(function.node)] = function, found
        version = self._versions[id(function.node)][1]
        if literals and (version is None or not _is_still(function, version.source, {}, Moves())):
            return find_out()  # names in it stand for something else
        try:
            # Where a number that a kernel is given stands is of no interest to it, nor what becomes of one elsewhere.
            plain = ((name, int(v) if type(v) is Literal else v) for name, v in values.items())
            own = tuple(sorted(one for one in literals if version is not None and version.source.holds(one[0])))
            asked = what, own, tuple((name, _told(value, {})) for name, value in plain)
            hash(asked)
        except (_Untold, TypeError):
            return find_out()
        if version is not None and asked in version.answers:
            answer: _T = version.answers[asked][0]
            work.spend(version.answers[asked][1])  # what limits leave out must not depend on what was asked before
            return answer
        before = work.spent()
        result = find_out()
        self._note(function, version, asked, (result, work.spent() - before), bool(literals))
        return result

    def _note(
        self, function: Function, version: _Version | None, asked: Any, answer: tuple[Any, int], edited: bool
    ) -> None:
        """Keep an ``answer``, with what all answers about ``function`` rest on now that it is there."""
        if function.closure.parent is not None:
            return  # the same source stands for several functions
        try:
            source = _source(function, {})
        except _Untold:
            return
        if edited and (version is None or source != version.source):
            return  # what else it looked up may be otherwise without the edits
        answers = version.answers if version is not None else {}
        answers[asked] = answer
        kept = _Version(source, answers)
        self._versions[id(function.node)] = function, kept
        self.earlier.keep(function, self._constants, kept)


def _source(function: Function, seen: dict[int, Function]) -> _Source:
    """What there is to say of ``function``. Raises :class:`_Untold`."""
    seen = {**seen, id(function.node): function}
    names = {}
    for name in _names(function):
        value = _peek(function.closure, name)
        if type(value) is not Deferred:
            names[name] = _told(value, seen)
    return _Source(function.symbol, *_stands(function), function.module.once(_around), names)


def _is_still(function: Function, source: _Source, seen: dict[int, Function], moves: Moves) -> bool:
    """Whether ``function`` is what ``source`` says, but for the ``moves`` that are noted."""
    span, lines = _stands(function)
    if function.symbol != source.symbol or lines != source.lines or not moves.note(source.span, span):
        return False
    if function.module.once(_around) != source.around:
        return False
    seen = {**seen, id(function.node): function}
    return all(_holds(_looked_up(function.closure, name), known, seen, moves) for name, known in source.names.items())


def _holds(value: Any, known: Any, seen: dict[int, Function], moves: Moves) -> bool:
    """Whether ``value`` is what was ``known`` of it, but for the ``moves`` that are noted."""
    if isinstance(value, Literal) and isinstance(known, tuple) and known[:2] == (Literal, int(value)):
        return moves.note(known[2], value.span)
    function = value.function if isinstance(value, Jit) else value
    if isinstance(known, _Source):
        new = isinstance(function, Function) and function.closure.parent is None and id(function.node) not in seen
        return new and _is_still(function, known, seen, moves)
    try:
        return bool(_told(value, seen) == known)
    except _Untold:
        return False


def _told(value: Any, seen: dict[int, Function]) -> Any:
    """What decides how a kernel that sees ``value`` is read. Raises :class:`_Untold` where that is not plain."""
    if isinstance(value, Tensor):
        return Tensor, value.dtype, value.shape is None
    if isinstance(value, Literal):
        return Literal, int(value), value.span
    if value is None or isinstance(value, (bool, int, float, str, Expr, Dtype, Namespace)) or value is _MISSING:
        return None if is_huge(value) else (type(value), value)
    if isinstance(value, (Unknown, Descriptor)):
        return type(value), repr(value)
    if isinstance(value, (tuple, list)) and not is_huge(value):
        return type(value), tuple(_told(one, seen) for one in value)
    if isinstance(value, Jit):
        value = value.function
    if isinstance(value, Function) and id(value.node) in seen:
        return Function, value.symbol, value.module.path  # of which all is said already
    if isinstance(value, Function) and value.closure.parent is None:
        return _source(value, seen)
    raise _Untold


#: What a name stands for that nothing binds.
_MISSING = object()


def _peek(closure: Scope, name: str) -> Any:
    """What ``name`` stands for, without finding it out."""
    scope: Scope | None = closure
    while scope is not None:
        if name in scope.vars:
            return scope.vars[name]
        scope = scope.parent
    return _MISSING


def _looked_up(closure: Scope, name: str) -> Any:
    try:
        return closure.lookup(name)
    except KeyError:
        return _MISSING


def _names(function: Function) -> list[str]:
    """The names that are looked up in the parameters and the body of ``function``, each once."""
    parts = function.node.params, function.node.body
    return list(dict.fromkeys(name.value for part in parts for name in function.module.variables(part)))


def _stands(function: Function) -> tuple[Span, tuple[str, ...]]:
    """Where ``function`` stands, and its lines."""
    span = function.module.span(function.node)
    if isinstance(function.node, cst.FunctionDef):
        first = function.module.first_line_of(function.node)
        span = Span(span.file, first, 1 if first < span.line else span.column, span.end_line, span.end_column)
    return span, tuple(function.module.excerpt(span))


def _around(module: Module) -> tuple[Any, ...]:
    """What a module says that no value does: its imports, its statements that are no definitions, and the attributes that it
    sets."""
    definitions = (cst.FunctionDef, cst.ClassDef)
    plain = (statement for statement in module.tree.body if not isinstance(statement, definitions))
    texts = tuple(tuple(module.excerpt(_whole(module, statement))) for statement in plain)
    targets = (target.target for statement in module.of(cst.Assign) for target in statement.targets)
    origins = {origin_of(target, module.imports) for target in targets if isinstance(target, cst.Attribute)}
    return tuple(module.imports.items()), texts, frozenset(origins)


def _whole(module: Module, statement: Any) -> Span:
    """Where a statement of a module stands."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return module.span(statement)
    first, last = module.span(statement.body[0]), module.span(statement.body[-1])
    return Span(first.file, first.line, first.column, last.end_line, last.end_column)
