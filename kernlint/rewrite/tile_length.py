"""How a kernel writes the length of its tiles."""

from __future__ import annotations

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.rewrite.function import FunctionSource
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite
from kernlint.syntax.walk import walk


def tile_length(source: Source, kernel: FunctionSource, length: int) -> str:
    """The text of the one constexpr (or literal) that ``kernel`` makes tiles of ``length`` elements with. Raises
    :class:`CannotRewrite` where it has none, or several."""
    found: set[str] = set()
    for node in walk(kernel.node.body):
        if isinstance(node, cst.Call) and source.origin(node.func) == "triton.language.arange":
            block = kernel.values.get(node)
            if isinstance(block, Block) and block.shape == (length,) and node.args:
                found.add(source.code(node.args[-1].value))
    if len(found) != 1:
        raise CannotRewrite("the length of the tile has no name of its own")
    return found.pop()
