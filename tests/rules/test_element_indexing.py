"""Offsets carried from one tile to another name the same elements: checked number by number."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernlint.rules.proofs.element_indexing import ELEMENT, broadcast_offset, inverses, placed, settled, visits_once
from kernlint.workload import Expr, Lane, Opaque, ProgramId, Span, Storage, Tensor
from kernlint.workload.access import Access
from kernlint.workload.dtype import FLOAT32
from kernlint.workload.expr import floordiv, lift, mod

P, Q, L0, L1 = (Expr.atom(atom) for atom in (ProgramId(0), ProgramId(1), Lane(0), Lane(1)))
N = 24


def access(offset: Expr, shape: tuple[int, ...], mask: tuple[tuple[Expr, Expr], ...] | None = None) -> Access:
    return Access(1, "x", FLOAT32, shape, offset, mask, Span("f", 1, 1, 1, 1))


def places(grid: tuple[int, ...], shape: tuple[int, ...]) -> itertools.product:
    return itertools.product(*(range(n) for n in (*grid, *shape)))


def values(grid: tuple[int, ...], shape: tuple[int, ...], place: tuple[int, ...]) -> dict:
    atoms = [*(ProgramId(axis) for axis in range(len(grid))), *(Lane(dim) for dim in range(len(shape)))]
    return dict(zip(atoms, place))


@pytest.mark.parametrize(
    ("shape", "base"),
    [
        pytest.param((6, N), (6, N), id="same shape"),
        pytest.param((6, N), (N,), id="bias"),
        pytest.param((6, N), (6, 1), id="a factor per row"),
        pytest.param((2, 3, N), (3, 1), id="in the middle"),
        pytest.param((2, 3, N), (), id="scalar"),
    ],
)
def test_broadcast_offset_is_numpys(shape: tuple[int, ...], base: tuple[int, ...]) -> None:
    numbers = np.arange(int(np.prod(base, dtype=int))).reshape(base)
    strides = tuple(s // numbers.itemsize for s in numbers.strides)
    tensor = Tensor("t", FLOAT32, base, strides, Storage(1, "input"))
    offset = broadcast_offset(tensor, shape, Expr.atom(ELEMENT))
    assert offset is not None
    wanted = np.broadcast_to(numbers, shape).ravel()
    assert [offset.evaluate({ELEMENT: e}) for e in range(wanted.size)] == wanted.tolist()


def test_broadcast_offset_of_a_transposed_view() -> None:
    tensor = Tensor("t", FLOAT32, (6, N), (1, 6), Storage(1, "input"))
    offset = broadcast_offset(tensor, (6, N), Expr.atom(ELEMENT))
    assert offset is not None
    wanted = np.arange(6 * N).reshape(N, 6).T.ravel()
    assert [offset.evaluate({ELEMENT: e}) for e in range(6 * N)] == wanted.tolist()


def test_broadcast_offset_refuses_other_shapes() -> None:
    assert broadcast_offset(Tensor("t", FLOAT32, (7,), (1,), Storage(1, "input")), (6, N), Expr.atom(ELEMENT)) is None
    assert broadcast_offset(Tensor("t", FLOAT32, (N,), None, Storage(1, "input")), (6, N), Expr.atom(ELEMENT)) is None


#: A pointwise kernel's grid, its tile and the offset of its main tensor [6, 24], and a second access beside it.
ANCHORS = [
    pytest.param((9,), access(P * 16 + L0, (16,)), access(lift(mod(P * 16 + L0, N)), (16,)), id="flat, column"),
    pytest.param((9,), access(P * 16 + L0, (16,)), access(lift(floordiv(P * 16 + L0, N)), (16,)), id="flat, row"),
    pytest.param((6,), access(P * N + L0, (N,)), access(P, ()), id="rows, scalar of the row"),
    pytest.param((6,), access(P * N + L0, (N,)), access(L0, (N,)), id="rows, column"),
    pytest.param((6, 3), access(P * N + Q * 8 + L0, (8,)), access(Q * 8 + L0, (8,)), id="rows by blocks, column"),
    pytest.param((3, 3), access((P * 2 + L0) * N + Q * 8 + L1, (2, 8)), access(Q * 8 + L0, (8,)), id="tiles, vector"),
    pytest.param((3, 3), access((P * 2 + L0) * N + Q * 8 + L1, (2, 8)), access(P * 2 + L0, (2,)), id="tiles, factor"),
    pytest.param((3, 3), access((P * 2 + L0) * N + Q * 8 + L1, (2, 8)), access(Q * 8 + L1, (1, 8)), id="tiles, [1, n]"),
]

HOSTS = [
    pytest.param((18,), access(P * 8 + L0, (8,)), id="into flat blocks"),
    pytest.param((6,), access(P * N + L0, (32,), ((L0, lift(N)),)), id="into masked rows"),
    pytest.param((2, 6), access((P * 3 + L0) * N + Q * 4 + L1, (3, 4)), id="into tiles"),
]


@pytest.mark.parametrize(("host_grid", "host"), HOSTS)
@pytest.mark.parametrize(("grid", "anchor", "beside"), ANCHORS)
def test_what_lies_beside_an_element_stays_beside_it(
    grid: tuple[int, ...], anchor: Access, beside: Access, host_grid: tuple[int, ...], host: Access
) -> None:
    assert anchor.offset is not None
    assert beside.offset is not None
    assert host.offset is not None
    # A vector's lane is the tile's along the dimension that has its extent; the extents here differ.
    dims = [anchor.shape.index(beside.shape[0])] if len(beside.shape) == 1 < len(anchor.shape) else [0, 1]
    wanted = {}
    for place in places(grid, anchor.shape):
        at = values(grid, anchor.shape, place)
        own = {**at, **{Lane(new): at[Lane(dim)] for new, dim in enumerate(dims) if Lane(dim) in at}}
        wanted[anchor.offset.evaluate(at)] = beside.offset.evaluate(own)
    moved = next(m for inverse in inverses(anchor) for m in [inverse.element(beside)] if m is not None)
    place_in_host = placed(moved, host)
    assert place_in_host is not None
    assert place_in_host.offset is not None
    kept = [
        dim
        for dim in range(len(host.shape))
        if Lane(dim) in settled(moved.substitute({ELEMENT: host.offset}), host).atoms()
    ]
    seen = {}
    for place in places(host_grid, host.shape):
        at = values(host_grid, host.shape, place)
        if any(left.evaluate(at) >= right.evaluate(at) for left, right in host.mask or ()):  # type: ignore[operator]
            continue
        own = {**at, **{Lane(new): at[Lane(dim)] for new, dim in enumerate(kept)}}
        seen[host.offset.evaluate(at)] = place_in_host.offset.evaluate(own)
    assert seen == wanted


def test_an_offset_that_needs_more_than_the_element_is_refused() -> None:
    anchor = access(P * 16 + L0, (16,))
    gather = Expr.atom(Opaque("load", (), 7))
    assert all(inverse.element(access(Q + L0, (16,))) is None for inverse in inverses(anchor))
    assert all(inverse.element(access(gather + L0, (16,))) is None for inverse in inverses(anchor))
    assert inverses(access(gather + L0, (16,))) == []


@pytest.mark.parametrize(
    ("offset", "once"),
    [
        pytest.param(P * 16 + L0, True, id="blocks"),
        pytest.param(lift(mod(P * 16 + L0, N)), False, id="folded"),
        pytest.param(lift(floordiv(P * 16 + L0, 2)), False, id="repeated"),
        pytest.param(L0, False, id="the same for each program"),
    ],
)
def test_visits_once(offset: Expr, once: bool) -> None:
    assert visits_once(access(offset, (16,)), (9,)) is once
