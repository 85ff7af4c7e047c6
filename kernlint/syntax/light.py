"""LibCST trees made of Python's own, which takes a tenth of what LibCST's parser takes.

A light tree has the nodes that LibCST's parser gives but for layout: white space, comments, commas and line ends are those that
LibCST puts where nobody says otherwise. What a program does can be told from it, and where everything stands; it is not there
to be written out. What is rare is left to LibCST's parser (:class:`Unusual`).
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

import libcst as cst

from kernlint import records
from kernlint.syntax.source import line_starts, split_lines

#: A whole string literal, or a comment, which is all that is looked for.
_COMMENT = re.compile(
    r"""(?s:(?:[rR]?[bBfFuUtT]?[rR]?)(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''))|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\r\n]*""",
    re.DOTALL,
)
_ONE_STRING = re.compile(
    r"""[a-zA-Z]{0,2}(?:\"\"\"(?:\\.|(?!\"\"\")[^\\])*\"\"\"|'''(?:\\.|(?!''')[^\\])*'''|"(?!"")(?:\\.|[^"\\])*"|'(?!'')(?:\\.|[^'\\])*'|""|'')""",
    re.DOTALL,
)
_BLANK = " \t\f\r\n\\"
#: An opening bracket and what is blank behind it.
_OPENING = re.compile(r"\([ \t\f\r\n\\]*")


class Unusual(Exception):
    """Something that only LibCST's parser makes nodes of."""


def _maker(cls: type[Any], *given: str) -> Callable[..., Any]:
    """A function that makes a node of ``cls`` of the values of the fields ``given``, by position; all others have their defaults.
    Past the constructor, which checks what Python's parser has checked already."""
    compiled: list[Callable[..., Any]] = []  # when the first node is made, which most kinds never see

    def made(*values: Any) -> Any:
        if not compiled:
            compiled.append(_compiled(cls, given))
        return compiled[0](*values)

    return made


def _compiled(cls: type[Any], given: Sequence[str]) -> Callable[..., Any]:
    """What :func:`_maker` gives, field by field written out."""
    names: dict[str, Any] = {"new": object.__new__, "cls": cls}
    lines = []
    for field in fields(cls):
        name, value = field.name, field.name
        names[f"put_{name}"] = getattr(cls, name).__set__
        if name not in given:
            make = field.default_factory
            names[f"default_{name}"] = field.default if field.default is not MISSING or make is MISSING else make()
            value = f"default_{name}"
        lines.append(f"put_{name}(node, {value})")
    return records.compiled(f"made({', '.join(given)})", ["node = new(cls)", *lines, "return node"], names)


_name = _maker(cst.Name, "value", "lpar", "rpar")
_integer, _float, _imaginary = (
    _maker(kind, "value", "lpar", "rpar") for kind in (cst.Integer, cst.Float, cst.Imaginary)
)
_string = _maker(cst.SimpleString, "value", "lpar", "rpar")
_ellipsis = _maker(cst.Ellipsis, "lpar", "rpar")
_attribute = _maker(cst.Attribute, "value", "attr", "lpar", "rpar")
_call = _maker(cst.Call, "func", "args", "lpar", "rpar")
_arg = _maker(cst.Arg, "value", "keyword", "star")
_subscript = _maker(cst.Subscript, "value", "slice", "lpar", "rpar")
_subscript_element = _maker(cst.SubscriptElement, "slice", "comma")
_index = _maker(cst.Index, "value", "star")
_slice = _maker(cst.Slice, "lower", "upper", "step", "first_colon", "second_colon")
_colon = _maker(cst.Colon)
_comma = _maker(cst.Comma)
_binary = _maker(cst.BinaryOperation, "left", "operator", "right", "lpar", "rpar")
_boolean = _maker(cst.BooleanOperation, "left", "operator", "right", "lpar", "rpar")
_unary = _maker(cst.UnaryOperation, "operator", "expression", "lpar", "rpar")
_comparison = _maker(cst.Comparison, "left", "comparisons", "lpar", "rpar")
_comparison_target = _maker(cst.ComparisonTarget, "operator", "comparator")
_if_exp = _maker(cst.IfExp, "test", "body", "orelse", "lpar", "rpar")
_lambda = _maker(cst.Lambda, "params", "body", "lpar", "rpar")
_tuple, _list, _set, _dict = (
    _maker(kind, "elements", "lpar", "rpar") for kind in (cst.Tuple, cst.List, cst.Set, cst.Dict)
)
_element, _starred_element = _maker(cst.Element, "value"), _maker(cst.StarredElement, "value")
_dict_element, _starred_dict_element = _maker(cst.DictElement, "key", "value"), _maker(cst.StarredDictElement, "value")
_list_comp, _set_comp, _generator = (
    _maker(kind, "elt", "for_in", "lpar", "rpar") for kind in (cst.ListComp, cst.SetComp, cst.GeneratorExp)
)
_dict_comp = _maker(cst.DictComp, "key", "value", "for_in", "lpar", "rpar")
_comp_for = _maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_comp_if = _maker(cst.CompIf, "test")
_asynchronous = _maker(cst.Asynchronous)
_await = _maker(cst.Await, "expression", "lpar", "rpar")
_yield = _maker(cst.Yield, "value", "lpar", "rpar")
_from = _maker(cst.From, "item")
_named_expr = _maker(cst.NamedExpr, "target", "value", "lpar", "rpar")

