"""Programs that visit the tiles of a matmul row by row are put in groups."""

from __future__ import annotations

import re

import libcst as cst

from kernlint.rewrite.editor import Editor
from kernlint.rewrite.function import LaunchSource, parameters
from kernlint.rewrite.program_indices import IndexSite, ProgramIndices
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.tiling.program_order import GroupedOrder, Order, program_order
from kernlint.syntax.walk import walk
from kernlint.workload import concrete

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
    place.check_one_launch()
    return _Rewrite(place, order, transform.group).edits()


class _Rewrite:
    def __init__(self, place: LaunchSource, order: Order, group: int) -> None:
        self.place = place
        self.kernel = place.kernel
        self.order = order
        self.group = group
        self.editor = Editor(place.source)

    def edits(self) -> list[TextEdit]:
        programs = ProgramIndices(self.kernel, self.order.indices)
        slow, fast = programs.sites(self.order.slow), programs.sites(self.order.fast)
        if programs.other_uses(slow + fast):
            raise CannotRewrite("the program id is used for more than the two tile indices")
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

    # -- the extents ------------------------------------------------------------------------------------------------

    def _extents(self, slow: list[IndexSite], fast: list[IndexSite]) -> tuple[str, str]:
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

    def _add_constexpr(self, slow: list[IndexSite]) -> str:
        """Give the kernel a constexpr for the group, named after the tile that the slow index counts."""
        name = self.kernel.free_name(self._group_name(slow))
        self.editor.append_to(parameters(self.kernel.node), f"{name}: {self.place.tl}.constexpr = {self.group}")
        return name

    def _group_name(self, slow: list[IndexSite]) -> str:
        axis = self._axis_name(slow)
        return f"GROUP{axis}" if axis else "GROUP"

    def _axis_name(self, indices: list[IndexSite]) -> str:
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

    def _name_indices(self, slow: list[IndexSite], fast: list[IndexSite], call: str, why: str) -> None:
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
                if index.name == name and alone and isinstance(self.kernel.parent(index.node), cst.Assign):
                    self.editor.delete(line, heading=False)
                else:
                    self.editor.replace_whole(index.node, name)
        text = call.format(self.editor.code(slow[0].node), self.editor.code(fast[0].node))
        self.editor.insert_before(self.kernel.body[first], [why, f"{', '.join(names)} = {text}"])

    def _new_name(self, indices: list[IndexSite]) -> str:
        axis = self._axis_name(indices).lower().replace("_size", "")
        return self.kernel.free_name(f"pid{axis}" if axis else "tile")

    def _check_defined(self, sites: list[IndexSite], first: int) -> None:
        """Raise where a name that the indices are computed from is bound only behind the statement ``first``."""
        for site in sites:
            for node in walk(site.node):
                if isinstance(node, cst.Name):
                    for bound in self.kernel.bindings(node.value):
                        if self.kernel.top_level(bound) >= first:
                            raise CannotRewrite(f"`{node.value}` is not known where the first tile index is used")
