"""Cases of the other modules once more: every so many of each term, to tell how another card differs from the one that the
constants are from."""

from __future__ import annotations

from collections import defaultdict

import arithmetic
import attention
import columns
import elementwise
import fma
import gemm
import lanes
import matvec
import recurrent
import rows
import scatter
import spilling
from case import Case

#: Cases of a term at most, evenly drawn.
EACH = 14
GEMM = 160


def _thinned(found: list[Case], count: int) -> list[Case]:
    return [found[int(index * len(found) / count)] for index in range(count)] if len(found) > count else found


def cases() -> list[Case]:
    """All cases of this module."""
    modules = (rows, elementwise, attention, columns, matvec, fma, recurrent, spilling, lanes, arithmetic, scatter)
    terms: dict[str, list[Case]] = defaultdict(list)
    for module in modules:
        for case in module.cases():
            terms[case.term].append(case)
    products = gemm.cases()
    tables = [case for case in products if case.table == "gemm"]
    return [case for found in terms.values() for case in _thinned(found, EACH)] + _thinned(tables, GEMM)