_line = _maker(cst.SimpleStatementLine, "body")
_suite = _maker(cst.SimpleStatementSuite, "body")
_block = _maker(cst.IndentedBlock, "body")
_expr = _maker(cst.Expr, "value")
_return = _maker(cst.Return, "value")
_pass, _break, _continue = (_maker(kind) for kind in (cst.Pass, cst.Break, cst.Continue))
_assign, _assign_target = _maker(cst.Assign, "targets", "value"), _maker(cst.AssignTarget, "target")
_aug_assign = _maker(cst.AugAssign, "target", "operator", "value")
_ann_assign, _annotation = _maker(cst.AnnAssign, "target", "annotation", "value"), _maker(cst.Annotation, "annotation")
_raise, _assert, _del = _maker(cst.Raise, "exc", "cause"), _maker(cst.Assert, "test", "msg"), _maker(cst.Del, "target")
_global, _nonlocal, _name_item = (
    _maker(cst.Global, "names"),
    _maker(cst.Nonlocal, "names"),
    _maker(cst.NameItem, "name"),
)
_import, _import_alias = _maker(cst.Import, "names"), _maker(cst.ImportAlias, "name", "asname")
_import_from = _maker(cst.ImportFrom, "module", "names", "relative")
_import_star, _dot, _as_name = _maker(cst.ImportStar), _maker(cst.Dot), _maker(cst.AsName, "name")
_if = _maker(cst.If, "test", "body", "orelse")
_else, _finally = _maker(cst.Else, "body"), _maker(cst.Finally, "body")
_while = _maker(cst.While, "test", "body", "orelse")
_for = _maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_with, _with_item = _maker(cst.With, "items", "body", "asynchronous"), _maker(cst.WithItem, "item", "asname")
_try = _maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_handler = _maker(cst.ExceptHandler, "body", "type", "name")
_function = _maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous")
_class = _maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")
_decorator = _maker(cst.Decorator, "decorator")
_parameters = _maker(
    cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params", "posonly_ind"
)
_param = _maker(cst.Param, "name", "annotation", "default", "star")
_param_star, _param_slash = _maker(cst.ParamStar), _maker(cst.ParamSlash)
_left, _right = _maker(cst.LeftParen), _maker(cst.RightParen)

