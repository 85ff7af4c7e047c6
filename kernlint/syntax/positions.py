"""Where LibCST nodes stand, read off Python's own syntax tree.

LibCST computes positions by writing the whole module out again, which costs two parses; ``ast`` has the positions of
nearly all nodes that anyone asks for, at a tenth of a parse. Both trees have the same shape, so one walk over the two
side by side says which nodes are the same.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import libcst as cst

#: What stands before the name of a function or class.
_HEAD = re.compile(r"(?:async\s+)?(?:def|class)\s+(?P<name>\w+)")

#: A node of the one tree and its counterpart in the other.
_Pair = tuple[Any, Any]


class Mismatch(Exception):
    """The two trees differ in shape: Python and LibCST do not understand the source alike."""


def python_tree(text: str) -> ast.Module | None:
    """The tree that the running Python makes of ``text``; None where it cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class Positions:
    """Where most expressions and statements of a tree, and the names of its functions, stand in the ``lines`` that it was
    parsed from: where Python's nodes do that are their ``counterparts``, by identity."""

    def __init__(self, counterparts: Mapping[int, Any], lines: Sequence[str]) -> None:
        self._lines = lines
        self._counterparts = counterparts

    @staticmethod
    def paired(tree: cst.Module, python: ast.Module, lines: Sequence[str]) -> Positions:
        """Those of ``tree``. Raises :class:`Mismatch` where the two trees are not of one source."""
        return Positions(_counterparts(tree, python), lines)

    def of(self, node: cst.CSTNode) -> tuple[int, int, int, int] | None:
        """First line and column, and last line and column behind the end, of ``node``, all from 1; None where it has no
        counterpart in Python's tree."""
        other = self._counterparts.get(id(node))
        if other is None:
            return None
        line, last = other.lineno, other.end_lineno
        column = self._column(line, other.col_offset)
        if type(node) is cst.Decorator:
            column = self._lines[line - 1].rfind("@", 0, column)
            if column < 0:
                return None
        if type(node) is cst.Name and type(other) is ast.arg:
            # Python counts the annotation of a parameter in.
            return line, column + 1, line, column + 1 + len(node.value)
        if type(node) is cst.Name and not isinstance(other, ast.expr):
            # The name of a function or class, of which Python notes only where the whole of it begins.
            head = _HEAD.match(self._lines[line - 1], column)
            if head is None or head["name"] != node.value:
                return None
            return line, head.start("name") + 1, line, head.end("name") + 1
        return line, column + 1, last, self._column(last, other.end_col_offset) + 1

    def line(self, node: cst.CSTNode) -> int | None:
        """The first line of :meth:`of`, at less cost."""
        other = self._counterparts.get(id(node))
        return None if other is None else other.lineno

    def _column(self, line: int, offset: int) -> int:
        """The character at a byte ``offset`` into a line."""
        text = self._lines[line - 1]
        return (
            offset if text.isascii() else len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))
        )


def _counterparts(tree: cst.Module, python: ast.Module) -> dict[int, Any]:
    """The node of ``python`` that covers exactly the same source, for the ids of nodes of ``tree``; a definition also for
    the id of its name."""
    found: dict[int, Any] = {}
    stack: list[_Pair] = []
    push = stack.extend
    _pair_statements(tree.body, python.body, push)
    handlers = _HANDLERS
    while stack:
        node, other = stack.pop()
        kind = type(node)
        try:
            names, handler = handlers[kind]
        except KeyError:
            continue  # nothing that anyone asks for
        if names and type(other).__name__ not in names:
            raise Mismatch(f"{kind.__name__} and {type(other).__name__}")
        if kind is cst.FunctionDef or kind is cst.ClassDef:
            found[id(node.name)] = other
        if not (kind in _WITHOUT_BRACKETS and _is_bracketed(node)):
            found[id(node)] = other
        if handler is not None:
            handler(node, other, push)
    return found


def _is_bracketed(node: Any) -> bool:
    """Whether one of the two parsers counts the brackets around ``node`` in, and the other does not."""
    if type(node) is cst.Arg:
        bracketed = bool(node.value.lpar) or type(node.value) is cst.GeneratorExp
        return bracketed and not node.star and node.keyword is None
    if type(node) is cst.Decorator:
        return bool(node.decorator.lpar)
    return type(node) is not cst.Tuple or bool(node.lpar)


_Push = Callable[[Iterable[_Pair]], None]
_Handler = Callable[[Any, Any, _Push], None]


