"""LibCST trees made of Python's own, which takes a tenth of what LibCST's parser takes.

A light tree has the nodes that LibCST's parser gives but for layout: white space, comments, commas and line ends are those that
LibCST puts where nobody says otherwise. What a program does can be told from it, and where everything stands; it is not there
to be written out. What is rare is left to LibCST's parser (:class:`Unusual`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

import libcst as cst

from kernlint.syntax import light_nodes as new
from kernlint.syntax.light_expressions import Expressions, Make, Unusual
from kernlint.syntax.light_places import _BLANK, NONE

#: What has brackets of its own, always or where it stands alone.
_BRACKETED = frozenset({ast.Tuple, ast.GeneratorExp, ast.NamedExpr, ast.Yield, ast.YieldFrom})


class LightTree(Expressions):
    """The ``tree`` of LibCST's nodes for the ``text`` that ``python`` is the tree of, and the ``counterparts`` of its nodes in
    that, by their identity, where both cover the same source.

    Raises :class:`Unusual` where it takes LibCST's parser."""

    def __init__(self, text: str, python: ast.Module) -> None:
        super().__init__(text)
        self.tree: cst.Module = new.maker(cst.Module, "body", "has_trailing_newline")(
            self._statements(python.body), text.endswith(("\n", "\r"))
        )

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
                found.append(new.line(line))
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
                return new.suite(statements[0].body)
            if self._bare[: self._starts[first.lineno - 1]].endswith(("\\\n", "\\\r\n", "\\\r")):
                raise Unusual("continued")
        return new.block(statements)

    def _of_expr(self, node: ast.Expr) -> Any:
        return new.expr(self._value(node.value))

    def _of_return(self, node: ast.Return) -> Any:
        return new.return_(self._optional(node.value))

    def _of_assign(self, node: ast.Assign) -> Any:
        return new.assign([new.assign_target(self._value(target)) for target in node.targets], self._value(node.value))

    def _of_aug_assign(self, node: ast.AugAssign) -> Any:
        return new.aug_assign(self._value(node.target), new.BINARY[type(node.op)][1](), self._value(node.value))

    def _of_ann_assign(self, node: ast.AnnAssign) -> Any:
        annotation = new.annotation(self._value(node.annotation))
        return new.ann_assign(self._value(node.target), annotation, self._optional(node.value))

    def _of_raise(self, node: ast.Raise) -> Any:
        cause = new.from_(self._value(node.cause)) if node.cause is not None else None
        return new.raise_(self._optional(node.exc), cause)

    def _of_assert(self, node: ast.Assert) -> Any:
        return new.assertion(self._value(node.test), self._optional(node.msg))

    def _of_delete(self, node: ast.Delete) -> Any:
        found = self.counterparts
        self.counterparts = {}  # nobody asks
        targets = [self._value(target) for target in node.targets]
        self.counterparts = found
        if len(targets) == 1:
            if self._next(self._end(node.targets[0])) == ",":
                raise Unusual("del")
            return new.del_(targets[0])
        return new.del_(new.tuple_([new.element(target) for target in targets], NONE, NONE))

    def _of_names(self, node: ast.Global | ast.Nonlocal) -> Any:
        make = new.global_ if type(node) is ast.Global else new.nonlocal_
        return make([new.name_item(new.name(name, NONE, NONE)) for name in node.names])

    def _of_import(self, node: ast.Import) -> Any:
        return new.import_([self._alias(alias) for alias in node.names])

    def _of_import_from(self, node: ast.ImportFrom) -> Any:
        names = new.import_star() if node.names[0].name == "*" else [self._alias(alias) for alias in node.names]
        module = _dotted(node.module) if node.module is not None else None
        return new.import_from(module, names, [new.dot() for _ in range(node.level)])

    def _alias(self, alias: ast.alias) -> Any:
        asname = new.as_name(new.name(alias.asname, NONE, NONE)) if alias.asname is not None else None
        return new.import_alias(_dotted(alias.name), asname)

    def _of_if(self, node: ast.If) -> Any:
        orelse: Any = None
        if node.orelse:
            first = node.orelse[0]
            if type(first) is ast.If and self._text.startswith("elif", self._start(first)):
                orelse = self._noted(self._of_if(first), first)
            else:
                orelse = new.else_(self._body(node.orelse))
        return new.if_(self._value(node.test), self._body(node.body), orelse)

    def _orelse(self, body: Sequence[ast.stmt]) -> Any:
        return new.else_(self._body(body)) if body else None

    def _of_while(self, node: ast.While) -> Any:
        return new.while_(self._value(node.test), self._body(node.body), self._orelse(node.orelse))

    def _of_for(self, node: ast.For | ast.AsyncFor) -> Any:
        asynchronous = new.asynchronous() if type(node) is ast.AsyncFor else None
        target, source = self._value(node.target), self._value(node.iter)
        return new.for_(target, source, self._body(node.body), self._orelse(node.orelse), asynchronous)

    def _of_with(self, node: ast.With | ast.AsyncWith) -> Any:
        items = []
        for item in node.items:
            # Brackets around all items are those of the statement, as they are around one that has no name.
            alone = (
                len(node.items) == 1 and item.optional_vars is None and self._start(item.context_expr) in self._opened
            )
            if alone and type(item.context_expr) in _BRACKETED:
                raise Unusual("with")
            asname = new.as_name(self._value(item.optional_vars)) if item.optional_vars is not None else None
            items.append(new.with_item(self._value(item.context_expr, alone), asname))
        return new.with_(items, self._body(node.body), new.asynchronous() if type(node) is ast.AsyncWith else None)

    def _of_try(self, node: ast.Try) -> Any:
        handlers = []
        for handler in node.handlers:
            name = new.as_name(new.name(handler.name, NONE, NONE)) if handler.name is not None else None
            handlers.append(new.handler(self._body(handler.body), self._optional(handler.type), name))
        last = new.finally_(self._body(node.finalbody)) if node.finalbody else None
        return new.try_(self._body(node.body), handlers, self._orelse(node.orelse), last)

    def _of_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        if getattr(node, "type_params", None):
            raise Unusual("type parameters")
        name = self._noted(new.name(node.name, NONE, NONE), node)
        returns = new.annotation(self._value(node.returns)) if node.returns is not None else None
        asynchronous = new.asynchronous() if type(node) is ast.AsyncFunctionDef else None
        parameters = self._arguments(node.args)
        return new.function(name, parameters, self._body(node.body), self._decorators(node), returns, asynchronous)

    def _of_class(self, node: ast.ClassDef) -> Any:
        if getattr(node, "type_params", None):
            raise Unusual("type parameters")
        name = self._noted(new.name(node.name, NONE, NONE), node)
        args = self._args(node.bases, node.keywords)
        bases = [arg for arg in args if arg.keyword is None and arg.star != "**"]
        keywords = [arg for arg in args if arg.keyword is not None or arg.star == "**"]
        return new.class_(name, self._body(node.body), bases, keywords, self._decorators(node))

    def _decorators(self, node: Any) -> list[Any]:
        found = []
        for other in node.decorator_list:
            decorator = new.decorator(self._value(other))
            if not decorator.decorator.lpar:
                self.counterparts[id(decorator)] = other
            found.append(decorator)
        return found


