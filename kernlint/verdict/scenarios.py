"""What a verdict answers where types or sizes are open: calls that are plausible, each with the facts that it rests on.

The first of :func:`plans` is the one that an answer is given for; the others show how the answer flips.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from kernlint.cost.open_sizes import open_symbols
from kernlint.interpret.api import Target
from kernlint.interpret.callers import CallSite, Items, Nothing
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.evidence import SOURCES, Clue, clues, is_data, open_names, taps, untyped, written_axes
from kernlint.interpret.plausible_sizes import MIDDLE, RUNGS, held, ladder, ranks
from kernlint.interpret.program import Program
from kernlint.interpret.question import Fact
from kernlint.records import dataclass, replace
from kernlint.rules.faults import FaultRule
from kernlint.rules.registry import all_rules
from kernlint.verdict.model import AssumedFact
from kernlint.workload import Dtype, Size, Symbol, Tensor, Workload, concrete
from kernlint.workload import dtype as dt
from kernlint.workload.size_names import is_product
from kernlint.workload.tensor import Expected

#: How often sizes may show up only once others are given.
_ROUNDS = 3
#: Calls of the project that are judged.
_MOST_SITES = 3
#: Elements of its largest tensor below which a call that only tries a function says nothing of ordinary sizes.
_ORDINARY = 1 << 20
#: Other types than the likeliest that are tried.
_MOST_TYPES = 2


@cache
def _refused() -> frozenset[str]:
    """The kinds of faults by which a kernel does not compile."""
    return frozenset[str]().union(*(rule.kinds for rule in all_rules() if rule.refused and isinstance(rule, FaultRule)))


@dataclass(frozen=True)
class Plan:
    """A call of ``workload``, read by ``program`` with all its types and sizes given; ``facts`` are those that were assumed."""

    name: str
    program: Program
    workload: Workload
    facts: tuple[AssumedFact, ...]


def is_open(workload: Workload, missing: Sequence[str]) -> bool:
    """Whether an answer about ``workload`` would rest on sizes or types that nothing tells."""
    return bool(missing) or bool(untyped(workload))


def arbitrary_constants(workload: Workload) -> list[tuple[str, str]]:
    """The constants of kernels that times rest on though nothing at all tells them, each with its kernel."""
    found = ((launch.kernel.name, name) for launch in workload.launches() for name in launch.kernel.arbitrary)
    return list(dict.fromkeys(found))


def _missing(workload: Workload) -> list[str]:
    """The sizes that times of ``workload`` rest on and nothing tells: those of the steps, and those of tensors that constants are."""
    constants = (
        launch.open_constexprs[name]
        for launch in workload.launches()
        for name in launch.kernel.arbitrary
        if name in launch.open_constexprs
    )
    sizes = (
        atom.name for value in constants for atom in value.atoms() if isinstance(atom, Symbol) and "." in atom.name
    )
    return list(dict.fromkeys((*open_symbols(workload), *sorted(sizes))))


#: What stands for a size, and for a type, of which nothing at all tells.
_ANY_SIZE, _ANY_TYPE = 1024, dt.FLOAT16


def undecided(workload: Workload, missing: Sequence[str], like: Plan | None = None) -> list[str]:
    """What to give with ``--assume`` so that an answer rests on nothing that was assumed, each fact as it can be typed: as it is in
    ``like``, a call of the same function, else with plausible types and sizes."""
    function = workload.entry.rpartition(".")[0] or workload.entry
    # A backward pass also gets what the forward pass was given, whose names are not its own.
    owner = function if workload.entry.endswith(".backward") else workload.entry
    known = {tensor.name: tensor for tensor in like.workload.inputs} if like is not None else {}
    said = {fact.name: fact.value for fact in like.facts} if like is not None else {}
    names = open_names(workload, missing)
    rungs = ladder(workload, names)
    sizes = rungs[MIDDLE] if rungs is not None else {}
    found: list[str] = []
    told: set[str] = set()
    for tensor in untyped(workload):
        twin = known.get(tensor.name) or known.get(tensor.name.replace("[]", "[0]")) or tensor
        shape = [
            concrete(one if one is not None else _ANY_SIZE) or sizes.get(Symbol(str(one)), _ANY_SIZE)
            for one in twin.shape or ()
        ]
        dims = f"[{','.join(map(str, shape))}]" if twin.shape is not None else ""
        found.append(f"{owner}.{tensor.name}:{twin.dtype or _ANY_TYPE}{dims}")
        told.update(name for name in names if dims and name.startswith(f"{tensor.name}."))
    given = {tensor.name for tensor in workload.inputs}
    for name in names:
        # What follows from the facts before it is none of its own.
        told_of = name.rpartition(".")[0] in given or is_product(Symbol(name)) or name in said
        follows = "." in name and not told_of
        if name not in told and not follows and ".stride(" not in name:
            found.append(f"{name}={_size_of(name, known) or said.get(name) or sizes.get(Symbol(name), _ANY_SIZE)}")
    return found


def _size_of(name: str, known: Mapping[str, Tensor]) -> int | None:
    """The size called ``name`` of one of the ``known`` tensors."""
    tensor, _, asked = name.rpartition(".")
    shape = known[tensor].shape if tensor in known else None
    if shape is None:
        return None
    if asked == "numel":
        return concrete(known[tensor].numel)
    axis = asked.removeprefix("shape[").removesuffix("]")
    valid = axis.removeprefix("-").isdigit() and -len(shape) <= int(axis) < len(shape)
    return concrete(shape[int(axis)]) if valid else None


class Planner:
    """Makes the plans for one open workload of ``program``."""

    def __init__(self, program: Program, workload: Workload, target: Target, sites: Sequence[CallSite] = ()) -> None:
        #: The calls of the entry in its project: those of benchmarks, the likeliest first, and those that try it, the largest first.
        self.sites = [*_middle_first(site for site in sites if not site.tried), *_falling(s for s in sites if s.tried)]
        self.program = program
        self.workload = workload
        self.target = target
        self.tensors = untyped(workload)
        self.clues: dict[str, Clue] = {}
        #: The arguments that hold the data that is worked on, which are of one type in ordinary calls.
        self.data: list[Tensor] = []
        #: The types that those may have, the likeliest first.
        self.types: list[Dtype] = []
        #: The types that Triton refuses for that data.
        self.refused: list[str] = []
        self._read: dict[tuple[tuple[str, str], ...], bool] = {}
        self._gather()

    def _gather(self) -> None:
        about: list[Clue] = []
        for tensor in self.tensors:
            found = [*self._called(tensor), *clues(self.program, self.workload, tensor)]
            self.clues[tensor.name] = found[0]
            if is_data(found):
                self.data.append(tensor)
                about += found
        about.sort(key=lambda clue: SOURCES.index(clue.source))
        for tensor in self.data:
            if self.clues[tensor.name].source == "usual":
                self.clues[tensor.name] = about[0]
        self.types = list(dict.fromkeys(dtype for clue in about for dtype in clue.dtypes))

    def _called(self, tensor: Tensor) -> Iterable[Clue]:
        """What calls in the project say of the type of ``tensor``."""
        seen: dict[Dtype, str] = {}
        for site in self.sites:
            for dtype in site.types_of(tensor.name):
                seen.setdefault(dtype, site.place)
        if seen:
            dtype, place = next(iter(seen.items()))
            yield Clue(tuple(seen), "call", f"{place} calls it with {dtype}")

    def _of_site(self, site: CallSite) -> Plan | None:
        """The call at ``site``; what it does not tell is taken as elsewhere. None where it tells types alone, which are clues."""
        if site.is_of_types:
            return None
        question = self.program.question
        given = {fact.name for fact in question.facts}
        facts = [_fact(name, site.owner, value) for name, value in site.arguments.items() if name not in given]
        called = self.program.about(replace(question, facts=(*question.facts, *facts), strict=False))
        workload = called.workload(self.workload.entry, NO_EDITS)
        if workload is None or not workload.first_call().launches():
            return None
        rest = Planner(called, workload, self.target, ())
        plan = rest._plan(MIDDLE, {name: clue.dtypes[0] for name, clue in rest.clues.items()})
        if plan is None:
            return None
        what = "the call at {}, a demonstration or a test" if site.tried else "the call at {}"
        told = [AssumedFact(fact.name, _said(fact), "call", what.format(site.place)) for fact in facts]
        return replace(plan, name=f"call at {site.place}", facts=(*told, *plan.facts))

    def called(self) -> Iterator[Plan]:
        """The calls that can be followed of those of the project, the largest first."""
        return filter(None, map(self._of_site, self.sites[:_MOST_SITES]))

    def assignments(self) -> list[dict[str, Dtype]]:
        """Types for all untyped arguments, the likeliest first; those that Triton's front end refuses are left out."""
        if not self.tensors:
            return [{}]
        first = {name: clue.dtypes[0] for name, clue in self.clues.items()}
        found = [first]
        for dtype in self.types:
            # What asserts, comments and docstrings say of one argument stays; the others change together.
            free = [t.name for t in self.data if dtype in self._may_be(t)]
            other = first | dict.fromkeys(free, dtype)
            if free and all(not _alike(other, known) for known in found):
                found.append(other)
        legal = [types for types in found if self._accepted(types)]
        refused = [types for types in found if legal and types not in legal]
        kinds = (str(types[t.name]) for types in refused for t in self.data if types[t.name] != legal[0][t.name])
        self.refused = list(dict.fromkeys(kinds))
        return (legal or found[:1])[: 1 + _MOST_TYPES]

    def _may_be(self, tensor: Tensor) -> Sequence[Dtype]:
        own = self.clues[tensor.name]
        return own.dtypes if own.source in ("call", "check", "annotation", "docstring", "comment") else self.types

    def _accepted(self, dtypes: Mapping[str, Dtype]) -> bool:
        """Whether the front end takes the kernels with arguments of these types, as far as it takes them at all."""
        key = tuple(sorted((name, str(dtype)) for name, dtype in dtypes.items()))
        if key not in self._read:
            self._read[key] = not (self._faults(dtypes) - self._faults({}))
        return self._read[key]

    def _faults(self, dtypes: Mapping[str, Dtype]) -> set[tuple[str, object]]:
        """What the compiler refuses of the kernels."""
        checked = self.program.about(replace(self.program.question, target=self.target))
        workload = checked.at(dtypes=dtypes).workload(self.workload.entry, NO_EDITS)
        return {
            (fault.kind, fault.span)
            for launch in (workload.first_call().launches() if workload is not None else ())
            for fault in launch.kernel.faults
            if fault.certain and fault.kind in _refused()
        }

    def plans(self) -> list[Plan]:
        """The calls to judge, the one that answers are about first; empty where the sizes cannot be told by any evidence."""
        telling = [site for site in self.sites if not _is_small(site)]
        called = list(filter(None, map(self._of_site, telling[:_MOST_SITES])))
        if called and not telling[0].tried:
            return called
        # What only tries the function says what it may be given, not how much of it.
        tried = [plan for site in self.sites if _is_small(site) and (plan := self._of_site(site)) is not None][:1]
        return [*called[:1], *self._settled()._laddered(), *tried]

    def _settled(self) -> Planner:
        """The planner of the call with what nobody sizes: those arguments of a call in view that are neither tensors nor sizes, and the
        fewest axes that tensors of unknown rank may have."""
        question = self.program.question
        given = {fact.name for fact in question.facts}
        called = [(site.owner, *one) for site in self.sites[:1] for one in site.arguments.items()]
        told = [_fact(name, owner, value) for owner, name, value in called if name not in given]
        facts = [
            fact for fact in told if fact.is_value and isinstance(fact.value, (bool, float, str, Dtype, type(None)))
        ]
        names = open_names(self.workload, _missing(self.workload))
        indices = {name for name, clue in self.clues.items() if not clue.dtypes[0].is_float}
        facts += [Fact(name, shape=(None,) * rank) for name, rank in ranks(self.workload, names, indices).items()]
        if not facts:
            return self
        asked = replace(question, facts=(*question.facts, *facts), strict=False)
        program = self.program.about(asked)
        workload = program.workload(self.workload.entry, NO_EDITS)
        followed = workload is not None and workload.first_call().launches()
        return Planner(program, workload, self.target, self.sites) if followed and workload else self

    def _laddered(self) -> list[Plan]:
        """Calls at plausible sizes, and with other types than the likeliest."""
        types = self.assignments()
        first, *others = [
            self._plan(rung, types[0]) for rung in (MIDDLE, *(r for r in range(len(RUNGS)) if r != MIDDLE))
        ]
        if first is None:
            return []
        plans = [first, *(plan for plan in others if plan and plan.facts != first.facts and _runs(plan.workload))]
        if not any(fact.source == "ladder" for fact in plans[0].facts):
            plans = plans[:1]  # the sizes are known: one size is like the other
        for other in types[1:]:
            plan = self._plan(MIDDLE, other, types[0])
            if plan is not None:
                plans.append(plan)
        return plans

    def _plan(self, rung: int, dtypes: Mapping[str, Dtype], usual: Mapping[str, Dtype] | None = None) -> Plan | None:
        sizes: dict[Symbol, Size] = {}
        program = self.program.at(dtypes=dtypes) if dtypes else self.program
        workload = program.workload(self.workload.entry, NO_EDITS)
        hints = self.workload.hints
        kernel = self.program.kernel
        written = taps(kernel, self.workload) | written_axes(kernel, self.workload)
        called = {name: (*written.get(name, ()), *hints.names.get(name, ())) for name in {*written, *hints.names}}
        hints = replace(hints, names=called)
        for _ in range(_ROUNDS):
            if workload is None:
                return None
            missing = _missing(workload)
            names = [name for name in open_names(workload, missing) if Symbol(name) not in sizes]
            if not missing or not names:
                break
            told = replace(workload, hints=hints)  # what sizes are called that have their value now, too
            rungs = ladder(told, names) or ladder(told, missing)
            if rungs is None:
                return None
            sizes |= rungs[rung]
            program, workload = self._at(sizes, dtypes)
            if workload is not None and (heads := held(workload, told, sizes)):
                sizes |= heads
                program, workload = self._at(sizes, dtypes)
        if workload is None or open_symbols(workload) or not workload.first_call().launches():
            return None  # the program's own checks may refuse such a call
        facts = [*self._type_facts(dtypes, usual), *_size_facts(sizes)]
        return Plan(self._name(rung, sizes, dtypes, usual), program, workload, tuple(facts))

    def _at(self, sizes: Mapping[Symbol, Size], dtypes: Mapping[str, Dtype]) -> tuple[Program, Workload | None]:
        """The program with ``sizes`` and types given, and the call of it."""
        program = self.program.at(sizes=sizes, dtypes=dtypes)
        return program, program.workload(self.workload.entry, NO_EDITS)

    def _name(
        self, rung: int, sizes: Mapping[Symbol, Size], dtypes: Mapping[str, Dtype], usual: Mapping[str, Dtype] | None
    ) -> str:
        parts = [RUNGS[rung]] if sizes else []
        if usual is not None:
            changed = [name for name, dtype in dtypes.items() if usual.get(name) != dtype]
            parts.append(f"{', '.join(changed)} {dtypes[changed[0]]}" if changed else "")
        return ", ".join(part for part in parts if part) or "as it stands"

    def _type_facts(self, dtypes: Mapping[str, Dtype], usual: Mapping[str, Dtype] | None) -> Iterable[AssumedFact]:
        for name, dtype in dtypes.items():
            clue = self.clues[name]
            if usual is not None and usual[name] != dtype:
                yield AssumedFact(name, str(dtype), "alternative", f"{clue.because}; it may be {dtype} as well")
            elif self.refused and clue.source in ("use", "name", "usual") and any(t.name == name for t in self.data):
                yield AssumedFact(name, str(dtype), "legality", f"Triton refuses {' and '.join(self.refused)} here")
            else:
                yield AssumedFact(name, str(dtype), clue.source, clue.because)


