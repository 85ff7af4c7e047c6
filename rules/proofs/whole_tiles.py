"""Tiles that adjoin: an index that moves an access on by all that its lanes cover."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.workload.access import Access
from kernlint.workload.expr import Atom, Lane


def whole_tiles(access: Access, index: Atom) -> Iterator[int]:
    """The axes of the tile of ``access`` along which one step of ``index`` moves it on by the whole tile."""
    step = access.offset.coefficient(index) if access.offset is not None else None
    if access.offset is None or step is None or not step.terms:
        return
    for dim, lanes in enumerate(access.shape):
        stride = access.offset.coefficient(Lane(dim))
        if stride is not None and step == stride * lanes:
            yield dim
