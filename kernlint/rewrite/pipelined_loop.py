"""A ``range`` loop of a kernel becomes a pipelined ``tl.range``."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import module_alias
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.tiling.kl208_unpipelined_row_loop import Pipelined


@codemod(Pipelined, Effects())
def pipelined_loop(site: Site, transform: Pipelined) -> list[TextEdit]:
    """``range(a, b, c)`` becomes ``tl.range(a, b, c, num_stages=n)``."""
    source = site.source
    loop = source.at(transform.loop, cst.For)
    call = loop.iter
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or call.func.value != "range":
        raise CannotRewrite("the loop does not run over range(...)")
    tl = module_alias(site.module, "triton.language")
    return [
        source.replace(call.func, f"{tl}.range"),
        *source.set_argument(call, "num_stages", str(transform.stages)),
    ]
