"""Allocation without a fill: ``zeros`` becomes ``empty``."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.effects import Rewriting
from kernlint.rewrite.site import Site
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.workload import Span

#: Function to its form that only allocates, and the position of the fill value among its arguments, where it has one.
_FORMS = {
    "zeros": ("empty", None),
    "ones": ("empty", None),
    "full": ("empty", 1),
    "zeros_like": ("empty_like", None),
    "ones_like": ("empty_like", None),
    "full_like": ("empty_like", 1),
    "new_zeros": ("new_empty", None),
    "new_ones": ("new_empty", None),
    "new_full": ("new_empty", 1),
}


def leave_uninitialised(site: Site, span: Span) -> Rewriting:
    """The ``empty`` form of the call at ``span``."""
    source = site.source
    call = source.at(span, cst.Call)
    name = allocating(source, call)
    if name not in _FORMS:
        raise CannotRewrite(f"{name or 'the call'} at line {span.line} has no form that only allocates")
    empty, fill = _FORMS[name]
    edits = [other_form(source, call, empty)]
    if fill is not None:
        edits += _without_value(site, call, fill, name)
    for comment in (*source.heading(call), *source.trailing(call)):
        if _speaks_of_fill(comment.text):
            edits.append(source.delete_comment(comment))
    return Rewriting(tuple(edits))


def allocating(source: Source, call: cst.Call) -> str:
    """The last name of the function of torch, or of the method, that ``call`` calls."""
    origin = source.origin(call.func) or ""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else origin.rpartition(".")[2]


def other_form(source: Source, call: cst.Call, name: str) -> TextEdit:
    """The function or method of torch that is called ``name`` in the place of the one that ``call`` calls."""
    if isinstance(call.func, cst.Attribute):
        return source.replace(call.func.attr, name)
    return source.replace(call.func, source.spelled(f"torch.{name}"))


def _without_value(site: Site, call: cst.Call, position: int, name: str) -> list[TextEdit]:
    source = site.source
    value = next(
        (arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "fill_value"),
        call.args[position] if len(call.args) > position and call.args[position].keyword is None else None,
    )
    if value is None:
        raise CannotRewrite(f"the fill value of {name} was not found")
    edits = source.drop_arguments(call, [value])
    typed = any(arg.keyword is not None and arg.keyword.value == "dtype" for arg in call.args)
    if name == "full" and not typed:
        # torch.full takes its type from the value, torch.empty the default.
        raise CannotRewrite("torch.full without a dtype takes it from its value")
    return edits


def _speaks_of_fill(text: str) -> bool:
    words = text.lower()
    return any(word in words for word in ("zero-init", "zero init", "zero-fill", "zero fill", "fill with", "cleared"))
