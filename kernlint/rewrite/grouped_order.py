"""Programs that visit the tiles of a matmul row by row are put in groups."""

from __future__ import annotations

import re
from dataclasses import dataclass

import libcst as cst

from kernlint.interpret.values import Block
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.function import LaunchSource, parameters
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.indices import Indices
from kernlint.rules.tiling.program_order import GroupedOrder, Order, program_order
from kernlint.syntax.walk import walk
from kernlint.workload import Expr, ProgramId, concrete

_TILE = re.compile(r"(?P<head>BLOCK|TILE)(?P<tail>.*)|B(?P<axis>[A-Z0-9])")


@codemod(GroupedOrder)
def grouped_order(site: Site, transform: GroupedOrder) -> list[TextEdit]:
    """The kernel passes its two tile indices through ``tl.swizzle2d``; the grid stays as it is.

    The hardware starts programs with grid axis 0 first, so that a 2-D grid is numbered as ``slow * extent(fast) + fast``,
    which is the numbering that ``tl.swizzle2d`` starts from.
    """
    place = LaunchSource(site, transform.launch)
    dots = place.launch.kernel.dots()
    order = program_order(place.launch, dots[0]) if dots else None
    if order is None:
        raise CannotRewrite("the order of the programs is not that of two plain tile indices")
    place.check_only_launch()
    return _Rewrite(place, order, transform.group).edits()


@dataclass(frozen=True)
class _Index:
    """An expression that is one of the two tile indices; ``name`` is the variable that it is assigned to as it is."""

    node: cst.BaseExpression
    name: str


