"""How large the tiles of a kernel without a product are, and how many warps share one.

What is chosen here was measured (``h200-forms.csv``, ``h200-grids.csv``): rows of up to 32,768 elements are faster held in registers than
read twice; 32 elements a thread and input are held, 64 of a strip of neighbouring rows; a loop whose step a program waits for wants
the bytes that a memory system of 4 TB/s has under way, so that where few programs would loop, more share the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernlint.generate.product_tiles import ProductForm, Tile, default_tile, other_tiles
from kernlint.records import dataclass, replace
from kernlint.workload.synthesis import power_of_two

#: Elements of a row up to which a program holds it in registers, and of all rows that it holds at once.
HELD_ROW, _HELD = 1 << 15, 1 << 16
#: The same where one loop would do too.
_ONCE = 1 << 13
#: Elements of a strip of rows beside each other that a program holds.
_STRIP = 1 << 15
#: Elements of a tile where nothing asks for more, in a step of a loop that adds columns up, and of one that does more with them.
_TILE, _STEP, _SECOND = 2048, 2048, 4096
#: Rows of a tile whose columns are the same for all of them, at least and at most.
_PAIRED, _SHARING = 4, 32
#: Issue slots an element from which on arithmetic decides and not memory: many warps, few elements for each.
_DEAR = 40.0
#: Programs of a wave on a large GPU, and bytes of loads under way on one of its multiprocessors.
_BUSY, _UNDER_WAY = 132, 1 << 16
#: Steps of its loop that a part has at least, and from which on those of few programs take longer than another launch.
_STEPS, _MANY_STEPS = 4, 16
#: Columns of a reduction, and elements in all, from which on few rows are worth reducing in parts; and elements where the rows alone
#: give each multiprocessor a program.
_LONG, _MUCH, _VAST = 1024, 1 << 18, 1 << 23
#: Rows of a program that goes through a recurrence place by place, or through columns of which each thread compares so many.
_IN_TURN, _IN_THREAD = 128, 4
#: Elements of a tile whose neighbouring rows add up a few columns.
_FEW_COLUMNS = 8192
#: Elements of a tile for each thread up to which another tile is tried.
_MOST_EACH = 128
#: Neighbouring bytes of a tile in two dimensions.
_ACROSS = 256


@dataclass(frozen=True)
class Form:
    """What a tile is chosen by: ``rows`` and ``columns`` to be covered, ``reach`` of the rows that a tile may hold together; ``tiles``
    that are loaded over both; whether the columns are reduced (``reduces``), so that one loop takes more than a sum (``online``), and
    needed ``again`` behind that; whether ``places`` of extremes are looked for; whether neighbouring rows (``down``) or columns
    (``along``) lie side by side; whether loads would be done again by each row (``shared``); whether the columns are gone through by
    recurrences (``scans``), place by place (``in_turn``); whether the rows are ``bins`` that elements of the columns are dealt out to,
    and do nothing but count them (``counts``); ``slots`` of arithmetic for an element, and its ``bytes`` in memory; whether columns are
    dealt out to programs, each of which loops over its own (``in_parts``)."""

    rows: float
    columns: float
    reach: float
    tiles: int
    reduces: bool
    online: bool
    again: bool
    places: bool
    down: bool
    along: bool
    shared: bool
    scans: bool
    in_turn: bool
    bins: bool
    counts: bool
    slots: float
    bytes: float
    in_parts: bool

    @property
    def elements(self) -> float:
        """How many there are to be covered."""
        return self.rows * self.columns


@dataclass(frozen=True)
class Extents:
    """Rows and columns of a tile, whether the columns are looped over, the warps of a program, and into how many ``parts`` its reductions
    had better be cut, 0 where they need not be."""

    rows: int
    columns: int
    loops: bool
    num_warps: int
    parts: int = 0


def extents_of(form: Form) -> Extents:
    """The tile of a kernel."""
    return _in_parts(form, _tile(form))


def _in_parts(form: Form, tile: Extents) -> Extents:
    """``tile`` with its reductions in parts where these are worth another launch."""
    if form.rows / tile.rows < _BUSY:
        many = tile.loops and form.columns >= _MANY_STEPS * tile.columns
        worth = form.rows * form.columns >= (_MUCH // 2 if many else _MUCH)
    else:
        worth = form.rows * form.columns >= _VAST
    return replace(tile, parts=_parts(form, tile) if worth else 0)


def _tile(form: Form) -> Extents:
    width, high = power_of_two(int(form.columns)), power_of_two(int(form.reach))
    tiles = max(1, form.tiles)
    if form.scans:
        return _scan(form, width, high)
    if form.bins:
        columns = min(width, _SECOND if form.counts else max(16, _SECOND // high))
        return Extents(high, columns, columns < width or form.in_parts, 8)
    if not form.reduces:
        return _stream(form, width, high)
    if form.down and width > 1:
        if form.places and not form.in_parts and width > _IN_THREAD and form.rows / _IN_TURN >= 2 * _BUSY:
            # Each thread has rows of its own, so that nothing is exchanged.
            return Extents(min(_IN_TURN, high), _IN_THREAD, True, 4)
        held = (
            0
            if form.in_parts or not (form.again or form.online or form.places)
            else min(high, 64 if width <= 256 else 32, _STRIP // width // tiles)
        )
        if held >= min(high, 16):
            held = _halved(form, held, 16, 2 * _BUSY)
            return Extents(held, width, False, _warps(held * width, 64))
        least = 64 if form.bytes > 2 else 128
        rows = _halved(form, min(high, max(least, _FEW_COLUMNS // width)), least, 2 * _BUSY)
        if rows > least and not form.in_parts:
            return Extents(rows, width, False, _warps(rows * width, 64))
        columns = min(width, 4096 // rows)
        loops = columns < width or form.in_parts
        return Extents(rows, columns, loops, _warps(rows * columns, 16 if loops else 32))
    dear = form.slots >= _DEAR
    # What is made of pairs, rows with columns, is read again by each program: rows share it.
    single = _TILE if form.tiles or high == 1 else _TILE // _PAIRED
    longest = HELD_ROW if form.again else _ONCE if form.online else single
    held = width <= longest and width * tiles <= _HELD and not form.in_parts
    if not held:
        step = 1024 if dear else _SECOND if form.again or form.online else _STEP
        if not form.tiles and high > 1 and not form.online:
            rows = _halved(form, min(_SHARING, high), _PAIRED, 2 * _BUSY)
            columns = min(step // rows, width)
            return Extents(rows, columns, True, _warps(rows * columns, 16))
        columns = min(step if form.tiles else step // _PAIRED, width)
        rows = max(1, min(step // columns, high))
        # Where each step ends in a reduction, more warps wait longer.
        return Extents(rows, columns, True, _warps(rows * columns, 16 if form.online else 8))
    rows = _halved(form, max(1, min(_TILE // width, high)), 1, _BUSY)
    return Extents(rows, width, False, _warps(rows * width, 32))


AnyForm = Form | ProductForm
AnyTile = Extents | Tile
#: Tiles by what they were chosen by.
Chosen = Mapping[AnyForm, AnyTile]


class Tiles:
    """The tiles of kernels by their forms: ``chosen`` ones, the others by what was measured; ``asked`` are all that were asked for."""

    def __init__(self, chosen: Chosen) -> None:
        self._chosen = chosen
        self.asked: dict[AnyForm, AnyTile] = {}

    def of(self, form: Form) -> Extents:
        found = self.asked.setdefault(form, self._chosen.get(form) or extents_of(form))
        assert isinstance(found, Extents)
        return found

    def of_product(self, form: ProductForm) -> Tile:
        found = self.asked.setdefault(form, self._chosen.get(form) or default_tile(form))
        assert isinstance(found, Tile)
        return found


def alternatives(form: AnyForm, tile: AnyTile) -> Iterator[AnyTile]:
    """Other tiles of a kernel for the cost model to choose from."""
    if isinstance(form, ProductForm) and isinstance(tile, Tile):
        yield from other_tiles(form, tile)
    elif isinstance(form, Form) and isinstance(tile, Extents):
        yield from _others(form, tile)


def _others(form: Form, tile: Extents) -> Iterator[Extents]:
    """More or fewer warps; reductions in parts, or not; rows and, where they need not be whole, columns, but where what a tile finds
    goes by the order of its places."""
    high, width = power_of_two(int(form.reach)), power_of_two(int(form.columns))
    found = [replace(tile, num_warps=warps) for warps in _around(tile.num_warps, 2 * tile.num_warps)]
    parts = _parts(form, tile)
    found += [replace(tile, parts=0 if tile.parts else parts)] if parts else []
    if not (form.bins or form.places or form.in_turn):
        found += [_in_parts(form, replace(tile, rows=rows)) for rows in _around(tile.rows, high)]
        wide = not form.scans and (tile.loops or not form.reduces)
        widths = _around(tile.columns, width) if wide else []
        found += [_in_parts(form, replace(tile, columns=columns)) for columns in widths]
    for one in found:
        if 1 <= one.rows * one.columns / (32 * one.num_warps) <= _MOST_EACH:
            yield one


def _around(number: int, most: int) -> list[int]:
    return [one for one in (number // 4, number // 2, 2 * number, 4 * number) if 1 <= one <= most]


def _scan(form: Form, width: int, high: int) -> Extents:
    if form.in_turn:
        rows = _halved(form, min(_IN_TURN, high), 32, _BUSY)
        return Extents(rows, 1, True, max(1, rows // 32))
    if form.down:
        rows = min(32 if form.along else 64, high)
        return Extents(rows, min(width, 64), True, _warps(rows * min(width, 64), 16))
    columns = min(width, 1024)
    rows = _halved(form, max(1, min(_TILE // columns, high)), 1, _BUSY)
    return Extents(rows, columns, True, _warps(rows * columns, 16))


def _stream(form: Form, width: int, high: int) -> Extents:
    if form.down and width > 1:
        rows, columns = min(32 if form.along else 64, high), min(width, 64)
    elif form.shared and high > 1:
        # What rows have in common is read once for all of a tile.
        columns = min(width, int(_ACROSS / form.bytes))
        rows = min(high, _TILE // columns)
    else:
        columns = min(width, 1024)
        rows = min(high, max(1, 1024 // columns))
    return Extents(rows, columns, False, _warps(rows * columns, 16))


def _halved(form: Form, rows: int, least: int, programs: float) -> int:
    """``rows`` of a tile, halved down to ``least`` as long as there are fewer ``programs``."""
    while rows > least and form.rows / rows < programs:
        rows //= 2
    return rows


def _warps(elements: int, each: int) -> int:
    """Warps of 32 threads that have ``each`` elements."""
    return max(4, min(32 if each <= 32 else 16, elements // (32 * each)))


def _parts(form: Form, tile: Extents) -> int:
    """Into how many parts reductions are cut that are cut at all, so that programs enough have loads enough under way; 0 where they have
    in any case."""
    programs = form.rows / tile.rows
    if not form.reduces or form.scans or form.in_parts or form.columns < _LONG:
        return 0
    under_way = tile.rows * min(tile.columns, form.columns) * form.bytes * max(1, form.tiles)
    each = max(4.0, _UNDER_WAY / under_way, 8.0 if form.slots >= _DEAR else 0.0)
    if not tile.loops:
        each = 1.0
    if programs >= _BUSY * each / 2:
        return 0
    steps = form.columns / (_STEPS * tile.columns)
    return max(2, int(min(_BUSY * each / programs, steps)))
