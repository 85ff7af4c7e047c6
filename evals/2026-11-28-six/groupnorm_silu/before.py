import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def groupnorm_silu_kernel(x_ptr, w_ptr, b_ptr, y_ptr, HW, G, CPG, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    g = pid % G
    size = CPG * HW
    base = pid.to(tl.int64) * size

    total = tl.zeros((BLOCK,), dtype=tl.float32)
    total_sq = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + offs, mask=offs < size, other=0.0)
        total += x
        total_sq += x * x
    mean = tl.sum(total, axis=0) / size
    var = tl.sum(total_sq, axis=0) / size - mean * mean
    rstd = 1.0 / tl.sqrt(var + eps)

    for c in range(0, CPG):
        ch = g * CPG + c
        w = tl.load(w_ptr + ch) * rstd
        b = tl.load(b_ptr + ch) - mean * w
        for start in range(0, HW, BLOCK):
            offs = start + tl.arange(0, BLOCK)
            mask = offs < HW
            x = tl.load(x_ptr + base + c * HW + offs, mask=mask, other=0.0)
            y = x * w + b
            tl.store(y_ptr + base + c * HW + offs, y * tl.sigmoid(y), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, eps=1e-6)

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        G = self.norm.num_groups
        y = torch.empty_like(x)
        groupnorm_silu_kernel[(N * G,)](
            x, self.norm.weight, self.norm.bias, y, H * W, G, C // G, self.norm.eps,
            BLOCK=2048, num_warps=8,
        )
        return y
