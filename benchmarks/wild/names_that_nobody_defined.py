"""Branches that use a name which is neither an argument nor a global: a NameError as soon as a call gets there.

    TRITON_INTERPRET=1 python names_that_nobody_defined.py

Stands for `_layer_norm_bwd_dx_fused` of fp8-coat (`e_bit` and `m_bit`, with stochastic rounding) and `l2norm` of exllamav3
(`L2NormFunction`, which the vendored file lost).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rounded(x, noise, e_bit, m_bit):
    return x + noise * e_bit * m_bit


@triton.jit
def backward(x, y, n, STOCHASTIC: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if STOCHASTIC:
        v = rounded(v, tl.rand(0, i), e_bit, m_bit)  # noqa: F821
    tl.store(y + i, v, mask=i < n)


def l2norm(x):
    return L2NormFunction.apply(x)  # noqa: F821


def missing(call):
    """The message of the NameError, whatever the interpreter wraps it in."""
    try:
        call()
    except Exception as error:
        return str(error) if "is not defined" in str(error) else ""
    return ""


x, y = torch.ones(100), torch.zeros(100)
print("stochastic rounding:", missing(lambda: backward[(1,)](x, y, 100, STOCHASTIC=True, BLOCK=128)))
print("l2norm:", missing(lambda: l2norm(x)))
assert not missing(lambda: backward[(1,)](x, y, 100, STOCHASTIC=False, BLOCK=128))
assert missing(lambda: backward[(1,)](x, y, 100, STOCHASTIC=True, BLOCK=128)) and missing(lambda: l2norm(x))
