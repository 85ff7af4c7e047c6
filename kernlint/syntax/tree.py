"""One parsed module: a LibCST tree and where its nodes stand."""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import cached_property
from heapq import merge
from itertools import accumulate, chain, count
from operator import itemgetter
from typing import Any, TypeVar

import libcst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from kernlint.asked_once import AskedOnce
from kernlint.errors import SourceError
from kernlint.syntax.guard import check_depth
from kernlint.syntax.light import LightTree
from kernlint.syntax.light_expressions import Unusual
from kernlint.syntax.names import imports_among, origin_of
from kernlint.syntax.positions import HOLDING_MORE, Positions, python_tree, unwarned
from kernlint.syntax.source import line_starts, split_lines
from kernlint.syntax.walk import NESTED, children, walk
from kernlint.workload import Span

_Node = TypeVar("_Node", bound=libcst.CSTNode)

#: Frames for LibCST's code generator, which computes positions: about four a level of the deepest tree that
#: ``check_depth`` lets through.
_RECURSION_LIMIT = 30_000

_LINE_NUMBER = re.compile(r" (?:\(detected at line \d+\)|on line \d+)$")

#: The place where the grammar's errors say that parsing stopped.
_PLACE = re.compile(r"error at (?P<line>\d+):(?P<column>\d+): expected ")


