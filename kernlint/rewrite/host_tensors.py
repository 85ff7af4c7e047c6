"""Tensors at their launch: contiguous where the kernel takes them to be, on the device that the launch is for."""

from __future__ import annotations

import re

import libcst as cst

from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import LaunchSource
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.kl771_assumes_contiguous import MadeContiguous
from kernlint.rules.correctness.kl772_output_layout_follows_input import ContiguousOutput
from kernlint.rules.correctness.kl773_launch_without_device_guard import OnDeviceOf
from kernlint.syntax.walk import walk
from kernlint.workload import Atomic, Store


@codemod(MadeContiguous, Effects(memory="more"))
def made_contiguous(site: Site, transform: MadeContiguous) -> list[TextEdit]:
    """``x = x.contiguous()`` in front of the launch, for a tensor that no kernel of the call writes; the argument alone where
    the function does more with ``x`` afterwards, which is to see the caller's tensor."""
    place = LaunchSource(site, transform.launch)
    tensor = place.launch.tensor(transform.parameter)
    launches = site.workload.launches()
    if tensor is not None and any(one.accesses(tensor.storage.id, (Store, Atomic)) for one in launches):
        raise CannotRewrite(f"`{transform.parameter}` is written: a copy of it would take the result")
    arg = place.argument(transform.parameter)
    if arg is None or not isinstance(arg.value, cst.Name):
        raise CannotRewrite("the tensor has no name at the launch")
    name = arg.value.value
    if _may_change_later(place, name):
        end = site.source.end(arg.value)
        return [TextEdit(end, end, ".contiguous()")]
    return [site.source.insert_before(place.call, f"{name} = {name}.contiguous()")]


#: What may be asked of a tensor whose copy takes its place.
_ASKED = frozenset({"shape", "dtype", "device", "ndim", "numel", "size", "dim", "stride", "element_size"})


def _may_change_later(place: LaunchSource, name: str) -> bool:
    """Whether the host reads ``name`` after the launch in a way that may write to the tensor, or keep it: neither in another
    launch nor for its size and type."""
    source, start = place.source, place.source.start(place.call)
    repeated = source.around(place.call, (cst.For, cst.While)) is not None
    for node in place.host.names(name):
        if not isinstance(place.host.binding(node), (cst.AugAssign, type(None))):
            continue
        above = source.parent(node)
        call = source.parent(above) if isinstance(above, cst.Arg) else None
        asked = isinstance(above, cst.Attribute) and above.attr.value in _ASKED
        launched = isinstance(call, cst.Call) and isinstance(call.func, cst.Subscript)
        if not asked and not launched and (repeated or source.start(node) > start):
            return True
    return False


@codemod(ContiguousOutput, Effects())
def contiguous_output(site: Site, transform: ContiguousOutput) -> list[TextEdit]:
    """``torch.empty_like(x)`` gets ``memory_format=torch.contiguous_format``."""
    source = site.source
    call = source.at(transform.place, cst.Call)
    return source.add_keyword(call, "memory_format", source.spelled("torch.contiguous_format"))


@codemod(OnDeviceOf)
def on_device_of(site: Site, transform: OnDeviceOf) -> Rewriting:
    """The statement of the launch stands in ``with torch.cuda.device_of(x):``, which leaves tensors of the CPU alone."""
    source = site.source
    place = LaunchSource(site, transform.launch)
    names = [place.argument(name) for name in place.launch.arguments if place.launch.tensor(name) is not None]
    tensors = [arg.value.value for arg in names if arg is not None and isinstance(arg.value, cst.Name)]
    if not tensors:
        raise CannotRewrite("no tensor has a name at the launch")
    if source.around(place.call, (cst.Lambda, cst.GeneratorExp)) is not None:
        raise CannotRewrite("the launch is made later than its statement")
    surely = [name for name in tensors if _is_surely_a_tensor(place, name)]
    note = f"`{tensors[0]}` may be None, or a number, in another call"
    effects = Effects() if surely else Effects("unsafe", notes=(note,))
    statement = source.statement(place.call)
    line = source.parent(statement)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or isinstance(statement, cst.Return):
        raise CannotRewrite("the launch is no statement of its own")
    if any(
        isinstance(node, (cst.ConcatenatedString, cst.FormattedString)) or _long_string(node) for node in walk(line)
    ):
        raise CannotRewrite("a string in the launch may run over several lines")
    indent = source.indent_of(statement)
    first, last = source.line(source.start(statement)), source.line(source.end(statement))
    guard = f"with {source.spelled('torch.cuda.device_of')}({(surely or tensors)[0]}):"
    starts = [source.line_start(number) for number in range(first, last + 1)]
    step = source.indent_step
    head = TextEdit(starts[0], starts[0], f"{indent}{guard}\n{step}")
    rest = [TextEdit(start, start, step) for start in starts[1:] if source.text[start : source.line_end(start)].strip()]
    return Rewriting((head, *rest), effects)


_LIKE = re.compile(r"torch\.(?:empty|zeros|ones|full|rand|randn)_like")
_SOMETIMES = (cst.If, cst.IfExp, cst.BooleanOperation, cst.Try, cst.While, cst.For, cst.Lambda, cst.Assert)


def _is_surely_a_tensor(place: LaunchSource, name: str) -> bool:
    """Whether the variable ``name`` of the host is a tensor whenever the launch is come to: torch makes it there, or something is asked of
    it that only tensors have."""
    source = place.source
    for node in place.host.names(name):
        above = source.parent(node)
        value = getattr(place.host.binding(node), "value", None)
        made = value if isinstance(above, cst.AssignTarget) else None
        asked = isinstance(above, cst.Attribute) and above.value is node
        call = source.parent(above) if isinstance(above, cst.Arg) else None
        asked |= isinstance(call, cst.Call) and bool(_LIKE.fullmatch(source.origin(call.func) or ""))
        by_torch = isinstance(made, cst.Call) and (source.origin(made.func) or "").startswith("torch.")
        if not asked and not by_torch:
            continue
        around = source.around(node, _SOMETIMES)
        if around is None or around in {*source.above(place.call)}:
            return True
    return False


def _long_string(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString) and "\n" in node.value
