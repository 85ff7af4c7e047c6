"""Uneven accesses: images sampled at another scale, messages of edges added to their nodes, numbers added to few addresses.

A resampling computes its addresses by way of floating point: neighbours in the result are ``scale`` pixels apart in the source, which
is planar or interleaved. Edges are grouped by their node, nearly so or not at all: ``messages`` adds row by row, ``segments`` sums up
between row pointers first.
"""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import BYTES, Buffer, Case, Launch, cdiv, micro


@triton.jit
def resample(
    src, dst, in_h, in_w, out_h, out_w, scale, CHANNELS: tl.constexpr, TAPS: tl.constexpr, BLOCK: tl.constexpr
):
    """dst [images * 3, out_h, out_w] from src at ``scale``: its nearest pixel, or the four around by weight; CHANNELS of 3: the
    channels of a pixel lie together."""
    plane = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < out_h * out_w
    row, column = at // out_w, at % out_w
    fy = tl.maximum((row.to(tl.float32) + 0.5) * scale - 0.5, 0.0)
    fx = tl.maximum((column.to(tl.float32) + 0.5) * scale - 0.5, 0.0)
    y0 = tl.minimum(fy.to(tl.int32), in_h - 1)
    x0 = tl.minimum(fx.to(tl.int32), in_w - 1)
    if CHANNELS == 1:
        base = src + plane * in_h * in_w
    else:
        base = src + (plane // CHANNELS) * in_h * in_w * CHANNELS + plane % CHANNELS
    value = tl.load(base + (y0 * in_w + x0) * CHANNELS, mask=inside, other=0).to(tl.float32)
    if TAPS == 4:
        y1, x1 = tl.minimum(y0 + 1, in_h - 1), tl.minimum(x0 + 1, in_w - 1)
        wy, wx = fy - y0.to(tl.float32), fx - x0.to(tl.float32)
        right = tl.load(base + (y0 * in_w + x1) * CHANNELS, mask=inside, other=0).to(tl.float32)
        below = tl.load(base + (y1 * in_w + x0) * CHANNELS, mask=inside, other=0).to(tl.float32)
        last = tl.load(base + (y1 * in_w + x1) * CHANNELS, mask=inside, other=0).to(tl.float32)
        value += (right - value) * wx
        below += (last - below) * wx
        value += (below - value) * wy
    tl.store(dst + plane * out_h * out_w + at, value, mask=inside)


@triton.jit
def messages(x, source, target, y, edges, D, EDGES: tl.constexpr, BLOCK: tl.constexpr):
    """y[target[e]] += x[source[e]], EDGES edges and BLOCK columns a program."""
    e = tl.program_id(0) * EDGES + tl.arange(0, EDGES)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = e < edges
    here, there = tl.load(source + e, mask=inside, other=0), tl.load(target + e, mask=inside, other=0)
    mask = inside[:, None] & (column < D)[None, :]
    value = tl.load(x + here[:, None] * D + column[None, :], mask=mask, other=0.0)
    tl.atomic_add(y + there[:, None] * D + column[None, :], value, mask=mask)


@triton.jit
def segments(x, source, pointers, y, D, EDGES: tl.constexpr, BLOCK: tl.constexpr):
    """y [nodes, D]: the sum of the rows of x that source names from pointers[node] to pointers[node + 1]."""
    node = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    first, last = tl.load(pointers + node), tl.load(pointers + node + 1)
    total = tl.zeros((EDGES, BLOCK), dtype=tl.float32)
    for start in range(first, last, EDGES):
        e = start + tl.arange(0, EDGES)
        here = tl.load(source + e, mask=e < last, other=0)
        mask = (e < last)[:, None] & (column < D)[None, :]
        total += tl.load(x + here[:, None] * D + column[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(y + node * D + column, tl.sum(total, axis=0), mask=column < D)


@triton.jit
def add_one(x, y, shared, BLOCK: tl.constexpr):
    """Each program adds one number to one of the `shared` elements of y, neighbours to neighbours."""
    program = tl.program_id(0)
    value = tl.load(x + (program % 64) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(y + program % shared, tl.sum(value, axis=0).to(y.dtype.element_ty))


def resample_case(dtype, channels, taps, scale, side, images, block, warps) -> Case:
    """`resample` of square images to ``side``."""
    params = {"dtype": dtype, "channels": channels, "taps": taps, "scale": scale, "side": side, "images": images}
    params |= {"BLOCK": block, "num_warps": warps}
    wide = int(side * scale)
    source, out = (
        Buffer("image", dtype, images * 3 * wide * wide),
        Buffer("resized", "float32", images * 3 * side * side),
    )
    launch = Launch(
        resample, (source, out, wide, wide, side, side, float(scale)),
        {"CHANNELS": channels, "TAPS": taps, "BLOCK": block}, (cdiv(side * side, block), images * 3), warps,
    )  # fmt: skip
    return micro("resample", params, launch, bytes=out.nbytes)


def message_case(dtype, nodes, degree, width, order, tile, warps) -> Case:
    """`messages` of ``degree`` edges a node."""
    params = {"dtype": dtype, "nodes": nodes, "degree": degree, "cols": width, "order": order}
    params |= {"EDGES": tile[0], "BLOCK": tile[1], "num_warps": warps}
    edges = nodes * degree
    args = (
        Buffer("features", dtype, nodes * width), Buffer("source", "int32", edges, nodes),
        Buffer("target", "int32", edges, nodes, order), Buffer("summed", dtype, nodes * width), edges, width,
    )  # fmt: skip
    grid = cdiv(edges, tile[0]), cdiv(width, tile[1])
    launch = Launch(messages, args, {"EDGES": tile[0], "BLOCK": tile[1]}, grid, warps)
    return micro("messages", params, launch, bytes=2 * nodes * width * BYTES[dtype])


def segment_case(dtype, nodes, degree, width, tile, warps) -> Case:
    """`segments` of ``degree`` edges each."""
    params = {"dtype": dtype, "nodes": nodes, "degree": degree, "cols": width}
    params |= {"EDGES": tile[0], "BLOCK": tile[1], "num_warps": warps}
    args = (
        Buffer("features", dtype, nodes * width), Buffer("source", "int32", nodes * degree, nodes),
        Buffer("pointers", "int32", nodes + 1, degree, "segments"), Buffer("sums", "float32", nodes * width), width,
    )  # fmt: skip
    launch = Launch(segments, args, {"EDGES": tile[0], "BLOCK": tile[1]}, (nodes, cdiv(width, tile[1])), warps)
    return micro("segments", params, launch, bytes=2 * nodes * width * BYTES[dtype])


def one_case(dtype, programs, shared, warps) -> Case:
    """`add_one`."""
    params = {"dtype": dtype, "programs": programs, "shared": shared, "num_warps": warps}
    args = (Buffer("x", dtype, 64 * 256), Buffer("counts", dtype, shared), shared)
    return micro("add_one", params, Launch(add_one, args, {"BLOCK": 256}, (programs,), warps))


#: Programs of `add_one` at most for each address: halves are compared and exchanged one by one.
_MOST = {"float16": 4096, "bfloat16": 4096}


def cases() -> list[Case]:
    """All cases of this module."""
    found: list[Case] = []
    for dtype, channels, taps in itertools.product(("float32", "uint8", "float16"), (1, 3), (1, 4)):
        for scale, side, images in (
            (0.5, 512, 8),
            (1.0, 512, 8),
            (1.5, 512, 8),
            (2.0, 512, 8),
            (4.3, 224, 16),
            (8.6, 224, 8),
        ):
            found.append(resample_case(dtype, channels, taps, scale, side, images, 512, 4))
    found += [resample_case("float32", 1, 4, s, 224, 2, 1024, 4) for s in (1.0, 2.0, 4.3)]
    for dtype, (nodes, degree), width, order in itertools.product(
        ("float32", "bfloat16"), ((4096, 4), (4096, 32), (65536, 4), (65536, 24), (1024, 256)), (64, 128),
        ("sorted", "near", "random"),
    ):  # fmt: skip
        found.append(message_case(dtype, nodes, degree, width, order, (32, width), 4))
    for order, tile in itertools.product(("sorted", "random"), ((1, 128), (8, 128), (64, 64))):
        found.append(message_case("float32", 16384, 16, 128, order, tile, 4))
    for dtype, (nodes, degree), width in itertools.product(
        ("float32", "float16"), ((4096, 4), (4096, 32), (65536, 4), (65536, 24), (1024, 256)), (64, 128)
    ):
        for tile in ((16, width), (4, width), (32, width)):
            found.append(segment_case(dtype, nodes, degree, width, tile, 4))
    for dtype, programs, shared in itertools.product(
        ("float32", "float64", "int32", "int64", "float16", "bfloat16"), (1024, 8192, 65536), (1, 2, 8, 64, 512, 4096)
    ):
        if programs / shared <= _MOST.get(dtype, 1 << 20) and shared <= programs:
            found.append(one_case(dtype, programs, shared, 4))
    return found
