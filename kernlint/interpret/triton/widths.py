"""In how many bits an index is computed: where a 32-bit value is widened too late to save it from overflow."""

from __future__ import annotations

from kernlint.interpret.triton.values import Block
from kernlint.workload import Span
from kernlint.workload.access import Narrow
from kernlint.workload.expr import Expr

#: Operations whose result modulo 2**32 depends on the operands modulo 2**32 only: an overflow inside is harmless
#: where the whole fits.
MODULAR = frozenset({"+", "-", "*"})


def is_wide(block: Block) -> bool:
    return block.dtype is not None and block.dtype.is_integer and block.dtype.bits > 32


def index_of(block: Block) -> Expr | None:
    """The index expression of ``block``, also where its type is not known."""
    return block.expr if block.expr is not None else block.shadow


def widened(block: Block) -> tuple[Narrow, ...]:
    """The 32-bit indices left behind when ``block`` becomes part of an address or a 64-bit integer."""
    index = index_of(block)
    if block.product is None or index is None or is_wide(block) or (block.dtype is not None and block.dtype.is_float):
        return block.narrow
    return join(block.narrow, (Narrow(index, block.product[1], block.dtype is not None),))


def join(*groups: tuple[Narrow, ...]) -> tuple[Narrow, ...]:
    return tuple(dict.fromkeys(one for group in groups for one in group)) if any(groups) else ()


def product_of(name: str, a: Block, b: Block, span: Span) -> tuple[int, Span] | None:
    """The multiplication that the value of ``a name b`` is to be blamed on."""
    if name not in MODULAR:
        return None
    found = [block.product for block in (a, b) if block.product is not None]
    if name == "*":
        # A constant operand has a value here; one that varies has none.
        rank = sum(block.constant is None for block in (a, b))
        if rank:
            found.insert(0, (rank, span))
    return max(found, key=lambda product: product[0]) if found else None
