"""Every torch function that is made of others, by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernlint.generate.calls import (
    attention,
    convolutions,
    elementwise,
    images,
    indexing,
    losses,
    norms,
    places,
    pools,
    products,
    reductions,
    scans,
    scatters,
    views,
)
from kernlint.generate.calls.writer import Writer
from kernlint.generate.values import Value

#: What makes two results.
PAIRS: Mapping[str, Callable[[Writer], tuple[Value, Value | None]]] = {
    **places.PAIRS,
    **reductions.PAIRS,
}

FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    name: make
    for kind in (
        attention,
        convolutions,
        elementwise,
        images,
        indexing,
        losses,
        norms,
        places,
        pools,
        products,
        reductions,
        scans,
        scatters,
        views,
    )
    for name, make in kind.FUNCTIONS.items()
}