def _zip(nodes: Sequence[Any], others: Sequence[Any]) -> Iterable[_Pair]:
    if len(nodes) != len(others):
        raise Mismatch(f"{len(nodes)} and {len(others)} nodes")
    return zip(nodes, others)


# -- statements -------------------------------------------------------------------------------------------------------


def _pair_statements(body: Iterable[cst.CSTNode], others: Sequence[ast.stmt], push: _Push) -> None:
    flat: list[cst.CSTNode] = []
    for statement in body:
        if isinstance(statement, cst.SimpleStatementLine):
            flat += statement.body
        else:
            flat.append(statement)
    push(_zip(flat, others))


def _suite(node: Any, others: Sequence[ast.stmt], push: _Push) -> None:
    """The body of a compound statement; ``node`` is None where there is none, as of an absent ``else``."""
    if node is None:
        if others:
            raise Mismatch("a body too many")
    else:
        _pair_statements(node.body.body, others, push)


def _optional(node: Any, other: Any, push: _Push) -> None:
    if (node is None) != (other is None):
        raise Mismatch("an optional part")
    if node is not None:
        push(((node, other),))


def _if(node: cst.If, other: ast.If, push: _Push) -> None:
    push(((node.test, other.test),))
    _suite(node, other.body, push)
    if isinstance(node.orelse, cst.If):
        push(_zip([node.orelse], other.orelse))
    else:
        _suite(node.orelse, other.orelse, push)


def _for(node: cst.For, other: ast.For, push: _Push) -> None:
    push(((node.target, other.target), (node.iter, other.iter)))
    _suite(node, other.body, push)
    _suite(node.orelse, other.orelse, push)


def _while(node: cst.While, other: ast.While, push: _Push) -> None:
    push(((node.test, other.test),))
    _suite(node, other.body, push)
    _suite(node.orelse, other.orelse, push)


def _try(node: cst.Try, other: ast.Try, push: _Push) -> None:
    _suite(node, other.body, push)
    for handler, known in _zip(node.handlers, other.handlers):
        _optional(handler.type, known.type, push)
        _suite(handler, known.body, push)
    _suite(node.orelse, other.orelse, push)
    _suite(node.finalbody, other.finalbody, push)


def _with(node: cst.With, other: ast.With, push: _Push) -> None:
    for item, known in _zip(node.items, other.items):
        push(((item.item, known.context_expr),))
        _optional(item.asname and item.asname.name, known.optional_vars, push)
    _suite(node, other.body, push)


def _match(node: cst.Match, other: Any, push: _Push) -> None:
    for case, known in _zip(node.cases, other.cases):
        _optional(case.guard, known.guard, push)
        _suite(case, known.body, push)


def _function(node: cst.FunctionDef, other: ast.FunctionDef, push: _Push) -> None:
    push(_zip(node.decorators, other.decorator_list))
    _parameters(node.params, other.args, push)
    _optional(node.returns and node.returns.annotation, other.returns, push)
    _suite(node, other.body, push)


def _decorator(node: cst.Decorator, other: ast.expr, push: _Push) -> None:
    push(((node.decorator, other),))


def _class(node: cst.ClassDef, other: ast.ClassDef, push: _Push) -> None:
    push(_zip(node.decorators, other.decorator_list))
    _arguments([*node.bases, *node.keywords], other.bases, other.keywords, push)
    _suite(node, other.body, push)


def _assign(node: cst.Assign, other: ast.Assign, push: _Push) -> None:
    push((target.target, known) for target, known in _zip(node.targets, other.targets))
    push(((node.value, other.value),))


def _annotated(node: cst.AnnAssign, other: ast.AnnAssign, push: _Push) -> None:
    push(((node.target, other.target), (node.annotation.annotation, other.annotation)))
    _optional(node.value, other.value, push)


def _augmented(node: cst.AugAssign, other: ast.AugAssign, push: _Push) -> None:
    push(((node.target, other.target), (node.value, other.value)))


def _raise(node: cst.Raise, other: ast.Raise, push: _Push) -> None:
    _optional(node.exc, other.exc, push)
    _optional(node.cause and node.cause.item, other.cause, push)


def _assert(node: cst.Assert, other: ast.Assert, push: _Push) -> None:
    push(((node.test, other.test),))
    _optional(node.msg, other.msg, push)


def _value(node: Any, other: Any, push: _Push) -> None:
    _optional(node.value, other.value, push)


# -- expressions ------------------------------------------------------------------------------------------------------


