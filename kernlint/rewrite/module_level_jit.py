"""A kernel that is decorated again on every call moves to module level."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.rewrite.effects import Effects
from kernlint.rewrite.names import fresh_name
from kernlint.rewrite.paragraphs import stale_headings
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.rules.launch.kl603_jit_created_per_call import MadeOnce
from kernlint.syntax.names import bound_by, targets, variables
from kernlint.syntax.walk import children, parameters, walk


@codemod(MadeOnce, Effects())
def made_once(site: Site, transform: MadeOnce) -> list[TextEdit]:
    """The definition (or the assignment of a ``triton.jit(...)``) stands above the outermost function around it."""
    source = site.source
    try:
        node: cst.CSTNode = source.at(transform.place, cst.FunctionDef)
    except CannotRewrite:
        node = source.at(transform.place, cst.Call)
    return _Move(source, node).edits()


class _Move:
    def __init__(self, source: Source, node: cst.CSTNode) -> None:
        self.source = source
        function = source.function(node)
        if function is None:
            raise CannotRewrite("it is at module level already")
        self.function = function
        statement = node if isinstance(node, cst.FunctionDef) else source.around(node, cst.Assign)
        if statement is None or len(_bound(statement)) != 1:
            raise CannotRewrite("what is made is not given to one variable")
        self.statement: cst.FunctionDef | cst.Assign = statement
        (self.name,) = _bound(self.statement)
        self.outer = [one for one in source.above(node) if isinstance(one, (cst.FunctionDef, cst.ClassDef))]
        self.block = source.parent(self.line)

    @property
    def line(self) -> cst.CSTNode:
        """The statement with its line."""
        if isinstance(self.statement, cst.FunctionDef):
            return self.statement
        line = self.source.parent(self.statement)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            raise CannotRewrite("a statement to move shares its line with another one")
        return line

    def edits(self) -> list[TextEdit]:
        self._check_free()
        self._check_once()
        source, top = self.source, self.outer[-1]
        start, end = source.with_heading(self.line)
        at, _ = source.with_heading(top)
        name = self._new_name()
        renames = []
        if name != self.name:
            renames = [source.replace(read, name) for read in variables(self.function) if read.value == self.name]
        inside = [edit for edit in renames if start <= edit.start < end]
        text = source.text[start:end]
        text = apply_edits(text, [TextEdit(e.start - start, e.end - start, e.text) for e in inside])
        indent = source.indent(source.start(self.line))
        moved = "".join(row.removeprefix(indent) for row in text.splitlines(keepends=True)).rstrip() + "\n"
        edits = [edit for edit in renames if not start <= edit.start < end]
        edits.append(TextEdit(at, at, f"{moved}\n\n"))
        if not isinstance(self.statement, cst.FunctionDef):
            edits += [*source.delete_statements([self.statement]), *stale_headings(source, [self.line])]
            return edits
        siblings = getattr(self.block, "body", ())
        empty = len(siblings) == 1
        return [*edits, TextEdit(start, end, f"{indent}pass\n" if empty else "", describes=True)]

    def _check_free(self) -> None:
        """Raise where what moves reads a variable of the functions around it, or a name that the module binds later."""
        read = _free(self.line) - _bound(self.statement)
        local = set()
        for outer in self.outer:
            if isinstance(outer, cst.FunctionDef):
                local |= {node.name.value for node in walk(outer.params) if isinstance(node, cst.Param)}
                inside = {id(node) for node in walk(self.line)}
                local |= {name for node in walk(outer.body) if id(node) not in inside for name in _bound(node)}
        captured = sorted(read & (local - {self.name}))
        if captured:
            names = ", ".join(f"`{name}`" for name in captured)
            raise CannotRewrite(f"`{self.name}` reads {names} of the function around it: pass it as an argument")
        at, _ = self.source.with_heading(self.outer[-1])
        at_once = self._read_at_import()
        for statement in self.source.module.tree.body:
            if self.source.start(statement) >= at:
                later = {name for node in walk_shallow(statement) for name in _bound(node)} & at_once
                if later:
                    raise CannotRewrite(f"`{sorted(later)[0]}` is defined further down in the module")

    def _check_once(self) -> None:
        """Raise where it matters how often the statement runs, how far in it stands, or that the name is one of the function's own."""
        decorators = self.statement.decorators if isinstance(self.statement, cst.FunctionDef) else ()
        for one in decorators:
            if not (self.source.origin(one.decorator) or "").startswith("triton."):
                raise CannotRewrite(f"`{self.source.code(one.decorator)}` decorates it on every call")
        if any(isinstance(node, cst.Name) and node.value in ("locals", "vars", "dir") for node in walk(self.function)):
            raise CannotRewrite("the function looks at its variables")
        for node in walk(self.function):
            bound = {one.value for one in variables(node)} if isinstance(node, cst.Del) else _bound(node)
            if self.name in bound and node is not self.statement:
                raise CannotRewrite(f"`{self.name}` is deleted, or something else too")
        for text in walk(self.line):
            docstring = isinstance(self.source.parent(text), cst.Expr)
            if (
                isinstance(text, (cst.SimpleString, cst.FormattedString))
                and not docstring
                and "\n" in self.source.code(text)
            ):
                raise CannotRewrite("a string of several lines would lose its indentation")

    def _read_at_import(self) -> set[str]:
        """The names that are read when the moved statement itself is run."""
        node = self.statement
        if not isinstance(node, cst.FunctionDef):
            return {one.value for one in variables(self.line)}
        parts = [*node.decorators, *(p.default for p in walk(node.params) if isinstance(p, cst.Param) and p.default)]
        parts += [p.annotation for p in walk(node.params) if isinstance(p, cst.Param) and p.annotation]
        return {one.value for part in parts for one in variables(part)}

    def _new_name(self) -> str:
        """The name at module level: its own, unless something else there or in another function is called so."""
        inside = {id(node) for node in walk(self.function)}
        taken = {
            node.value
            for node in walk(self.source.module.tree)
            if isinstance(node, cst.Name) and id(node) not in inside
        }
        if self.name not in taken:
            return self.name
        return fresh_name(f"{self.function.name.value.strip('_')}_{self.name}", taken)


def _free(node: cst.CSTNode) -> set[str]:
    """The names that ``node`` reads of the scope that it stands in: decorators, defaults and annotations of a function among them."""
    if isinstance(node, cst.Name):
        return {node.value}
    within: cst.CSTNode | None = node.body if isinstance(node, (cst.FunctionDef, cst.Lambda)) else None
    skipped = {getattr(node, "attr", None), getattr(node, "keyword", None), within}
    if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Param)):
        skipped.add(node.name)
    free = {name for child in children(node) if child not in skipped for name in _free(child)}
    if isinstance(node, (cst.FunctionDef, cst.Lambda)):
        own = {param.name.value for param in parameters(node)}
        free |= _free(node.body) - own - {name for inner in walk(node.body) for name in _bound(inner)}
    if isinstance(node, cst.BaseComp):
        free -= {name for inner in walk(node) if isinstance(inner, cst.CompFor) for name in _bound(inner)}
    return free


def walk_shallow(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a module-level statement itself does: a function or class is one thing."""
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        yield statement
    else:
        yield from walk(statement)


def _bound(node: cst.CSTNode) -> set[str]:
    """The names that ``node`` itself binds."""
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        return {node.name.value}
    if isinstance(node, cst.ImportAlias):
        return {node.evaluated_alias or (node.evaluated_name or "").split(".")[0]}
    found = targets(node.target) if isinstance(node, cst.CompFor) else bound_by(node)
    return {name.value for name in found}
