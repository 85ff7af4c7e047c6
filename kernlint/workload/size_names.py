"""What open sizes are, by the names that the interpreter gives them."""

from __future__ import annotations

from kernlint.workload.expr import Symbol


def counts_elements(symbol: Symbol) -> bool:
    """Whether it is the number of elements of a tensor."""
    return symbol.name.endswith(".numel")


def is_product(symbol: Symbol) -> bool:
    """Whether it is a product of however many extents, which is 1 where there are none."""
    return symbol.name.startswith("math.prod(")


def is_extent(symbol: Symbol) -> bool:
    """Whether it is an extent of a tensor or its number of elements."""
    return counts_elements(symbol) or (".shape[" in symbol.name and not is_product(symbol))