def _parameters(node: cst.Parameters, other: ast.arguments, push: _Push) -> None:
    plain = [*node.posonly_params, *node.params]
    known = [*other.posonlyargs, *other.args]
    without = len(known) - len(other.defaults)
    defaults = chain([None] * without, other.defaults)
    everything = [
        *zip(_zip(plain, known), defaults),
        *zip(_zip(node.kwonly_params, other.kwonlyargs), other.kw_defaults),
    ]
    for (param, arg), default in everything:
        _parameter(param, arg, push)
        _optional(param.default, default, push)
    star = node.star_arg if isinstance(node.star_arg, cst.Param) else None
    for param, rest in ((star, other.vararg), (node.star_kwarg, other.kwarg)):
        if (param is None) != (rest is None):
            raise Mismatch("a starred parameter")
        if param is not None and rest is not None:
            _parameter(param, rest, push)


def _parameter(param: cst.Param, arg: ast.arg, push: _Push) -> None:
    push(((param.name, arg),))
    _optional(param.annotation and param.annotation.annotation, arg.annotation, push)


def _lambda(node: cst.Lambda, other: ast.Lambda, push: _Push) -> None:
    _parameters(node.params, other.args, push)
    push(((node.body, other.body),))


def _arguments(args: Sequence[cst.Arg], positional: list[ast.expr], keywords: list[ast.keyword], push: _Push) -> None:
    if len(args) != len(positional) + len(keywords):
        raise Mismatch("arguments")
    others: Iterator[Any] = iter(positional)
    named: Iterator[Any] = iter(keywords)
    for arg in args:
        known = next(named if arg.keyword is not None or arg.star == "**" else others, None)
        if known is None:
            raise Mismatch("arguments")
        push(((arg, known),))


def _argument(node: cst.Arg, other: ast.expr | ast.keyword, push: _Push) -> None:
    push(((node.value, other.value if isinstance(other, (ast.keyword, ast.Starred)) else other),))


def _call(node: cst.Call, other: ast.Call, push: _Push) -> None:
    push(((node.func, other.func),))
    _arguments(node.args, other.args, other.keywords, push)


def _subscript(node: cst.Subscript, other: ast.Subscript, push: _Push) -> None:
    push(((node.value, other.value),))
    if len(node.slice) == 1 and not isinstance(node.slice[0].comma, cst.Comma):
        known: Sequence[ast.expr] = [other.slice]
    elif isinstance(other.slice, ast.Tuple):
        known = other.slice.elts
    else:
        raise Mismatch("subscript")
    for element, part in _zip(node.slice, known):
        if isinstance(element.slice, cst.Index):
            push(((element.slice.value, part.value if isinstance(part, ast.Starred) else part),))
        elif isinstance(part, ast.Slice):
            _optional(element.slice.lower, part.lower, push)
            _optional(element.slice.upper, part.upper, push)
            _optional(element.slice.step, part.step, push)
        else:
            raise Mismatch("slice")


def _binary(node: cst.BinaryOperation, other: ast.BinOp, push: _Push) -> None:
    push(((node.left, other.left), (node.right, other.right)))


def _unary(node: cst.UnaryOperation, other: ast.UnaryOp, push: _Push) -> None:
    push(((node.expression, other.operand),))


def _boolean(node: cst.BooleanOperation, other: ast.BoolOp, push: _Push) -> None:
    # Python has `a and b and c` as one node of three values, LibCST as two nodes one inside the other.
    kind = type(node.operator)
    values: list[cst.BaseExpression] = []
    todo: list[cst.BaseExpression] = [node.right, node.left]
    while todo:
        value = todo.pop()
        if isinstance(value, cst.BooleanOperation) and type(value.operator) is kind and not value.lpar:
            todo += [value.right, value.left]
        else:
            values.append(value)
    push(_zip(values, other.values))


def _comparison(node: cst.Comparison, other: ast.Compare, push: _Push) -> None:
    push(((node.left, other.left),))
    push(_zip([target.comparator for target in node.comparisons], other.comparators))


def _choice(node: cst.IfExp, other: ast.IfExp, push: _Push) -> None:
    push(((node.test, other.test), (node.body, other.body), (node.orelse, other.orelse)))


def _elements(node: Any, other: Any, push: _Push) -> None:
    for element, known in _zip(node.elements, other.elts):
        if isinstance(element, cst.StarredElement) != isinstance(known, ast.Starred):
            raise Mismatch("starred")
        push(((element.value, known.value if isinstance(known, ast.Starred) else known),))


