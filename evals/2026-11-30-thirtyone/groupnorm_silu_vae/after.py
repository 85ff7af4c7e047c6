import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def groupnorm_partial_kernel(
    x_ptr, part_ptr,
    numel, chunk, S,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    split = tl.program_id(1)
    base = pid.to(tl.int64) * numel
    offs = tl.arange(0, BLOCK)
    first = split * chunk
    last = tl.minimum(first + chunk, numel)

    s1 = tl.zeros((BLOCK,), dtype=tl.float32)
    s2 = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(first, last, BLOCK):
        idx = start + offs
        x = tl.load(x_ptr + base + idx, mask=idx < last, other=0.0).to(tl.float32)
        s1 += x
        s2 += x * x
    tl.store(part_ptr + (pid * S + split) * 2, tl.sum(s1, axis=0))
    tl.store(part_ptr + (pid * S + split) * 2 + 1, tl.sum(s2, axis=0))


@triton.jit
def groupnorm_apply_kernel(
    x_ptr, part_ptr, w_ptr, b_ptr, y_ptr,
    HW, CPG, C, S, eps,
    BLOCK_S: tl.constexpr,
    BLOCK: tl.constexpr,
):
    plane = tl.program_id(0)
    c = plane % C
    group = plane // CPG          # over images and groups alike, as CPG divides C
    numel = CPG * HW

    splits = tl.arange(0, BLOCK_S)
    p = part_ptr + (group * S + splits) * 2
    s1 = tl.sum(tl.load(p, mask=splits < S, other=0.0), axis=0)
    s2 = tl.sum(tl.load(p + 1, mask=splits < S, other=0.0), axis=0)
    mean = s1 / numel
    var = s2 / numel - mean * mean
    rstd = 1.0 / tl.sqrt(tl.maximum(var, 0.0) + eps)
    w = tl.load(w_ptr + c) * rstd
    b = tl.load(b_ptr + c) - mean * w

    base = plane.to(tl.int64) * HW
    idx = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = idx < HW
    x = tl.load(x_ptr + base + idx, mask=mask, other=0.0).to(tl.float32)
    y = x * w + b
    y = y * tl.sigmoid(y)
    tl.store(y_ptr + base + idx, y.to(y_ptr.dtype.element_ty), mask=mask)


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
        hw, cpg = H * W, C // self.groups
        numel = hw * cpg
        block = 4096
        splits = min(64, triton.cdiv(numel, block))
        chunk = triton.cdiv(triton.cdiv(numel, splits), block) * block
        splits = triton.cdiv(numel, chunk)
        part = torch.empty(B * self.groups, splits, 2, device=x.device, dtype=torch.float32)
        groupnorm_partial_kernel[(B * self.groups, splits)](
            x, part, numel, chunk, splits, BLOCK=block, num_warps=8,
        )
        groupnorm_apply_kernel[(B * C, triton.cdiv(hw, block))](
            x, part, self.weight, self.bias, y,
            hw, cpg, C, splits, self.eps,
            BLOCK_S=triton.next_power_of_2(splits), BLOCK=block, num_warps=8,
        )
        return y
