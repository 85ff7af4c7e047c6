"""The what-if edits of the interpreter as text: each field of :class:`~kernlint.interpret.edits.Edits` has its maker."""

from __future__ import annotations

from kernlint.interpret.edits import Edits
from kernlint.rewrite.copies import read_in_place
from kernlint.rewrite.effects import Rewriting
from kernlint.rewrite.fills import leave_uninitialised
from kernlint.rewrite.native_dots import feed_natively
from kernlint.rewrite.precisions import set_precision
from kernlint.rewrite.settings import set_literals, set_options
from kernlint.rewrite.site import Site, rewriting_of
from kernlint.rules.finding import Variant


def rewrite(site: Site, variant: Variant) -> Rewriting:
    """``variant`` as edits of the program at ``site``. Raises :class:`CannotRewrite`."""
    made = rewrite_edits(site, variant.edits)
    for transform in variant.transforms:
        made |= rewriting_of(site, transform)
    return made


def rewrite_edits(site: Site, edits: Edits) -> Rewriting:
    """The same for what-if edits alone."""
    made = set_literals(site, edits.literals) | set_options(site, edits.options)
    if edits.native_dots:
        made |= feed_natively(site, edits.native_dots)
    for span, precision in sorted(edits.precisions):
        made |= set_precision(site, span, precision)
    for span in sorted(edits.unfilled):
        made |= leave_uninitialised(site, span)
    if edits.skipped:
        made |= read_in_place(site, edits.skipped)
    return made