def _dotted(name: str) -> Any:
    first, *rest = name.split(".")
    found = new.name(first, NONE, NONE)
    for part in rest:
        found = new.attribute(found, new.name(part, NONE, NONE), NONE, NONE)
    return found


_SIMPLE: dict[type, Make] = {
    ast.Expr: LightTree._of_expr, ast.Return: LightTree._of_return, ast.Assign: LightTree._of_assign,
    ast.AugAssign: LightTree._of_aug_assign, ast.AnnAssign: LightTree._of_ann_assign, ast.Raise: LightTree._of_raise,
    ast.Assert: LightTree._of_assert, ast.Delete: LightTree._of_delete, ast.Global: LightTree._of_names,
    ast.Nonlocal: LightTree._of_names, ast.Import: LightTree._of_import, ast.ImportFrom: LightTree._of_import_from,
    ast.Pass: lambda tree, node: new.pass_(), ast.Break: lambda tree, node: new.break_(),
    ast.Continue: lambda tree, node: new.continue_(),
}  # fmt: skip


_COMPOUND: dict[type, Make] = {
    ast.If: LightTree._of_if, ast.While: LightTree._of_while, ast.For: LightTree._of_for,
    ast.AsyncFor: LightTree._of_for, ast.With: LightTree._of_with, ast.AsyncWith: LightTree._of_with,
    ast.Try: LightTree._of_try, ast.FunctionDef: LightTree._of_function, ast.AsyncFunctionDef: LightTree._of_function,
    ast.ClassDef: LightTree._of_class,
}  # fmt: skip
