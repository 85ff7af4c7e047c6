"""Whole programs of many kinds, at a small and a large size each, as strangers write them: what the model makes of programs that no
other module here looks like. No constant is fitted to them; they showed which terms were missing.
"""

from __future__ import annotations

import medley_numbers
import medley_places
import medley_rows
from case import Case
from medley_later import made


def cases() -> list[Case]:
    """All cases of this module."""
    return made((*medley_numbers.programs(), *medley_rows.programs(), *medley_places.programs()))
