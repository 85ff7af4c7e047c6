"""What text for people looks like: plain and the same to the byte in pipes and files; coloured, linked and wrapped on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from kernlint.records import dataclass

_TAB = "    "
_LEAST_WIDTH = 40
_RESET = "\x1b[0m"
_CODES = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36",
    "error": "1;31", "warning": "1;33", "info": "1;36",
}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """Whether there are colours, links and block characters, and the ``width`` in characters that lines are fitted to."""

    colour: bool = False
    links: bool = False
    blocks: bool = False
    width: int | None = None

    def styled(self, text: str, style: str, url: str = "") -> str:
        """``text`` in a style or severity, leading to ``url`` where it can be clicked."""
        if self.colour and style and text:
            text = f"\x1b[{_CODES[style]}m{text}{_RESET}"
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and url else text

    def wrapped(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """The lines of ``text`` with ``indent`` before the first and ``hanging`` before others; one line where there is no width."""
        if self.width is None:
            return [indent + text]
        return textwrap.wrap(
            text,
            max(self.width, _LEAST_WIDTH),
            initial_indent=indent,
            subsequent_indent=indent if hanging is None else hanging,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]

    def prose(self, markdown: str) -> str:
        """``markdown`` with its paragraphs and list items wrapped anew; headings, tables and code stay as they are."""
        if self.width is None:
            return markdown
        lines: list[str] = []
        paragraph: list[str] = []
        code = False
        for line in [*markdown.splitlines(), ""]:
            fence = line.startswith("```")
            code ^= fence
            prose = not (code or fence or line.startswith(("#", "|"))) and bool(line)
            if paragraph and (not prose or line.startswith("- ")):
                lines += self.wrapped(" ".join(paragraph), hanging="  " if paragraph[0].startswith("- ") else "")
                paragraph = []
            if prose:
                paragraph.append(line.strip())
            else:
                lines.append(line)
        return "\n".join(lines)

    def excerpt(self, lines: Sequence[str], begin: tuple[int, int], end: tuple[int, int], most: int) -> list[str]:
        """The first ``lines`` of the range from ``begin`` to ``end`` (line and column, from 1), ``most`` at most, with numbers in
        front and carets below."""
        (line_number, column), (end_line, end_column) = begin, end
        shown: list[str] = []
        lines = lines[:most]
        last = line_number + len(lines) - 1
        digits = len(str(last))
        for number, line in enumerate(lines, start=line_number):
            start = column - 1 if number == line_number else len(line) - len(line.lstrip())
            stop = end_column - 1 if number == end_line else len(line.rstrip())
            before, marked = expanded(line[:start]), expanded(line[start:stop])
            source, carets = expanded(line), " " * len(before) + "^" * max(1, len(marked))
            source, carets = self._window(source, carets, len(before), digits + 5)
            shown.append(f"  {number:>{digits}} | {source}".rstrip())
            shown.append(f"  {'':>{digits}} | {carets}")
        if shown and last < end_line:
            shown.append(f"  {'':>{digits}} | ... {end_line - last} more lines")
        return shown

    def _window(self, source: str, carets: str, start: int, taken: int) -> tuple[str, str]:
        """As much of ``source`` and the ``carets`` below it as fits beside ``taken`` characters, what is marked in view."""
        if self.width is None or len(source) + taken <= self.width:
            return source, carets
        room = max(self.width, _LEAST_WIDTH) - taken
        first = 0 if len(carets) < room else max(0, min(start - room // 4, len(source) - room))
        cut, under = source[first : first + room], carets[first : first + room]
        if first:
            cut = "..." + cut[3:]
        if first + room < len(source):
            cut = cut[:-3] + "..."
        return cut, under


PLAIN = Look()


def expanded(line: str) -> str:
    """``line`` with tabs as spaces and nothing that could drive the reader's terminal."""
    return printable(line.replace("\t", _TAB))


def printable(text: str) -> str:
    """``text`` on one line, each control character as a question mark."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char == "\n" else "?" for char in text)


def shortened(text: str, room: int) -> str:
    """``text`` in ``room`` characters: what is left out is left out of the middle, for names differ at their ends."""
    if len(text) <= room:
        return text
    if room < 8:
        return text[: max(1, room - 1)] + "~"
    tail = (room - 2) // 3
    return text[: room - 2 - tail] + ".." + text[-tail:]
