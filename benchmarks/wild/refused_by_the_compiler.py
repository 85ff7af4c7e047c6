"""Code of released packages that the compiler refuses where it gets there: one kernel for each, with the message.

    python refused_by_the_compiler.py

Stands for `digit_hist_kernel` (randperm.py), `_mhc_bwd_kernel` (mhc_bwd.py) and `next_multiple_of` (softmax.py) of flag-gems,
`multi_gate_kernel` (multi_gate.py) of sglang, and `_softmax_multi_block_forward_kernel` (softmax.py) of liger-kernel. Compiled for sm_90 by
Triton 3.9, which needs no GPU.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from triton.compiler.errors import CompilationError

KIND = 1


@triton.jit
def sign_bit(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) | 0x8000000000000000)


@triton.jit
def next_row(x, y, B: tl.constexpr):
    for t in range(B):
        if tl.program_id(0) + t >= B:
            continue
        tl.store(y + t, tl.load(x + t))


@triton.jit
def kind_of(x, y, B: tl.constexpr):
    if tl.load(x) == KIND:
        tl.store(y, B)


@triton.jit
def multiple_of(x, y, B: tl.constexpr):
    tl.store(y, tl.cidv(tl.load(x), B) * B)


@triton.jit
def typed_zero(x, y, B: tl.constexpr):
    s = tl.float32(0.0)
    tl.store(y, s.to(tl.int64) + tl.load(x))


def refusal(kernel):
    """The last line of what the compiler says of ``kernel``; empty where it takes it."""
    source = ASTSource(kernel, {"x": "*i64", "y": "*i64", "B": "constexpr"}, constexprs={"B": 128})
    try:
        compile(source, target=GPUTarget("cuda", 90, 32))
    except CompilationError as error:
        return str(error).strip().splitlines()[-1]
    return ""


for kernel in (sign_bit, next_row, kind_of, multiple_of, typed_zero):
    print(f"{kernel.fn.__name__}: {refusal(kernel)}")
assert "out of range for type int64" in refusal(sign_bit)
assert "Continue" in refusal(next_row)
assert "KIND" in refusal(kind_of) or "global" in refusal(kind_of)
assert "cidv" in refusal(multiple_of)
assert "not callable" in refusal(typed_zero)
