"""Recurrences h = tanh(x_t + h W): all steps in one persistent kernel, or one launch per step.

x and out are [T, B, H], W is [H, H], fp16 or fp32; the state stays in the operand dtype between steps.
"""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import Buffer, Case, Launch, micro


@triton.jit
def tanh(x):
    """tanh of an fp32 block by exp."""
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def persistent(x, w, out, T, B, H: tl.constexpr, BB: tl.constexpr, PRECISION: tl.constexpr):
    """BB sequences per program; W is loaded once, then T dependent [BB, H] x [H, H] dots."""
    rows = tl.program_id(0) * BB + tl.arange(0, BB)
    h = tl.arange(0, H)
    weight = tl.load(w + h[:, None] * H + h[None, :])
    state = tl.zeros((BB, H), dtype=w.dtype.element_ty)
    tile = rows[:, None] * H + h[None, :]
    for step in range(T):
        value = tl.load(x + step * B * H + tile).to(tl.float32)
        value += tl.dot(state, weight, input_precision=PRECISION)
        state = tanh(value).to(w.dtype.element_ty)
        tl.store(out + step * B * H + tile, state)


@triton.jit
def single_step(x, before, w, after, H: tl.constexpr, BB: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One step, BB sequences x BN units per program, a loop over H."""
    rows = tl.program_id(0) * BB + tl.arange(0, BB)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.load(x + rows[:, None] * H + n[None, :]).to(tl.float32)
    for start in range(0, H, BK):
        k = start + tl.arange(0, BK)
        acc = tl.dot(tl.load(before + rows[:, None] * H + k[None, :]), tl.load(w + k[:, None] * H + n[None, :]), acc)
    tl.store(after + rows[:, None] * H + n[None, :], tanh(acc).to(after.dtype.element_ty))


def persistent_case(t, b, h, bb, warps, dtype="float16", precision="tf32") -> Case:
    """All T steps in one launch."""
    x, w, out = Buffer("x", dtype, t * b * h), Buffer("w", dtype, h * h), Buffer("y", dtype, t * b * h)
    params = {"T": t, "B": b, "H": h, "BLOCK_B": bb, "num_warps": warps, "dtype": dtype}
    if dtype == "float32":
        params["precision"] = precision
    launch = Launch(persistent, (x, w, out, t, b), {"H": h, "BB": bb, "PRECISION": precision}, (b // bb,), warps)
    return micro("recurrent_persistent", params, launch, bytes=2 * x.nbytes + w.nbytes, flops=2 * t * b * h * h)


def stepwise_case(t, b, h, bb, bn) -> Case:
    """T launches, each reading the state that the one before wrote."""
    x, w = Buffer("x", "float16", b * h), Buffer("w", "float16", h * h)
    states = (Buffer("chain0", "float16", b * h), Buffer("chain1", "float16", b * h))
    launches = [
        Launch(
            single_step,
            (x, states[i % 2], w, states[(i + 1) % 2]),
            {"H": h, "BB": bb, "BN": bn, "BK": 64},
            (b // bb, h // bn),
        )
        for i in range(t)
    ]
    params = {"T": t, "B": b, "H": h, "BLOCK_B": bb, "BN": bn}
    return micro("recurrent_stepwise", params, *launches, bytes=t * (3 * x.nbytes + w.nbytes), flops=2 * t * b * h * h)


def cases() -> list[Case]:
    """All recurrences."""
    found = []
    for h, bb, t, b in itertools.product((64, 128, 256), (16, 32, 64), (32, 128, 512), (64, 2048)):
        if t == 128 or bb == 16:
            found.append(persistent_case(t, b, h, bb, 4))
        if t == 128 and h >= 128 and b == 64:
            found.append(persistent_case(t, b, h, bb, 8))
    for h, precision in itertools.product((64, 128), ("tf32", "ieee")):
        found.append(persistent_case(128, 64, h, 16, 4, "float32", precision))
    for h, b in itertools.product((64, 128, 256, 768), (64, 512)):
        found.append(stepwise_case(24, b, h, 32, 64))
    return found
