"""Kernels that take a tensor for contiguous are given its strides.

``x_ptr + row * N + column`` becomes ``x_ptr + x_row + column``, where ``x_row`` takes the row number apart into the index of
every axis but the last and puts it together by strides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from kernlint.records import dataclass
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.function import LaunchSource, parameters
from kernlint.rewrite.names import fresh_name, names_in_use
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.syntax.names import dotted_name
from kernlint.workload import Expr, Load, Tensor, Workload
from kernlint.workload.expr import lift

#: Characters of a line from which on it is broken.
_LONGEST = 120


def pass_strides(site: Site, after: Workload, wrong: Sequence[tuple[int, str]]) -> list[TextEdit]:
    """Edits that let the kernels of the launches in ``wrong`` address those parameters through strides; ``after`` is what
    the program does without the copies. Raises :class:`CannotRewrite`."""
    editor = Editor(site.source)
    by_launch: dict[int, list[str]] = {}
    for index, name in wrong:
        by_launch.setdefault(index, []).append(name)
    for index, names in by_launch.items():
        launch = LaunchSource(site, site.workload.launches()[index].span)
        launch.check_only_launch()
        taken = names_in_use(site.module)
        added = [_Strided(editor, launch, name, after.launches()[index].tensor(name), taken).edit() for name in names]
        _pass(editor, launch, [pair for pairs in added for pair in pairs])
    return editor.edits


@dataclass(frozen=True)
class _Term:
    """A summand of a pointer; ``through`` are the names that it stands behind, outermost first."""

    node: cst.BaseExpression
    through: tuple[cst.Name, ...]


class _Strided:
    """Makes the loads of ``launch`` from ``parameter`` go through the strides of ``view``."""

    def __init__(
        self, editor: Editor, launch: LaunchSource, parameter: str, view: Tensor | None, taken: set[str]
    ) -> None:
        self.editor, self.launch, self.parameter, self.taken = editor, launch, parameter, taken
        self.kernel = launch.kernel
        self.name = re.sub(r"_?(?:ptr|pointer)$", "", parameter, flags=re.IGNORECASE).lower() or parameter.lower()
        if view is None or view.shape is None or view.strides is None or len(view.shape) < 2:
            raise CannotRewrite(f"the layout of `{parameter}` is not known")
        self.view = view
        self.rank = len(view.shape)
        self.rows: dict[str, str] = {}
        self.unit = view.strides[-1] == 1
        #: Parts of addresses that are written anew.
        self.replaced: list[cst.BaseExpression] = []
        #: Parameters to add to the kernel, with the arguments to pass for them.
        self.passed: dict[str, str] = {}

    def edit(self) -> list[tuple[str, str]]:
        launch = self.launch.launch
        argument = self.launch.argument(self.parameter)
        tensor = dotted_name(argument.value) if argument is not None else None
        if tensor is None:
            raise CannotRewrite(f"what is passed for `{self.parameter}` has no name to take strides of")
        self.tensor = tensor
        for access, _ in launch.kernel.walk():
            if getattr(access, "base", None) != self.parameter:
                continue
            if not isinstance(access, Load):
                raise CannotRewrite(
                    f"`{launch.kernel.name}` writes to `{self.parameter}`, which it takes for contiguous"
                )
            call = self.launch.source.at(access.span, cst.Call)
            if self.launch.source.function(call) is not self.kernel.node or not call.args or call.args[0].star:
                raise CannotRewrite(f"`{self.parameter}` is loaded in a helper that takes it for contiguous")
            self._load(call.args[0].value)
        return list(self.passed.items())

    def _load(self, pointer: cst.BaseExpression) -> None:
        terms = list(self._terms(pointer, ()))
        if not any(isinstance(t.node, cst.Name) and t.node.value == self.parameter for t in terms):
            raise CannotRewrite(f"the address of `{self.parameter}` is not written as a sum")
        rows = [(term, row) for term in terms if (row := self._row(term.node)) is not None]
        if len(rows) != 1 or not self.unit:
            raise CannotRewrite(f"the rows of `{self.parameter}` were not recognised in its address")
        ((term, row),) = rows
        texts = {id(term): self._strided_row(row)}
        # What another caller passes may have a gap behind each element.
        step = self._parameter("stride", self.rank - 1)
        texts |= {id(t): f"{self.editor.operand(t.node)} * {step}" for t in terms if t is not term}
        shared = next((n for n in term.through if not self._reaches_parameter(n)), None)
        # Where other tensors use this name too its terms are written out here.
        inside = [t for t in terms if shared is not None and any(n is shared for n in t.through)]
        if shared is not None:
            self.editor.replace_whole(shared, " + ".join(texts[id(t)] for t in inside))
        for one in terms:
            itself = isinstance(one.node, cst.Name) and one.node.value == self.parameter
            if not itself and not any(one is t for t in inside):
                self._replace(one, texts[id(one)])

    def _replace(self, term: _Term, text: str) -> None:
        """Write ``text`` for ``term``, once where several loads share it."""
        if not any(term.node is one for one in self.replaced):
            if any(not self._reaches_parameter(name) for name in term.through):
                raise CannotRewrite(f"the address of `{self.parameter}` is made of parts that others use")
            self.replaced.append(term.node)
            self.editor.replace_whole(term.node, text)

    def _terms(self, node: cst.BaseExpression, through: tuple[cst.Name, ...]) -> Iterator[_Term]:
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            yield from self._terms(node.left, through)
            yield from self._terms(node.right, through)
            return
        found = self.kernel.definition(node.value) if isinstance(node, cst.Name) else None
        sums = isinstance(found, cst.BinaryOperation) and isinstance(found.operator, cst.Add)
        followed = found is not None and len(through) < 8 and (sums or self._row(found) is not None)
        if isinstance(node, cst.Name) and found is not None and followed:
            yield from self._terms(found, (*through, node))
            return
        yield _Term(node, through)

    def _reaches_parameter(self, name: cst.Name) -> bool:
        found = self.kernel.definition(name.value)
        terms = self._terms(found, ()) if found is not None else iter(())
        return any(isinstance(t.node, cst.Name) and t.node.value == self.parameter for t in terms)

    def _row(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The row number in ``row * N``, where N is the extent of the last axis."""
        if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Multiply):
            return None
        for row, width in ((node.left, node.right), (node.right, node.left)):
            if self._is_width(width):
                return row
        return None

    def _is_width(self, node: cst.BaseExpression) -> bool:
        shape = self.view.shape or ()
        if not isinstance(node, cst.Name):
            return False
        launch = self.launch.launch
        value = launch.constexprs.get(node.value, launch.arguments.get(node.value))
        return isinstance(value, (int, Expr)) and lift(value) == lift(shape[-1])

    def _strided_row(self, row: cst.BaseExpression) -> str:
        """The name of the row's offset, as broadcast as the row was."""
        base, suffix = row, ""
        if isinstance(row, cst.Subscript):
            base = row.value
            start, end = self.editor.source.whole(base)[1], self.editor.source.end(row)
            suffix = self.editor.source.text[start:end]
        number = self.editor.operand(base)
        if number not in self.rows:
            self.rows[number] = fresh_name(f"{self.name}_row", self.taken)
            self._define(self.rows[number], number, row)
        return self.rows[number] + suffix

    def _define(self, name: str, number: str, row: cst.BaseExpression) -> None:
        axes = self.rank - 1
        sizes = [""] + [self._parameter("size", axis) for axis in range(1, axes)]
        strides = [self._parameter("stride", axis) for axis in range(axes)]
        terms = []
        for axis in range(axes):
            below = sizes[axis + 1 :]
            divisor = " * ".join(below) if len(below) == 1 else f"({' * '.join(below)})"
            index = f"{number} // {divisor}" if below else number
            if axis > 0:
                index = f"{index} % {sizes[axis]}"
            terms.append(f"({index}) * {strides[axis]}" if index != number else f"{index} * {strides[axis]}")
        statement = self.kernel.line(row)
        comment = f"# {self.parameter} is read through its strides: its rows count the other axes."
        self.editor.insert_before(statement, [comment, f"{name} = {' + '.join(terms)}"])

    def _parameter(self, kind: str, axis: int) -> str:
        wish = f"{self.name}_{kind}{axis}"
        known = next((name for name, value in self.passed.items() if value == self._value(kind, axis)), None)
        if known is None:
            known = fresh_name(wish, self.taken)
            self.passed[known] = self._value(kind, axis)
        return known

    def _value(self, kind: str, axis: int) -> str:
        return f"{self.tensor}.shape[{axis}]" if kind == "size" else f"{self.tensor}.stride({axis})"


def _pass(editor: Editor, launch: LaunchSource, added: list[tuple[str, str]]) -> None:
    """Give the kernel the parameters ``added``, before its constexprs, and the launch their values."""
    params = parameters(launch.kernel.node)
    first = next((i for i, p in enumerate(params) if p.annotation is not None or p.default is not None), len(params))
    if first == 0:
        raise CannotRewrite("the kernel has no plain parameter")
    editor.insert_behind(params[first - 1], ", ".join(name for name, _ in added))
    before = launch.call.args[:first]
    if len(before) < first or any(arg.keyword is not None or arg.star for arg in before):
        editor.append_to(launch.call.args, ", ".join(f"{name}={value}" for name, value in added))
    else:
        editor.insert_behind(before[-1], ", ".join(value for _, value in added))
    editor.break_long_call(launch.call, _LONGEST)
    editor.break_long_def(launch.kernel.node, _LONGEST)
