"""More whole programs by kind: those of which strangers' programs had shown the times to be wrong, some sizes each.

Written and priced before anything of them was measured (``kinds-2-priced.csv`` of ``../facts``); every other program is looked at and
fitted, as in :mod:`kinds`.
"""

from __future__ import annotations

import kinds_adds
import kinds_few
import kinds_spread
import kinds_tables
import kinds_walks
from case import Case
from kinds import cases_of

KINDS = {"walks": kinds_walks, "adds": kinds_adds, "few": kinds_few, "spread": kinds_spread, "tables": kinds_tables}


def cases() -> list[Case]:
    """All cases of this module."""
    return cases_of(KINDS)
