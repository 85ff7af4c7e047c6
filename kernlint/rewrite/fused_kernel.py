"""Several kernels put together as the text of one: which lines of each stay, under which names, with which parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.records import dataclass
from kernlint.rewrite.canonical import Canonical
from kernlint.rewrite.comments import text_of
from kernlint.rewrite.function import FunctionSource, LaunchSource, argument, parameters
from kernlint.rewrite.lists import MAX_LINE
from kernlint.rewrite.names import fresh_name
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite
from kernlint.syntax.walk import walk
from kernlint.workload import Tensor

#: A letter that no programmer types: it stands in names that are not settled yet.
_MARK = "\u02d1"


@dataclass
class Parameter:
    """A kernel parameter: ``declaration`` as the signature writes it, ``argument`` the text that the launch passes (None:
    nothing), ``value`` what that stands for, ``call`` the launch that does. ``keyword`` says that it is passed by name;
    ``comment`` stands behind the declaration."""

    name: str
    declaration: str
    kind: str
    argument: str | None
    value: Any
    keyword: bool
    call: cst.Call
    comment: str = ""


@dataclass
class Line:
    """A statement ``node`` of ``part``; or ``text`` made anew; or, with a ``target``, the expression ``node`` given to that
    variable, in parentheses where ``cast`` follows, under ``comments``."""

    part: Part | None
    node: cst.CSTNode | None
    text: str = ""
    target: str = ""
    cast: str = ""
    comments: tuple[str, ...] = ()


class Part:
    """One kernel of those that are put together.

    ``names`` maps its parameters and variables to those of the fused kernel, ``texts`` expressions to what stands in
    their place there, ``gone`` are the statements (by identity) that fall away. ``guarded`` are loads replaced by values
    that other lanes must not see. ``moved`` says that it works in another kernel's tile; ``given`` is what variables then
    hold there, as canonical text.
    """

    def __init__(self, source: Source, place: LaunchSource) -> None:
        self.source = source
        self.place = place
        self.launch = place.launch
        self.function: FunctionSource = place.kernel
        self.names: dict[str, str] = {}
        self.texts: dict[cst.CSTNode, str] = {}
        self.gone: set[int] = set()
        self.guarded: list[cst.Call] = []
        self.moved = False
        self.given: dict[str, str] = {}
        self.parameters = _parameters(source, place)
        for line in self.function.body:
            for node in walk(line):
                if isinstance(node, (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.Return, cst.While)):
                    raise CannotRewrite(f"`{self.name}` has control flow that cannot be moved")

    @property
    def name(self) -> str:
        return self.function.node.name.value

    @property
    def lines(self) -> list[cst.CSTNode]:
        """Its statements, without a docstring."""
        return [line for line in self.function.body if text_of(line) is None]

    @property
    def docstring(self) -> str:
        text = text_of(self.function.body[0])
        return " ".join(str(text.evaluated_value).split()) if text is not None else ""

    def value(self, node: cst.CSTNode) -> Any:
        """What an expression stands for at this launch."""
        return self.function.values.get(node)

    def block(self, node: cst.CSTNode) -> Block | None:
        value = self.value(node)
        return value if isinstance(value, Block) else None

    def locals(self) -> list[str]:
        """Names that the body binds, in order."""
        found: dict[str, None] = {}
        for line in self.function.body:
            for node in walk(line):
                if isinstance(node, cst.Name) and self.is_bound(node):
                    found[node.value] = None
        return list(found)

    def is_variable(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` is the name of a variable or parameter, rather than of an attribute or a keyword."""
        return isinstance(node, cst.Name) and node in self.function.parents and self.function.is_variable(node)

    def is_bound(self, node: cst.Name) -> bool:
        """Whether ``node`` is a variable that is given a value there."""
        return self.function.is_bound(node)

    def reads(self, node: cst.CSTNode) -> set[str]:
        """The variables read in ``node`` as it stands in the fused kernel, by their own names: what ``texts`` replaces
        is not read."""
        found = set()
        stack = [node]
        while stack:
            inner = stack.pop()
            if inner in self.texts:
                continue
            if isinstance(inner, cst.Name) and self.is_variable(inner):
                found.add(inner.value)
            stack += inner.children
        return found

    def render(self, node: cst.CSTNode, whole: bool = False, inside: bool = False) -> str:
        """The text of ``node`` in the fused kernel; with ``whole`` in its parentheses, with ``inside`` as it is written
        even where another text stands for it."""
        start, end = self.source.whole(node) if whole else self.source.range_of(node)
        pieces, position = [], start
        changes = (
            (change for child in node.children for change in self._changes(child)) if inside and node.children else ()
        )
        for first, last, text in sorted(changes or self._changes(node)):
            pieces += [self.source.text[position:first], text]
            position = last
        return "".join([*pieces, self.source.text[position:end]])

    def _changes(self, node: cst.CSTNode) -> Iterator[tuple[int, int, str]]:
        stack = [node]
        while stack:
            inner = stack.pop()
            if inner in self.texts:
                yield (*self.source.range_of(inner), self.texts[inner])
            elif isinstance(inner, cst.Name):
                if inner.value in self.names and self.is_variable(inner):
                    yield (*self.source.range_of(inner), self.names[inner.value])
            else:
                stack += inner.children

    # -- its accesses -----------------------------------------------------------------------------------------------

    def calls(self, name: str) -> list[cst.Call]:
        """The calls of ``tl.<name>`` in its own body, in source order."""
        return [
            node
            for line in self.function.body
            for node in walk(line)
            if isinstance(node, cst.Call) and self.source.origin(node.func) == f"triton.language.{name}"
        ]

    def base(self, call: cst.Call) -> str:
        """The pointer parameter that a load or store goes through."""
        pointer = argument(call, "pointer", 0)
        block = self.block(pointer) if pointer is not None else None
        if block is None or not block.base:
            raise CannotRewrite(f"a pointer of `{self.name}` was not followed")
        return block.base

    def storage(self, call: cst.Call) -> int | None:
        """The storage that a load or store touches."""
        tensor = self.launch.tensor(self.base(call))
        return tensor.storage.id if tensor is not None else None

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement of the kernel's own block that ``node`` stands in."""
        return self.function.body[self.function.top_level(node)]


