"""Edits after which tensors lie otherwise in memory: whether their kernels find every element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernlint.errors import KernlintError
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.question import Question
from kernlint.rewrite.addresses import moved_wrongly
from kernlint.rewrite.rereading import parsed
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.workload import Tensor, Workload, concrete


def moved_addresses(site: Site, edits: Sequence[TextEdit]) -> tuple[str, ...]:
    """What stands in the way of a proof of ``edits`` for other calls. Raises :class:`CannotRewrite` where it is not proven that every load
    and store still reaches the same element."""
    left = moved_wrongly(site.workload, _followed(site, edits, site.program.question))
    # At other sizes too, so that extents that happen to be equal here are told apart.
    other = _other_call(site, _other_sizes(site)) if not left else None
    if other is not None:
        left = moved_wrongly(other[1], _followed(site, edits, other[0]))
    if left:
        index, name = left[0]
        kernel = site.workload.launches()[index].kernel.name
        raise CannotRewrite(f"`{kernel}` addresses `{name}` in a way that only fits its present layout")
    return () if _fits_slices(site, edits) else ("an argument that does not lie in order would be read otherwise",)


def _fits_slices(site: Site, edits: Sequence[TextEdit]) -> bool:
    """Whether ``edits`` are right for arguments too that lie apart in memory, unless the program does not take these."""
    other = _other_call(site, replace(site.program.question, spread=True))
    if other is None:
        return True
    try:
        return not moved_wrongly(other[1], _followed(site, edits, other[0]))
    except CannotRewrite:
        return False


def _other_sizes(site: Site) -> Question | None:
    """The question with every constant that is the extent of a tensor multiplied by another power of two; None where there are no
    such constants."""
    extents = _extents(site.workload)
    sizes = sorted(name for name, value in site.workload.sizes.items() if value > 1 and value in extents)
    given = {**site.program.question.overrides}
    scaled = {name: site.workload.sizes[name] << (i % 3) for i, name in enumerate(sizes, start=1)}
    return replace(site.program.question, overrides={**given, **scaled}) if sizes else None


def _other_call(site: Site, question: Question | None) -> tuple[Question, Workload] | None:
    """``question``, and what the program does then; None where it does not run so."""
    try:
        workload = _followed(site, (), question) if question is not None else None
    except CannotRewrite:
        return None
    if question is None or workload is None:
        return None
    same = [one.kernel.name for one in workload.launches()] == [one.kernel.name for one in site.workload.launches()]
    return (question, workload) if same and len(workload.unknowns) <= len(site.workload.unknowns) else None


def _extents(workload: Workload) -> set[int]:
    """The extents of all tensors that the call is given, launches kernels on or returns."""
    passed = (value for launch in workload.launches() for value in launch.arguments.values())
    tensors = [value for value in (*workload.inputs, *workload.outputs, *passed) if isinstance(value, Tensor)]
    known = (concrete(extent) for tensor in tensors for extent in tensor.shape or ())
    return {extent for extent in known if extent is not None}


def _followed(site: Site, edits: Sequence[TextEdit], question: Question) -> Workload:
    """What the program with ``edits`` does, asked ``question``."""
    try:
        module = parsed(apply_edits(site.module.text, edits), site.module) if edits else site.module
        program = site.program.variant(module, question)
        found = program.workload(site.workload.entry, NO_EDITS)
    except KernlintError as error:
        raise CannotRewrite(f"with the other layout the program cannot be followed ({error})") from None
    if found is None:
        raise CannotRewrite("with the other layout the program cannot be followed")
    return found