_BINARY = {
    getattr(ast, theirs): (_maker(getattr(cst, ours)), _maker(getattr(cst, f"{ours}Assign")))
    for theirs, ours in (
        ("Add", "Add"), ("Sub", "Subtract"), ("Mult", "Multiply"), ("MatMult", "MatrixMultiply"), ("Div", "Divide"),
        ("Mod", "Modulo"), ("Pow", "Power"), ("LShift", "LeftShift"), ("RShift", "RightShift"), ("BitOr", "BitOr"),
        ("BitXor", "BitXor"), ("BitAnd", "BitAnd"), ("FloorDiv", "FloorDivide"),
    )
}  # fmt: skip
_BOOLEAN = {ast.And: _maker(cst.And), ast.Or: _maker(cst.Or)}
_UNARY = {
    ast.Not: _maker(cst.Not), ast.USub: _maker(cst.Minus), ast.UAdd: _maker(cst.Plus), ast.Invert: _maker(cst.BitInvert)
}  # fmt: skip
_COMPARED = {
    getattr(ast, theirs): _maker(getattr(cst, ours))
    for theirs, ours in (
        ("Eq", "Equal"), ("NotEq", "NotEqual"), ("Lt", "LessThan"), ("LtE", "LessThanEqual"), ("Gt", "GreaterThan"),
        ("GtE", "GreaterThanEqual"), ("Is", "Is"), ("IsNot", "IsNot"), ("In", "In"), ("NotIn", "NotIn"),
    )
}  # fmt: skip


class _Part(NamedTuple):
    """Where the first of several operands stand that Python has in one node."""

    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


#: What has brackets of its own, always or where it stands alone.
_BRACKETED = frozenset({ast.Tuple, ast.GeneratorExp, ast.NamedExpr, ast.Yield, ast.YieldFrom})

_NONE: tuple[()] = ()
_Brackets = tuple[Sequence[cst.LeftParen], Sequence[cst.RightParen]]


