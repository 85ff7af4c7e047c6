"""Expressions of Python's trees as nodes of LibCST's."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import libcst as cst

from kernlint.syntax import light_nodes as new
from kernlint.syntax.light_places import NONE, Places


class Unusual(Exception):
    """Something that only LibCST's parser makes nodes of."""


_ONE_STRING = re.compile(
    r"""[a-zA-Z]{0,2}(?:\"\"\"(?:\\.|(?!\"\"\")[^\\])*\"\"\"|'''(?:\\.|(?!''')[^\\])*'''|"(?!"")(?:\\.|[^"\\])*"|'(?!'')(?:\\.|[^'\\])*'|""|'')""",
    re.DOTALL,
)


class _Part(NamedTuple):
    """Where the first of several operands stand that Python has in one node."""

    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


class Expressions(Places):
    """Makes nodes of expressions."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.counterparts: dict[int, Any] = {}

    def _noted(self, node: Any, other: Any) -> Any:
        self.counterparts[id(node)] = other
        return node

    def _arguments(self, node: ast.arguments) -> Any:
        plain = [*node.posonlyargs, *node.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(node.defaults)) + list(node.defaults)
        params = [self._param(arg, default) for arg, default in zip(plain, defaults)]
        count = len(node.posonlyargs)
        star: Any = cst.MaybeSentinel.DEFAULT
        if node.vararg is not None:
            star = self._param(node.vararg, None, "*")
        elif node.kwonlyargs:
            star = new.param_star()
        named = [self._param(arg, default) for arg, default in zip(node.kwonlyargs, node.kw_defaults)]
        rest = self._param(node.kwarg, None, "**") if node.kwarg is not None else None
        slash = new.param_slash() if count else cst.MaybeSentinel.DEFAULT
        return new.parameters(params[count:], star, named, rest, params[:count], slash)

    def _param(self, arg: ast.arg, default: ast.expr | None, star: str = "") -> Any:
        name = self._noted(new.name(arg.arg, NONE, NONE), arg)
        annotation = new.annotation(self._value(_unstarred(arg.annotation))) if arg.annotation is not None else None
        return new.param(name, annotation, self._optional(default), star)

    def _args(self, positional: list[ast.expr], keywords: list[ast.keyword]) -> list[Any]:
        found = []
        if not keywords and len(positional) == 1 and type(positional[0]) is not ast.Starred:
            value = self._value(positional[0], 1)
            arg = new.arg(value, None, "")
            if not value.lpar and type(value) is not cst.GeneratorExp:
                self.counterparts[id(arg)] = positional[0]
            return [arg]
        others: list[Any] = [*positional, *keywords]
        if keywords and any(type(one) is ast.Starred for one in positional):
            others.sort(key=lambda one: (one.lineno, one.col_offset))
        for other in others:
            kind = type(other)
            if kind is ast.keyword:
                keyword = None if other.arg is None else new.name(other.arg, NONE, NONE)
                arg = new.arg(self._value(other.value), keyword, "**" if keyword is None else "")
                self.counterparts[id(arg)] = other
            elif kind is ast.Starred:
                arg = new.arg(self._value(other.value), None, "*")
                self.counterparts[id(arg)] = other
            else:
                value = self._value(other)
                arg = new.arg(value, None, "")
                if not value.lpar and type(value) is not cst.GeneratorExp:
                    self.counterparts[id(arg)] = other
            found.append(arg)
        return found

    def _optional(self, node: ast.expr | None) -> Any:
        return None if node is None else self._value(node)

    def _value(self, node: ast.expr, without: int = 0) -> Any:
        make = _EXPRESSIONS.get(type(node))
        if make is None:
            raise Unusual(type(node).__name__)
        lpar, rpar = self._brackets(node, without)
        # Its own brackets count, but those that it has as the one argument of a call are the call's.
        if make is Expressions._of_generator and not (without and self._start(node) not in self._opened):
            lpar, rpar = (new.left(), *lpar), (new.right(), *rpar)
        found = make(self, node, lpar, rpar)
        # LibCST counts the brackets of these out.
        if not (make is Expressions._of_generator or (make is Expressions._of_tuple and found.lpar)):
            self.counterparts[id(found)] = node
        return found

    def _part(self, part: Any) -> Any:
        if type(part) is list:
            return self._clauses(part) if part and type(part[0]) is ast.comprehension else self._elements(part)
        return self._value(part)

    def _of_name(self, node: ast.Name, *brackets: Any) -> Any:
        return new.name(node.id, *brackets)

    def _of_constant(self, node: ast.Constant, *brackets: Any) -> Any:
        value = node.value
        kind = type(value)
        if value is None or kind is bool:
            return new.name(str(value), *brackets)
        if kind is str or kind is bytes:
            source = self._source(node)
            if _ONE_STRING.fullmatch(source):
                return new.string(source, *brackets)
            return self._parsed(source, *brackets)
        if value is ...:
            return new.ellipsis(*brackets)
        make = new.integer if kind is int else new.float_ if kind is float else new.imaginary
        return make(self._source(node), *brackets)

    def _of_text(self, node: ast.expr, *brackets: Any) -> Any:
        return self._parsed(self._source(node), *brackets)

    def _parsed(self, source: str, *brackets: Any) -> Any:
        """What LibCST's parser makes of an expression that may go on over several lines."""
        try:
            found = cst.parse_expression(f"({source})")
        except cst.ParserSyntaxError:
            raise Unusual("a text") from None
        for field, value in zip(("lpar", "rpar"), brackets):
            getattr(type(found), field).__set__(found, value)
        return found

    def _of_attribute(self, node: ast.Attribute, *brackets: Any) -> Any:
        return new.attribute(self._value(node.value), new.name(node.attr, NONE, NONE), *brackets)

    def _of_call(self, node: ast.Call, *brackets: Any) -> Any:
        return new.call(self._value(node.func), self._args(node.args, node.keywords), *brackets)

    def _of_subscript(self, node: ast.Subscript, *brackets: Any) -> Any:
        value, inner = self._value(node.value), node.slice
        parts: list[Any] = [inner]
        comma: Any = cst.MaybeSentinel.DEFAULT
        if type(inner) is ast.Tuple and not self._is_bracketed(inner):
            parts = inner.elts
            comma = new.comma() if len(parts) == 1 else comma
        return new.subscript(value, [new.subscript_element(self._slice(part), comma) for part in parts], *brackets)

    def _slice(self, node: ast.expr) -> Any:
        if type(node) is ast.Starred:
            return new.index(self._value(node.value), "*")
        if type(node) is not ast.Slice:
            return new.index(self._value(node), None)
        lower, upper, step = map(self._optional, (node.lower, node.upper, node.step))
        last = node.upper or node.lower
        colons = self._bare.count(":", self._start(node) if last is None else self._end(last), self._end(node))
        has_second = step is not None or colons > (node.upper is None)
        second = new.colon() if has_second else cst.MaybeSentinel.DEFAULT
        return new.slice_(lower, upper, step, new.colon(), second)

    def _of_binary(self, node: ast.BinOp, *brackets: Any) -> Any:
        return new.binary(self._value(node.left), new.BINARY[type(node.op)][0](), self._value(node.right), *brackets)

    def _of_boolean(self, node: ast.BoolOp, *brackets: Any) -> Any:
        operator = new.BOOLEAN[type(node.op)]
        first, *inner, last = map(self._value, node.values)
        for value, other in zip(inner, node.values[1:]):
            first = new.boolean(first, operator(), value, NONE, NONE)
            self.counterparts[id(first)] = _Part(node.lineno, node.col_offset, *self._whole_end(value, other))
        return new.boolean(first, operator(), last, *brackets)

    def _of_unary(self, node: ast.UnaryOp, *brackets: Any) -> Any:
        return new.unary(new.UNARY[type(node.op)](), self._value(node.operand), *brackets)

    def _of_comparison(self, node: ast.Compare, *brackets: Any) -> Any:
        left = self._value(node.left)
        targets = [
            new.comparison_target(new.COMPARED[type(operator)](), self._value(other))
            for operator, other in zip(node.ops, node.comparators)
        ]
        return new.comparison(left, targets, *brackets)

    def _of_lambda(self, node: ast.Lambda, *brackets: Any) -> Any:
        return new.lambda_(self._arguments(node.args), self._value(node.body), *brackets)

    def _is_bracketed(self, node: ast.Tuple) -> bool:
        """Whether brackets around ``node`` belong to it."""
        if not node.elts:
            return True
        start, first = self._start(node), node.elts[0]
        before = self._bare.count("(", start, self._start(first))
        return before > self._behind(self._end(first), before)

    def _of_tuple(self, node: ast.Tuple, *brackets: Any) -> Any:
        lpar, rpar = brackets
        if self._is_bracketed(node):
            lpar, rpar = (new.left(), *lpar), (new.right(), *rpar)
        return new.tuple_(self._elements(node.elts), lpar, rpar)

    def _elements(self, elements: Iterable[ast.expr]) -> list[Any]:
        return [
            new.starred_element(self._value(one.value)) if type(one) is ast.Starred else new.element(self._value(one))
            for one in elements
        ]

    def _of_dict(self, node: ast.Dict, *brackets: Any) -> Any:
        elements = [
            new.starred_dict_element(self._value(value))
            if key is None
            else new.dict_element(self._value(key), self._value(value))
            for key, value in zip(node.keys, node.values)
        ]
        return new.dict_(elements, *brackets)

    def _clauses(self, generators: list[ast.comprehension]) -> Any:
        found = None
        for clause in reversed(generators):
            target, source = self._value(clause.target), self._value(clause.iter)
            ifs = [new.comp_if(self._value(test)) for test in clause.ifs]
            found = new.comp_for(target, source, ifs, found, new.asynchronous() if clause.is_async else None)
        return found

    def _of_generator(self, node: ast.GeneratorExp, *brackets: Any) -> Any:
        return new.generator(self._value(node.elt), self._clauses(node.generators), *brackets)

    def _of_yield(self, node: ast.Yield | ast.YieldFrom, *brackets: Any) -> Any:
        value = self._optional(node.value)
        return new.yield_(new.from_(value) if type(node) is ast.YieldFrom else value, *brackets)


