"""Helpers that only allocate and launch, written out where they are called, so that their launches stand in one block."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from kernlint.rewrite.comments import text_of
from kernlint.rewrite.function import parameters
from kernlint.rewrite.mentions import mentions
from kernlint.rewrite.names import fresh_name
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.syntax.names import bound_by, variables
from kernlint.syntax.walk import walk

#: What a tensor made like another one has in common with it.
METADATA = frozenset({"numel", "shape", "size", "stride", "device", "dim", "ndim", "is_cuda", "nelement"})
_SIMPLE = (cst.Name, cst.Attribute, cst.Integer, cst.Float, cst.SimpleString)


def inlined(source: Source, caller: cst.FunctionDef, helpers: Sequence[cst.FunctionDef]) -> str:
    """The module's text with each call of ``helpers`` in ``caller`` replaced by the helper's lines, and the helpers gone.

    Raises :class:`CannotRewrite` where a helper is called more than once, or is not a straight run of statements.
    """
    return _Inlining(source, caller, helpers).text()


class _Inlining:
    def __init__(self, source: Source, caller: cst.FunctionDef, helpers: Sequence[cst.FunctionDef]) -> None:
        self.source = source
        self.caller = caller
        self.helpers = {helper.name.value: helper for helper in helpers}
        self.taken = {node.value for node in walk(caller) if isinstance(node, cst.Name)}
        for helper in helpers:
            own = {*_assigned(helper), *(param.name.value for param in parameters(helper))}
            self.taken |= {node.value for node in walk(helper) if isinstance(node, cst.Name)} - own
        #: Tensors of the caller that were made like another one, and what its variables were given.
        self.like: dict[str, str] = {}
        self.given: dict[str, str] = {}
        self.gone: list[cst.FunctionDef] = []

    def text(self) -> str:
        source = self.source
        for helper in self.helpers.values():
            self._check(helper)
        edits: list[TextEdit] = []
        for line in self.caller.body.body:
            calls = [node for node in walk(line) if isinstance(node, cst.Call) and self._helper(node) is not None]
            if not calls:
                self._note(line)
                continue
            edits += self._written_out(line, calls)
        for helper in self.gone:
            edits.append(TextEdit(*source.with_heading(helper), "", describes=True))
        if len(self.gone) != len(self.helpers):
            raise CannotRewrite("the launches stand in functions that are not called from one block")
        return apply_edits(source.text, edits)

    def _helper(self, call: cst.Call) -> cst.FunctionDef | None:
        return self.helpers.get(call.func.value) if isinstance(call.func, cst.Name) else None

    def _check(self, helper: cst.FunctionDef) -> None:
        name = helper.name.value
        if len(list(mentions(self.source.module, name))) != 1:
            raise CannotRewrite(f"`{name}` launches part of the chain and is used in more places than one")
        lines = helper.body.body
        for line in lines:
            returns = any(isinstance(node, (cst.Return, cst.Yield, cst.FunctionDef)) for node in walk(line))
            if returns and not (line is lines[-1] and isinstance(line, cst.SimpleStatementLine)):
                raise CannotRewrite(f"`{name}` does not return at its end alone")
            if isinstance(line, cst.BaseCompoundStatement):
                raise CannotRewrite(f"`{name}` branches")

    def _note(self, line: cst.CSTNode) -> None:
        """Remember what a line of the caller gives to a variable."""
        statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        if isinstance(statement, cst.Assign) and isinstance(statement.targets[0].target, cst.Name):
            self._remember(statement.targets[0].target.value, statement.value, self.source.code(statement.value))

    def _remember(self, name: str, value: cst.BaseExpression, text: str) -> None:
        self.given[name] = text
        if (
            isinstance(value, cst.Call)
            and self.source.origin(value.func) == "torch.empty_like"
            and len(value.args) == 1
        ):
            self.like[name] = text.partition("(")[2].rpartition(")")[0]

    def _written_out(self, line: cst.CSTNode, calls: list[cst.Call]) -> list[TextEdit]:
        """Edits of a statement that calls helpers: their lines in front of it, their results in it."""
        source = self.source
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            raise CannotRewrite("a helper is called in a larger statement")
        statement = line.body[0]
        outer = [c for c in calls if not any(c is not o and any(n is c for n in walk(o)) for o in calls)]
        if len(outer) != 1:
            raise CannotRewrite("a statement calls several helpers")
        whole = getattr(statement, "value", None) is outer[0]
        wish = ""
        if whole and isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target = statement.targets[0].target
            wish = target.value if isinstance(target, cst.Name) else ""
        lines: list[str] = []
        result = self._call(outer[0], lines, wish)
        indent = source.indent(source.start(line))
        text = "".join(f"{row}\n{indent}" for one in lines for row in one.split("\n"))
        start = source.start(line)
        if whole and (result == wish or result is None) and not isinstance(statement, cst.Return):
            return [TextEdit(start, source.line_end(source.end(line)), text.removesuffix(indent), describes=True)]
        return [TextEdit(start, start, text), source.replace(outer[0], result or "None")]

    def _call(self, call: cst.Call, lines: list[str], wish: str) -> str | None:
        """Append the lines of the helper that ``call`` calls; the text of its result, which is to be called ``wish``."""
        helper = self._helper(call)
        assert helper is not None
        names = self._bind(helper, call, lines)
        body = [line for line in helper.body.body if text_of(line) is None]
        last = body[-1].body[0] if isinstance(body[-1], cst.SimpleStatementLine) else None
        result = last.value if isinstance(last, cst.Return) else None
        local = _assigned(helper)
        if isinstance(result, cst.Name) and result.value in local and wish:
            names[result.value] = wish
        for name in local:
            if name not in names:
                names[name] = fresh_name(name, self.taken)
        for line in body if result is None else body[:-1]:
            assert isinstance(line, cst.SimpleStatementLine)
            if len(line.body) != 1:
                raise CannotRewrite(f"two statements of `{helper.name.value}` share a line")
            statement = line.body[0]
            text = self._render(statement, names)
            if isinstance(statement, cst.Assign) and isinstance(statement.targets[0].target, cst.Name):
                target, value = names[statement.targets[0].target.value], self._render(statement.value, names)
                twin = next((n for n, t in self.given.items() if t == value), None)
                if twin is not None and not value.startswith("torch."):
                    names[statement.targets[0].target.value] = twin
                    continue
                self._remember(target, statement.value, value)
            comments = [comment.text for comment in self.source.heading(statement)]
            lines.append("\n".join([*comments, text]))
        self.gone.append(helper)
        return self._render(result, names) if result is not None else None

    def _bind(self, helper: cst.FunctionDef, call: cst.Call, lines: list[str]) -> dict[str, str]:
        """What stands for each parameter of ``helper``."""
        names: dict[str, str] = {}
        params = parameters(helper)
        rebound = _assigned(helper)
        given: dict[str, cst.BaseExpression] = {p.name.value: p.default for p in params if p.default is not None}
        for position, arg in enumerate(call.args):
            if arg.star or (arg.keyword is None and position >= len(params)):
                raise CannotRewrite("a helper is called with unpacked arguments")
            given[arg.keyword.value if arg.keyword is not None else params[position].name.value] = arg.value
        for param in params:
            name = param.name.value
            value = given.get(name)
            if value is None:
                raise CannotRewrite(f"the call does not say what `{name}` is")
            inner = isinstance(value, cst.Call) and self._helper(value) is not None
            text: str | None = self.source.code(value)
            if isinstance(value, cst.Call) and inner:
                result = f"{self._helper(value).name.value}_result"  # type: ignore[union-attr]
                text = self._call(value, lines, fresh_name(result, self.taken))
            if text is None:
                raise CannotRewrite("a helper that returns nothing is an argument")
            if (isinstance(value, _SIMPLE) or inner) and name not in rebound:
                names[name] = text
            else:
                names[name] = fresh_name(name, self.taken)
                lines.append(f"{names[name]} = {text}")
        return names

    def _render(self, node: cst.CSTNode, names: dict[str, str]) -> str:
        """The text of ``node`` of a helper with names of the caller; what a tensor has in common with the one it was made
        like is asked of that one."""
        start, end = self.source.range_of(node)
        liked: set[cst.CSTNode] = set()
        for inner in walk(node):
            if isinstance(inner, cst.Attribute) and inner.attr.value in METADATA:
                liked.add(inner.value)
            elif isinstance(inner, cst.Call) and self.source.origin(inner.func) == "torch.empty_like" and inner.args:
                liked.add(inner.args[0].value)
        edits = []
        for inner in variables(node):
            text = names.get(inner.value)
            if text is not None:
                first, last = self.source.range_of(inner)
                edits.append(
                    TextEdit(first - start, last - start, self.like.get(text, text) if inner in liked else text)
                )
        return apply_edits(self.source.text[start:end], edits)


def _assigned(helper: cst.FunctionDef) -> list[str]:
    """The variables that a helper binds, in order."""
    return list(dict.fromkeys(name.value for node in walk(helper.body) for name in bound_by(node)))
