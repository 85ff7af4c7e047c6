"""What the variables of straight kernel code hold, as one text that equal values share whatever they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from kernlint.syntax.walk import walk

if TYPE_CHECKING:
    from kernlint.rewrite.fused_kernel import Part

#: Parameters, in order, of the functions whose arguments people pass by name or by position as they like.
_SIGNATURES = {
    "triton.language.program_id": ("axis",),
    "triton.language.num_programs": ("axis",),
    "triton.language.load": ("pointer", "mask", "other"),
    "triton.language.max": ("input", "axis"),
    "triton.language.min": ("input", "axis"),
    "triton.language.sum": ("input", "axis"),
    "triton.language.arange": ("start", "end"),
}

#: What a tile's place in the grid or its shape is made of: in a kernel that moves to another tile it means something else.
TILE_BOUND = frozenset(
    f"triton.language.{name}"
    for name in ("program_id", "num_programs", "arange", "zeros", "full", "make_block_ptr", "broadcast_to")
)


class Canonical:
    """The values in the straight code of ``part``.

    ``bound`` has, for each variable, the text of what it holds at the end; ``texts`` that of each assigned expression and
    of each load. Parameters stand under the names that they have in the fused kernel. What a loop or a branch binds is
    equal to nothing else.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.bound: dict[str, str] = {}
        self.texts: dict[cst.CSTNode, str] = {}
        self._env = {name: f"param {part.names.get(name, name)}" for name in part.parameters}
        for line in part.lines:
            for statement in line.body if isinstance(line, cst.SimpleStatementLine) else (line,):
                self._statement(statement)

    def _statement(self, statement: cst.CSTNode) -> None:
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target = statement.targets[0].target
            if isinstance(target, cst.Name):
                text = self.part.given.get(target.value) or self.expression(statement.value)
                self._env[target.value] = self.bound[target.value] = self.texts[statement.value] = text
                return
        if isinstance(statement, cst.Expr):
            self.expression(statement.value)
            return
        for inner in walk(statement):
            if isinstance(inner, cst.Name) and self.part.is_bound(inner):
                self._env[inner.value] = self.bound[inner.value] = f"{id(inner)} of {inner.value}"

    def expression(self, node: cst.CSTNode) -> str:
        """The text of an expression with variables written out."""
        if node in self.part.texts:
            return f"name {self.part.texts[node]}"
        if isinstance(node, cst.Name):
            return self._env.get(node.value, f"name {node.value}") if self.part.is_variable(node) else node.value
        if isinstance(node, cst.BinaryOperation):
            left, right = self.expression(node.left), self.expression(node.right)
            return f"({left} {type(node.operator).__name__} {right})"
        if isinstance(node, cst.UnaryOperation):
            return f"({type(node.operator).__name__} {self.expression(node.expression)})"
        if isinstance(node, cst.Comparison):
            rest = [f"{type(c.operator).__name__} {self.expression(c.comparator)}" for c in node.comparisons]
            return f"({self.expression(node.left)} {' '.join(rest)})"
        if isinstance(node, cst.Attribute):
            origin = self.part.source.origin(node)
            if origin is not None and origin.startswith("triton.language."):
                return origin
            return f"{self.expression(node.value)}.{node.attr.value}"
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.Subscript):
            parts = [self.expression(element.slice) for element in node.slice]
            return f"{self.expression(node.value)}[{', '.join(parts)}]"
        if isinstance(node, (cst.Integer, cst.Float, cst.SimpleString)):
            return node.value
        if isinstance(node, cst.Index):
            return self.expression(node.value)
        if isinstance(node, cst.Slice):
            ends = [self.expression(one) if one is not None else "" for one in (node.lower, node.upper, node.step)]
            return ":".join(ends)
        if isinstance(node, (cst.Tuple, cst.List)):
            return f"[{', '.join(self.expression(element.value) for element in node.elements)}]"
        return f"{id(node)}"

    def _call(self, node: cst.Call) -> str:
        function = self.expression(node.func)
        if self.part.moved and function in TILE_BOUND:
            return f"{id(node)} of {self.part.name}"
        names = _SIGNATURES.get(function, ())
        arguments = []
        for position, arg in enumerate(node.args):
            keyword = arg.keyword.value if arg.keyword is not None else ""
            if not keyword and position < len(names):
                keyword = names[position]
            arguments.append(f"{arg.star}{keyword}={self.expression(arg.value)}")
        named = [a for a in arguments if not a.startswith("=")]
        text = f"{function}({', '.join([*(a for a in arguments if a.startswith('=')), *sorted(named)])})"
        if function == "triton.language.load":
            self.texts[node] = text
        return text
