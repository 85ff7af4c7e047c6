"""Kernels that do not take what their launch gives: what the autotuner sets, an argument too many, `**meta`.

    TRITON_INTERPRET=1 python tuned_without_a_parameter.py

Stands for `_streaming_attn_4bit`, `_streaming_attn_2bit` (`BLOCK_S`) and `_turboquant_qk_kernel` (`BLOCK_D`) of quantcore-ai, for
`block_wise_decode_attention_kernel` of minference, which is launched with `num_q_heads` twice, so that the last stride lands on
`BLOCK_SIZE_Q`, and for the kernels of triton-transformer, which take `**meta`.
"""

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def tuned(x, y, n):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # noqa: F821
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def strided(x, y, n, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i * stride, tl.load(x + i * stride, mask=i < n), mask=i < n)


def with_meta():
    """Decorates a kernel that takes `**meta`, as releases before 2.0 had it."""

    @triton.jit
    def scaled(x, y, n, **meta):
        i = tl.arange(0, meta["BLOCK"])
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    scaled[(1,)](x, y, 100, BLOCK=128)


def refusal(call):
    """What a call raises; empty where it returns."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


x, y = torch.ones(100), torch.zeros(100)
calls = {
    "tuned parameter missing": lambda: tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100),
    "one argument too many": lambda: strided[(1,)](x, y, 100, 100, 1, BLOCK=128),
    "**meta": with_meta,
}
for name, call in calls.items():
    print(f"{name}: {refusal(call)[:110]}")
    assert refusal(call)
strided[(1,)](x, y, 100, 1, BLOCK=128)
assert torch.equal(x, y)
