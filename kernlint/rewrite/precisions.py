"""Another ``input_precision`` for a ``tl.dot``."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import TextEdit
from kernlint.workload import Span

#: What ``tl.dot`` takes for its operands' precision; the first by either form, so that both never stand together.
PRECISION_KEYWORDS = ("input_precision", "allow_tf32")


def set_precision(site: Site, span: Span, precision: str) -> Rewriting:
    """``input_precision=precision`` at the dot that stands at ``span``."""
    source = site.source
    call = source.at(span, cst.Call)
    value = f'"{precision}"'
    given = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value in PRECISION_KEYWORDS]
    edits: list[TextEdit]
    if given:
        edits = [source.replace(given[0], f"input_precision={value}"), *source.drop_arguments(call, given[1:])]
    elif len(call.args) > 3 and all(arg.keyword is None and not arg.star for arg in call.args[:4]):
        edits = [source.replace(call.args[3].value, value)]  # tl.dot(input, other, acc, input_precision)
    else:
        edits = source.add_keyword(call, "input_precision", value)
    note = {
        "tf32": "tf32 rounds the operands to 10 bits of mantissa",
        "tf32x3": "tf32x3 is not exactly fp32",
    }.get(precision, "")
    effects = Effects("unsafe", "changed", notes=(note,)) if note else Effects()
    return Rewriting(tuple(edits), effects)