class Module(AskedOnce):
    """A module's ``tree``, its ``text`` and its ``path``.

    ``first_line`` is the number of the text's first line in the file it was cut from (1 for a file of its own). Two
    modules are equal only when they are the same object. Of a tree without layout (:mod:`~kernlint.syntax.light`) the
    ``counterparts`` in Python's are known.
    """

    def __init__(
        self,
        tree: libcst.Module,
        text: str,
        path: str,
        first_line: int = 1,
        counterparts: Mapping[int, Any] | None = None,
    ) -> None:
        self.tree = tree
        self.text = text
        self.path = path
        self.first_line = first_line
        #: Where the fences begin, by line, that a page's module is joined of.
        self.fences: tuple[int, ...] = ()
        self._light = counterparts
        self._spans: dict[int, Span | None] = {}
        #: The places of the nodes of a kind among all, and the answers of :meth:`_run`.
        self._numbers_of: dict[type, list[int]] = {}
        self._runs: dict[libcst.CSTNode, tuple[int, int]] = {}

    def forget(self) -> None:
        """Drop the answers of :meth:`once`: some refer to the module, which would not end with its last user then."""
        self._answers.clear()

    @cached_property
    def nodes(self) -> tuple[libcst.CSTNode, ...]:
        """What :func:`~kernlint.syntax.walk.walk` finds in the tree."""
        return (self.tree, *chain.from_iterable(self._statements.values()))

    @cached_property
    def _statements(self) -> dict[libcst.CSTNode, list[libcst.CSTNode]]:
        """The nodes of each statement of the module."""
        return {statement: list(walk(statement)) for statement in children(self.tree)}

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        """The place of each node among :attr:`nodes`, by its identity."""
        return dict(zip(map(id, self.nodes), count()))

    def of(self, kind: type[_Node]) -> list[_Node]:
        """The nodes of a kind, in source order."""
        found = self._kinds.get(kind)
        if found is None:
            # Only an abstract kind has others below it.
            is_abstract = bool(kind.__subclasses__())
            found = self._kinds[kind] = [n for n in self.nodes if isinstance(n, kind)] if is_abstract else []
        return found

    @cached_property
    def _kinds(self) -> dict[type, list[Any]]:
        kinds: defaultdict[type, list[Any]] = defaultdict(list)
        for node in self.nodes:
            kinds[type(node)].append(node)
        return dict(kinds)

    def within(self, node: libcst.CSTNode, kind: type[_Node]) -> list[_Node]:
        """The nodes of a (concrete) kind in ``node`` of this tree, itself included, in source order: a run of all those."""
        numbers = self._numbers_of.get(kind)
        if numbers is None:
            numbers = self._numbers_of[kind] = list(map(self._numbers.__getitem__, map(id, self.of(kind))))
        start, end = self._run(node)
        return self.of(kind)[bisect_left(numbers, start) : bisect_left(numbers, end)]

    def variables(self, node: libcst.CSTNode) -> list[libcst.Name]:
        """The names in ``node`` of this tree that stand for variables: not those of attributes and keyword arguments."""
        others = {id(found.attr) for found in self.within(node, libcst.Attribute)}
        others.update(id(found.keyword) for found in self.within(node, libcst.Arg))
        return [name for name in self.within(node, libcst.Name) if id(name) not in others]

    def own(self, node: libcst.CSTNode, kind: type[_Node], nested: AbstractSet[Any] = NESTED) -> list[_Node]:
        """Those of :meth:`within` that do not stand below a node of the kinds ``nested`` in ``node``."""
        found = self.within(node, kind)
        parts = chain.from_iterable(self.within(node, one) for one in nested) if found else ()
        inner = [self._run(part) for part in parts if part is not node]
        if not inner:
            return found
        starts, ends = zip(*sorted(inner))
        # Of runs in one another the outer one has the last end so far.
        reached = list(accumulate(ends, max))

        def is_own(number: int) -> bool:
            before = bisect_left(starts, number)
            return not before or reached[before - 1] <= number

        return [part for part in found if is_own(self._numbers[id(part)])]

    def _run(self, node: libcst.CSTNode) -> tuple[int, int]:
        """Where among :attr:`nodes` what is below ``node``, itself included, begins and ends."""
        run = self._runs.get(node)
        if run is None:
            last = node
            while below := children(last):
                last = below[-1]
            run = self._runs[node] = self._numbers[id(node)], self._numbers[id(last)] + 1
        return run

    @cached_property
    def calls(self) -> Mapping[str, list[libcst.Call]]:
        """The calls by what they call (:func:`~kernlint.syntax.names.origin_of`), in source order."""
        found: dict[str, list[libcst.Call]] = {}
        for call in self.of(libcst.Call):
            origin = origin_of(call, self.imports)
            if origin is not None:
                found.setdefault(origin, []).append(call)
        return found

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """What imported names stand for (:func:`~kernlint.syntax.names.imports_among`)."""
        return imports_among(self.nodes)

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines without their ends; ``lines[0]`` is line ``first_line`` of the file."""
        return split_lines(self.text)

    @cached_property
    def _near(self) -> Positions | None:
        """Positions that cost little, of most nodes; None where Python does not read the source as LibCST does."""
        if self._light is not None:
            return Positions(self._light, self.lines)
        python = python_tree(self.text)
        light = None if python is None else _light_tree(self.text, python)
        others = () if light is None else tuple(walk(light.tree))
        if light is None or not _are_alike(self.nodes, others):
            return None
        known = ((id(node), light.counterparts.get(id(other))) for node, other in zip(self.nodes, others))
        return Positions({id: other for id, other in known if other is not None}, self.lines)

    @cached_property
    def _positions(self) -> Mapping[libcst.CSTNode, Any]:
        # All positions cost two parses, one position costs nothing then; skipping the copy keeps node identity.
        wrapper = MetadataWrapper(self.tree, unsafe_skip_copy=True)
        with deep_recursion():
            return wrapper.resolve(PositionProvider)

    def span(self, node: libcst.CSTNode) -> Span:
        """Where ``node`` of this tree stands; lines are those of the file, columns count from 1."""
        return self._near_span(node) or self._far_span(node)

    def first_line_of(self, statement: libcst.CSTNode) -> int:
        """The line of the file that a statement begins on, with its decorators."""
        if isinstance(statement, libcst.SimpleStatementLine):
            return self.span(statement.body[0]).line
        return min(self.span(node).line for node in (statement, *getattr(statement, "decorators", ())))

    def at(self, span: Span, kind: type[_Node]) -> _Node | None:
        """The first node of ``kind`` that stands exactly at ``span``."""
        if span.file != self.path:
            return None
        unsure = []
        line = span.line - self.first_line + 1
        lines = self.once(Module._lines_of, kind)
        for _, node in merge(lines.get(line, ()), lines.get(None, ()), key=itemgetter(0)):
            near = self._near_span(node)
            if near == span:
                return node
            if near is None and self._may_hold(node, span):
                unsure.append(node)
        return next((node for node in unsure if self._far_span(node) == span), None)

    def _may_hold(self, node: libcst.CSTNode, span: Span) -> bool:
        """Whether what is around ``node``, the innermost of it whose place costs little to tell, covers ``span``."""
        number = self._numbers[id(node)]
        for around in self.nodes[number - 1 :: -1] if number else ():
            if isinstance(around, HOLDING_MORE):
                continue
            near = self._near_span(around)
            if near is not None and self._run(around)[1] > number:
                return near.contains(span)
        return True

    def _lines_of(self, kind: type[_Node]) -> Mapping[int | None, list[tuple[int, _Node]]]:
        """The nodes of ``kind``, numbered in source order, by the line that they begin on; None where that takes more to tell."""
        found: defaultdict[int | None, list[tuple[int, _Node]]] = defaultdict(list)
        for number, node in enumerate(self.of(kind)):
            found[self._near.line(node) if self._near is not None else None].append((number, node))
        return found

    def _near_span(self, node: libcst.CSTNode) -> Span | None:
        if id(node) not in self._spans:
            near = self._near.of(node) if self._near is not None else None
            if near is None:
                span = self._attribute_span(node) if type(node) is libcst.Name else None
            else:
                line, column, end_line, end_column = near
                offset = self.first_line - 1
                span = Span(self.path, line + offset, column, end_line + offset, end_column)
            self._spans[id(node)] = span
        return self._spans[id(node)]

    def _attribute_span(self, name: libcst.Name) -> Span | None:
        """Where the ``name`` of an attribute stands: at its end, as far as the source spells it as Python does."""
        attribute = self._attributes.get(id(name))
        whole = None if attribute is None else self._near_span(attribute)
        if whole is None:
            return None
        column = whole.end_column - len(name.value)
        text = self.lines[whole.end_line - self.first_line][column - 1 : whole.end_column - 1]
        return Span(self.path, whole.end_line, column, whole.end_line, whole.end_column) if text == name.value else None

    @cached_property
    def _attributes(self) -> Mapping[int, libcst.Attribute]:
        """The attributes by the identity of their names."""
        return {id(node.attr): node for node in self.of(libcst.Attribute)}

    @cached_property
    def _with_layout(self) -> Module | None:
        """The same module with its layout; None where LibCST does not read it as Python does."""
        try:
            full = parse_module(self.text, self.path, self.first_line, layout=True)
        except SourceError:
            return None
        return full if _are_alike(full.nodes, self.nodes) else None

    def _far_span(self, node: libcst.CSTNode) -> Span:
        if self._light is not None:
            number = self._numbers[id(node)]
            if self._with_layout is not None:
                return self._with_layout._far_span(self._with_layout.nodes[number])
            near = (self._near_span(one) for one in self.nodes[number::-1])
            return next(
                (one for one in near if one is not None), Span(self.path, self.first_line, 1, self.first_line, 1)
            )
        position = self._positions[node]
        if not isinstance(position, CodeRange):
            position = position()
        offset = self.first_line - 1
        start, end = position.start, position.end
        return Span(self.path, start.line + offset, start.column + 1, end.line + offset, end.column + 1)

    def has(self, node: libcst.CSTNode) -> bool:
        """Whether ``node`` is one of this tree."""
        return id(node) in self._numbers

    def code(self, node: libcst.CSTNode) -> str:
        """What the source says for an expression, with the brackets that are its own."""
        if self._light is None or not self.has(node):
            return self.tree.code_for_node(node)
        span = self.span(node)
        first, last = (self._line_starts[line - self.first_line] for line in (span.line, span.end_line))
        start, end = first + span.column - 1, last + span.end_column - 1
        for _ in getattr(node, "lpar", ()):
            start, end = self.text.rindex("(", 0, start), self.text.index(")", end) + 1
        return self.text[start:end]

    @cached_property
    def _line_starts(self) -> list[int]:
        return line_starts(self.text)

    def excerpt(self, span: Span) -> list[str]:
        """The source lines that ``span`` touches, without their ends."""
        offset = self.first_line
        return self.lines[max(0, span.line - offset) : max(0, span.end_line - offset + 1)]

    def __repr__(self) -> str:
        return f"Module({self.path!r})"


def _are_alike(nodes: Sequence[libcst.CSTNode], others: Sequence[libcst.CSTNode]) -> bool:
    """Whether two trees are of one source: the same kinds of nodes in the same order."""
    return len(nodes) == len(others) and all(type(a) is type(b) for a, b in zip(nodes, others))


def parse_module(text: str, path: str, first_line: int = 1, layout: bool = False) -> Module:
    """Parse ``text``; ``first_line`` shifts the lines of spans and messages. Who does not ask for its ``layout``, as who reads comments
    does, may get a tree without it (:mod:`~kernlint.syntax.light`), at a third of the cost.

    Raises ``SourceError`` on a syntax error (``file:line:column: syntax error: ...``) and on source that is nested too
    deeply to parse safely.
    """
    check_depth(text, path, first_line)
    python = python_tree(text)
    if python is not None:
        _check_rules(python, text, path, first_line)
        light = None if layout else _light_tree(text, python)
        if light is not None:
            return Module(light.tree, text, path, first_line, light.counterparts)
    try:
        with _unchecked_nodes():
            tree = libcst.parse_module(text)
    except libcst.ParserSyntaxError as error:
        raise SourceError(_placed(_python_error(text) or _libcst_error(error), text, path, first_line)) from None
    except RecursionError:
        raise SourceError(f"{path}: too deeply nested to analyse") from None
    except Exception as error:
        # The parser raises bare errors of several types on some malformed input (a lone backslash, a bad indent).
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SourceError(f"{path}: syntax error: {reason}") from None
    # LibCST takes a backslash before the last line's end for a line that goes on, in a comment too.
    if text.endswith("\\\n") and not tree.has_trailing_newline:
        tree = tree.with_changes(has_trailing_newline=True)
    return Module(tree, text, path, first_line)


def _light_tree(text: str, python: ast.Module) -> LightTree | None:
    """The tree of ``text`` without its layout; None where that is not to be had."""
    try:
        with deep_recursion():
            return LightTree(text, python)
    except (Unusual, RecursionError):
        return None


#: By which each node that is made checks that it can be written out.
_check_node = libcst.CSTNode.__post_init__


@contextmanager
def _unchecked_nodes() -> Iterator[None]:
    """Leave out the checks of new nodes, a tenth of the time of parsing: those that the parser makes of source text can be
    written out."""
    libcst.CSTNode.__post_init__ = lambda self: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        libcst.CSTNode.__post_init__ = _check_node  # type: ignore[method-assign]


def check_syntax(module: Module, text: str) -> None:
    """Raise as :func:`parse_module` does for ``text``, a changed version of that of ``module``. Only the statements around the
    changes are looked at, and where the running Python can read those at a tenth of the cost."""
    changed = _changed_statements(module, split_lines(text))
    try:
        check_depth(changed, module.path)
        python = python_tree(changed)
        if python is not None:
            _check_rules(python, changed, module.path, module.first_line)
            return
    except SourceError:
        # Said of the whole, with its lines.
        pass
    parse_module(text, module.path, module.first_line)


def _changed_statements(module: Module, new: list[str]) -> str:
    """Those lines of ``new`` that make up the module-level statements which differ from those of ``module``; more where in doubt."""
    old = module.lines
    least = min(len(old), len(new))
    before = next((number for number in range(least) if old[number] != new[number]), least)
    behind = next((number for number in range(least - before) if old[-1 - number] != new[-1 - number]), least - before)
    # A statement that begins with the change may go on with the one before it, as an `else` does.
    starts = [module.first_line_of(statement) - module.first_line for statement in module.tree.body]
    first = max((start for start in starts if start < before), default=0)
    last = min((start for start in starts if start >= len(old) - behind), default=len(old))
    return "\n".join(new[first : last + len(new) - len(old)]) + "\n"


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Allow Python frames enough for a walk over a tree that ``check_depth`` has passed."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _check_rules(python: ast.Module, text: str, path: str, first_line: int) -> None:
    """Raise ``SourceError`` where Python's grammar accepts ``text``, as ``python``, and its compiler does not: a parameter twice,
    ``return`` outside of a function. Nothing of it is run; cells of a notebook may await at their top level."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if path.endswith(".ipynb") else 0
    try:
        with unwarned():
            compile(python, path, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        raise SourceError(_placed(_place_of(error), text, path, first_line)) from None
    except (ValueError, RecursionError, MemoryError):
        # What is too large for the compiler is not thereby wrong.
        pass


def _placed(error: tuple[int, int, str], text: str, path: str, first_line: int) -> str:
    line, column, reason = error
    # Where the text ends too early the parsers point behind its last line.
    line = min(line, len(split_lines(text)))
    return f"{path}:{line + first_line - 1}:{column}: syntax error: {reason}"


def _python_error(text: str) -> tuple[int, int, str] | None:
    """Line, column and message of the running Python's own parser, which knows best what people get wrong.

    None where it accepts the text, being newer than LibCST's grammar.
    """
    try:
        with unwarned():
            ast.parse(text)
    except SyntaxError as error:
        if error.lineno and error.msg:
            return _place_of(error)
    except (ValueError, RecursionError, MemoryError):
        pass
    return None


def _place_of(error: SyntaxError) -> tuple[int, int, str]:
    # The line numbers that some messages end with would contradict ours in a Markdown file.
    return error.lineno or 1, max(1, error.offset or 1), _LINE_NUMBER.sub("", " ".join(error.msg.split()))


def _libcst_error(error: libcst.ParserSyntaxError) -> tuple[int, int, str]:
    message = " ".join(error.message.split()).removeprefix("parser error: ").removeprefix("tokenizer error: ")
    place = _PLACE.match(message)
    if place:
        return int(place["line"]), int(place["column"]) + 1, "invalid syntax"
    return error.editor_line, error.editor_column, message
