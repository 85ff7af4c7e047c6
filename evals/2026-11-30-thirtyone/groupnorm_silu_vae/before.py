import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def groupnorm_silu_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    HW, CPG, G, eps,
    BLOCK: tl.constexpr,
):
    # one program per (image, group): statistics first, then normalise and activate
    pid = tl.program_id(0)
    group = pid % G
    numel = CPG * HW
    base = pid.to(tl.int64) * numel
    offs = tl.arange(0, BLOCK)

    s1 = tl.zeros((BLOCK,), dtype=tl.float32)
    s2 = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, numel, BLOCK):
        idx = start + offs
        x = tl.load(x_ptr + base + idx, mask=idx < numel, other=0.0).to(tl.float32)
        s1 += x
        s2 += x * x
    mean = tl.sum(s1, axis=0) / numel
    var = tl.sum(s2, axis=0) / numel - mean * mean
    rstd = 1.0 / tl.sqrt(tl.maximum(var, 0.0) + eps)

    for c in range(CPG):
        w = tl.load(w_ptr + group * CPG + c) * rstd
        b = tl.load(b_ptr + group * CPG + c) - mean * w
        for start in range(0, HW, BLOCK):
            idx = start + offs
            mask = idx < HW
            x = tl.load(x_ptr + base + c * HW + idx, mask=mask, other=0.0).to(tl.float32)
            y = x * w + b
            y = y * tl.sigmoid(y)
            tl.store(y_ptr + base + c * HW + idx, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, groups, eps):
        super().__init__()
        self.groups = groups
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))

    def forward(self, x):
        x = x.contiguous()
        B, C, H, W = x.shape
        y = torch.empty_like(x)
        hw = H * W
        block = min(8192, max(128, triton.next_power_of_2(hw)))
        groupnorm_silu_kernel[(B * self.groups,)](
            x, self.weight, self.bias, y,
            hw, C // self.groups, self.groups, self.eps,
            BLOCK=block, num_warps=16 if block >= 4096 else 4,
        )
        return y
