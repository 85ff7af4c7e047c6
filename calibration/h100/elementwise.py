"""Elementwise kernels: chains of dependent kernels, block sizes and warps, arithmetic-heavy bodies."""

from __future__ import annotations

import itertools

import gemm as products
import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro


@triton.jit
def combine(a, b, c, d, e, f, y, INPUTS: tl.constexpr, BLOCK: tl.constexpr):
    """y = a / 2 + (other inputs) / 8 over INPUTS input streams; magnitudes stay bounded however often it is applied."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(a + offset) * 0.5
    if INPUTS >= 2:
        value += tl.load(b + offset) * 0.125
    if INPUTS >= 3:
        value += tl.load(c + offset) * 0.125
    if INPUTS >= 6:
        value += (tl.load(d + offset) + tl.load(e + offset) + tl.load(f + offset)) * 0.125
    tl.store(y + offset, value.to(y.dtype.element_ty))


@triton.jit
def special(x, y, OP: tl.constexpr, REPEAT: tl.constexpr, BLOCK: tl.constexpr):
    """REPEAT dependent operations per element between one load and one store, in fp32; arguments stay in range."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.abs(tl.load(x + offset).to(tl.float32))
    for _ in tl.static_range(REPEAT):
        if OP == "erf":
            value = tl.erf(value)
        elif OP == "exp":
            value = tl.exp(-value)
        elif OP == "log":
            value = tl.log(value + 2.0)
        elif OP == "div":
            value = 1.5 / (value + 1.0)
        elif OP == "sqrt":
            value = tl.sqrt(value + 1.0)
        elif OP == "sigmoid":
            value = tl.sigmoid(value)
        elif OP == "sin":
            value = tl.sin(value)
        else:
            value = value * 0.75 + 0.5
    tl.store(y + offset, value.to(y.dtype.element_ty))


def _combine(n, dtype, streams, block, warps, source, target) -> Launch:
    extra = tuple(Buffer(f"extra{i}", dtype, n) for i in range(5))
    args = (Buffer(source, dtype, n), *extra, Buffer(target, dtype, n))
    return Launch(combine, args, {"INPUTS": streams - 1, "BLOCK": block}, (cdiv(n, block),), warps)


def chain_case(kernels, n, dtype, streams, block=1024, warps=4) -> Case:
    """`kernels` launches, each reading what the one before wrote, plus streams - 2 further inputs."""
    launches = [
        _combine(n, dtype, streams, block, warps, f"chain{i % 2}", f"chain{(i + 1) % 2}") for i in range(kernels)
    ]
    params = {"kernels": kernels, "n": n, "dtype": dtype, "streams": streams, "BLOCK": block, "num_warps": warps}
    return micro("chain_elementwise", params, *launches, bytes=kernels * streams * Buffer("n", dtype, n).nbytes)


def block_case(n, dtype, block, warps) -> Case:
    """One input, one output: the cost of block size and warps."""
    launch = _combine(n, dtype, 2, block, warps, "x", "y")
    params = {"n": n, "dtype": dtype, "BLOCK": block, "num_warps": warps}
    return micro("elementwise_block", params, launch, bytes=2 * Buffer("n", dtype, n).nbytes)


def special_case(op, repeat, n, dtype, block=1024, warps=4) -> Case:
    """Arithmetic per element; `flops` counts the `repeat` operations of each element once."""
    x, y = Buffer("x", dtype, n), Buffer("y", dtype, n)
    params = {"op": op, "repeat": repeat, "n": n, "dtype": dtype, "BLOCK": block, "num_warps": warps}
    launch = Launch(special, (x, y), {"OP": op, "REPEAT": repeat, "BLOCK": block}, (cdiv(n, block),), warps)
    return micro("special_ops", params, launch, bytes=x.nbytes + y.nbytes, flops=repeat * n)


def gemm_chain_case(shape, tile, warps, kernels) -> Case:
    """A product followed by `kernels` elementwise kernels over its output: whether the times simply add."""
    product = products.gemm_case("fp16", shape, tile, warps, 3, "N-major")
    m, n, _ = shape
    names = ["c", "chain0", "chain1", "chain0"]
    tail = [_combine(m * n, "float16", 2, 1024, 4, names[i], names[i + 1]) for i in range(kernels)]
    params = {
        "M": m,
        "N": n,
        "K": shape[2],
        "BM": tile[0],
        "BN": tile[1],
        "BK": tile[2],
        "num_warps": warps,
        "elementwise": kernels,
    }
    total = product.bytes + kernels * 2 * Buffer("c", "float16", m * n).nbytes
    return micro("chain_gemm_elementwise", params, *product.launches, *tail, bytes=total, flops=product.flops)


def cases() -> list[Case]:
    """All elementwise cases."""
    found = []
    sizes = (2**14, 2**18, 2**22, 2**24, 2**26)
    for n, dtype, streams, kernels in itertools.product(sizes, ("float16", "float32"), (2, 3, 4, 7), (1, 2, 3, 5)):
        found.append(chain_case(kernels, n, dtype, streams))
    for shape, kernels in itertools.product([(1536, 1536, 1536), (256, 768, 768), (3072, 3072, 768)], (0, 1, 2, 3)):
        found.append(gemm_chain_case(shape, (64, 64, 64), 4, kernels))
    for n, dtype, block, warps in itertools.product(
        (2**20, 2**25), ("float16", "float32"), (32, 128, 512, 2048, 8192), (1, 2, 4, 8)
    ):
        found.append(block_case(n, dtype, block, warps))
    for op, repeat, n in itertools.product(("erf", "exp", "log", "div"), (1, 2, 4, 8, 16), (2**20, 2**24)):
        found.append(special_case(op, repeat, n, "float32"))
        if repeat in (1, 4, 16):
            found.append(special_case(op, repeat, n, "float16"))
    for op, repeat in itertools.product(("sqrt", "sigmoid", "sin"), (1, 4, 16)):
        found.append(special_case(op, repeat, 2**24, "float32"))
    for repeat in (16, 64, 256):
        found.append(special_case("fma", repeat, 2**24, "float32"))
    return found
