"""What-if edits: the program as it would behave with small changes made to its source.

A rule that wants to know what a change is worth does not guess at the changed workload, it asks the interpreter to read
the program again with the change in force. Each edit names the source range it applies to, so it means the same as the
text edit that a fix would make.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property

from kernlint.records import dataclass, replace
from kernlint.workload import Span


@dataclass(frozen=True)
class Edits:
    """A set of edits.

    ``skipped``: torch calls (``.contiguous()``, ``.to(...)``, ``clone``) that return their input as it is.
    ``unfilled``: ``zeros``/``full`` calls that only allocate.
    ``literals``: integer literals with their new values.
    ``options``: launch sites with a constexpr or launch option (``num_warps``, ``num_stages``) set there.
    ``native_dots``: ``tl.dot`` calls fed with operands in the type they have in memory; integers then accumulate in
    int32. ``precisions``: ``tl.dot`` calls with another ``input_precision``.
    """

    skipped: frozenset[Span] = frozenset()
    unfilled: frozenset[Span] = frozenset()
    literals: frozenset[tuple[Span, int]] = frozenset()
    options: frozenset[tuple[Span, str, int]] = frozenset()
    native_dots: frozenset[Span] = frozenset()
    precisions: frozenset[tuple[Span, str]] = frozenset()

    def __or__(self, other: Edits) -> Edits:
        """Both; where they set the same thing, ``other`` wins."""
        new_precisions = {span for span, _ in other.precisions}
        return Edits(
            self.skipped | other.skipped,
            self.unfilled | other.unfilled,
            frozenset(e for e in self.literals if e[0] not in other.new_literals) | other.literals,
            frozenset(e for e in self.options if e[1] not in other.new_options.get(e[0], ())) | other.options,
            self.native_dots | other.native_dots,
            frozenset(e for e in self.precisions if e[0] not in new_precisions) | other.precisions,
        )

    @property
    def base(self) -> Edits:
        """Those that decide which steps there are, without the numbers: what-ifs about numbers start from there."""
        return replace(self, literals=frozenset(), options=frozenset())

    @cached_property
    def new_literals(self) -> dict[Span, int]:
        """The new value of each literal."""
        return dict(self.literals)

    @cached_property
    def new_options(self) -> dict[Span, dict[str, int]]:
        """What is set at each launch."""
        found: dict[Span, dict[str, int]] = {}
        for span, name, value in self.options:
            found.setdefault(span, {})[name] = value
        return found

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


#: The program as it stands.
NO_EDITS = Edits()


class Literal(int):
    """An integer that still stands as a literal in the source, at ``span``; arithmetic makes it a plain one."""

    span: Span

    def __new__(cls, value: int, span: Span) -> Literal:
        self = super().__new__(cls, value)
        self.span = span
        return self

    def __getnewargs__(self) -> tuple[int, Span]:  # type: ignore[override]
        return int(self), self.span