class LightTree:
    """The ``tree`` of LibCST's nodes for the ``text`` that ``python`` is the tree of, and the ``counterparts`` of its nodes in
    that, by their identity, where both cover the same source.

    Raises :class:`Unusual` where it takes LibCST's parser."""

    def __init__(self, text: str, python: ast.Module) -> None:
        self._text = text
        self.counterparts: dict[int, Any] = {}
        self._starts = line_starts(text)
        self._lines = split_lines(text)
        self._ascii = text.isascii()
        # Brackets in comments close nothing.
        self._bare = _COMMENT.sub(_blanked, text) if "#" in text else text
        #: How many opening brackets stand right before a place, where there are any.
        self._opened: dict[int, int] = {}
        for match in _OPENING.finditer(self._bare):
            self._opened[match.end()] = self._opened.get(match.start(), 0) + 1
        self.tree: cst.Module = _maker(cst.Module, "body", "has_trailing_newline")(
            self._statements(python.body), text.endswith(("\n", "\r"))
        )

    # -- places -----------------------------------------------------------------------------------------------------

    def _offset(self, line: int, column: int) -> int:
        if not self._ascii:
            text = self._lines[line - 1]
            if not text.isascii():
                column = len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))
        return self._starts[line - 1] + column

    def _start(self, node: Any) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: Any) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)

    def _source(self, node: Any) -> str:
        return self._text[self._start(node) : self._end(node)]

    def _behind(self, offset: int, most: int) -> int:
        """How many closing brackets stand right behind ``offset``, up to ``most``."""
        bare, count = self._bare, 0
        while count < most and offset < len(bare):
            letter = bare[offset]
            if letter == ")":
                count += 1
            elif letter not in _BLANK:
                break
            offset += 1
        return count

    def _whole_end(self, value: Any, node: Any) -> tuple[int, int]:
        """Line and column behind ``value``, which is made of ``node``, and behind the brackets that are its own."""
        offset = self._end(node)
        closing = value.rpar[1:] if type(value) in (cst.Tuple, cst.GeneratorExp) else value.rpar
        for _ in closing:
            offset = self._bare.index(")", offset) + 1
        line = bisect_right(self._starts, offset)
        return line, len(self._text[self._starts[line - 1] : offset].encode("utf-8", "surrogatepass"))

    def _next(self, offset: int) -> str:
        """The first letter at ``offset`` or behind it that is neither blank nor a closing bracket."""
        bare = self._bare
        while offset < len(bare) and (bare[offset] in _BLANK or bare[offset] == ")"):
            offset += 1
        return bare[offset : offset + 1]

    def _brackets(self, node: Any, without: int = 0) -> _Brackets:
        """The brackets around ``node`` that are its own; the innermost ones but for those of a call ``without`` other arguments."""
        before = self._opened.get(self._start(node), 0) - without
        count = self._behind(self._end(node), before) if before > 0 else 0
        if not count:
            return _NONE, _NONE
        return tuple(_left() for _ in range(count)), tuple(_right() for _ in range(count))

    # -- statements -------------------------------------------------------------------------------------------------

    def _statements(self, body: Iterable[ast.stmt]) -> list[Any]:
        found: list[Any] = []
        line: list[Any] = []
        last = 0
        for statement in body:
            simple = _SIMPLE.get(type(statement))
            if simple is None:
                compound = _COMPOUND.get(type(statement))
                if compound is None:
                    raise Unusual(type(statement).__name__)
                found.append(self._noted(compound(self, statement), statement))
                last = 0
                continue
            node = self._noted(simple(self, statement), statement)
            if statement.lineno == last:
                line.append(node)
            else:
                line = [node]
                found.append(_line(line))
            last = statement.end_lineno or 0
        return found

    def _body(self, body: Sequence[ast.stmt]) -> Any:
        first = body[0]
        statements = self._statements(body)
        if type(statements[0]) is cst.SimpleStatementLine:
            start = self._start(first)
            before = self._bare[self._starts[first.lineno - 1] : start].rstrip(_BLANK)
            if before:
                if len(statements) > 1 or not before.endswith(":"):
                    raise Unusual("suite")
                return _suite(statements[0].body)
            if self._bare[: self._starts[first.lineno - 1]].endswith(("\\\n", "\\\r\n", "\\\r")):
                raise Unusual("continued")
        return _block(statements)

    def _noted(self, node: Any, other: Any) -> Any:
        self.counterparts[id(node)] = other
        return node

    def _of_expr(self, node: ast.Expr) -> Any:
        return _expr(self._value(node.value))

    def _of_return(self, node: ast.Return) -> Any:
        return _return(self._optional(node.value))

    def _of_assign(self, node: ast.Assign) -> Any:
        return _assign([_assign_target(self._value(target)) for target in node.targets], self._value(node.value))

    def _of_aug_assign(self, node: ast.AugAssign) -> Any:
        return _aug_assign(self._value(node.target), _BINARY[type(node.op)][1](), self._value(node.value))

    def _of_ann_assign(self, node: ast.AnnAssign) -> Any:
        annotation = _annotation(self._value(node.annotation))
        return _ann_assign(self._value(node.target), annotation, self._optional(node.value))

    def _of_raise(self, node: ast.Raise) -> Any:
        cause = _from(self._value(node.cause)) if node.cause is not None else None
        return _raise(self._optional(node.exc), cause)

    def _of_assert(self, node: ast.Assert) -> Any:
        return _assert(self._value(node.test), self._optional(node.msg))

    def _of_delete(self, node: ast.Delete) -> Any:
        found = self.counterparts
        self.counterparts = {}  # nobody asks
        targets = [self._value(target) for target in node.targets]
        self.counterparts = found
        if len(targets) == 1:
            if self._next(self._end(node.targets[0])) == ",":
                raise Unusual("del")
            return _del(targets[0])
        return _del(_tuple([_element(target) for target in targets], _NONE, _NONE))

    def _of_names(self, node: ast.Global | ast.Nonlocal) -> Any:
        make = _global if type(node) is ast.Global else _nonlocal
        return make([_name_item(_name(name, _NONE, _NONE)) for name in node.names])

    def _of_import(self, node: ast.Import) -> Any:
        return _import([self._alias(alias) for alias in node.names])

    def _of_import_from(self, node: ast.ImportFrom) -> Any:
        names = _import_star() if node.names[0].name == "*" else [self._alias(alias) for alias in node.names]
        module = _dotted(node.module) if node.module is not None else None
        return _import_from(module, names, [_dot() for _ in range(node.level)])

    def _alias(self, alias: ast.alias) -> Any:
        asname = _as_name(_name(alias.asname, _NONE, _NONE)) if alias.asname is not None else None
        return _import_alias(_dotted(alias.name), asname)

    def _of_if(self, node: ast.If) -> Any:
        orelse: Any = None
        if node.orelse:
            first = node.orelse[0]
            if type(first) is ast.If and self._text.startswith("elif", self._start(first)):
                orelse = self._noted(self._of_if(first), first)
            else:
                orelse = _else(self._body(node.orelse))
        return _if(self._value(node.test), self._body(node.body), orelse)

    def _orelse(self, body: Sequence[ast.stmt]) -> Any:
        return _else(self._body(body)) if body else None

    def _of_while(self, node: ast.While) -> Any:
        return _while(self._value(node.test), self._body(node.body), self._orelse(node.orelse))

    def _of_for(self, node: ast.For | ast.AsyncFor) -> Any:
        asynchronous = _asynchronous() if type(node) is ast.AsyncFor else None
        target, source = self._value(node.target), self._value(node.iter)
        return _for(target, source, self._body(node.body), self._orelse(node.orelse), asynchronous)

    def _of_with(self, node: ast.With | ast.AsyncWith) -> Any:
        items = []
        for item in node.items:
            # Brackets around all items are those of the statement, as they are around one that has no name.
            alone = (
                len(node.items) == 1 and item.optional_vars is None and self._start(item.context_expr) in self._opened
            )
            if alone and type(item.context_expr) in _BRACKETED:
                raise Unusual("with")
            asname = _as_name(self._value(item.optional_vars)) if item.optional_vars is not None else None
            items.append(_with_item(self._value(item.context_expr, alone), asname))
        return _with(items, self._body(node.body), _asynchronous() if type(node) is ast.AsyncWith else None)

    def _of_try(self, node: ast.Try) -> Any:
        handlers = []
        for handler in node.handlers:
            name = _as_name(_name(handler.name, _NONE, _NONE)) if handler.name is not None else None
            handlers.append(_handler(self._body(handler.body), self._optional(handler.type), name))
        last = _finally(self._body(node.finalbody)) if node.finalbody else None
        return _try(self._body(node.body), handlers, self._orelse(node.orelse), last)

    def _of_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        if getattr(node, "type_params", None):
            raise Unusual("type parameters")
        name = self._noted(_name(node.name, _NONE, _NONE), node)
        returns = _annotation(self._value(node.returns)) if node.returns is not None else None
        asynchronous = _asynchronous() if type(node) is ast.AsyncFunctionDef else None
        parameters = self._arguments(node.args)
        return _function(name, parameters, self._body(node.body), self._decorators(node), returns, asynchronous)

    def _of_class(self, node: ast.ClassDef) -> Any:
        if getattr(node, "type_params", None):
            raise Unusual("type parameters")
        name = self._noted(_name(node.name, _NONE, _NONE), node)
        args = self._args(node.bases, node.keywords)
        bases = [arg for arg in args if arg.keyword is None and arg.star != "**"]
        keywords = [arg for arg in args if arg.keyword is not None or arg.star == "**"]
        return _class(name, self._body(node.body), bases, keywords, self._decorators(node))

    def _decorators(self, node: Any) -> list[Any]:
        found = []
        for other in node.decorator_list:
            decorator = _decorator(self._value(other))
            if not decorator.decorator.lpar:
                self.counterparts[id(decorator)] = other
            found.append(decorator)
        return found

    # -- parameters and arguments -----------------------------------------------------------------------------------

    def _arguments(self, node: ast.arguments) -> Any:
        plain = [*node.posonlyargs, *node.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(node.defaults)) + list(node.defaults)
        params = [self._param(arg, default) for arg, default in zip(plain, defaults)]
        count = len(node.posonlyargs)
        star: Any = cst.MaybeSentinel.DEFAULT
        if node.vararg is not None:
            star = self._param(node.vararg, None, "*")
        elif node.kwonlyargs:
            star = _param_star()
        named = [self._param(arg, default) for arg, default in zip(node.kwonlyargs, node.kw_defaults)]
        rest = self._param(node.kwarg, None, "**") if node.kwarg is not None else None
        slash = _param_slash() if count else cst.MaybeSentinel.DEFAULT
        return _parameters(params[count:], star, named, rest, params[:count], slash)

    def _param(self, arg: ast.arg, default: ast.expr | None, star: str = "") -> Any:
        name = self._noted(_name(arg.arg, _NONE, _NONE), arg)
        annotation = _annotation(self._value(_unstarred(arg.annotation))) if arg.annotation is not None else None
        return _param(name, annotation, self._optional(default), star)

    def _args(self, positional: list[ast.expr], keywords: list[ast.keyword]) -> list[Any]:
        found = []
        if not keywords and len(positional) == 1 and type(positional[0]) is not ast.Starred:
            value = self._value(positional[0], 1)
            arg = _arg(value, None, "")
            if not value.lpar and type(value) is not cst.GeneratorExp:
                self.counterparts[id(arg)] = positional[0]
            return [arg]
        others: list[Any] = [*positional, *keywords]
        if keywords and any(type(one) is ast.Starred for one in positional):
            others.sort(key=lambda one: (one.lineno, one.col_offset))
        for other in others:
            kind = type(other)
            if kind is ast.keyword:
                keyword = None if other.arg is None else _name(other.arg, _NONE, _NONE)
                arg = _arg(self._value(other.value), keyword, "**" if keyword is None else "")
                self.counterparts[id(arg)] = other
            elif kind is ast.Starred:
                arg = _arg(self._value(other.value), None, "*")
                self.counterparts[id(arg)] = other
            else:
                value = self._value(other)
                arg = _arg(value, None, "")
                if not value.lpar and type(value) is not cst.GeneratorExp:
                    self.counterparts[id(arg)] = other
            found.append(arg)
        return found

    # -- expressions ------------------------------------------------------------------------------------------------

    def _optional(self, node: ast.expr | None) -> Any:
        return None if node is None else self._value(node)

    def _value(self, node: ast.expr, without: int = 0) -> Any:
        make = _EXPRESSIONS.get(type(node))
        if make is None:
            raise Unusual(type(node).__name__)
        lpar, rpar = self._brackets(node, without)
        # Its own brackets count, but those that it has as the one argument of a call are the call's.
        if make is LightTree._of_generator and not (without and self._start(node) not in self._opened):
            lpar, rpar = (_left(), *lpar), (_right(), *rpar)
        found = make(self, node, lpar, rpar)
        # LibCST counts the brackets of these out.
        if not (make is LightTree._of_generator or (make is LightTree._of_tuple and found.lpar)):
            self.counterparts[id(found)] = node
        return found

    def _of_name(self, node: ast.Name, *brackets: Any) -> Any:
        return _name(node.id, *brackets)

    def _of_constant(self, node: ast.Constant, *brackets: Any) -> Any:
        value = node.value
        kind = type(value)
        if value is None or kind is bool:
            return _name(str(value), *brackets)
        if kind is str or kind is bytes:
            source = self._source(node)
            if _ONE_STRING.fullmatch(source):
                return _string(source, *brackets)
            return self._parsed(source, *brackets)
        if value is ...:
            return _ellipsis(*brackets)
        make = _integer if kind is int else _float if kind is float else _imaginary
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
        return _attribute(self._value(node.value), _name(node.attr, _NONE, _NONE), *brackets)

    def _of_call(self, node: ast.Call, *brackets: Any) -> Any:
        return _call(self._value(node.func), self._args(node.args, node.keywords), *brackets)

    def _of_subscript(self, node: ast.Subscript, *brackets: Any) -> Any:
        value, inner = self._value(node.value), node.slice
        parts: list[Any] = [inner]
        comma: Any = cst.MaybeSentinel.DEFAULT
        if type(inner) is ast.Tuple and not self._is_bracketed(inner):
            parts = inner.elts
            comma = _comma() if len(parts) == 1 else comma
        return _subscript(value, [_subscript_element(self._slice(part), comma) for part in parts], *brackets)

    def _slice(self, node: ast.expr) -> Any:
        if type(node) is ast.Starred:
            return _index(self._value(node.value), "*")
        if type(node) is not ast.Slice:
            return _index(self._value(node), None)
        lower, upper, step = map(self._optional, (node.lower, node.upper, node.step))
        last = node.upper or node.lower
        colons = self._bare.count(":", self._start(node) if last is None else self._end(last), self._end(node))
        has_second = step is not None or colons > (node.upper is None)
        second = _colon() if has_second else cst.MaybeSentinel.DEFAULT
        return _slice(lower, upper, step, _colon(), second)

    def _of_binary(self, node: ast.BinOp, *brackets: Any) -> Any:
        return _binary(self._value(node.left), _BINARY[type(node.op)][0](), self._value(node.right), *brackets)

    def _of_boolean(self, node: ast.BoolOp, *brackets: Any) -> Any:
        operator = _BOOLEAN[type(node.op)]
        first, *inner, last = map(self._value, node.values)
        for value, other in zip(inner, node.values[1:]):
            first = _boolean(first, operator(), value, _NONE, _NONE)
            self.counterparts[id(first)] = _Part(node.lineno, node.col_offset, *self._whole_end(value, other))
        return _boolean(first, operator(), last, *brackets)

    def _of_unary(self, node: ast.UnaryOp, *brackets: Any) -> Any:
        return _unary(_UNARY[type(node.op)](), self._value(node.operand), *brackets)

    def _of_comparison(self, node: ast.Compare, *brackets: Any) -> Any:
        left = self._value(node.left)
        targets = [
            _comparison_target(_COMPARED[type(operator)](), self._value(other))
            for operator, other in zip(node.ops, node.comparators)
        ]
        return _comparison(left, targets, *brackets)

    def _of_choice(self, node: ast.IfExp, *brackets: Any) -> Any:
        return _if_exp(self._value(node.test), self._value(node.body), self._value(node.orelse), *brackets)

    def _of_lambda(self, node: ast.Lambda, *brackets: Any) -> Any:
        return _lambda(self._arguments(node.args), self._value(node.body), *brackets)

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
            lpar, rpar = (_left(), *lpar), (_right(), *rpar)
        return _tuple(self._elements(node.elts), lpar, rpar)

    def _elements(self, elements: Iterable[ast.expr]) -> list[Any]:
        return [
            _starred_element(self._value(one.value)) if type(one) is ast.Starred else _element(self._value(one))
            for one in elements
        ]

    def _of_list(self, node: ast.List, *brackets: Any) -> Any:
        return _list(self._elements(node.elts), *brackets)

    def _of_set(self, node: ast.Set, *brackets: Any) -> Any:
        return _set(self._elements(node.elts), *brackets)

    def _of_dict(self, node: ast.Dict, *brackets: Any) -> Any:
        elements = [
            _starred_dict_element(self._value(value))
            if key is None
            else _dict_element(self._value(key), self._value(value))
            for key, value in zip(node.keys, node.values)
        ]
        return _dict(elements, *brackets)

    def _clauses(self, generators: list[ast.comprehension]) -> Any:
        found = None
        for clause in reversed(generators):
            target, source = self._value(clause.target), self._value(clause.iter)
            ifs = [_comp_if(self._value(test)) for test in clause.ifs]
            found = _comp_for(target, source, ifs, found, _asynchronous() if clause.is_async else None)
        return found

    def _of_list_comp(self, node: ast.ListComp, *brackets: Any) -> Any:
        return _list_comp(self._value(node.elt), self._clauses(node.generators), *brackets)

    def _of_set_comp(self, node: ast.SetComp, *brackets: Any) -> Any:
        return _set_comp(self._value(node.elt), self._clauses(node.generators), *brackets)

    def _of_dict_comp(self, node: ast.DictComp, *brackets: Any) -> Any:
        return _dict_comp(self._value(node.key), self._value(node.value), self._clauses(node.generators), *brackets)

    def _of_generator(self, node: ast.GeneratorExp, *brackets: Any) -> Any:
        return _generator(self._value(node.elt), self._clauses(node.generators), *brackets)

    def _of_await(self, node: ast.Await, *brackets: Any) -> Any:
        return _await(self._value(node.value), *brackets)

    def _of_yield(self, node: ast.Yield | ast.YieldFrom, *brackets: Any) -> Any:
        value = self._optional(node.value)
        return _yield(_from(value) if type(node) is ast.YieldFrom else value, *brackets)

    def _of_named(self, node: ast.NamedExpr, *brackets: Any) -> Any:
        return _named_expr(self._value(node.target), self._value(node.value), *brackets)


