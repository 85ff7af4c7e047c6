"""Launches whose kernel and launching function are copies of others, text for text but for their names.

Generated programs have a kernel and a launcher for each layer. What a rule finds out about the one by asking what the program
does under dozens of tiles holds for the others, which agree in all that the answers come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import libcst as cst

from kernlint.cost.estimate import Estimator
from kernlint.interpret.call_forms import call_form
from kernlint.interpret.host.journal import alike
from kernlint.interpret.program import Program
from kernlint.records import dataclass
from kernlint.rules.finding import Context
from kernlint.syntax.copies import top_functions, without
from kernlint.workload import Dtype, Expr, Launch, Span, Tensor
from kernlint.workload.steps import Key


@dataclass(frozen=True)
class Form:
    """What a launch has in common with its copies: ``key``, which is theirs too. ``integers`` are the places of the integers in
    the launching function, in source order, which is how those of one copy correspond to those of another."""

    key: Any
    integers: tuple[Span, ...]

    def numbered(self, launch: Launch) -> dict[str, tuple[int, ...]]:
        """The literals of ``launch``, which all stand in the launching function, by their number there."""
        return {name: tuple(map(self.integers.index, places)) for name, places in launch.literals.items()}

    def placed(self, launch: Launch, literals: Mapping[str, tuple[int, ...]]) -> Launch:
        """``launch`` with the ``literals`` of a copy, as :meth:`numbered` gives them."""
        return replace(launch, literals={n: tuple(self.integers[i] for i in found) for n, found in literals.items()})


def form_of(context: Context, launch: Launch) -> Form | None:
    """The form of ``launch``; None where it has none that could be compared: where the kernel or what launches it is no function of
    the module, is not as it is written, or is told numbers from elsewhere."""
    module, variant = context.program.kernel, context.variant
    functions = module.once(top_functions)
    kernel, host = functions.get(launch.kernel.name), functions.get(launch.function)
    if kernel is None or host is None or launch.alternatives or variant.transforms or not _is_plain(context):
        return None
    if kernel.name != launch.kernel.name_span or not host.lines.contains(launch.span):
        return None
    edits = variant.edits
    touched = [*edits.skipped, *edits.unfilled, *edits.native_dots, *(e[0] for e in edits.literals)]
    touched += [*(e[0] for e in edits.options), *(e[0] for e in edits.precisions)]
    if any(f.lines.contains(span) for f in (kernel, host) for span in touched):
        return None
    integers = tuple(module.span(node) for node in module.within(host.node, cst.Integer))
    numbers = {span: i for i, span in enumerate(integers)}
    places = [span for found in launch.literals.values() for span in found]
    if not numbers.keys() >= {*places, *launch.numbers}:
        return None
    text = without(host.text, {launch.kernel.name: "kernel", launch.function: "host"})
    if text is None:
        return None
    if not all(map(_is_value, (*launch.arguments.values(), *launch.constexprs.values()))):
        return None
    storages: dict[int, int] = {}
    key = Key((
        text, launch.span.line - host.lines.line, launch.work,
        tuple((name, alike(value, storages)) for name, value in launch.arguments.items()),
        tuple((name, alike(value, storages)) for name, value in launch.constexprs.items()),
        tuple((name, tuple(numbers[span] for span in found)) for name, found in launch.literals.items()),
        tuple((numbers[span], number) for span, number in launch.numbers.items()),
        launch.explicit, launch.grid_follows, tuple(launch.open_constexprs.items()), tuple(launch.premises.items()),
        bool(launch.faults), bool(launch.kernel.faults), launch.kernel.complete, context.autotune, id(context.device),
    ))  # fmt: skip
    try:
        hash(key)
    except TypeError:  # a constexpr that is a list, say
        return None
    return Form(key, integers)


def whole_form(context: Context, launch: Launch) -> Form | None:
    """The form of the whole call that ``launch`` is part of; None where it is more than the function that launches it."""
    form, workload = form_of(context, launch), context.workload
    if form is None or workload.entry != launch.function:
        return None
    call = call_form(context.program.kernel, workload)
    return None if call is None else replace(form, key=Key((form.key, call)))


def known_of(context: Context, question: Callable[..., object]) -> dict[Any, Any]:
    """What has been found out about the program so far that answers ``question``, by the form of a launch."""
    return _known.setdefault(context.program, {}).setdefault(question, {})


#: By program: answers are no longer of use when it is gone.
_known: WeakKeyDictionary[Program, dict[Any, dict[Any, Any]]] = WeakKeyDictionary()


def _is_value(value: object) -> bool:
    """Whether two of it are told to be the same by what they are."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_value, value))
    return value is None or isinstance(value, (int, float, str, Expr, Dtype, Tensor))


def _is_plain(context: Context) -> bool:
    """Whether prices are those of the model alone: what was measured tells of one call."""
    return isinstance(getattr(context.price, "__self__", None), Estimator)
