"""Fused GroupNorm + SiLU, NCHW."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _group_norm_silu_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    hw, groups, eps,
    CPG: tl.constexpr, BLOCK: tl.constexpr,
):
    # One program per (sample, group): statistics and normalisation without a second launch.
    pid = tl.program_id(0)
    g = pid % groups
    base = pid.to(tl.int64) * CPG * hw
    cols = tl.arange(0, BLOCK)

    s = tl.zeros([BLOCK], dtype=tl.float32)
    s2 = tl.zeros([BLOCK], dtype=tl.float32)
    size = CPG * hw                                   # the channels of a group are contiguous
    for start in range(0, size, BLOCK):
        offs = start + cols
        x = tl.load(x_ptr + base + offs, mask=offs < size, other=0.0).to(tl.float32)
        s += x
        s2 += x * x
    mean = tl.sum(s, 0) / size
    var = tl.maximum(tl.sum(s2, 0) / size - mean * mean, 0.0)
    rstd = tl.rsqrt(var + eps)

    for c in range(CPG):
        w = tl.load(w_ptr + g * CPG + c).to(tl.float32) * rstd
        b = tl.load(b_ptr + g * CPG + c).to(tl.float32) - mean * w
        row = base + c * hw
        for start in range(0, hw, BLOCK):
            offs = start + cols
            mask = offs < hw
            x = tl.load(x_ptr + row + offs, mask=mask, other=0.0).to(tl.float32)
            y = x * w + b
            y = y * tl.sigmoid(y)
            tl.store(y_ptr + row + offs, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, groups, channels, eps=1e-5):
        super().__init__()
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        hw = h * w
        BLOCK = min(4096, max(256, triton.next_power_of_2(hw)))
        _group_norm_silu_kernel[(n * self.groups,)](
            x, self.weight, self.bias, y, hw, self.groups, self.eps,
            CPG=c // self.groups, BLOCK=BLOCK, num_warps=8,
        )
        return y
