"""As many :mod:`regimes` again, nothing of which is fitted."""

from __future__ import annotations

from case import Case
from regimes import FAMILIES
from survey import drawn_cases


def cases() -> list[Case]:
    """All cases of this module."""
    return [case for count, *family in FAMILIES for case in list(drawn_cases(2 * count, *family))[count:]]
