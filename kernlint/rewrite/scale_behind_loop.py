"""A factor that each step of a K loop applies is applied once behind the loop."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.comments import SPEAKS_OF_SCALES
from kernlint.rewrite.editor import Editor
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import LaunchSource
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.tiling.scaled_product import ScaleBehindLoop, scaled_product
from kernlint.workload import Dot


@codemod(ScaleBehindLoop, Effects(numerics="reordered"))
def scale_behind_loop(site: Site, transform: ScaleBehindLoop) -> list[TextEdit]:
    """``acc += tl.dot(a, b) * s`` becomes ``acc += tl.dot(a, b)`` and, behind the loop, ``acc *= s``: with an accumulator as its
    argument, a dot of integers would refuse the float that this is."""
    place = LaunchSource(site, transform.launch)
    kernel, source = place.kernel, place.source
    found = next(
        (scaled_product(site.module, dot, loops[-1]) for dot, loops in place.launch.kernel.walk(Dot)
         if dot.span == transform.dot and loops), None)  # fmt: skip
    if found is None or found.loop not in kernel:
        raise CannotRewrite("the product is scaled in a helper function")
    editor = Editor(source)
    start, end = source.range_of(found.dot)
    editor.put(*source.range_of(found.update), f"{found.accumulator} += {source.text[start:end]}")
    if found.product:
        editor.delete(kernel.line(kernel.bindings(found.product)[0]), heading=False)
    factor = " * ".join(source.full_code(one) if one.lpar else editor.operand(one) for one in found.factors)
    editor.insert_after(
        found.loop, [*_moved_comments(editor, kernel.line(found.update)), f"{found.accumulator} *= {factor}"]
    )
    return editor.edits


def _moved_comments(editor: Editor, line: cst.CSTNode) -> list[str]:
    """The comments above the update that are about the factor, taken away there."""
    heading = editor.heading(line)
    if heading is None:
        return []
    rows = [row.strip() for row in editor.source.text[slice(*heading)].splitlines()]
    if not SPEAKS_OF_SCALES.search(" ".join(rows)):
        return []
    editor.put(*heading, "", describes=True)
    return rows
