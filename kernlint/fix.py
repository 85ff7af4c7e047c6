"""From a source text and a question to the changed source: what ``kernlint fix`` does, as one function."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import PurePath

from kernlint.analysis import Analysis, Reading, best_change, read_program, with_what_is_wrong
from kernlint.cost.comparing import speedup
from kernlint.cost.estimate import estimate
from kernlint.errors import KernlintError, SourceError
from kernlint.interpret.edits import NO_EDITS
from kernlint.records import dataclass, replace
from kernlint.request import Request
from kernlint.rewrite.edits import Attempt
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, apply_edits, lines_with_ends
from kernlint.rules.base import NOT_ABOUT_SPEED, Rule, calls_for
from kernlint.rules.finding import Context
from kernlint.rules.registry import find_rule
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import is_markdown
from kernlint.verdict.candidate import LEAST_LOW, LEAST_LOW_TILING, NOT_WORTH, WORTH, Candidate, Priced
from kernlint.verdict.judge import Judgement
from kernlint.verdict.proposals import other_kernels
from kernlint.verdict.scenarios import undecided
from kernlint.verdict.search import price, ranked
from kernlint.verdict.written import with_best_tiles
from kernlint.workload import Workload

#: Fixes of one run; each is followed by a fresh analysis.
MAX_ROUNDS = 10
#: The same for rules about wrong code, of which a file may hold many.
MAX_MENDS = 50

#: How much slower than predicted the rewritten program may be for the model, unless it is worth it as it is: what-if edits
#: mean the same as their text, transforms describe the result less exactly.
_SLACK_EDITS = 1.05
_SLACK_TRANSFORMS = 1.5


@dataclass(frozen=True)
class Applied:
    """A fix that was made: the rule's ``code`` and ``name``, the ``line`` of its finding and the ``lines`` it changed, both
    counted in the source as it was before this fix, what it did (``method``), its effects, and what was predicted of it
    in the chosen scope (None where sizes are open). ``mends`` says that it is about wrong code, ``tunes`` that it is a choice of
    tiles, ``anew`` that the kernels are written anew. For a cause that no rule knows they have the cause's name and no code."""

    code: str
    name: str
    kernel: str
    line: int
    lines: tuple[int, ...]
    method: str
    effects: Effects
    gain: Priced | None
    mends: bool = False
    tunes: bool = False
    anew: bool = False


@dataclass(frozen=True)
class Refused:
    """A fix that was not made: ``reason`` says why, ``plan`` how a person would do it. ``unsafe`` where it could be made
    but the user has to agree."""

    code: str
    name: str
    line: int
    reason: str
    plan: str
    unsafe: bool = False

    @property
    def title(self) -> str:
        """Code and name of the rule; the name of a cause that no rule knows."""
        return f"{self.code} {self.name}".lstrip()


@dataclass(frozen=True)
class Fixed:
    """The outcome: the kernel's source ``before`` and ``after`` (the same text where nothing was applied). ``wanted`` are the facts
    without which it cannot be told what would pay."""

    path: str
    before: str
    after: str
    applied: tuple[Applied, ...] = ()
    refused: tuple[Refused, ...] = ()
    wanted: tuple[str, ...] = ()

    @property
    def nothing(self) -> str:
        """Why nothing was applied or refused."""
        if not self.wanted:
            return "nothing to fix"
        given = " ".join(f"--assume '{fact}'" for fact in self.wanted)
        return f"nothing that is proven to pay, as sizes or types are open: give them, such as {given}"

    @property
    def diff(self) -> str:
        """A unified diff; empty where nothing was applied."""
        return diff_of(self.before, self.after, self.path)