def _blanked(match: re.Match[str]) -> str:
    text = match[0]
    return " " * len(text) if text.startswith("#") else text


def _dotted(name: str) -> Any:
    first, *rest = name.split(".")
    found = _name(first, _NONE, _NONE)
    for part in rest:
        found = _attribute(found, _name(part, _NONE, _NONE), _NONE, _NONE)
    return found


def _unstarred(node: ast.expr | None) -> Any:
    if isinstance(node, ast.Starred):
        raise Unusual("a starred annotation")
    return node


_Make = Callable[..., Any]
_SIMPLE: dict[type, _Make] = {
    ast.Expr: LightTree._of_expr, ast.Return: LightTree._of_return, ast.Assign: LightTree._of_assign,
    ast.AugAssign: LightTree._of_aug_assign, ast.AnnAssign: LightTree._of_ann_assign, ast.Raise: LightTree._of_raise,
    ast.Assert: LightTree._of_assert, ast.Delete: LightTree._of_delete, ast.Global: LightTree._of_names,
    ast.Nonlocal: LightTree._of_names, ast.Import: LightTree._of_import, ast.ImportFrom: LightTree._of_import_from,
    ast.Pass: lambda tree, node: _pass(), ast.Break: lambda tree, node: _break(),
    ast.Continue: lambda tree, node: _continue(),
}  # fmt: skip
_COMPOUND: dict[type, _Make] = {
    ast.If: LightTree._of_if, ast.While: LightTree._of_while, ast.For: LightTree._of_for,
    ast.AsyncFor: LightTree._of_for, ast.With: LightTree._of_with, ast.AsyncWith: LightTree._of_with,
    ast.Try: LightTree._of_try, ast.FunctionDef: LightTree._of_function, ast.AsyncFunctionDef: LightTree._of_function,
    ast.ClassDef: LightTree._of_class,
}  # fmt: skip
_EXPRESSIONS: dict[type, _Make] = {
    ast.Name: LightTree._of_name, ast.Constant: LightTree._of_constant, ast.JoinedStr: LightTree._of_text,
    ast.Attribute: LightTree._of_attribute, ast.Call: LightTree._of_call, ast.Subscript: LightTree._of_subscript,
    ast.BinOp: LightTree._of_binary, ast.BoolOp: LightTree._of_boolean, ast.UnaryOp: LightTree._of_unary,
    ast.Compare: LightTree._of_comparison, ast.IfExp: LightTree._of_choice, ast.Lambda: LightTree._of_lambda,
    ast.Tuple: LightTree._of_tuple, ast.List: LightTree._of_list, ast.Set: LightTree._of_set, ast.Dict: LightTree._of_dict,
    ast.ListComp: LightTree._of_list_comp, ast.SetComp: LightTree._of_set_comp, ast.DictComp: LightTree._of_dict_comp,
    ast.GeneratorExp: LightTree._of_generator, ast.Await: LightTree._of_await, ast.Yield: LightTree._of_yield,
    ast.YieldFrom: LightTree._of_yield, ast.NamedExpr: LightTree._of_named,
}  # fmt: skip