def _parameters(source: Source, place: LaunchSource) -> dict[str, Parameter]:
    found = {}
    given = arguments(place)
    for param in parameters(place.kernel.node):
        name = param.name.value
        value: Any = place.launch.arguments.get(name, place.launch.constexprs.get(name))
        constexpr = param.annotation is not None and "constexpr" in source.code(param.annotation.annotation)
        kind = "tensor" if isinstance(value, Tensor) else "constexpr" if constexpr else "scalar"
        text, keyword = given.get(name, (None, False))
        end = source.item_end(param)
        comments = [c for c in source.comments_in(end, source.line_end(end)) if not c.own_line]
        found[name] = Parameter(
            name, source.text[source.start(param.name) : end], kind, text, value, keyword, place.call,
            comments[0].text if comments else "",
        )  # fmt: skip
    return found


def arguments(place: LaunchSource) -> dict[str, tuple[str | None, bool]]:
    """What the launch passes for each parameter: its text, and whether by name. ``**options`` counts for every parameter
    that it turns out to bind, as text ``**options``."""
    source = place.source
    names = [param.name.value for param in parameters(place.kernel.node)]
    found: dict[str, tuple[str | None, bool]] = {}
    stars = []
    for position, arg in enumerate(place.call.args):
        if arg.star == "**":
            stars.append(f"**{source.code(arg.value)}")
        elif arg.star:
            raise CannotRewrite("the launch unpacks a list of arguments")
        elif arg.keyword is not None:
            found[arg.keyword.value] = (source.code(arg.value), True)
        elif position < len(names):
            found[names[position]] = (source.code(arg.value), False)
    if stars:
        for name in place.launch.explicit:
            found.setdefault(name, (stars[0], True))
    return found


