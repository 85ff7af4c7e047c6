"""What is wrong in a kernel or at its launch."""

from __future__ import annotations

from kernlint.records import dataclass
from kernlint.workload.span import Span


@dataclass(frozen=True)
class Fault:
    """Code that the compiler or the launcher refuses, or that computes something else than it seems to.

    ``kind`` tells which; ``text`` names the values that prove it, ``function`` the function whose body it stands in.
    ``certain`` is false where it is one only under a condition that no source settles, such as an element type or a
    compile-time condition; ``text`` may name that. ``name`` is the variable, parameter or API concerned, where there is one,
    ``switch`` the constexpr that must be set for it to be compiled at all, where that is False by default, ``since`` the release of
    Triton that was the first to refuse it, where others are in use.
    """

    kind: str
    span: Span
    text: str
    function: str = ""
    certain: bool = True
    name: str = ""
    switch: str = ""
    since: str = ""
