"""What a rewrite does to a program beside making it faster."""

from __future__ import annotations

from dataclasses import field

from kernlint.records import dataclass
from kernlint.rewrite.text import TextEdit

#: From harmless to not to be applied at all.
APPLICABILITY = ("safe", "unsafe", "display-only")
#: What becomes of the numbers: the same to the last bit, sums in another order, or another precision.
NUMERICS = ("exact", "reordered", "changed")
#: Peak device memory of a call.
MEMORY = ("less", "same", "more")


@dataclass(frozen=True)
class Effects:
    """``applicability`` is safe (the program means the same), unsafe (the user has to agree) or display-only (a draft);
    ``numerics`` exact, reordered (rounding differs) or changed (another precision); ``memory`` what becomes of peak
    device memory: less, same or more. ``notes`` say why something is not safe, each in one clause."""

    applicability: str = "safe"
    numerics: str = "exact"
    memory: str = "same"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.applicability in APPLICABILITY and self.numerics in NUMERICS and self.memory in MEMORY

    def __or__(self, other: Effects) -> Effects:
        """Those of both rewrites made together: the worse of each."""
        memories = {self.memory, other.memory}
        return Effects(
            max(self.applicability, other.applicability, key=APPLICABILITY.index),
            max(self.numerics, other.numerics, key=NUMERICS.index),
            "more" if "more" in memories else "less" if "less" in memories else "same",
            tuple(dict.fromkeys((*self.notes, *other.notes))),
        )


@dataclass(frozen=True)
class Rewriting:
    """A change as text edits of one module, with its effects."""

    edits: tuple[TextEdit, ...] = ()
    effects: Effects = field(default=Effects())

    def __or__(self, other: Rewriting) -> Rewriting:
        return Rewriting((*self.edits, *other.edits), self.effects | other.effects)
