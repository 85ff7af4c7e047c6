"""Buffers that a kernel accumulates into: made with the contents that it starts from."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.fills import allocating, other_form
from kernlint.rewrite.function import LaunchSource
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.kl753_zeroed_while_tuning_only import ZeroedBefore
from kernlint.rules.correctness.kl761_atomic_into_uninitialised import Initialised
from kernlint.workload import Span

#: The form that fills with zeros, by the last name of the one that only allocates.
_ZEROS = {"empty": "zeros", "empty_like": "zeros_like", "new_empty": "new_zeros"}
#: What an atomic operation starts from.
_STARTS = {"add": "0", "or": "0", "xor": "0", "max": 'float("-inf")', "min": 'float("inf")'}


@codemod(Initialised, Effects())
def initialised(site: Site, transform: Initialised) -> list[TextEdit]:
    """``torch.empty(n)`` becomes ``torch.zeros(n)``; for maxima ``torch.empty_like(x)`` a ``torch.full_like``."""
    start = _STARTS.get(transform.operation)
    if start is None:
        raise CannotRewrite(f"what atomic_{transform.operation} starts from is the author's to say")
    if start == "0":
        return zero_filled(site, transform.place)
    source = site.source
    call = source.at(transform.place, cst.Call)
    if not transform.is_float:
        raise CannotRewrite("the buffer is not known to hold floats; integers have no infinity")
    if source.origin(call.func) != "torch.empty_like" or not call.args or call.args[0].keyword is not None:
        raise CannotRewrite("the buffer is not made by torch.empty_like")
    end = source.whole(call.args[0].value)[1]
    return [source.replace(call.func, source.spelled("torch.full_like")), TextEdit(end, end, f", {start}")]


def zero_filled(site: Site, place: Span) -> list[TextEdit]:
    """The allocation at ``place`` in its form that fills with zeros."""
    source = site.source
    call = source.at(place, cst.Call)
    name = allocating(source, call)
    if name not in _ZEROS or (not name.startswith("new_") and source.origin(call.func) != f"torch.{name}"):
        raise CannotRewrite(f"`{source.code(call.func)}` has no form that fills with zeros")
    return [other_form(source, call, _ZEROS[name])]


@codemod(ZeroedBefore)
def zeroed_before(site: Site, transform: ZeroedBefore) -> Rewriting:
    """A buffer of the call is allocated with zeros; one of the caller's is set to zero before the launch."""
    source = site.source
    place = LaunchSource(site, transform.launch)
    tensor = place.launch.tensor(transform.parameter)
    if tensor is not None and tensor.storage.origin == "empty" and tensor.storage.span is not None:
        return Rewriting(tuple(zero_filled(site, tensor.storage.span)))
    arg = place.argument(transform.parameter)
    if arg is None or not isinstance(arg.value, cst.Name):
        raise CannotRewrite("the buffer has no name at the launch")
    name = arg.value.value
    edit = source.insert_before(place.call, f"{name}.zero_()")
    note = f"what `{name}` holds before the call is lost"
    return Rewriting((edit,), Effects("unsafe", notes=(note,)))