def _dict(node: cst.Dict, other: ast.Dict, push: _Push) -> None:
    for (element, key), value in zip(_zip(node.elements, other.keys), other.values):
        _optional(element.key if isinstance(element, cst.DictElement) else None, key, push)
        push(((element.value, value),))


def _comprehension(node: Any, other: Any, push: _Push) -> None:
    push(((node.elt, other.elt),))
    _clauses(node.for_in, other.generators, push)


def _dict_comprehension(node: cst.DictComp, other: ast.DictComp, push: _Push) -> None:
    push(((node.key, other.key), (node.value, other.value)))
    _clauses(node.for_in, other.generators, push)


def _clauses(clause: cst.CompFor | None, generators: list[ast.comprehension], push: _Push) -> None:
    for known in generators:
        if clause is None:
            break
        push(((clause.target, known.target), (clause.iter, known.iter)))
        push((test.test, other) for test, other in _zip(clause.ifs, known.ifs))
        clause = clause.inner_for_in


def _await(node: cst.Await, other: ast.Await, push: _Push) -> None:
    push(((node.expression, other.value),))


def _yield(node: cst.Yield, other: ast.Yield | ast.YieldFrom, push: _Push) -> None:
    _optional(node.value.item if isinstance(node.value, cst.From) else node.value, other.value, push)


def _named(node: cst.NamedExpr, other: ast.NamedExpr, push: _Push) -> None:
    push(((node.target, other.target), (node.value, other.value)))


_WITHOUT_BRACKETS = frozenset({cst.GeneratorExp, cst.Tuple, cst.Arg, cst.Decorator})

#: For each kind of LibCST node the kinds of its counterpart (any where none is named), and what pairs the nodes in it.
_HANDLERS: dict[type, tuple[frozenset[str], _Handler | None]] = {
    kind: (frozenset(names.split()), handler)
    for kind, names, handler in (
        (cst.If, "If", _if),
        (cst.For, "For AsyncFor", _for),
        (cst.While, "While", _while),
        (cst.Try, "Try", _try),
        (cst.TryStar, "TryStar", _try),
        (cst.With, "With AsyncWith", _with),
        (cst.Match, "Match", _match),
        (cst.FunctionDef, "FunctionDef AsyncFunctionDef", _function),
        (cst.ClassDef, "ClassDef", _class),
        (cst.Decorator, "", _decorator),
        (cst.Arg, "", _argument),
        (cst.Assign, "Assign", _assign),
        (cst.AnnAssign, "AnnAssign", _annotated),
        (cst.AugAssign, "AugAssign", _augmented),
        (cst.Return, "Return", _value),
        (cst.Expr, "Expr", _value),
        (cst.Raise, "Raise", _raise),
        (cst.Assert, "Assert", _assert),
        (cst.Pass, "Pass", None),
        (cst.Break, "Break", None),
        (cst.Continue, "Continue", None),
        (cst.Del, "Delete", None),
        (cst.Global, "Global", None),
        (cst.Nonlocal, "Nonlocal", None),
        (cst.Import, "Import", None),
        (cst.ImportFrom, "ImportFrom", None),
        (cst.Name, "Name Constant arg", None),
        (cst.Integer, "Constant", None),
        (cst.Float, "Constant", None),
        (cst.Imaginary, "Constant", None),
        (cst.Ellipsis, "Constant", None),
        (cst.SimpleString, "Constant", None),
        (cst.ConcatenatedString, "Constant JoinedStr", None),
        (cst.FormattedString, "JoinedStr", None),
        (cst.Attribute, "Attribute", _value),
        (cst.Subscript, "Subscript", _subscript),
        (cst.Call, "Call", _call),
        (cst.BinaryOperation, "BinOp", _binary),
        (cst.UnaryOperation, "UnaryOp", _unary),
        (cst.BooleanOperation, "BoolOp", _boolean),
        (cst.Comparison, "Compare", _comparison),
        (cst.IfExp, "IfExp", _choice),
        (cst.Lambda, "Lambda", _lambda),
        (cst.Tuple, "Tuple", _elements),
        (cst.List, "List", _elements),
        (cst.Set, "Set", _elements),
        (cst.Dict, "Dict", _dict),
        (cst.ListComp, "ListComp", _comprehension),
        (cst.SetComp, "SetComp", _comprehension),
        (cst.GeneratorExp, "GeneratorExp", _comprehension),
        (cst.DictComp, "DictComp", _dict_comprehension),
        (cst.Await, "Await", _await),
        (cst.Yield, "Yield YieldFrom", _yield),
        (cst.NamedExpr, "NamedExpr", _named),
    )
}
