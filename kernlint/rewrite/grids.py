"""Launch grids: a tuple where a number stands, and as many programs as the tiles of the size need."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import LaunchSource
from kernlint.rewrite.mended_faults import mends
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.shortfalls import CoveringGrid
from kernlint.rules.faults import MendedFault
from kernlint.rules.proofs.bounds import Shortfall, shortfalls
from kernlint.syntax.names import variables
from kernlint.syntax.walk import walk
from kernlint.workload.expr import Expr, ProgramId, lift


@mends("bad-grid")
def grid_as_tuple(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``k[triton.cdiv(n, B)]`` becomes ``k[(triton.cdiv(n, B),)]``, and ``(n / B,)`` becomes ``(triton.cdiv(n, B),)``."""
    source = site.source
    place = LaunchSource(site, fault.place)
    function = place.call.func
    if not isinstance(function, cst.Subscript):
        raise CannotRewrite("the launch does not have the form kernel[grid](...)")
    grid, _ = place.grid_value(function)
    if grid is None or isinstance(grid, cst.Name):
        raise CannotRewrite("the grid is not written in this function")
    if isinstance(grid, (cst.Tuple, cst.List)):
        quotients = [e.value for e in grid.elements if _is(e.value, cst.Divide)]
        if not quotients:
            raise CannotRewrite("no extent of the grid is written as a quotient")
        return [edit for one in quotients for edit in _rounded_up(source, one)]
    start, end = source.whole(grid)
    if grid.lpar:
        return [TextEdit(end - 1, end - 1, ",")]
    return [TextEdit(start, start, "("), TextEdit(end, end, ",)")]


def _is(node: cst.BaseExpression, operator: type[cst.BaseBinaryOp]) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, operator)


def _rounded_up(source: Source, quotient: cst.BaseExpression) -> list[TextEdit]:
    """``n / B`` as ``triton.cdiv(n, B)``."""
    assert isinstance(quotient, cst.BinaryOperation)
    count, tile = (source.full_code(side) for side in (quotient.left, quotient.right))
    return [source.replace(quotient, f"{source.spelled('triton.cdiv')}({_bare(count)}, {_bare(tile)})")]


def _bare(text: str) -> str:
    """``text`` without one pair of parentheses around all of it."""
    inner = text[1:-1]
    return inner if text[:1] == "(" and text[-1:] == ")" and "(" not in inner and ")" not in inner else text


@codemod(
    CoveringGrid,
    Effects("unsafe", "changed", notes=("elements that were left out are computed, also where that was meant",)),
)
def covering_grid(site: Site, transform: CoveringGrid) -> list[TextEdit]:
    """The extent of the grid counts tiles of the size that the kernel steps by, rounded up."""
    short = next((s for s in shortfalls(site.workload) if s.launch.span == transform.launch and s.from_programs), None)
    if short is None:
        raise CannotRewrite("the grid covers the index")
    return _Grid(site, short).edits()


class _Grid:
    def __init__(self, site: Site, short: Shortfall) -> None:
        self.source = site.source
        self.short = short
        self.place = LaunchSource(site, short.launch.span)
        axes = [a for a in short.index.atoms() if isinstance(a, ProgramId)]
        step = short.index.coefficient(axes[0]) if len(axes) == 1 else None
        tile = step.value if step is not None else None
        if tile is None or tile < 2:
            raise CannotRewrite("the index of the kernel does not step by whole tiles of one axis of the grid")
        self.axis, self.tile = axes[0].axis, tile
        self.extents, _ = self.place.grid()
        if self.axis >= len(self.extents):
            raise CannotRewrite("the grid has no such axis")
        self.tuning = short.launch.tuning
        names = [n for n, v in short.launch.constexprs.items() if v == tile and not isinstance(v, bool)]
        if len(names) != 1:
            raise CannotRewrite(
                f"{'several constexprs are' if names else 'no constexpr is'} {tile}, the tile of the kernel"
            )
        (self.name,) = names

    def edits(self) -> list[TextEdit]:
        source, extent = self.source, self.extents[self.axis]
        head, tile = self._tile()
        if isinstance(extent, cst.Call) and (source.origin(extent.func) or "") in (
            "triton.cdiv",
            "triton.language.cdiv",
        ):
            if len(extent.args) != 2 or any(arg.keyword is not None or arg.star for arg in extent.args):
                raise CannotRewrite("the grid does not divide by a plain argument")
            return [*head, source.replace(extent.args[1].value, tile)]
        if _is(extent, cst.FloorDivide) and isinstance(extent, cst.BinaryOperation):
            if any(isinstance(n, (cst.Add, cst.Subtract)) for n in walk(extent.left)):
                raise CannotRewrite("the grid rounds in a way of its own")
            count = source.full_code(extent.left)
        elif isinstance(extent, cst.Integer):
            count = self._count()
        else:
            raise CannotRewrite("the grid is neither a number nor a division")
        return [*head, source.replace(extent, f"{source.spelled('triton.cdiv')}({_bare(count)}, {tile})")]

    def _tile(self) -> tuple[list[TextEdit], str]:
        """Further edits, and how the grid names the tile: as a value of the configuration, or as the launch does."""
        meta = self.place.grid_parameter()
        if meta:
            return [], f'{meta}["{self.name}"]'
        if self.tuning is None or self.name not in self.tuning.parameters:
            return [], self._text(self.name)
        function = self.place.call.func
        index = function.slice[0].slice if isinstance(function, cst.Subscript) and len(function.slice) == 1 else None
        value = index.value if isinstance(index, cst.Index) else None
        if value is None:
            raise CannotRewrite("the tile is tuned, and the grid is not written as one tuple")
        if isinstance(value, cst.Name):
            if len(self.place.host.reads(value.value)) != 1:
                raise CannotRewrite(f"`{value.value}` is read at several places, and the tile is tuned")
            value = self.place.host.resolved(value)
        start = self.source.whole(value)[0]
        name = "meta" if all(n.value != "meta" for n in variables(self.place.host.node)) else "META"
        return [TextEdit(start, start, f"lambda {name}: ")], f'{name}["{self.name}"]'

    def _count(self) -> str:
        """How the launch names the size that the mask bounds."""
        bound = self.short.bound
        given = self.short.launch.arguments
        names = [
            n for n, v in given.items() if isinstance(v, (int, Expr)) and not isinstance(v, bool) and lift(v) == bound
        ]
        if len(names) != 1:
            raise CannotRewrite(f"{'several arguments are' if names else 'no argument is'} the size {bound}")
        return self._text(names[0])

    def _text(self, parameter: str) -> str:
        """What the launch passes for a parameter, where it can be computed once more."""
        arg = self.place.argument(parameter)
        if arg is None:
            raise CannotRewrite(f"the launch does not say what `{parameter}` is")
        return self.source.full_code(arg.value)
