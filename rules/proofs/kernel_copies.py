"""Launches whose kernel and launching code are copies of others, text for text but for their names.

Generated programs have a kernel and a launcher, or a launch, for each layer. What a rule finds out about the one by asking what the
program does under dozens of tiles holds for the others, which agree in all that the answers come from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import libcst as cst

from kernlint.cost.estimate import Estimator
from kernlint.interpret.call_forms import call_form
from kernlint.interpret.edits import Edits
from kernlint.interpret.host.journal import alike
from kernlint.interpret.program import Program
from kernlint.records import dataclass, replace
from kernlint.rules.finding import Context
from kernlint.rules.proofs.flat_grid_literals import takes_programs_apart
from kernlint.rules.proofs.grid_literals import launches_by_place
from kernlint.syntax.copies import top_functions, without
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import children
from kernlint.workload import Dtype, Expr, Launch, Span, Tensor, Workload
from kernlint.workload.steps import Key


@dataclass(frozen=True)
class Form:
    """What a launch has in common with its copies: ``key``, which is theirs too. ``integers`` are the places of the integers in
    the code that launches, in source order, which is how those of one copy correspond to those of another."""

    key: Any
    integers: tuple[Span, ...]

    def numbered(self, launch: Launch) -> dict[str, tuple[int, ...]]:
        """The literals of ``launch``, which all stand in that code, by their number there."""
        return {name: tuple(map(self.integers.index, places)) for name, places in launch.literals.items()}

    def placed(self, launch: Launch, literals: Mapping[str, tuple[int, ...]]) -> Launch:
        """``launch`` with the ``literals`` of a copy, as :meth:`numbered` gives them."""
        return replace(launch, literals={n: tuple(self.integers[i] for i in found) for n, found in literals.items()})


@dataclass(frozen=True)
class _Home:
    """The code that makes a launch: what it says but for names that are its own, its lines, the integers in it, and whether it is told
    no others."""

    says: object
    lines: Span
    integers: tuple[Span, ...]
    alone: bool


def form_of(context: Context, launch: Launch) -> Form | None:
    """The form of ``launch``; None where it has none that could be compared: where the kernel is no function of the module, or what
    launches it neither one nor an expression that says it all, or they are not as they are written or told numbers from elsewhere."""
    module, variant = context.program.kernel, context.variant
    kernel = module.once(top_functions).get(launch.kernel.name)
    if kernel is None or launch.alternatives or variant.transforms or not _is_plain(context):
        return None
    home = _in_one_call(module, context.workload, launch) or _in_one_function(module, launch)
    if home is None or kernel.name != launch.kernel.name_span:
        return None
    edits = variant.edits
    touched = [*edits.skipped, *edits.unfilled, *edits.native_dots, *edits.new_literals, *edits.new_options]
    touched += [span for span, _ in edits.precisions]
    if any(lines.contains(span) for lines in (kernel.lines, home.lines) for span in touched):
        return None
    likeness = _likeness(home, launch)
    return None if likeness is None else Form(Key((likeness, context.autotune, id(context.device))), home.integers)


def _likeness(home: _Home, launch: Launch) -> Key | None:
    """What ``launch``, made at ``home``, has in common with its copies; None where it is told more than is seen there."""
    numbers = {span: i for i, span in enumerate(home.integers)}
    places = [span for found in launch.literals.values() for span in found]
    if not home.alone or not numbers.keys() >= {*places}:
        return None
    if not all(map(_is_value, (*launch.arguments.values(), *launch.constexprs.values()))):
        return None
    storages: dict[int, int] = {}
    key = Key((
        home.says, launch.work,
        tuple((name, alike(value, storages)) for name, value in launch.arguments.items()),
        tuple((name, alike(value, storages)) for name, value in launch.constexprs.items()),
        tuple((name, tuple(numbers[span] for span in found)) for name, found in launch.literals.items()),
        tuple((i, launch.numbers[span]) for span, i in numbers.items() if span in launch.numbers),
        launch.explicit, launch.grid_follows, tuple(launch.open_constexprs.items()), tuple(launch.premises.items()),
        bool(launch.faults), bool(launch.kernel.faults), launch.kernel.complete,
    ))  # fmt: skip
    try:
        hash(key)
    except TypeError:  # a constexpr that is a list, say
        return None
    return key


def once_of_copies(module: Module, workload: Workload, edits: Edits) -> Edits:
    """``edits`` without the literals in expressions that launch copies of what another one launches, which is edited alike: what they
    change is told by that one, as nothing else sees numbers in there."""
    whole = workload.once(launches_by_place)
    inside: dict[Span, dict[Span, int]] = {}
    for span, value in edits.literals:
        for place in whole.around(span)[-1:]:
            inside.setdefault(place, {})[span] = value
    told: set[object] = set()
    left_out: set[Span] = set()
    for place in sorted(inside.keys() - edits.new_options.keys()):
        kinds: set[object] = set()
        for launch in workload.launches_at(place):
            home = None if launch.alternatives else _in_one_call(module, workload, launch)
            likeness = _likeness(home, launch) if home is not None else None
            kinds.add(likeness and (likeness, tuple(map(inside[place].get, home.integers))))  # type: ignore[union-attr]
        if (kind := frozenset(kinds)) in told:
            left_out.update(inside[place])
        elif None not in kinds:
            told.add(kind)
    return replace(edits, literals=frozenset(edit for edit in edits.literals if edit[0] not in left_out))


def _in_one_function(module: Module, launch: Launch) -> _Home | None:
    """The function of the module that makes ``launch``."""
    host = module.once(top_functions).get(launch.function)
    if host is None or not host.lines.contains(launch.span):
        return None
    text = without(host.text, {launch.kernel.name: "kernel", launch.function: "host"})
    integers = _integers(module, host.node)
    says = text, launch.span.line - host.lines.line
    return None if text is None else _Home(says, host.lines, integers, launch.numbers.keys() <= {*integers})


def _in_one_call(module: Module, workload: Workload, launch: Launch) -> _Home | None:
    """The expression that makes ``launch``, where it looks up nothing but what it passes and what is known all over the module, and no
    number around it may have to do with its blocks."""
    call = module.at(launch.span, cst.Call)
    blocks = {value for value in launch.constexprs.values() if isinstance(value, int)}
    around = workload.once(_numbers_around).get(launch.function, frozenset())
    if call is None or takes_programs_apart(launch) or not blocks.isdisjoint(around):
        return None
    passed = dict.fromkeys(name for arg in call.args if (name := dotted_name(arg.value)) is not None)
    own = {**{name: str(number) for number, name in enumerate(passed)}, launch.kernel.name: "kernel"}
    known = {*module.imports, *module.once(top_functions), *(one.name.value for one in module.within(call, cst.Param))}
    places = []
    for node in _looked_up(call, own):
        name = dotted_name(node)
        if name in own:
            places.append((module.span(node), own[name]))
        elif name not in known:
            return None
    text = _with(module, launch.span, places)
    return None if text is None else _Home(text, launch.span, _integers(module, call), True)


def _looked_up(node: cst.CSTNode, whole: Collection[str]) -> Iterator[cst.CSTNode]:
    """The names that are looked up in ``node``, and those attributes that are ``whole``."""
    if isinstance(node, (cst.Name, cst.Attribute)) and (isinstance(node, cst.Name) or dotted_name(node) in whole):
        yield node
        return
    value = node.value if isinstance(node, (cst.Arg, cst.Attribute)) else None
    for part in children(node) if value is None else (value,):
        yield from _looked_up(part, whole)


def _with(module: Module, span: Span, places: Iterable[tuple[Span, str]]) -> str | None:
    """The text at ``span`` with other words at ``places`` in it; None where one of these spans lines."""
    lines = module.excerpt(span)
    lines[-1] = lines[-1][: span.end_column - 1]
    for place, word in sorted(places, reverse=True):
        if place.line != place.end_line:
            return None
        line = lines[place.line - span.line]
        lines[place.line - span.line] = f"{line[: place.column - 1]}<{word}>{line[place.end_column - 1 :]}"
    return "\n".join(lines)[span.column - 1 :]


def _integers(module: Module, node: cst.CSTNode) -> tuple[Span, ...]:
    return tuple(module.span(one) for one in module.within(node, cst.Integer))


def _numbers_around(workload: Workload) -> dict[str, frozenset[int]]:
    """The integers of each launching function that stand in the expression of no launch."""
    found: dict[str, dict[Span, int]] = {}
    for launch in workload.launches():
        found.setdefault(launch.function, {}).update(launch.numbers)
    whole = workload.once(launches_by_place)
    return {name: frozenset(n for span, n in told.items() if not whole.around(span)) for name, told in found.items()}


def whole_form(context: Context, launch: Launch) -> Form | None:
    """The form of the whole call that ``launch`` is part of; None where it is more than the function that launches it."""
    form, workload = form_of(context, launch), context.workload
    if form is None or workload.entry != launch.function:
        return None
    call = call_form(context.program.kernel, workload)
    return None if call is None else replace(form, key=Key((form.key, call)))


def known_of(context: Context, question: Callable[..., object]) -> dict[Any, Any]:
    """What has been found out about the program so far that answers ``question``, by the form of a launch."""
    return context.program.once(_known, question)


def _known(program: Program, question: Callable[..., object]) -> dict[Any, Any]:
    return {}


def _is_value(value: object) -> bool:
    """Whether two of it are told to be the same by what they are."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_value, value))
    return value is None or isinstance(value, (int, float, str, Expr, Dtype, Tensor))


def _is_plain(context: Context) -> bool:
    """Whether prices are those of the model alone: what was measured tells of one call."""
    return isinstance(getattr(context.price, "__self__", None), Estimator)