def diff_of(before: str, after: str, path: str) -> str:
    """The unified diff of two versions of the file called ``path``; empty where they are equal."""
    lines = difflib.unified_diff(lines_with_ends(before), lines_with_ends(after), path, path)
    return "".join(line if line[-1] in "\r\n" else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass
class _Question:
    """What is asked of each version of the program, and what has come of it so far."""

    request: Request
    rules: tuple[Rule, ...]
    unsafe: bool
    follow_ups: bool
    autotune: bool = False
    done: list[Applied] = field(default_factory=list)
    refused: dict[tuple[str, str, str], Refused] = field(default_factory=dict)
    #: Facts that nothing tells, which the verdict would assume.
    wanted: Sequence[str] = ()

    @property
    def mends(self) -> bool:
        """Whether rules about wrong code were named, of which a file may break many."""
        return any(rule.bare or rule.lexical or rule.category in NOT_ABOUT_SPEED for rule in self.rules)

    @property
    def scope(self) -> str:
        return self.request.scope


@dataclass(frozen=True)
class _Found:
    """A ``workload`` and what may be changed in it; ``wrong`` where that is what the verdict says to mend first."""

    workload: Workload
    candidates: Sequence[Candidate]
    wrong: bool = False


class _Version:
    """One version of the program under ``asked``."""

    def __init__(self, reading: Reading, asked: _Question, judgement: Judgement | None = None) -> None:
        self.reading = reading
        self.asked = asked
        self.judgement = judgement
        self.text = reading.task.kernel.text
        #: Why ways to write kernels anew, by identity, came to nothing whatever the candidate.
        self.missed: dict[int, CannotRewrite] = {}

    def found(self) -> Iterator[_Found]:
        """What there is to change: what the verdict says to mend first, and its change; or what the rules that were named find
        in each workload."""
        if not self.asked.rules:
            judgement = self.judgement or best_change(self.reading, self.asked.autotune)
            self.asked.wanted = undecided(judgement.workload, judgement.before.missing)
            yield _Found(judgement.workload, self._mendable(judgement), wrong=True)
            yield _Found(judgement.workload, judgement.search.changes)
            return
        for workload, rules in self._asked_of():
            yield _Found(workload, price(self.context(workload), rules))

    def _mendable(self, judgement: Judgement) -> list[Candidate]:
        """What is surely wrong and can be mended with the consent that there is."""
        reading, allowed = self.reading, ("safe", "unsafe") if self.asked.unsafe else ("safe",)
        if self.judgement is None:
            judgement = with_what_is_wrong(judgement, reading)
        made = ((candidate, candidate.attempt.rewriting) for candidate in judgement.errors)
        return [c for c, rewriting in made if rewriting is not None and rewriting.effects.applicability in allowed]

    def _asked_of(self) -> Iterator[tuple[Workload, list[Rule]]]:
        """Each workload with the rules to ask about it."""
        program, rules = self.reading.program, self.asked.rules
        yield program.source_alone, [rule for rule in rules if rule.lexical]
        followed = [rule for rule in rules if not rule.lexical]
        for workload in self.reading.workloads:
            yield from calls_for(workload, followed)
        bare = [rule for rule in followed if rule.bare]
        yield from ((workload, bare) for workload in (program.bare_kernels() if bare else ()))

    def workload(self, like: Workload) -> Workload | None:
        """The workload of this version that has the entry of ``like``."""
        return self.reading.program.workload(like.entry, NO_EDITS, like.bare)

    def context(self, workload: Workload) -> Context:
        gpu = self.reading.device
        return Context(
            self.reading.program,
            workload,
            gpu,
            price=lambda w: estimate(w, gpu),
            autotune=self.asked.autotune,
            device_named=self.reading.device_named,
        )


def fix_source(
    request: Request,
    *,
    rules: Iterable[str] = (),
    follow_ups: bool = False,
    unsafe: bool = False,
    autotune: bool = False,
    analysed: Analysis | None = None,
) -> Fixed:
    """The source with the change made that its verdict chooses, or those of ``rules`` (codes or names).

    ``follow_ups`` goes on with what is worth doing next until nothing is, at most ``MAX_ROUNDS`` times; ``unsafe`` allows changes
    that are not declared safe; with ``autotune`` a change of the tile adds ``@triton.autotune``. ``analysed`` is what
    :func:`kernlint.analysis.analysis` makes of the same request, where it is at hand. Of a Markdown task file the result is
    the kernel's own source.

    Every fix is read again before it counts: the new source must parse, the finding must be gone, and the cost model must
    see the predicted time. Raises what :func:`~kernlint.analysis.analyze` raises; a fix that cannot be made is no error
    but among ``refused``.
    """
    selected = tuple(find_rule(rule) for rule in rules)
    asked = _Question(request, selected, unsafe, follow_ups, autotune)
    version = _first_version(asked, analysed)
    if is_markdown(SourceText(request.source, request.path)):
        _leave_markdown(version)
    after = _with_fixes(version)
    return Fixed(
        asked.request.path,
        version.text,
        after.text,
        tuple(asked.done),
        tuple(asked.refused.values()),
        tuple(asked.wanted),
    )


def _first_version(asked: _Question, analysed: Analysis | None) -> _Version:
    """The program as it is given, read by ``analysed`` where that is about the same."""
    if analysed is not None and not asked.mends:
        return _Version(analysed.reading, asked, analysed.judgement.proven)
    return _Version(read_program(asked.request, asked.mends), asked)


def _leave_markdown(version: _Version) -> None:
    """Call the kernel of a task file what it is from here on: a Python file of its own, and the reference another."""
    asked, task = version.asked, version.reading.task
    path = f"{asked.request.path.removesuffix(PurePath(asked.request.path).suffix)}.py"
    asked.request = replace(asked.request, path=path)
    if asked.request.reference is None and task.reference is not None:
        asked.request = replace(asked.request, reference=task.reference.text)


def _with_fixes(version: _Version) -> _Version:
    """The program after all fixes that are asked for."""
    asked = version.asked
    for _ in range(MAX_MENDS if asked.mends else MAX_ROUNDS):
        made = _next_fix(version)
        if made is None:
            break
        version = made
        # What was measured of the program before is not true of it any more.
        asked.request = replace(asked.request, performance=None)
        if not asked.follow_ups and not asked.rules and not asked.done[-1].mends:
            break
    return version


def _next_fix(version: _Version) -> _Version | None:
    """The program after the next fix that can be made; None where there is none left."""
    asked = version.asked
    for found in version.found():
        for candidate in _in_order(found, asked):
            key = _key(candidate)
            try:
                made = _made(version, found, candidate)
            except CannotRewrite as error:
                asked.refused[key] = _refusal(candidate, str(error))
                continue
            if isinstance(made, Refused):
                asked.refused[key] = made
                continue
            return made
        shorter = _shorter_way(version, found)
        if shorter is not None:
            return shorter
    return None


def _shorter_way(version: _Version, found: _Found) -> _Version | None:
    """The program in kernels written anew though nothing that is known holds it back, where the model is sure that they gain."""
    asked, workload = version.asked, found.workload
    if asked.rules or found.wrong or not asked.unsafe or _is_anew(asked) or not workload.steps:
        return None
    candidate = other_kernels(version.context(workload))
    try:
        made = _made(version, found, candidate)
    except CannotRewrite:
        return None
    return made if isinstance(made, _Version) else None


def _in_order(found: _Found, asked: _Question) -> list[Candidate]:
    """What to try, the most worthwhile first."""
    tuned, anew = {one.code for one in asked.done if one.tunes}, _is_anew(asked)
    left = [c for c in found.candidates if c.finding.rule.code not in tuned and _key(c) not in asked.refused]
    left = [c for c in left if not (c.anew and anew)]  # of what is written anew nothing else would be written
    if found.wrong:
        return left
    if asked.rules:
        known = [c for c in left if asked.scope not in c.gains or c.gains[asked.scope].middle >= 1.0]
        return sorted(known, key=lambda c: -c.gains[asked.scope].saving_us if asked.scope in c.gains else 0.0)
    worth = [one for one in ranked(left, asked.scope) if one.worth(asked.scope) is not False]
    # Whatever the cause, the same kernels are written anew for it.
    first = next((one for one in worth if one.finding.cause is not None), None)
    return [one for one in worth if one.finding.cause is None or one is first]


def _is_anew(asked: _Question) -> bool:
    return any(one.anew for one in asked.done)


def _key(candidate: Candidate) -> tuple[str, str, str]:
    """What a finding is known by from one version to the next; one about wrong code by what it says too: where one fault is
    mended the analysis gets further, and may find the next."""
    finding = candidate.finding
    said = f": {finding.message}" if finding.rule.category in NOT_ABOUT_SPEED else ""
    return finding.rule.code, finding.kernel, finding.symbol + said


def _refusal(candidate: Candidate, reason: str, unsafe: bool = False) -> Refused:
    finding = candidate.finding
    plan = finding.change.plan if finding.change is not None else ""
    return Refused(finding.rule.code, finding.rule.name, finding.span.line, reason, plan, unsafe)


class _StillFound(CannotRewrite):
    """A way was taken, and the finding is there all the same."""


def _made(version: _Version, found: _Found, candidate: Candidate) -> _Version | Refused:
    """The program with the change of ``candidate`` made and read again: in the first way that there is consent to and that comes to what
    was promised, or where a cause promised it in its own kernel, whichever is faster. Raises :class:`CannotRewrite` where none does."""
    asked, made, refused, why = version.asked, list[_Made](), None, None
    for ways in (candidate.ways(), candidate.local_ways()):
        for way in ways:
            if way.anew and asked.rules and not candidate.anew:
                break  # who names a rule asks for its own change
            try:
                one = _tried(version, found, candidate, way)
            except CannotRewrite as error:
                why = why or error
                continue
            if not isinstance(one, Refused):
                made.append(one)
                break
            refused = refused or one
    if made:
        best = min(made, key=lambda one: one.gain.after_us if one.gain is not None else math.inf)
        asked.done.append(_applied(version, candidate, best))
        return best.after
    if refused is not None:
        return refused
    raise why or CannotRewrite(candidate.attempt.reason)


@dataclass(frozen=True)
class _Made:
    """A ``way`` that was taken to the version ``after``, with what it gains; None where sizes are open."""

    way: Attempt
    rewriting: Rewriting
    after: _Version
    gain: Priced | None


def _tried(version: _Version, found: _Found, candidate: Candidate, way: Attempt) -> _Made | Refused:
    """The program with the change of ``candidate`` made in one ``way``. Raises :class:`CannotRewrite` where that cannot be, or does not
    come to what was promised."""
    asked = version.asked
    if way.rewriting is None or id(way) in version.missed:
        raise version.missed.get(id(way)) or CannotRewrite(way.reason)
    try:
        if way.anew and _is_anew(asked):
            raise CannotRewrite("its kernels are written anew already")
        needed = _without_consent(candidate, way.rewriting.effects, asked)
        if needed is not None:
            return needed
        rewriting = way.rewriting
        if way.anew and candidate.program is not None:
            rewriting = with_best_tiles(candidate.program, way, version.context(found.workload), asked.scope)
        after = _read_again(apply_edits(version.text, rewriting.edits), asked)
        return _Made(way, rewriting, after, _checked(version, found, candidate, way, after))
    except CannotRewrite as error:
        if way.anew and not isinstance(error, _StillFound):
            version.missed[id(way)] = error
        raise


def _without_consent(candidate: Candidate, effects: Effects, asked: _Question) -> Refused | None:
    """The refusal of a change with ``effects`` that the user has not agreed to; None where that is not needed."""
    if effects.applicability == "safe" or (effects.applicability == "unsafe" and asked.unsafe):
        return None
    why = "; ".join(effects.notes) or f"numerics {effects.numerics}"
    return _refusal(candidate, f"the fix is {effects.applicability}: {why}", effects.applicability == "unsafe")


def _applied(version: _Version, candidate: Candidate, made: _Made) -> Applied:
    source, finding = Source(version.reading.program.kernel), candidate.finding
    rule, change = finding.rule, finding.change
    return Applied(
        rule.code,
        rule.name,
        finding.kernel,
        finding.span.line,
        tuple(sorted({source.line_number(edit.start) for edit in made.rewriting.edits})),
        change.method if change is not None else "",
        made.rewriting.effects,
        made.gain,
        rule.category in NOT_ABOUT_SPEED,
        rule.tuning,
        made.way.anew,
    )


def _read_again(text: str, asked: _Question) -> _Version:
    """The rewritten program. Raises :class:`CannotRewrite` where it is none."""
    try:
        return _Version(read_program(replace(asked.request, source=text), asked.mends), asked)
    except SourceError as error:
        raise CannotRewrite(f"the rewritten source does not parse ({error}); nothing was changed") from None
    except KernlintError as error:
        raise CannotRewrite(f"the rewritten source cannot be followed ({error}); nothing was changed") from None


def _checked(before: _Version, found: _Found, candidate: Candidate, way: Attempt, after: _Version) -> Priced | None:
    """What the rewritten program gains by the model, None where sizes are open. Raises :class:`CannotRewrite` where it is
    not what was promised."""
    workload, candidates = found.workload, found.candidates
    scope, rule = before.asked.scope, candidate.finding.rule
    rewritten = after.workload(workload)
    if rewritten is None:
        raise CannotRewrite(f"the rewritten source has no {workload.entry} that could be followed")
    _check_followed(workload, rewritten)
    # What mends wrong code has no price, and where there are no steps there is no time.
    gain = None if rule.category in NOT_ABOUT_SPEED else _gain(workload, rewritten, before, candidate, way.anew)
    promised = candidate.gains.get(scope)
    least = min(NOT_WORTH, promised.middle) if promised is not None else NOT_WORTH
    count = sum(_alike(one, candidate, scope, least) for one in candidates)
    left = sum(_alike(one, candidate, scope, least) for one in price(after.context(rewritten), [rule]))
    if left >= max(count, 1):
        raise _StillFound(f"{rule.code} would still be found in the rewritten source")
    return gain


def _check_followed(before: Workload, after: Workload) -> None:
    """Raise where less is known of the rewritten program, or where it returns something else."""
    if len(after.unknowns) > len(before.unknowns):
        raise CannotRewrite(f"the rewritten source cannot be followed as far as before ({after.unknowns[-1]})")
    lost = [launch for launch in after.launches() if not launch.kernel.complete]
    if len(lost) > sum(not launch.kernel.complete for launch in before.launches()):
        raise CannotRewrite(f"the rewritten kernel cannot be followed ({'; '.join(lost[-1].kernel.notes)})")
    old, new = (sorted((str(t.dtype), str(t.shape)) for t in w.outputs) for w in (before, after))
    if old != new:
        raise CannotRewrite("the rewritten source returns tensors of another type or shape")


def _gain(before: Workload, after: Workload, version: _Version, candidate: Candidate, anew: bool) -> Priced | None:
    """The predicted times before and after; raises where the second is not the one that was promised."""
    gpu, scope = version.reading.device, version.asked.scope
    old, new = estimate(before, gpu), estimate(after, gpu)
    old_us, new_us = old.total_us(scope), new.total_us(scope)
    caused = candidate.finding.cause is not None
    if old_us is None or new_us is None:
        if caused or (anew and not candidate.anew):
            raise CannotRewrite("what kernels written anew would gain is not known")
        return None
    found = Priced(old_us, new_us, *speedup(old, new, scope))
    gain, change = candidate.gains.get(scope), candidate.finding.change
    if gain is not None and change is not None and change.variant is not None and not anew:
        slack = _SLACK_TRANSFORMS if change.variant.transforms else _SLACK_EDITS
        promised = old_us / gain.middle
        short = new_us > promised * slack and found.middle < WORTH
        if short or new_us > old_us * (1 + 1e-9):
            raise CannotRewrite(f"the rewritten source would take {new_us:.1f} us, not the predicted {promised:.1f} us")
    least = LEAST_LOW_TILING if candidate.is_other else LEAST_LOW
    if (anew or caused) and not found.written.pays(least):
        what = "kernels written anew" if anew else "the kernel changed in place"
        raise CannotRewrite(f"{what} would take {new_us:.1f} us, the program takes {old_us:.1f} us")
    return found


def _alike(one: Candidate, other: Candidate, scope: str, least: float) -> bool:
    """Whether ``one`` is a finding like ``other``, and more than the model's noise."""
    gain = one.gains.get(scope)
    return _key(one) == _key(other) and (gain is None or gain.middle >= least or math.isclose(gain.middle, least))