def _unstarred(node: ast.expr | None) -> Any:
    if isinstance(node, ast.Starred):
        raise Unusual("a starred annotation")
    return node


Make = Callable[..., Any]


def _parts(make: Make, *fields: str) -> Make:
    """What makes a node of the expressions in these ``fields`` of Python's, in LibCST's order: several where that has a list of them."""

    def made(tree: Expressions, node: Any, *brackets: Any) -> Any:
        return make(*(tree._part(getattr(node, field)) for field in fields), *brackets)

    return made


_EXPRESSIONS: dict[type, Make] = {
    ast.Name: Expressions._of_name, ast.Constant: Expressions._of_constant, ast.JoinedStr: Expressions._of_text,
    ast.Attribute: Expressions._of_attribute, ast.Call: Expressions._of_call, ast.Subscript: Expressions._of_subscript,
    ast.BinOp: Expressions._of_binary, ast.BoolOp: Expressions._of_boolean, ast.UnaryOp: Expressions._of_unary,
    ast.Compare: Expressions._of_comparison, ast.IfExp: _parts(new.if_exp, "test", "body", "orelse"),
    ast.Lambda: Expressions._of_lambda, ast.Tuple: Expressions._of_tuple, ast.List: _parts(new.list_, "elts"),
    ast.Set: _parts(new.set_, "elts"), ast.Dict: Expressions._of_dict, ast.ListComp: _parts(new.list_comp, "elt", "generators"),
    ast.SetComp: _parts(new.set_comp, "elt", "generators"), ast.GeneratorExp: Expressions._of_generator,
    ast.DictComp: _parts(new.dict_comp, "key", "value", "generators"), ast.Await: _parts(new.await_, "value"),
    ast.Yield: Expressions._of_yield, ast.YieldFrom: Expressions._of_yield,
    ast.NamedExpr: _parts(new.named_expr, "target", "value"),
}  # fmt: skip
