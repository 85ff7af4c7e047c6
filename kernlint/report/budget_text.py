"""The time budget as a table for people: plain text for pipes and files, rich for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from kernlint.report.budget import Budget, CallBudget, StepBudget
from kernlint.report.grid import Bar, Cell, Grid, paint
from kernlint.report.look import PLAIN, Look, printable, shortened
from kernlint.report.waterfall import waterfall
from kernlint.verdict.model import CauseReport
from kernlint.verdict.speedup import format_speedup, format_us

#: Rows of a table; the smallest steps of a longer call are summed into one.
_MOST_ROWS = 40
_LONGEST_NAME = 40

#: Of the columns of a step (:func:`_head`) those aligned right.
_RIGHT = (0, 1, 3, 4)
_COLUMNS = 6
_BLANK: tuple[Cell, ...] = ("",) * _COLUMNS
_GONE: tuple[Cell, ...] = ("gone", *_BLANK[1:])

#: One step before and after the change, either None where it is not there.
_Pair = tuple["StepBudget | None", "StepBudget | None"]


def render(budget: Budget, look: Look = PLAIN) -> str:
    """The budget as text: plain it is the same to the byte on every machine, before and after side by side; on a terminal that is too
    narrow for that they stand below each other."""
    lines: list[str] = []
    for part in _parts(budget, look.width):
        if isinstance(part, Grid):
            lines += paint(part, look)
        else:
            lines += [look.styled(line, "bold" if part.endswith(":") else "") for line in look.wrapped(part)]
    return "\n".join(lines) + "\n"


def _parts(budget: Budget, width: int | None) -> list[str | Grid]:
    """Lines and tables in the order they are read."""
    sizes = " ".join(f"{name}={value}" for name, value in budget.sizes.items())
    head = f"{printable(budget.file)}: {budget.entry} on {budget.device}, times of scope {budget.scope}"
    parts: list[str | Grid] = [head + (f", {sizes}" if sizes else "")]
    if budget.measured is not None:
        parts.append(f"times are measured where there are some ({budget.measured}), else predicted")
    parts.append("")
    if budget.before.missing:
        parts += _missing(budget.before.missing)
    else:
        parts += _calls(budget, width)
    if budget.reference is not None and budget.reference.steps:
        parts += ["PyTorch's own steps for the reference:", _alone(budget.reference, _scale(budget)), ""]
    if not budget.before.missing:
        parts += [_totals(budget), ""]
        parts += _terms(budget)
        parts += _waterfall(budget)
        parts += _why_not(budget)
    parts += _scenarios(budget)
    if budget.change is not None:
        advice = "change" if budget.change.worth else "best change found, not worth it"
        parts.append(f"{advice}: {budget.change.title}: {budget.change.method}")
    parts.append(budget.reason)
    return parts


def tables(budget: Budget) -> list[str | Grid]:
    """The tables of the calls, each after its title where it needs one, and the totals; none while sizes are open."""
    if budget.before.missing:
        return []
    found = _calls(budget, None)
    if budget.reference is not None and budget.reference.steps:
        found += ["PyTorch's own steps for the reference:", _alone(budget.reference, _scale(budget)), ""]
    return [*found, _totals(budget)]


def _missing(names: Sequence[str]) -> list[str | Grid]:
    return [
        f"No times while sizes are open: {', '.join(names)}.",
        "Give module-level constants with --set NAME=VALUE, arguments with --assume NAME=INT or --assume "
        "NAME:dtype[dims].",
        "",
    ]


def _calls(budget: Budget, width: int | None) -> list[str | Grid]:
    scale = _scale(budget)
    if budget.after is None or budget.change is None:
        return ["before:", _alone(budget.before, scale), ""]
    title = f"after {budget.change.title}"
    both = _side_by_side(budget.before, budget.after, scale, title)
    shortest = both.width() - both.widths()[0] + 20
    if width is not None and width < shortest:
        return ["before:", _alone(budget.before, scale), "", f"{title}:", _alone(budget.after, scale), ""]
    return [both, ""]


def _scale(budget: Budget) -> float:
    """Microseconds of a full bar: the longest step of all, so that bars can be compared between tables."""
    calls = (budget.before, budget.after, budget.reference)
    return max((call.time_us(step) for call in calls if call is not None for step in call.steps), default=0.0)


def _alone(call: CallBudget, scale: float) -> Grid:
    pairs: list[_Pair] = [(step, None) for step in call.steps]
    shown = _longest(pairs)
    rows = [(_name(step), *_cells(call, step, scale)) for step, _ in shown if step is not None]
    return Grid(("step", *_head(call)), (*rows, *_rest(pairs, (call,))), frozenset(1 + c for c in _RIGHT))


def _side_by_side(before: CallBudget, after: CallBudget, scale: float, title: str) -> Grid:
    pairs = _aligned(before.steps, after.steps)
    rows = []
    for old, new in _longest(pairs):
        cells = _BLANK if old is None else _cells(before, old, scale)
        changed = _GONE if new is None else _cells(after, new, scale)
        rows.append((_name(old or new), *cells, *changed))
    second = 1 + _COLUMNS
    right = frozenset([1 + c for c in _RIGHT] + [second + c for c in _RIGHT])
    head = ("step", *_head(before), *_head(after))
    return Grid(head, (*rows, *_rest(pairs, (before, after))), right, ((1, "before"), (second, title)))


def _head(call: CallBudget) -> tuple[str, ...]:
    return ("moved", "ops", "bound", "host us" if call.clock == "host" else "us", "share", "")


def _aligned(before: Sequence[StepBudget], after: Sequence[StepBudget]) -> list[_Pair]:
    """Steps of both calls in order, those of one kind and name side by side."""
    left = [(step.kind, step.name, step.depth) for step in before]
    right = [(step.kind, step.name, step.depth) for step in after]
    pairs: list[_Pair] = []
    for action, i, i_end, j, j_end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if action == "equal":
            pairs += zip(before[i:i_end], after[j:j_end])
        else:
            pairs += [(step, None) for step in before[i:i_end]]
            pairs += [(None, step) for step in after[j:j_end]]
    return pairs


def _longest(pairs: list[_Pair]) -> list[_Pair]:
    """The pairs in order, without the shortest where there are too many."""
    if len(pairs) <= _MOST_ROWS:
        return pairs
    ranked = sorted(
        range(len(pairs)), key=lambda i: -max(step.gpu_us + step.host_us for step in pairs[i] if step is not None)
    )
    return [pairs[i] for i in sorted(ranked[: _MOST_ROWS - 1])]


def _rest(pairs: list[_Pair], calls: Sequence[CallBudget]) -> list[tuple[Cell, ...]]:
    """One row for all that :func:`_longest` left out."""
    shown = {id(pair) for pair in _longest(pairs)}
    hidden = [pair for pair in pairs if id(pair) not in shown]
    if not hidden:
        return []
    cells: list[Cell] = [f"({len(hidden)} shorter steps)"]
    for index, call in enumerate(calls):
        steps = [step for pair in hidden if (step := pair[index]) is not None]
        cells += ["", "", "", format_us(sum(map(call.time_us, steps))), _percent(sum(s.share for s in steps)), ""]
    return [tuple(cells)]


def _name(step: StepBudget | None) -> str:
    assert step is not None
    runs = f" x {step.count:g}" if step.count != 1 and step.kind != "loop" else ""
    name = printable(step.name)
    room = _LONGEST_NAME - len(runs) - 2 * step.depth
    return "  " * step.depth + shortened(name, room) + runs


def _cells(call: CallBudget, step: StepBudget, scale: float) -> tuple[Cell, ...]:
    time = call.time_us(step)
    return (
        _quantity(step.moved_bytes, "B"),
        _quantity(step.flops, ""),
        step.bound if step.gpu_us > 0 else "host",
        format_us(time) if time > 0 else "-",
        _percent(step.share) if time > 0 else "-",
        Bar(time / scale if scale > 0 else 0.0),
    )


def _totals(budget: Budget) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for scope in ("gpu", "call"):
        gain = budget.gains.get(scope)
        rows.append((
            f"total, scope {scope}",
            format_us(budget.before.total_us(scope)),
            format_us(budget.after.total_us(scope)) if budget.after is not None else "-",
            format_speedup(gain.low, gain.high) if gain is not None else "-",
            format_us(budget.reference.total_us(scope)) if budget.reference is not None else "-",
        ))  # fmt: skip
    return Grid(("", "before us", "after us", "gain (80 %)", "PyTorch us"), tuple(rows), frozenset({1, 2, 3, 4}))


def _terms(budget: Budget) -> list[str | Grid]:
    """The named terms of the step that dominates, before and after, largest first."""
    lines: list[str | Grid] = []
    for word, call in (("before", budget.before), ("after", budget.after)):
        step = call.dominant if call is not None else None
        terms = [(us, name) for name, us in step.terms.items() if us >= 0.005] if step is not None else []
        if step is not None and terms:
            listed = ", ".join(f"{name} {format_us(us)}" for us, name in sorted(terms, key=lambda t: (-t[0], t[1])))
            lines.append(f"terms of {printable(step.name)}, {word}, us of one run (they overlap): {listed}")
    return [*lines, ""] if lines else []


def _waterfall(budget: Budget) -> list[str | Grid]:
    """From the time now down to the achievable and the bound: what each cause takes, in the order in which they are removed."""
    found = budget.headroom
    if found is None:
        return []
    low, _, high = found.achievable_us
    said = {
        "rest": ("", "what no cause explains"),
        "achievable": (f"{format_us(low)} to {format_us(high)}", "; ".join(found.witness[:1])),
        "changed": ("", "another numerics"),
        "bound": ("", "limits of the hardware"),
    }
    rows: list[tuple[Cell, ...]] = []
    for row in waterfall(found):
        if row.cause is not None:
            alone, place, evidence = format_us(row.cause.alone_us), _place(row.cause), printable(row.cause.evidence)
        else:
            alone, (place, evidence) = "", said.get(row.kind, ("", ""))
        removed = row.kind in ("cause", "rest")
        rows.append((f"- {row.name}" if removed else row.name, format_us(row.us), alone, place, evidence))
    head = ("headroom (gpu)", "us", "alone us", "where", "evidence")
    return [Grid(head, tuple(rows), frozenset({1, 2}), notes=True), ""]


def _why_not(budget: Budget) -> list[str | Grid]:
    """What every operator answers for the largest causes, where that was asked."""
    if budget.why_not is None:
        return []
    if not budget.why_not:
        return ["no operator has a place at the largest causes", ""]
    rows: list[tuple[Cell, ...]] = []
    cause = ""
    for one in budget.why_not:
        said = ("yes: " if one.automatic else "possible, by hand: " if one.possible else "no: ") + (
            one.reason or "kernlint fix"
        )
        rows.append(
            (
                "" if one.cause == cause else one.cause,
                one.operator,
                printable(one.subject),
                str(one.line),
                printable(said),
            )
        )
        cause = one.cause
    return [Grid(("cause", "operator", "what", "line", "may it be applied?"), tuple(rows), frozenset({3})), ""]


def _scenarios(budget: Budget) -> list[str | Grid]:
    """The plausible calls beside one another where types or sizes are open, and what they rest on."""
    if not budget.scenarios:
        return []
    names = list(
        dict.fromkeys(fact.name for scenario in budget.scenarios for fact in scenario.facts if fact.source != "guess")
    )
    rows: list[tuple[Cell, ...]] = []
    for scenario in budget.scenarios:
        values = {fact.name: str(fact.value) for fact in scenario.facts}
        answer = "yes" if scenario.worth else "no"
        time = format_us(scenario.before_us)
        given = (values.get(name, "") for name in names)
        rows.append(
            (printable(scenario.name), answer, time, scenario.speedup or "-", scenario.change, *map(printable, given))
        )
    head = ("assumed call", "worth", "us", "gain", "change", *map(printable, names))
    evidence = dict.fromkeys(f"{fact}: {fact.evidence} ({fact.source})" for fact in budget.scenarios[0].facts)
    lines = [f"- {printable(line)}" for line in evidence]
    return [
        Grid(head, tuple(rows), frozenset({2})),
        "",
        "The first of these is what the rest is about. It rests on:",
        *lines,
        "",
    ]


def _place(cause: CauseReport) -> str:
    return f"{printable(cause.step)}:{cause.location.line}"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _quantity(value: float | None, unit: str) -> str:
    """Three significant digits with a decimal prefix; "-" for nothing and "?" for unknown."""
    if value is None:
        return "?"
    if value < 1:
        return "-"
    for prefix in ("", "k", "M", "G", "T", "P"):
        if value < 999.5 or prefix == "P":
            break
        value /= 1000
    digits = f"{value:.0f}" if value >= 99.95 or not prefix else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
    return f"{digits} {prefix}{unit}".rstrip()
