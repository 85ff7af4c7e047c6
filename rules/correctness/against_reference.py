"""Where a program computes something else than its reference: both read as values, and elements of the results compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kernlint import work
from kernlint.compare.columns import ENOUGH, MOST_NUMBERS, Effort, NotCompared
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.records import dataclass, replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding, tensor_name
from kernlint.workload import Atomic, Launch, Span, Step, Store, Workload

if TYPE_CHECKING:
    from kernlint.compare.difference import Output, Witness

#: What the documentation of all rules that rest on this says.
HOW_COMPARED = """
        Both sides are read as values, without running them: torch calls as what makes an element, kernels as the values of one program
        in a few lanes. The first, the last and some other elements of the result are worked out on both sides from the same made-up
        inputs, of the kind that `get_inputs` draws. Where an element is made of too much, the constants of the module are made smaller.
        """.strip()
WHEN_UNSURE = """
        Nothing is said of a result that depends on something that was not followed, nor of smaller sizes that other tiles are made for
        or that tiles cut otherwise. Under some configurations of an autotuner only, a difference is a warning.
        """.strip()
HOW_MEASURED = """
        Elements worked out, not a measurement: the finding names one and shows both places. What it finds among kernels that language
        models wrote, with what became of these when run, is in `docs/llm-failures.md`.
        """

#: What sizes are brought down to where elements at those at hand are made of too much.
_SMALLER = (1024, 64)
#: What the largest of them alone is brought down to.
_FEW = 4
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
#: Configurations of tuners under which a difference is looked for again.
_MOST_CONFIGURATIONS = 16


@dataclass(frozen=True)
class Difference:
    """An output that differs from the reference; ``sizes`` are those constants that had to be smaller to see it, ``always`` says
    that it does whichever configuration a tuner takes."""

    output: Output
    sizes: Mapping[str, Any]
    always: bool

    @property
    def severity(self) -> str:
        proven = not self.output.corresponds or bool(self.output.different)
        return "error" if self.always and proven else "warning"

    @property
    def witness(self) -> Witness | None:
        """An element that differs, one that shows how where there is."""
        shown = {"unwritten": lambda one: one.undefined, "elements": lambda one: one.reads[0] != one.reads[1]}
        shows = shown.get(self.output.kind, lambda one: True)
        return next(filter(shows, self.output.different), None)

    @property
    def launch(self) -> Launch | None:
        return self.output.written if isinstance(self.output.written, Launch) else None

    @property
    def span(self) -> Span | None:
        """Where the program makes the output."""
        step, tensor = self.output.written, self.output.program
        stores = step.accesses(tensor.storage.id, (Store, Atomic)) if isinstance(step, Launch) else ()
        return next((store.span for store in stores), getattr(step, "span", None) or tensor.storage.span)

    @property
    def places(self) -> tuple[Evidence, ...]:
        """Where the reference makes it, and at which sizes and configurations the difference was seen."""
        found = []
        if self.output.made is not None:
            found.append(Evidence("the reference computes it here", getattr(self.output.made, "span", None)))
        if self.sizes:
            sizes = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
            found.append(Evidence(f"seen with {sizes}: at the sizes at hand an element is made of too much to follow"))
        if not self.always:
            found.append(Evidence("under some of the configurations of its autotuner only"))
        return tuple(found)


def differences(context: Context) -> list[Difference]:
    """The outputs of the workload that differ from the reference's; none where that cannot be told. Found out once."""
    work.check_haste()
    return context.once(("against the reference", context.workload.entry), lambda: list(_differences(context)))


def _differences(context: Context) -> Iterator[Difference]:
    workload = context.workload
    if workload.reference is None or workload.bare or context.variant.edits or context.variant.transforms:
        return
    seen, first = 0, None
    given: Workload | None = None
    for sizes in ({}, *_smaller(context.program)):
        call = _detailed(context.program, workload.entry, sizes)
        if call is None:
            continue
        given = given or call
        if call is not given and not _alike(given, call):
            continue  # it may be right where it is used, and wrong here
        outputs = context.program.recalled("compared", _compared_of(call), partial(_compared, call))
        if outputs is None:
            break
        first = first or outputs
        wrong = [number for number, output in enumerate(outputs) if not output.corresponds or output.different]
        for number in wrong:
            yield Difference(outputs[number], sizes, _always(context, call, sizes, number))
        if wrong:
            return
        seen += min((len(output.witnesses) for output in outputs), default=0)
        if seen >= ENOUGH:
            break
    for output in first or ():
        if output.kind:
            yield Difference(output, {}, always=True)


def _compared(call: Workload) -> list[Output] | None:
    """The outputs of ``call`` beside those of its reference; None where that cannot be told."""
    from kernlint.compare.difference import compared  # which only programs with a reference need

    try:
        return compared(call, Effort(MOST_NUMBERS))
    except NotCompared:
        return None


def _compared_of(call: Workload) -> tuple[Any, ...]:
    """What :func:`_compared` looks at."""
    sides = call.first_call(), call.reference
    return tuple(
        (one.steps, one.made, one.result, one.arguments, one.held, one.unknowns, one.open_choices, one.entry)
        for one in sides
        if one is not None
    )