def _runs(workload: Workload) -> bool:
    """Whether no grid is empty: at sizes below a tile one of whole tiles is, so that nobody calls the program with them."""
    return all(launch.programs != 0 for launch in workload.first_call().launches())


def _is_small(site: CallSite) -> bool:
    """Whether the sizes of ``site`` are those of a demonstration or a test."""
    return site.tried and site.largest < _ORDINARY


def _falling(sites: Iterable[CallSite]) -> list[CallSite]:
    return sorted(sites, key=lambda site: site.largest, reverse=True)


def _middle_first(sites: Iterable[CallSite]) -> list[CallSite]:
    """``sites`` with the middle one by size first, as what holds at the ends of a sweep holds of few calls, then the largest, the
    smallest and the others. The middle and the smallest are those of the calls that are large enough to say something of speed."""
    falling = _falling(sites)
    ordinary = [site for site in falling if site.largest >= _ORDINARY] or falling
    first = [*ordinary[len(ordinary) // 2 :][:1], *ordinary[:1], *ordinary[-1:], *falling]
    return [site for place, site in enumerate(first) if all(site is not other for other in first[:place])]


def _fact(name: str, function: str, value: Any) -> Fact:
    """What a call gives an argument, as a user would say it."""
    if isinstance(value, Items):
        items = tuple(_fact(f"{name}[{place}]", function, item) for place, item in enumerate(value.known))
        return Fact(name, function, items=items)
    if isinstance(value, tuple):
        dtype, shape, strides, held = value if len(value) == 4 else (*value, None, Expected())
        return Fact(name, function, dtype, shape, strides=strides, held=held)
    return Fact(name, function, value=None if isinstance(value, Nothing) else value, is_value=True)


#: Items of a list that are spelt out.
_MOST_SAID = 3


def _said(fact: Fact) -> str | int:
    if fact.items is not None:
        said = [str(_said(item)) for item in fact.items[:_MOST_SAID]]
        return f"[{', '.join((*said, *(['...'] if len(fact.items) > _MOST_SAID else [])))}]"
    if fact.is_value:
        whole = isinstance(fact.value, int) and not isinstance(fact.value, bool)
        return int(fact.value) if whole else str(fact.value)
    dims = "" if fact.shape is None else f"[{','.join('?' if e is None else str(e) for e in fact.shape)}]"
    strided = f" with strides {fact.strides}" if fact.strides is not None else ""
    return f"{fact.dtype or 'tensor'}{dims}{strided}"


def _alike(one: Mapping[str, Dtype], other: Mapping[str, Dtype]) -> bool:
    """Whether two choices of types make no difference for speed: bfloat16 costs what float16 costs."""
    return all((a.bits, a.kind) == (other[name].bits, other[name].kind) for name, a in one.items())


def _size_facts(sizes: Mapping[Symbol, Size]) -> Iterable[AssumedFact]:
    for symbol, size in sizes.items():
        number = concrete(size)
        if number is not None and ".stride(" not in symbol.name:
            yield AssumedFact(
                symbol.name, number, "ladder", "no size is in view; a plausible one by its name and place"
            )
