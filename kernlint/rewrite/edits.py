"""The what-if edits of the interpreter as text: each field of :class:`~kernlint.interpret.edits.Edits` has its maker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kernlint import work
from kernlint.errors import SourceError
from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.program import Program
from kernlint.records import dataclass
from kernlint.rewrite.copies import read_in_place
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.fills import leave_uninitialised
from kernlint.rewrite.mended_faults import only_mends
from kernlint.rewrite.native_dots import feed_natively
from kernlint.rewrite.precisions import set_precision
from kernlint.rewrite.settings import same_work, set_literals, set_options
from kernlint.rewrite.site import NO_REWRITE, Site, rewriting_of
from kernlint.rewrite.text import CannotRewrite, apply_edits
from kernlint.rules.finding import Variant
from kernlint.syntax.tree import check_syntax
from kernlint.workload import Launch

_AT_THESE_SIZES = "that every element is written is proven at the sizes of the call that was followed"


def rewrite(site: Site, variant: Variant) -> Rewriting:
    """``variant`` as edits of the program at ``site``; unsafe where a comment that is not about the change would be lost.

    Raises :class:`CannotRewrite`.
    """
    made = rewrite_edits(site, variant.edits)
    for transform in variant.transforms:
        made |= rewriting_of(site, transform)
    lost = site.source.lost_comments(made.edits)
    if lost:
        lines = ", ".join(str(site.source.line_number(comment.start)) for comment in lost)
        made |= Rewriting((), Effects("unsafe", notes=(f"the comment at line {lines} would be lost",)))
    return made


@dataclass(frozen=True)
class Attempt:
    """Whether a change can be made automatically: its ``rewriting``, else the ``reason`` why not; ``anew`` where it is kernels written
    anew."""

    rewriting: Rewriting | None
    reason: str = ""
    anew: bool = False

    @property
    def automatic(self) -> bool:
        """Whether `kernlint fix` can make the change, be it only with the user's consent."""
        return self.rewriting is not None and self.rewriting.effects.applicability != "display-only"


def attempt(program: Program, entry: str, variant: Variant | None, bare: bool = False) -> Attempt:
    """``variant`` of the workload ``entry`` of ``program`` (of a kernel that nothing launches where ``bare``) as a rewriting,
    where there is one. What is asked again, as several findings have one change, is answered as before. Raises
    :class:`~kernlint.work.OutOfWork` where there has been enough of it."""
    return program.once(_attempt, entry, variant, bare)


def _attempt(program: Program, entry: str, variant: Variant | None, bare: bool) -> Attempt:
    work.check()
    work.spend(work.REWRITE)
    workload = program.workload(entry, NO_EDITS, bare) if variant is not None else None
    try:
        if variant is None or workload is None:
            raise CannotRewrite(NO_REWRITE)
        site = Site(program, workload)
        made = rewrite(site, variant)
        for other in _other_configurations(site, bare, variant):
            made |= _same(made, other, variant)
        text = apply_edits(site.module.text, made.edits)
        if text == site.module.text:
            raise CannotRewrite("the source has the change already")
        check_syntax(site.module, text)
    except CannotRewrite as error:
        return Attempt(None, str(error))
    except SourceError as error:
        return Attempt(None, f"the rewritten source would not parse ({error})")
    return Attempt(made)


def _other_configurations(site: Site, bare: bool, variant: Variant) -> Iterator[Site]:
    """The program under the further configurations of its tuners, those with equal constexprs left out. A mend asks for no other
    versions of the program, so that its launches are enough, as they were followed."""
    launches = [launch for launch in site.workload.first_call().launches() if launch.alternatives]
    seen = [_constexprs(launches, 0)]
    for number in range(1, max((len(launch.configurations) for launch in launches), default=1)):
        values = _constexprs(launches, number)
        if values in seen:
            continue
        seen.append(values)
        if only_mends(variant):
            yield Site(site.program, site.workload.configured(number))
            continue
        work.check()
        work.spend(work.REWRITE)
        program = site.program.under(number)
        workload = program.workload(site.workload.entry, NO_EDITS, bare)
        if workload is None:
            raise CannotRewrite("the program cannot be followed under every configuration of its autotuner")
        yield Site(program, workload)


def _constexprs(launches: Iterable[Launch], number: int) -> list[Mapping[str, object]]:
    return [one[number % len(one)].constexprs for one in (launch.configurations for launch in launches)]


def _same(made: Rewriting, site: Site, variant: Variant) -> Rewriting:
    """What makes ``variant`` at ``site``, the same program under another configuration; it has to be what was ``made`` under the
    first, or the proof is one of that configuration alone."""
    try:
        again = rewrite(site, variant)
    except CannotRewrite as error:
        raise CannotRewrite(f"not under every configuration of the autotuner: {error}") from None
    if {*again.edits} != {*made.edits}:
        raise CannotRewrite("the change is another one under another configuration of the autotuner")
    return Rewriting((), again.effects)


def rewrite_edits(site: Site, edits: Edits) -> Rewriting:
    """The same for what-if edits alone."""
    made = set_literals(site, edits.literals) | set_options(site, edits.options)
    made |= Rewriting((), same_work(site, edits))
    if edits.native_dots:
        made |= feed_natively(site, edits.native_dots)
    for span, precision in sorted(edits.precisions):
        made |= set_precision(site, span, precision)
    for span in sorted(edits.unfilled):
        # The store was proven at the sizes of one call. At others a grid that rounds down, or one block a row, leaves elements out.
        made |= leave_uninitialised(site, span) | Rewriting((), Effects("unsafe", notes=(_AT_THESE_SIZES,)))
    if edits.skipped:
        made |= read_in_place(site, edits.skipped)
    return made