class _Rewrite:
    def __init__(self, place: LaunchSource, order: Order, group: int) -> None:
        self.place = place
        self.kernel = place.kernel
        self.order = order
        self.group = group
        self.editor = Editor(place.module)

    def edits(self) -> list[TextEdit]:
        slow, fast = self._sites(self.order.slow), self._sites(self.order.fast)
        self._check_nothing_else_follows_the_programs(slow + fast)
        rows, columns = self._extents(slow, fast)
        constexpr = self._add_constexpr(slow)
        call = f"{self.place.tl}.swizzle2d({{}}, {{}}, {rows}, {columns}, {constexpr})"
        why = (
            f"# walk the tiles in groups of {constexpr}, so that the programs of a wave share their operands in the L2"
        )
        if len(slow) == len(fast) == 1 and slow[0].name and fast[0].name and slow[0].name != fast[0].name:
            lines = [self.kernel.top_level(index.node) for index in (slow[0], fast[0])]
            early = [n for i in (slow[0], fast[0]) for n in self.kernel.reads(i.name)
                     if self.kernel.top_level(n) <= max(lines)]  # fmt: skip
            if not early:
                names = slow[0].name, fast[0].name
                text = f"{', '.join(names)} = {call.format(*names)}"
                self.editor.insert_after(self.kernel.body[max(lines)], [why, text])
                return self.editor.edits
        self._name_indices(slow, fast, call, why)
        return self.editor.edits

    # -- what the kernel says ---------------------------------------------------------------------------------------

    def _value(self, node: cst.CSTNode) -> Expr | None:
        value = self.kernel.values.get(node)
        return value.expr if isinstance(value, Block) and value.shape == () else None

    def _sites(self, index: ProgramId) -> list[_Index]:
        """Where the kernel computes tile index ``index``: not where it only names it."""
        wanted = self._original(index)
        found = []
        for node in walk(self.kernel.node.body):
            if not isinstance(node, cst.BaseExpression) or isinstance(node, cst.Name) or self._value(node) != wanted:
                continue
            parent = self.kernel.parents[node]
            name = ""
            if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
                target = parent.targets[0].target
                if isinstance(target, cst.Name) and len(self.kernel.bindings(target.value)) == 1:
                    name = target.value
            elif isinstance(parent, cst.Element):
                name = self._unpacked(node)
            found.append(_Index(node, name))
        if not found:
            raise CannotRewrite("a tile index is computed in a helper function")
        return found

    def _unpacked(self, node: cst.BaseExpression) -> str:
        """``a`` for the expression x in ``a, b = x, y``."""
        element = self.kernel.parents[node]
        values = self.kernel.parents[element]
        assign = self.kernel.parents.get(values)
        if not (isinstance(assign, cst.Assign) and isinstance(values, cst.Tuple) and len(assign.targets) == 1):
            return ""
        targets = assign.targets[0].target
        if not isinstance(targets, cst.Tuple) or len(targets.elements) != len(values.elements):
            return ""
        target = targets.elements[list(values.elements).index(element)].value  # type: ignore[arg-type]
        if isinstance(target, cst.Name) and len(self.kernel.bindings(target.value)) == 1:
            return target.value
        return ""

    def _original(self, index: ProgramId) -> Expr:
        """``index`` in terms of the program ids of the launch."""
        indices: Indices = self.order.indices
        for split in indices.splits:
            if index in (split.high, split.low):
                from kernlint.workload.expr import floordiv, lift, mod

                digit = floordiv if index == split.high else mod
                return lift(digit(Expr.atom(ProgramId(split.axis)), split.divisor))
        return Expr.atom(index)

    def _check_nothing_else_follows_the_programs(self, sites: list[_Index]) -> None:
        """Raise where a program id of the two axes is used in any other way than through the indices."""
        covered = {id(inner) for site in sites for inner in walk(site.node)}
        axes = {atom for site in sites for atom in (self._value(site.node) or Expr({})).atoms()}
        ids = {atom for atom in axes if isinstance(atom, ProgramId)}
        for node in walk(self.kernel.node.body):
            if id(node) in covered or not isinstance(node, cst.BaseExpression):
                continue
            value = self._value(node)
            if value is None or not any(value == Expr.atom(atom) for atom in ids):
                continue
            if any(self._value(site.node) == value for site in sites):
                continue  # a name of an index
            if isinstance(node, cst.Name) and self.kernel.binding(node) is not None:
                continue  # a name of the whole program id, looked at where it is read
            if self._is_assigned(node):
                continue  # the program id itself, on its way to such a name
            raise CannotRewrite("the program id is used for more than the two tile indices")
        calls = [n for n in walk(self.kernel.node.body) if isinstance(n, cst.Call) and self._is_program_id(n)]
        if any(id(call) not in covered and not self._is_assigned(call) for call in calls):
            raise CannotRewrite("the program id is used for more than the two tile indices")

    def _is_assigned(self, node: cst.BaseExpression) -> bool:
        """Whether ``node`` is what an assignment gives to a name, alone or in a tuple."""
        parent = self.kernel.parents[node]
        return isinstance(parent, cst.Assign) or self._unpacked(node) != ""

    def _is_program_id(self, node: cst.Call) -> bool:
        function = node.func
        return (function.attr.value if isinstance(function, cst.Attribute) else "") == "program_id"

    # -- the extents ------------------------------------------------------------------------------------------------

    def _extents(self, slow: list[_Index], fast: list[_Index]) -> tuple[str, str]:
        """How many values each index takes, as the kernel can say it."""
        tl = self.place.tl
        split = next(iter(self.order.indices.splits), None)
        if split is None:
            return f"{tl}.num_programs({self.order.slow.axis})", f"{tl}.num_programs({self.order.fast.axis})"
        divisors = {self._divisor(index.node) for index in slow + fast}
        if len(divisors) != 1:
            raise CannotRewrite("the program id is divided in more than one way")
        (columns,) = divisors
        self._check_grid(concrete(split.divisor), split.axis)
        operand = columns if re.fullmatch(r"[\w.]+(\([^()]*\))?", columns) else f"({columns})"
        return f"{tl}.num_programs({split.axis}) // {operand}", columns

    def _divisor(self, node: cst.BaseExpression) -> str:
        if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, (cst.FloorDivide, cst.Modulo)):
            raise CannotRewrite("a tile index is not a plain quotient or remainder of the program id")
        return self.editor.code(node.right)

    def _check_grid(self, columns: int | None, axis: int) -> None:
        """Raise unless the grid is a whole number of rows at any size: a product with the columns as one factor."""
        extents, host = self.place.grid()
        node = host.resolved(extents[axis])
        if isinstance(node, cst.Integer):
            return
        factors = [node]
        while isinstance(factors[0], cst.BinaryOperation) and isinstance(factors[0].operator, cst.Multiply):
            factors[:1] = [host.resolved(factors[0].left), host.resolved(factors[0].right)]
        if len(factors) < 2 or not any(host.values.get(factor) == columns for factor in factors):
            raise CannotRewrite("the grid is not the product of the numbers of tiles along the two axes")

    # -- the edits --------------------------------------------------------------------------------------------------

    def _add_constexpr(self, slow: list[_Index]) -> str:
        """Give the kernel a constexpr for the group, named after the tile that the slow index counts."""
        name = self.kernel.free_name(self._group_name(slow))
        self.editor.append_to(parameters(self.kernel.node), f"{name}: {self.place.tl}.constexpr = {self.group}")
        return name

    def _group_name(self, slow: list[_Index]) -> str:
        axis = self._axis_name(slow)
        return f"GROUP{axis}" if axis else "GROUP"

    def _axis_name(self, indices: list[_Index]) -> str:
        """``_M`` where the index counts tiles of BLOCK_M (or BM); empty where the source does not say."""
        names = {index.name for index in indices}
        for node in walk(self.kernel.node.body):
            if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
                sides = (node.left, node.right)
                for side, other in (sides, sides[::-1]):
                    is_index = any(side is index.node for index in indices) or getattr(side, "value", None) in names
                    tile = _TILE.fullmatch(other.value) if isinstance(other, cst.Name) else None
                    if is_index and tile:
                        return f"_{tile['axis']}" if tile["axis"] else tile["tail"]
        return ""

    def _name_indices(self, slow: list[_Index], fast: list[_Index], call: str, why: str) -> None:
        """Compute both indices in front of the first use, and use the names from there on."""
        sites = slow + fast
        first = min(self.kernel.top_level(index.node) for index in sites)
        self._check_defined(sites, first)
        names = [next((i.name for i in indices if i.name), self._new_name(indices)) for indices in (slow, fast)]
        if names[0] == names[1]:
            raise CannotRewrite("the two tile indices share a name")
        for indices, name in ((slow, names[0]), (fast, names[1])):
            for index in indices:
                line = self.kernel.line(index.node)
                alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
                if index.name == name and alone and isinstance(self.kernel.parents[index.node], cst.Assign):
                    self.editor.delete(line, comments=False)
                else:
                    self.editor.replace_whole(index.node, name)
        text = call.format(self.editor.code(slow[0].node), self.editor.code(fast[0].node))
        self.editor.insert_before(self.kernel.body[first], [why, f"{', '.join(names)} = {text}"])

    def _new_name(self, indices: list[_Index]) -> str:
        axis = self._axis_name(indices).lower().replace("_size", "")
        return self.kernel.free_name(f"pid{axis}" if axis else "tile")

    def _check_defined(self, sites: list[_Index], first: int) -> None:
        """Raise where a name that the indices are computed from is bound only behind the statement ``first``."""
        for site in sites:
            for node in walk(site.node):
                if isinstance(node, cst.Name):
                    for bound in self.kernel.bindings(node.value):
                        if self.kernel.top_level(bound) >= first:
                            raise CannotRewrite(f"`{node.value}` is not known where the first tile index is used")
