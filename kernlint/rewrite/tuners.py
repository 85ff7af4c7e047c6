"""Arguments of ``triton.autotune``: buffers to restore between runs, names that do not belong into the key."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import argument
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.kl752_autotuned_in_place import Restored
from kernlint.rules.correctness.kl755_tuned_parameter_in_key import KeyWithoutTuned
from kernlint.syntax.positions import python_value
from kernlint.workload import Span


@codemod(Restored, Effects())
def restored(site: Site, transform: Restored) -> list[TextEdit]:
    """``restore_value`` names the parameter too."""
    source = site.source
    tuner = tuner_at(source, transform.tuner)
    given = argument(tuner, "restore_value", 4)
    if given is None:
        return source.add_keyword(tuner, "restore_value", f'["{transform.parameter}"]')
    if not isinstance(given, (cst.List, cst.Tuple)):
        raise CannotRewrite("restore_value is not written as a list")
    if not given.elements:
        return [source.replace(given, f'["{transform.parameter}"]')]
    end = source.whole(given.elements[-1].value)[1]
    return [TextEdit(end, end, f', "{transform.parameter}"')]


@codemod(KeyWithoutTuned, Effects())
def key_without_tuned(site: Site, transform: KeyWithoutTuned) -> list[TextEdit]:
    """The names that the configurations set go from the key."""
    source = site.source
    key = argument(tuner_at(source, transform.tuner), "key", 1)
    if not isinstance(key, (cst.List, cst.Tuple)):
        raise CannotRewrite("the key is not written as a list")
    kept = [e for e in key.elements if _text(e) is None or _text(e) not in transform.names]
    if not kept:
        raise CannotRewrite(
            "nothing would be left: which sizes the best configuration depends on is the author's to say"
        )
    if not all(isinstance(e.value, cst.SimpleString) for e in key.elements):
        raise CannotRewrite("the key holds more than names")
    text = ", ".join(source.code(e.value) for e in kept)
    if isinstance(key, cst.Tuple):
        return [source.replace(key, f"{text}," if len(kept) == 1 else text)]
    return [source.replace(key, f"[{text}]")]


def tuner_at(source: Source, place: Span) -> cst.Call:
    """The call of ``triton.autotune``, in a decorator or by itself."""
    decorator = source.module.at(place, cst.Decorator)
    call = decorator.decorator if decorator is not None else source.at(place, cst.Call)
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Call):
        call = call.func
    if not isinstance(call, cst.Call):
        raise CannotRewrite("the autotuner is not written as a call")
    return call


def _text(element: cst.BaseElement) -> object:
    return python_value(element.value.value) if isinstance(element.value, cst.SimpleString) else None
