"""What the tile of a kernel without a product is chosen by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlint.cost.arithmetic import slots_of
from kernlint.generate.column_loops import counted_of, is_count
from kernlint.generate.reductions import PLACES
from kernlint.generate.spelling import SIGNS
from kernlint.generate.terms import CHUNK, COLUMNS, Term
from kernlint.generate.tiles import Form
from kernlint.workload import Lane

if TYPE_CHECKING:
    from kernlint.generate.tile_kernel import TileWriter


def form_of(tile: TileWriter) -> Form:
    axes = tile.axes
    loads = [t for t in tile.all_terms if t.op == "load" and _in_main(tile, t)]
    whole = [t for t in loads if _in_rows(tile, t)]
    stored = [one.buffer.value.dtype.bits / 8 for one in tile.outputs]
    reach = tile.count(tile.inner[1]) if tile.inner is not None else tile.row_count
    last = axes.columns[tile.main][-1:] if tile.main else []
    return Form(
        rows=tile.row_count,
        columns=tile.column_count,
        reach=reach,
        tiles=len(whole),
        reduces=tile.reduces,
        online=any(t.kind in ("m2", "expsum") for t in tile.reductions if tile.region(t) == tile.main),
        again=_again(tile),
        places=any(t.kind in PLACES for t in tile.reductions if tile.region(t) == tile.main),
        down=max(axes.contiguous(axes.rows, tile.count).values(), default=0) > 0,
        along=max(axes.contiguous(last, tile.count).values(), default=0) > 0,
        shared=len(loads) - len(whole) > 1,
        scans=bool(tile.recurrences.all),
        in_turn=tile.recurrences.in_turn,
        bins=tile.bins is not None,
        counts=tile.bins is not None and all(is_count(term, tile.bins) for term in tile.reductions),
        slots=sum(slots_of(SIGNS.get(t.op, t.op), t.dtype) for t in tile.all_terms if _in_main(tile, t)),
        bytes=max((tile.terms.buffers[t.buffer].value.dtype.bits / 8 for t in whole), default=max(stored, default=4.0)),
        in_parts=bool(tile.work.chunks),
    )


def _in_rows(tile: TileWriter, term: Term) -> bool:
    """Whether the rows of a tile have elements of their own of it."""
    here = {tile.axes.lane(dim) for dim in term.lanes}
    return any(dim < CHUNK if tile.inner is None else dim == tile.inner[0] for dim in here)


def shared_row(tile: TileWriter) -> int | None:
    """The row axis along which tiles had better reach: places along it have all in common that is loaded of the columns, and others
    along the other rows have not. By its number; of several the longest."""
    loads, rows = _loaded(tile), tile.axes.rows
    alike = [n for n, (row, _) in enumerate(rows) if not any(row in dims for dims in loads)]
    apart = any(dim < CHUNK for dims in loads for dim in dims)
    return max(alike, key=lambda n: tile.count(rows[n][1]), default=None) if apart else None


def repeats(tile: TileWriter) -> bool:
    """Whether something that is loaded of the columns is the same along the last row axis."""
    return any(tile.axes.rows[-1][0] not in dims for dims in _loaded(tile))


def bins_of(tile: TileWriter) -> int | None:
    """The row axis that nothing lies along: its places are held against elements of the columns. By its number."""
    loads = [t.address for t in tile.all_terms if t.op == "load" and t.address is not None]
    for number, (dim, _) in enumerate(tile.axes.rows):
        lying = any(Lane(dim) in address.atoms() for address in loads)
        if not lying and any(counted_of(term, dim) is not None for term in tile.reductions):
            return number
    return None


def _loaded(tile: TileWriter) -> list[set[int]]:
    """The axes of each load of the columns."""
    return [{tile.axes.lane(dim) for dim in t.lanes} for t in tile.all_terms if t.op == "load" and _in_main(tile, t)]


def _in_main(tile: TileWriter, term: Term) -> bool:
    return any(dim >= COLUMNS and tile.axes.region(dim) == tile.main for dim in term.lanes)


def _again(tile: TileWriter) -> bool:
    """Whether elements are needed again once they are reduced."""
    first = [t for t in tile.reductions if tile.region(t) == tile.main]
    inner = {id(t) for one in first for o in one.operands for t in o.walk(set()) if t.op == "reduce"}
    return any(id(t) in inner for t in first) or any(_in_main(tile, one.term) for one in tile.outputs)