@dataclass
class FusedKernel:
    """The kernel that takes the place of ``parts``: its ``lines`` so far and its ``parameters`` by their new names.

    ``host`` is the part whose grid, decorators and options it keeps.
    """

    host: Part
    lines: list[Line] = field(default_factory=list)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    #: Names that the fused kernel has given out, and what each variable of it holds at the end.
    taken: set[str] = field(default_factory=set)
    number: int = 0
    settled: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    #: Where each load of a straight line stands.
    loads: dict[str, tuple[Part, cst.Call]] = field(default_factory=dict)

    @property
    def outside(self) -> set[str]:
        """Names that mean something to the kernels from outside."""
        return {name for part in self.parts for name in _outer_names(part)}

    @staticmethod
    def of(part: Part) -> FusedKernel:
        """``part`` alone."""
        fused = FusedKernel(part)
        fused.parameters = dict(part.parameters)
        fused.parts = [part]
        fused.taken = {*part.parameters, *part.locals(), *_outer_names(part)}
        fused.lines = [Line(part, node) for node in part.lines]
        fused.hold(part)
        return fused

    def fresh(self, wish: str) -> str:
        """A name of its own for what would best be called ``wish``; :meth:`settle` turns it into a readable one."""
        wish = wish.partition(_MARK)[0]
        if wish not in self.taken:
            self.taken.add(wish)
            return wish
        self.number += 1
        return f"{wish}{_MARK}{self.number}"

    def settle(self, text: str) -> str:
        """``text`` of the kernel with each name that :meth:`fresh` made replaced by what it was to be called, where
        nothing in it and in the module is called so, else with a number behind it. ``settled`` has the new names."""
        used = {word for word in _words(text) if _MARK not in word} | self.outside
        for word in dict.fromkeys(re.findall(rf"\w+{_MARK}\d+", text)):
            name = fresh_name(word.partition(_MARK)[0], used)
            self.settled[word] = name
            text = re.sub(rf"\b{word}\b", name, text)
        return text

    def hold(self, part: Part) -> None:
        """Remember what the variables of ``part`` hold after its last line."""
        values = Canonical(part)
        for name, value in values.bound.items():
            self.held.setdefault(value, part.names.get(name, name))
        for node, text in values.texts.items():
            if isinstance(node, cst.Call) and part.statement(node) is part.function.line(node):
                self.loads.setdefault(text, (part, node))

    def holder(self, value: str, wish: str) -> str | None:
        """The variable that holds ``value``; for a load in the middle of an expression one made for it, called ``wish``.
        None where nothing holds it."""
        if value not in self.held and value in self.loads:
            part, call = self.loads[value]
            position = next((i for i, one in enumerate(self.lines) if _contains(one, part, call)), None)
            if call in part.texts or position is None:
                return None
            name = self.fresh(wish)
            self.lines.insert(position, Line(None, None, f"{name} = {part.render(call)}"))
            part.texts[call] = name
            self.held[value] = name
        return self.held.get(value)

    # -- parameters -------------------------------------------------------------------------------------------------

    def adopt(self, part: Part, handed: Mapping[str, str]) -> None:
        """Give the parameters of ``part`` their names in the fused kernel: one that is passed the same text as one
        already there becomes that one; those in ``handed`` (to their values' names) are passed no more."""
        for name, parameter in part.parameters.items():
            if name in handed:
                continue
            known = self._same_parameter(parameter)
            if known is not None:
                part.names[name] = known
                continue
            new = self.fresh(name)
            part.names[name] = new
            declaration = re.sub(rf"^{re.escape(name)}\b", new, parameter.declaration)
            self.parameters[new] = Parameter(
                new, declaration, parameter.kind, parameter.argument, parameter.value, parameter.keyword,
                parameter.call, parameter.comment,
            )  # fmt: skip

    def _same_parameter(self, parameter: Parameter) -> str | None:
        for name, other in self.parameters.items():
            if other.kind != parameter.kind or other.argument is None or other.argument != parameter.argument:
                continue
            # One dictionary binds several parameters.
            if other.argument.startswith("**") and other.name != parameter.name:
                continue
            if other.value == parameter.value:
                return name
        return None

    # -- text -------------------------------------------------------------------------------------------------------

    def needed(self) -> list[Line]:
        """The lines without assignments of values that nothing reads any more."""
        kept: list[Line] = []
        wanted: set[str] = set()
        for line in reversed(self.lines):
            if line.part is not None and line.node is not None and id(line.node) in line.part.gone:
                continue
            bound, read = _effects(line)
            if bound is not None and bound not in wanted:
                continue
            wanted |= read
            kept.append(line)
        return kept[::-1]

    def used_parameters(self) -> list[Parameter]:
        """The parameters that some line still reads, pointers first, then numbers, then constexprs."""
        read = {name for line in self.needed() for name in _effects(line)[1]}
        order = {"tensor": 0, "scalar": 1, "constexpr": 2}
        return sorted((p for p in self.parameters.values() if p.name in read), key=lambda p: order[p.kind])

    def text_of(self, line: Line) -> str:
        """The text of a line with its comments, without indentation of its first column."""
        if line.part is None or line.node is None:
            return line.text
        if line.target:
            node = line.node
            open_ended = line.cast and not isinstance(node, (cst.Name, cst.Call, cst.Attribute, cst.Subscript))
            value = line.part.render(node, whole=bool(line.cast), inside=True)
            value = f"({value})" if open_ended and not getattr(node, "lpar", ()) else value
            return "\n".join([*line.comments, f"{line.target} = {value}{line.cast}"])
        source = line.part.source
        body = line.part.render(line.node)
        indent = source.indent(source.start(line.node))
        end = source.end(line.node)
        trailing = [c for c in source.comments_in(end, source.line_end(end)) if not c.own_line]
        tail = f"  {trailing[0].text}" if trailing and "\n" not in source.text[end : trailing[0].start] else ""
        rows = (body + tail).replace("\r\n", "\n").split("\n")
        rows = [rows[0], *(row.removeprefix(indent) for row in rows[1:])]
        return "\n".join([*heading(source, line.node), *rows])


