"""A variance in one pass over the row: Welford's update in each lane, and a merge of the lanes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.records import dataclass
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import LaunchSource, argument
from kernlint.rewrite.names import fresh_name, names_in_use
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.symbolic import Tree, argument_of, assign, calls, contains, tree
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rewrite.tile_length import tile_length
from kernlint.rules.algorithm.kl504_two_pass_variance import OnePass
from kernlint.syntax.names import bound_by
from kernlint.syntax.walk import walk


@dataclass(frozen=True)
class _Sum:
    """``statement`` of a loop adds ``term`` to ``name``; ``scalar`` where the term is summed over the tile first."""

    statement: cst.AugAssign | cst.Assign
    name: str
    term: Tree
    node: cst.BaseExpression
    scalar: bool


@codemod(OnePass, Effects(numerics="reordered"))
def one_pass_variance(site: Site, transform: OnePass) -> list[TextEdit]:
    """The first loop keeps count, mean and sum of squared deviations of each lane; what the second loop added up follows
    from these: the sum of ``(v - c) ** 2`` over a lane is ``m2 + count * (mean - c) ** 2``."""
    place = LaunchSource(site, transform.launch)
    source = site.source
    first, second = (source.at(span, cst.For) for span in (transform.first, transform.second))
    if first not in place.kernel.parents or second not in place.kernel.parents:
        raise CannotRewrite("the loops stand in a helper function")
    return _Welford(source, place, first, second).edits()


class _Welford:
    def __init__(self, source: Source, place: LaunchSource, first: cst.For, second: cst.For) -> None:
        self.source = source
        self.place = place
        self.kernel = place.kernel
        self.first = first
        self.second = second
        for loop in (first, second):
            if not isinstance(loop.body, cst.IndentedBlock) or loop.orelse is not None:
                raise CannotRewrite("a loop is not a plain block")
            if any(isinstance(node, (cst.If, cst.For, cst.While)) for node in walk(loop.body)):
                raise CannotRewrite("a loop's body branches")
        self.deviations, centre, self.value = self._deviations()
        self.centre = centre
        self.total = self._total()
        self.mask = self._mask_text()
        taken = names_in_use(source.module)
        wishes = ("count", "lane_mean", "m2", "steps", "delta", "new_mean", "deviation", "value")
        self.names = {wish: fresh_name(wish, taken) for wish in wishes}

    # -- what the loops do ------------------------------------------------------------------------------------------

    def _statements(self, loop: cst.For) -> Iterator[cst.CSTNode]:
        for line in loop.body.body:
            yield from line.body if isinstance(line, cst.SimpleStatementLine) else (line,)

    def _sums(self, loop: cst.For) -> list[_Sum]:
        """The accumulations of a loop, with their terms written out."""
        known: dict[str, Tree] = {}
        for node in walk(loop.target):
            if isinstance(node, cst.Name):
                known[node.value] = ("index",)
        found = []
        for statement in self._statements(loop):
            added = self._added(statement)
            if added is not None:
                name, node = added
                term = _plain(tree(self.source, node, known))
                inner = argument_of(term, "input") if calls(term, "sum") else None
                found.append(_Sum(statement, name, _plain(inner or term), node, inner is not None))  # type: ignore[arg-type]
            assign(self.source, statement, known)
        return found

    def _added(self, statement: cst.CSTNode) -> tuple[str, cst.BaseExpression] | None:
        """(variable, value) where a statement adds the value to a variable that the loop carries."""
        if isinstance(statement, cst.AugAssign) and isinstance(statement.operator, cst.AddAssign):
            target = statement.target
            return (target.value, statement.value) if isinstance(target, cst.Name) else None
        if isinstance(statement, cst.Assign) and isinstance(statement.value, cst.BinaryOperation):
            target, value = statement.targets[0].target, statement.value
            if isinstance(target, cst.Name) and isinstance(value.operator, cst.Add):
                if isinstance(value.left, cst.Name) and value.left.value == target.value:
                    return target.value, value.right
                if isinstance(value.right, cst.Name) and value.right.value == target.value:
                    return target.value, value.left
        return None

    def _deviations(self) -> tuple[_Sum, str, Tree]:
        """The second loop's sum of squares, the variable that it takes the difference from, and the value it loads."""
        sums = self._sums(self.second)
        bound = {name.value for s in self._statements(self.second) for name in bound_by(s)}
        if len(sums) != 1:
            raise CannotRewrite("the second loop adds up more than one thing")
        inside = {id(node) for node in walk(self.second)}
        for name in bound - {sums[0].name}:
            end = self.source.end(self.second)
            for read in self.kernel.reads(name):
                if id(read) not in inside and self.source.start(read) > end and not self._rebound(name, read):
                    raise CannotRewrite(f"`{name}` of the second loop is read after it")
        squared = _unmasked(sums[0].term)
        base = squared[1] if squared[0] in ("Multiply", "Power") else None
        power = squared[0] == "Power" and squared[2] == ("number", 2.0)
        if base is None or not (power or squared[2] == base):
            raise CannotRewrite("the second loop does not add up squares")
        difference = _unmasked(base)
        if difference[0] != "Subtract" or difference[2][0] != "name" or "." in difference[2][1]:
            raise CannotRewrite("the second loop does not square differences from a variable")
        value = _plain(difference[1])
        if not calls(value, "load") or contains(difference[2], ("index",)):
            raise CannotRewrite("the second loop does not subtract from what it loads")
        mask = argument_of(value, "mask")
        masks = {m for one in (sums[0].term, base) for m in [_mask_of(one)] if m is not None}
        if mask is not None and masks != {mask}:
            raise CannotRewrite("the second loop also counts lanes that its load leaves out")
        return sums[0], difference[2][1], value

    def _rebound(self, name: str, read: cst.Name) -> bool:
        """Whether ``name`` is given another value between the second loop and ``read``."""
        end = self.source.end(self.second)
        return any(end < self.source.start(one) < self.source.start(read) for one in self.kernel.bindings(name))

    def _total(self) -> _Sum:
        found = [one for one in self._sums(self.first) if one.term == self.value]
        if len(found) != 1:
            raise CannotRewrite("the first loop does not add up the same values")
        inside = {id(node) for node in walk(self.first)} - {id(node) for node in walk(found[0].statement)}
        if any(id(read) in inside for read in self.kernel.reads(found[0].name)):
            raise CannotRewrite(f"`{found[0].name}` is read in the loop that adds it up")
        return found[0]

    def _mask_text(self) -> str | None:
        for node in walk(self.first.body):
            if isinstance(node, cst.Call) and self.source.origin(node.func) == "triton.language.load":
                mask = argument(node, "mask", 1)
                if argument_of(self.value, "mask") is None:
                    return None
                if mask is not None:
                    return self.source.code(mask)
        return None

    # -- the new text -----------------------------------------------------------------------------------------------

    def edits(self) -> list[TextEdit]:
        source, names = self.source, self.names
        tile, start = self._tile()
        edits = self._initial(start, tile)
        edits.append(self._update())
        count = names["steps"] if self.mask is None else names["count"]
        edits += self._after_first(f"{names['lane_mean']} * {count}")
        squares = f"{names['m2']} + {count} * {names['deviation']} * {names['deviation']}"
        lines = [f"{names['deviation']} = {names['lane_mean']} - {self.centre}"]
        final = f"{self.place.tl}.sum({squares}, axis=0)" if self.deviations.scalar else squares
        lines.append(f"{self.deviations.name} = {final}")
        indent = source.indent(source.start(self.second))
        end = source.line_end(source.end(self.second))
        text = f"\n{indent}".join(lines)
        edits.append(TextEdit(source.start(self.second), end, f"{text}\n", describes=True))
        return [*edits, *self._without_start(self.deviations.name)]

    def _tile(self) -> tuple[str, cst.Assign | None]:
        """(The text of a tile of zeros; the statement that starts the sum of the first loop)."""
        start = self._start(self.total.name)
        if start is not None and not self.total.scalar and isinstance(start.value, cst.Call):
            return self.source.code(start.value), start
        lengths = {
            block.shape[0]
            for node in walk(self.first.body)
            if isinstance(node, cst.Call)
            and isinstance(block := self.kernel.values.get(node), Block)
            and len(block.shape) == 1
        }
        if len(lengths) != 1:
            raise CannotRewrite("the first loop has no tile of one length")
        length = tile_length(self.source, self.kernel, lengths.pop())
        return f"{self.place.tl}.zeros([{length}], dtype={self.place.tl}.float32)", start

    def _start(self, name: str) -> cst.Assign | None:
        """The assignment that starts a sum, where it is one of its own before the loop."""
        bound = [one for one in self.kernel.bindings(name) if isinstance(one, cst.Assign)]
        before = [one for one in bound if self.source.end(one) <= self.source.start(self.first)]
        if len(before) != 1 or not isinstance(before[0].targets[0].target, cst.Name):
            return None
        return before[0]

    def _initial(self, start: cst.Assign | None, tile: str) -> list[TextEdit]:
        source, names = self.source, self.names
        lines = [f"{names['lane_mean']} = {tile}", f"{names['m2']} = {tile}", f"{names['steps']} = 0.0"]
        if self.mask is not None:
            lines.insert(0, f"{names['count']} = {tile}")
        lines.insert(0, "# Welford's update: one running mean and sum of squared deviations per lane")
        edits = []
        if start is not None:
            edits += [source.delete_comment(comment) for comment in source.heading(start)]
            edits += source.delete_statements([start])
        edits.append(source.insert_before(self.first, *lines))
        return edits

    def _update(self) -> TextEdit:
        source, n, mask = self.source, self.names, self.mask
        node = self.total.node
        if self.total.scalar and isinstance(node, cst.Call):
            node = node.args[0].value
        lines = []
        value = source.code(node)
        if not isinstance(node, cst.Name):
            value = n["value"]
            lines.append(f"{value} = {source.code(node)}")
        lines += [f"{n['steps']} += 1.0", f"{n['delta']} = {value} - {n['lane_mean']}"]
        mean = f"{n['lane_mean']} + {n['delta']} * (1.0 / {n['steps']})"
        if mask is None:
            lines += [
                f"{n['lane_mean']} = {mean}",
                f"{n['m2']} += {n['delta']} * ({value} - {n['lane_mean']})",
            ]
        else:
            tl = self.place.tl
            inside = mask if mask.isidentifier() else f"({mask})"
            lines += [
                f"{n['new_mean']} = {mean}",
                f"{n['m2']} = {tl}.where({mask}, {n['m2']} + {n['delta']} * ({value} - {n['new_mean']}), {n['m2']})",
                f"{n['lane_mean']} = {tl}.where({mask}, {n['new_mean']}, {n['lane_mean']})",
                f"{n['count']} += {inside}.to({tl}.float32)",
            ]
        indent = source.indent(source.start(self.total.statement))
        return source.replace(self.total.statement, f"\n{indent}".join(lines))

    def _after_first(self, total: str) -> list[TextEdit]:
        """The sum of the first loop, from the lanes: where it is read, or in a line behind the loop."""
        name = self.total.name
        text = f"{self.place.tl}.sum({total}, axis=0)" if self.total.scalar else total
        end = self.source.end(self.first)
        reads = [read for read in self.kernel.reads(name) if self.source.start(read) > end]
        inside = {id(node) for node in walk(self.total.statement)}
        if len(reads) == 1 and id(reads[0]) not in inside:
            alone = isinstance(self.kernel.parents[reads[0]], cst.Arg) or self.total.scalar
            return [self.source.replace(reads[0], text if alone else f"({text})")]
        return [self.source.insert_after(self.first, f"{name} = {text}")]

    def _without_start(self, name: str) -> list[TextEdit]:
        """Edits that take the start of the second loop's sum away."""
        bound = [one for one in self.kernel.bindings(name) if isinstance(one, cst.Assign)]
        start = self.source.start(self.second)
        before = [one for one in bound if self.source.end(one) <= start and one is not self.deviations.statement]
        if len(before) != 1:
            return []
        return self.source.delete_statements(before)


def _plain(one: Tree) -> Tree:
    """A tree without casts to fp32, in which all sums are taken."""
    if one[0] == "call" and one[1][0] == "attribute" and one[1][1] == "to":
        arguments = dict(one[2])
        if list(arguments.values()) == [("name", "triton.language.float32")]:
            return _plain(one[1][2])
    return tuple(
        _plain(part) if isinstance(part, tuple) and part and isinstance(part[0], str) else part for part in one
    )


def _unmasked(one: Tree) -> Tree:
    """What ``tl.where(mask, x, 0)`` picks; other trees as they are."""
    if calls(one, "where") and argument_of(one, "y") == ("number", 0.0):
        return argument_of(one, "x") or one
    return one


def _mask_of(one: Tree) -> Tree | None:
    return argument_of(one, "condition") if _unmasked(one) is not one else None
