"""Comments that head a paragraph of statements: they go when all of the paragraph goes."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from kernlint.rewrite.source import Source
from kernlint.rewrite.text import TextEdit


def stale_headings(source: Source, gone: Sequence[cst.CSTNode]) -> list[TextEdit]:
    """Edits that take out the comments above the statement lines ``gone``, where no statement stays in the paragraph
    that they head."""
    lines = {source.line(source.start(node)): source.line(source.end(node)) for node in gone}
    edits = []
    for node in gone:
        comments = source.heading(node)
        line = source.line(source.start(node))
        while line in lines:
            line = lines[line] + 1
        rest = source.text[source.line_start(line) : source.line_start(line + 1)].strip()
        if comments and (not rest or rest.startswith(("#", "return"))):
            edits += [source.delete_comment(comment) for comment in comments]
    return edits