def heading(source: Source, node: cst.CSTNode) -> list[str]:
    """The comment lines directly above a statement, and an empty one before them where there is one in the source."""
    line = source.first_line(node)
    found = [comment.text for comment in source.comments_above(line)]
    line -= len(found)
    above = source.text[source.line_start(line - 1) : source.line_start(line)] if line > 0 else "x"
    return ["", *found] if not above.strip() and not isinstance(node, cst.FunctionDef) else found


def _effects(line: Line) -> tuple[str | None, set[str]]:
    """(the variable that a line binds and does nothing else, None for other lines; the variables that it reads)."""
    if line.part is None or line.node is None:
        code = "\n".join(row for row in line.text.split("\n") if not row.startswith("#"))
        match = re.match(r"(\w+) = (.*)", code, re.DOTALL)
        return (match[1] if match else None), _words(match[2] if match else code)
    part = line.part
    if line.target:
        inner = line.node.children or [line.node]
        return line.target, {name for child in inner for name in _read(part, child)}
    target = assigned(line.node)
    if target is None or _acts(part, line.node):
        return None, _read(part, line.node)
    return part.names.get(target, target), _read(part, line.node.body[0].value)  # type: ignore[attr-defined]


def _read(part: Part, node: cst.CSTNode) -> set[str]:
    """The names that the text of ``node`` in the fused kernel reads."""
    read = {part.names.get(name, name) for name in part.reads(node)}
    for inner in walk(node):
        if inner in part.texts:
            read |= _words(part.texts[inner])
    return {word for name in read for word in _words(name)}


def _contains(line: Line, part: Part, call: cst.Call) -> bool:
    if line.part is not part or line.node is None or id(line.node) in part.gone:
        return False
    return any(node is call for node in walk(line.node))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d]\w*", text))


def assigned(line: cst.CSTNode) -> str | None:
    """The one variable that a line gives a value to, and does nothing else."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    statement = line.body[0]
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
        return target.value if isinstance(target, cst.Name) else None
    return None


def _acts(part: Part, line: cst.CSTNode) -> bool:
    """Whether a line stores, or calls something that may."""
    for node in walk(line):
        if isinstance(node, cst.Call) and node not in part.texts:
            origin = part.source.origin(node.func) or ""
            method = isinstance(node.func, cst.Attribute) and part.value(node.func.value) is not None
            if not (origin.startswith("triton.language.") or method) or "atomic" in origin or origin.endswith(".store"):
                return True
    return False


def _outer_names(part: Part) -> set[str]:
    """The names that the kernel reads and does not bind: modules, helpers, constants."""
    own = {*part.parameters, *part.locals()}
    return {name for line in part.function.body for name in part.reads(line)} - own


def wrapped(head: str, items: list[tuple[str, str]], tail: str, indent: str) -> str:
    """``head(items)tail`` on one line where it fits, else with the items on a line of their own, or one item a line, as
    those with comments are."""
    texts = [text for text, _ in items]
    commented = any(comment for _, comment in items)
    flat = f"{indent}{head}({', '.join(texts)}){tail}"
    if len(flat) <= MAX_LINE and not commented:
        return flat
    row = f"{indent}    {', '.join(texts)}"
    if len(row) <= MAX_LINE and not commented:
        return "\n".join([f"{indent}{head}(", row, f"{indent}){tail}"])
    rows = [f"{indent}    {text}," + (f"  {comment}" if comment else "") for text, comment in items]
    return "\n".join([f"{indent}{head}(", *rows, f"{indent}){tail}"])