def _detailed(program: Program, entry: str, sizes: Mapping[str, Any], tuners: bool = False) -> Workload | None:
    """The call at other ``sizes``, in all detail; under each configuration of its ``tuners`` only where that is asked. What the
    compiler refuses is known already."""
    overrides = {**program.question.overrides, **sizes}
    question = replace(program.question, overrides=overrides, detailed=True, strict=False, target=None, tuners=tuners)
    return program.variant(program.kernel, question).workload(entry, NO_EDITS)


def _smaller(program: Program) -> Iterator[dict[str, Any]]:
    """The constants of the modules with large ones smaller: the largest alone, then all."""
    given = {name: value for name, value in program.constants.items() if name not in program.question.overrides}
    largest = max(map(_largest, given.values()), default=0)
    tried: list[dict[str, Any]] = []
    for most, least in ((_FEW, max(largest, _SMALLER[-1])), *((most, most + 1) for most in _SMALLER)):
        sizes = {name: _reduced(value, most) for name, value in given.items() if _largest(value) >= least}
        if sizes and sizes not in tried:
            tried.append(sizes)
            yield sizes


def _largest(value: Any) -> int:
    numbers = value if isinstance(value, (tuple, list)) else (value,)
    return max((n for n in numbers if isinstance(n, int) and not isinstance(n, bool)), default=0)


def _reduced(value: Any, most: int) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_halved(int(n), most) for n in value)
    return _halved(value, most)


def _alike(given: Workload, smaller: Workload) -> bool:
    """Whether the kernels are the same at smaller sizes, with the same tiles, which these sizes are multiples of where those are."""
    ours, theirs = given.first_call().launches(), smaller.first_call().launches()
    return len(ours) == len(theirs) and all(_same_tiles(one, other) for one, other in zip(ours, theirs))


def _same_tiles(one: Launch, other: Launch) -> bool:
    if one.kernel.name_span != other.kernel.name_span or dict(one.constexprs) != dict(other.constexprs):
        return False
    tiles = [tile for tile in one.constexprs.values() if isinstance(tile, int) and tile > 1]
    for name, size in one.arguments.items():
        less = other.arguments.get(name)
        if isinstance(size, int) and size != less and _bounds_tiles(one, name):
            cuts = [[(n % tile == 0, n < tile) for tile in tiles] for n in (size, less) if isinstance(n, int)]
            if len(cuts) < 2 or cuts[0] != cuts[1]:
                return False
    return True


def _bounds_tiles(launch: Launch, parameter: str) -> bool:
    """Whether ``parameter`` decides where tiles end: in masks, in how often loops run, in how many tiles there are."""
    values = launch.kernel.values
    if values is None:
        return True
    reached = values.reached(v for v in values if v.op == "parameter" and v.detail == parameter)
    return any(
        id in reached and (v.op in ("index", "cdiv", "//", "%", "while") or (v.op in _COMPARISONS and v.shape))
        for id, v in ((v.id, v) for v in values)
    )


def _halved(number: int, most: int) -> int:
    while number > most:
        number //= 2
    return number


def _always(context: Context, call: Workload, sizes: Mapping[str, Any], output: int) -> bool:
    """Whether the output of ``call`` differs under each configuration of its tuners, all of which are known."""
    if not any(launch.autotuned for launch in call.first_call().launches()):
        return True
    workload = _detailed(context.program, context.workload.entry, sizes, tuners=True)
    launches = workload.first_call().launches() if workload is not None else []
    launches = [launch for launch in launches if launch.autotuned]
    if workload is None or not all(launch.all_followed for launch in launches):
        return False
    most = max((len(launch.alternatives) for launch in launches), default=0)
    if most > _MOST_CONFIGURATIONS:
        return False
    for number in range(most):
        outputs = _compared(_under(workload, number))
        if outputs is None or not outputs[output].differs:
            return False
    return True


def _under(workload: Workload, number: int) -> Workload:
    """``workload`` with the alternative ``number`` of each tuned launch."""

    def change(step: Step) -> Step:
        if isinstance(step, Launch) and step.alternatives:
            return step.alternatives[min(number, len(step.alternatives) - 1)]
        return step

    return workload.mapped(change, first=True)


def of_kind(rule: Rule, context: Context, kind: str, said: Callable[[Difference, str], str]) -> Iterator[Finding]:
    """A finding for each difference of ``kind``: ``said`` tells it, given what the result is called."""
    for difference in differences(context):
        span, launch = difference.span, difference.launch
        if difference.output.kind != kind or span is None:
            continue
        kernel = launch.kernel.name if launch is not None else ""
        name = f"`{tensor_name(difference.output.program, 'result')}`"
        yield rule.finding(
            said(difference, name if name != "`result`" else "the result"),
            span,
            kernel or context.workload.entry,
            difference.places,
            at_any_size=True,
            kernel=kernel,
            severity=difference.severity,
        )


def numbers(witness: Witness) -> str:
    """The element and what it is on either side."""
    place = f"[{', '.join(map(str, witness.place))}] " if witness.place else ""
    return f"{place}is {witness.found:.5g}, in the reference {witness.expected:.5g}"
