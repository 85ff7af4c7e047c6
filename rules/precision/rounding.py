"""The words for dots that may be fed what :mod:`kernlint.operators.dot_operands` proves to lose little."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kernlint.operators.dot_operands import NARROW, WideLoop
from kernlint.operators.operator import WhyNot
from kernlint.records import replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.pricing import LEAST_GAIN, gain
from kernlint.workload import Dot, Span


def rounded_findings(
    rule: Rule, context: Context, precision: str, slow: str, wanted: Callable[[WideLoop, Dot], bool]
) -> Iterator[Finding]:
    """The findings on loops of dots in ``precision`` whose operands are widened 16-bit tensors and what is computed from such, all that
    are ``wanted`` changed at once. ``slow`` says what the dots do in that precision."""
    seen: set[Span] = set()
    for site in NARROW.sites(context):
        chosen = tuple(one for one in site.products if one.dot.precision == precision and wanted(site, one.dot))
        site = replace(site, products=chosen)
        rounded = next((one.dot for one in chosen if one.computed), None)
        if rounded is None or site.dots & seen or isinstance(NARROW.check(context, site), WhyNot):
            continue
        seen |= site.dots
        variant = NARROW.apply(context, [site])
        expected = gain(context, variant)
        if expected is None or expected < LEAST_GAIN:
            continue
        kernel, narrow, lines = site.kernel, site.narrow, ", ".join(str(span.line) for span in sorted(site.dots))
        yield rule.finding(
            f"`{kernel}` runs {len(chosen)} tl.dot of {narrow} data in {precision} precision",
            rounded.span,
            kernel,
            (
                Evidence(
                    f"all that is loaded and stored is {narrow}; the casts to fp32 come before tl.dot", rounded.span
                ),
                Evidence("no iteration multiplies with a carried value that was rounded before", site.loop.span),
            ),
            Change(
                variant,
                f"{len(chosen)} dots of `{kernel}` {slow}, although their tensors hold no more than {narrow}.",
                f"Feed the dots {narrow} operands: the tensors as they are loaded, what the kernel computes rounded to {narrow}; "
                "they accumulate in fp32 anyway.",
                f"In the dots at lines {lines} drop the casts to fp32 and `input_precision`, and write `x.to(tl.{narrow})` for "
                "operands that the kernel computed. Compare the error against the reference; "
                'where values exceed the type\'s range keep them in fp32 and take `input_precision="tf32"`.',
            ),
        )
