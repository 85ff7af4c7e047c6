"""A kernel stores to the tensor that its result used to be copied over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from kernlint.records import dataclass
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import LaunchSource, parameters
from kernlint.rewrite.lists import change_parameters
from kernlint.rewrite.paragraphs import stale_headings
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.memory.kl303_copied_back import WriteInPlace
from kernlint.syntax.walk import walk
from kernlint.workload import Span


@dataclass(frozen=True)
class _Output:
    """``parameter`` was passed the temporary ``name``, and ``copy`` put that over ``target``."""

    parameter: str
    name: str
    target: str
    copy: cst.CSTNode


@codemod(WriteInPlace, Effects(memory="less"))
def write_in_place(site: Site, transform: WriteInPlace) -> list[TextEdit]:
    """The launch gets the original tensors as its outputs, through the parameter it reads them by where it has one; the
    temporaries and the copies go."""
    edits: list[TextEdit] = []
    for span in dict.fromkeys(launch for launch, _, _, _ in transform.outputs):
        chosen = [output for output in transform.outputs if output[0] == span]
        edits += _one_launch(site, span, [parameter for _, _, parameter, _ in chosen], transform.copies)
    return edits


def _one_launch(site: Site, span: Span, names: Sequence[str], copies: Iterable[Span]) -> list[TextEdit]:
    source = site.source
    place = LaunchSource(site, span)
    if place.launch.autotuned:
        raise CannotRewrite("the autotuner would make the update once for each configuration that it tries")
    passed = {name: _argument(place, name) for name in names}
    outputs = [
        output
        for copy in copies
        for output in [_copied(source, place, copy, passed)]
        if output is not None
    ]  # fmt: skip
    if {output.parameter for output in outputs} != set(names):
        raise CannotRewrite("a copy back stands in another function than the launch")
    gone = [place.host.line(output.copy) for output in outputs]
    edits, allocations = _allocations(source, place, outputs, gone)
    edits += source.delete_statements([*(output.copy for output in outputs), *allocations])
    edits += stale_headings(source, [*gone, *(place.host.line(node) for node in allocations)])
    return [*edits, *_pass_originals(source, place, outputs)]


def _argument(place: LaunchSource, name: str) -> cst.Arg:
    found = place.argument(name)
    if found is None or not isinstance(found.value, cst.Name):
        raise CannotRewrite(f"what the launch passes as `{name}` is not a variable")
    return found


def _copied(source: Source, place: LaunchSource, copy: Span, passed: dict[str, cst.Arg]) -> _Output | None:
    """The output that ``copy`` (``target.copy_(name)`` or ``target[...] = name``) puts in its place."""
    for node in walk(place.host.node.body):
        found: tuple[cst.CSTNode, cst.BaseExpression, cst.BaseExpression] | None = None
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "copy_":
            found = (node, node.func.value, node.args[0].value) if node.args else None
        elif isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Subscript):
            found = (node, node.targets[0].target.value, node.value)
        places = [node, node.targets[0].target, node.targets[0]] if isinstance(node, cst.Assign) else [node]
        if found is None or all(source.module.span(place) != copy for place in places):
            continue
        statement, target, value = found
        line = place.host.line(node)
        plain = isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], (cst.Expr, cst.Assign))
        if not plain or len(line.body.body if isinstance(line.body, cst.BaseSuite) else line.body) != 1:
            raise CannotRewrite("the copy back is part of a larger statement")
        for parameter, arg in passed.items():
            if isinstance(value, cst.Name) and isinstance(arg.value, cst.Name) and value.value == arg.value.value:
                return _Output(parameter, value.value, source.code(target), statement)
    return None


def _allocations(
    source: Source, place: LaunchSource, outputs: Sequence[_Output], gone: Sequence[cst.CSTNode]
) -> tuple[list[TextEdit], list[cst.CSTNode]]:
    """(Edits that shorten a tuple assignment, statements to delete): where the temporaries are allocated."""
    edits: list[TextEdit] = []
    deleted: list[cst.CSTNode] = []
    shortened: dict[int, tuple[cst.Assign, set[str]]] = {}
    ignored = {id(node) for line in (*gone, place.call) for node in walk(line)}
    for output in outputs:
        bound = place.host.bindings(output.name)
        if any(id(read) not in ignored for read in place.host.reads(output.name)):
            raise CannotRewrite(f"`{output.name}` is used for more than the copy")
        if len(bound) != 1 or not isinstance(bound[0], cst.Assign) or len(bound[0].targets) != 1:
            raise CannotRewrite(f"`{output.name}` is not allocated by a statement of its own")
        target = bound[0].targets[0].target
        if isinstance(target, cst.Name):
            deleted.append(bound[0])
        elif isinstance(target, (cst.Tuple, cst.List)) and isinstance(bound[0].value, (cst.Tuple, cst.List)):
            shortened.setdefault(id(bound[0]), (bound[0], set()))[1].add(output.name)
        else:
            raise CannotRewrite(f"`{output.name}` is not allocated by a statement of its own")
    for assign, names in shortened.values():
        target, value = assign.targets[0].target, assign.value
        assert isinstance(target, (cst.Tuple, cst.List)) and isinstance(value, (cst.Tuple, cst.List))
        pairs = list(zip(target.elements, value.elements))
        kept = [(a, b) for a, b in pairs if not (isinstance(a.value, cst.Name) and a.value.value in names)]
        if not kept:
            deleted.append(assign)
            continue
        left = ", ".join(source.code(a.value) for a, _ in kept)
        right = ", ".join(source.code(b.value) for _, b in kept)
        edits.append(source.replace(assign, f"{left} = {right}"))
    return edits, deleted


def _pass_originals(source: Source, place: LaunchSource, outputs: Sequence[_Output]) -> list[TextEdit]:
    """The launch and the kernel with the original tensors as outputs."""
    twins = _twins(source, place, outputs)
    if twins is None:
        return [source.replace(_argument(place, o.parameter).value, o.target) for o in outputs]
    edits = change_parameters(source, place, (), tuple(twins))
    for name, twin in twins.items():
        edits += [source.replace(read, twin) for read in place.kernel.reads(name)]
    return edits


def _twins(source: Source, place: LaunchSource, outputs: Sequence[_Output]) -> dict[str, str] | None:
    """For each output the parameter that is passed the original already; None where the signature has to stay: another
    launch, or a parameter without such a twin."""
    try:
        place.check_only_launch()
    except CannotRewrite:
        return None
    found: dict[str, str] = {}
    names = [param.name.value for param in parameters(place.kernel.node)]
    for output in outputs:
        twin = next(
            (
                name
                for name in names
                for arg in [place.argument(name)]
                if name != output.parameter and arg is not None and source.code(arg.value) == output.target
            ),
            None,
        )
        rebound = place.kernel.bindings(output.parameter) or (twin and place.kernel.bindings(twin))
        if twin is None or rebound:
            return None
        found[output.parameter] = twin
    return found
