"""Whole small programs by kind, a small and a large size each, as people write them who never saw this model.

They were written and priced before anything of them was measured (``kinds-priced.csv`` of ``../facts``). A case's term is its kind;
what is looked at, and fitted, are the programs at even places of :func:`cases`, the others are for quoting alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import ModuleType

import kinds_algebra
import kinds_attention
import kinds_chains
import kinds_counts
import kinds_linear
import kinds_places
import kinds_rows
import kinds_series
from case import Case, micro

KINDS = {
    "attention": kinds_attention,
    "linear": kinds_linear,
    "rows": kinds_rows,
    "places": kinds_places,
    "counts": kinds_counts,
    "series": kinds_series,
    "algebra": kinds_algebra,
    "chains": kinds_chains,
}


def cases() -> list[Case]:
    """All cases of this module."""
    return cases_of(KINDS)


def cases_of(kinds: Mapping[str, ModuleType]) -> list[Case]:
    """The cases of the programs of ``kinds``, by name."""
    found = []
    for kind, module in kinds.items():
        for kernel, sizes, build in module.programs():
            names = tuple(inspect.signature(build).parameters)
            for values in sizes:
                launches = build(*values)
                launches = launches if isinstance(launches, tuple) else (launches,)
                params = {"kernel": kernel.__name__, **dict(zip(names, values, strict=True))}
                found.append(micro(kind, params, *launches))
    return found
