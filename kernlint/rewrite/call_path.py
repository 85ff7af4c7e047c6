"""How the steps of a chain hang together in host code: the function that strings them, and the helpers it calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from kernlint.interpret.trace import Values
from kernlint.records import dataclass
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.function import FunctionSource, Line, enclosing_function, parameters
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite
from kernlint.syntax.walk import walk
from kernlint.workload import Tensor


@dataclass(frozen=True)
class Stage:
    """One or more steps of a chain as the stringing function sees them: ``node`` is the expression (or statement) there
    that does them; ``helper`` the function that it calls for that, None where it does them itself."""

    node: cst.CSTNode
    helper: cst.FunctionDef | None


class CallPath:
    """The stages of a chain. ``steps`` are the nodes of its steps in order: the launch call, then torch operations and
    launches. Raises :class:`CannotRewrite` where they do not meet in one function, each one call away at most."""

    def __init__(self, source: Source, values: Values, steps: Sequence[cst.CSTNode]) -> None:
        self.source = source
        self.values = values
        homes = [enclosing_function(source, node) for node in steps]
        self.root = FunctionSource(source.module, self._root(homes), values)
        self.stages: list[Stage] = []
        for node, home in zip(steps, homes):
            if home is self.root.node:
                self.stages.append(Stage(node, None))
                continue
            call = self._only_call(home)
            if not any(stage.node is call for stage in self.stages):
                self.stages.append(Stage(call, home))

    def _root(self, homes: Sequence[cst.FunctionDef]) -> cst.FunctionDef:
        """The function that calls all the others."""
        distinct = list({id(home): home for home in homes}.values())
        functions = [n for n in walk(self.source.module.tree) if isinstance(n, cst.FunctionDef)]
        for root in [*distinct, *functions]:
            if all(home is root or self._calls(root, home) for home in distinct):
                return root
        raise CannotRewrite("the launches and torch calls do not meet in one function")

    def _calls(self, root: cst.FunctionDef, home: cst.FunctionDef) -> list[cst.Call]:
        """Calls of ``home`` in ``root``."""
        return [
            node
            for node in walk(root.body)
            if isinstance(node, cst.Call) and _function_name(node.func) == home.name.value
        ]

    def _only_call(self, home: cst.FunctionDef) -> cst.Call:
        calls = self._calls(self.root.node, home)
        mentions = [
            node
            for node in walk(self.source.module.tree)
            if isinstance(node, cst.Name) and node.value == home.name.value and node is not home.name
        ]
        if len(calls) != 1 or len(mentions) != 1:
            raise CannotRewrite(f"`{home.name.value}` is used in more than one place")
        return calls[0]

    # -- what a helper's names stand for ------------------------------------------------------------------------------

    def in_root(self, stage: Stage, node: cst.BaseExpression) -> cst.BaseExpression:
        """The expression of the root that ``node``, in the helper of ``stage``, stands for: an argument of the call."""
        if stage.helper is None:
            return node
        helper = FunctionSource(self.source.module, stage.helper, self.values)
        node = helper.resolved(node)
        assert isinstance(stage.node, cst.Call)
        if isinstance(node, cst.Name) and not helper.bindings(node.value):
            names = [param.name.value for param in parameters(stage.helper)]
            if isinstance(stage.node.func, cst.Attribute):
                names = names[1:]
            for position, arg in enumerate(stage.node.args):
                if arg.star:
                    break
                keyword = arg.keyword.value if arg.keyword is not None else ""
                if keyword == node.value or (not keyword and names[position : position + 1] == [node.value]):
                    return arg.value
        raise CannotRewrite(f"`{self.source.code(node)}` is not an argument of `{stage.helper.name.value}`")

    def check_known_before(self, node: cst.BaseExpression, first: cst.CSTNode) -> None:
        """Raise where ``node`` of the root is not yet what it is when ``first`` (a node of the root) is evaluated."""
        limit = self.root.top_level(first)
        for name in walk(node):
            if isinstance(name, cst.Name) and name in self.root.parents and self.root.is_variable(name):
                late = [b for b in self.root.bindings(name.value) if self.root.top_level(b) >= limit]
                if late:
                    raise CannotRewrite(f"`{name.value}` is not known yet where the matmul is launched")
            if isinstance(name, cst.Call):
                raise CannotRewrite(f"`{self.source.code(node)}` is computed by a call")

    def tensor(self, node: cst.CSTNode) -> Tensor | None:
        """The tensor that an expression of host code stands for."""
        value = self.values.get(node)
        return value if isinstance(value, Tensor) else None

    # -- taking the stages out ---------------------------------------------------------------------------------------

    def collapse(
        self, editor: Editor, inners: Sequence[tuple[Stage, cst.BaseExpression]], written: Mapping[int, int]
    ) -> None:
        """Put in the place of each stage the operand that it works on; statements left without a purpose go.

        ``written`` are the storages that launches in the root write (by the identity of the call): where their tensors are
        read, the operand is read instead, and their allocation goes.
        """
        operands = {id(stage.node): inner for stage, inner in inners}
        aliases: dict[str, str] = {}
        for stage, inner in inners:
            line = self.root.line(stage.node)
            update = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
            left = inner
            while id(left) in operands:
                left = operands[id(left)]
            name = aliases.get(left.value, left.value) if isinstance(left, cst.Name) else ""
            if id(stage.node) in written:
                if not name or not isinstance(update, cst.Expr) or update.value is not stage.node:
                    raise CannotRewrite("a launch of the chain is part of a larger statement")
                editor.delete(line)
                self._read_instead(editor, written[id(stage.node)], name, aliases)
            elif isinstance(stage.node, cst.AugAssign) or (
                isinstance(update, cst.Expr) and update.value is stage.node and name
            ):
                editor.delete(line)
            elif isinstance(update, cst.Assign) and update.value is stage.node and name:
                self._drop_assignment(editor, line, update, name, aliases)
            elif name:
                editor.replace_whole(stage.node, name)
            else:
                editor.add(self.source.keep_only(stage.node, inner))
        editor.prune()

    def _drop_assignment(
        self, editor: Editor, line: Line, update: cst.Assign, name: str, aliases: dict[str, str]
    ) -> None:
        """``y = y`` goes; so does ``z = y``, with y read where z was."""
        target = update.targets[0].target if len(update.targets) == 1 else None
        if not isinstance(target, cst.Name):
            editor.replace_whole(update.value, name)
            return
        if target.value != name:
            if len(self.root.bindings(target.value)) > 1 or len(self.root.bindings(name)) > 1:
                editor.replace_whole(update.value, name)
                return
            aliases[target.value] = name
            for read in self.root.reads(target.value):
                editor.replace(read, name)
        editor.delete(line)

    def _read_instead(self, editor: Editor, storage: int, name: str, aliases: dict[str, str]) -> None:
        """Read ``name`` where the root reads the tensor of ``storage``, which is no longer made."""
        names = set()
        for node in walk(self.root.node.body):
            tensor = self.tensor(node)
            if (
                isinstance(node, cst.Name)
                and tensor is not None
                and tensor.storage.id == storage
                and node.value != name
            ):
                names.add(node.value)
        for other in sorted(names):
            bound = self.root.bindings(other)
            if len(bound) != 1:
                raise CannotRewrite(f"`{other}` stands for more than one tensor")
            aliases[other] = name
            editor.delete(self.root.line(bound[0]))
            for read in self.root.reads(other):
                editor.replace(read, name)


def _function_name(node: cst.BaseExpression) -> str:
    """``f`` for ``f`` and for ``self.f``."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
        return node.attr.value
    return ""
