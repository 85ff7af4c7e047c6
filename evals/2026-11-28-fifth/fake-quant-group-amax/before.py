import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def round_to_levels(x, scale, LEVELS: tl.constexpr):
    q = tl.floor(x / scale + 0.5)
    return tl.minimum(tl.maximum(q, -LEVELS), LEVELS)


@triton.jit
def fake_quant_kernel(x_ptr, scale_ptr, y_ptr, numel, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < numel
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(scale_ptr + offs // GROUP, mask=mask, other=1.0)
    q = round_to_levels(x, scale, LEVELS=127.0)
    tl.store(y_ptr + offs, (q * scale).to(y_ptr.dtype.element_ty), mask=mask)


def group_scales(x, group):
    groups = x.reshape(-1, group)
    amax = groups.abs().amax(dim=-1)
    return amax.float().clamp(min=1e-5) / 127.0


def fake_quant(x, group):
    scale = group_scales(x, group)
    y = torch.empty_like(x)
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    fake_quant_kernel[grid](x, scale, y, n, GROUP=group, BLOCK=2048, num_warps=8)
    return y


class ModelNew(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group

    def forward(self, x):
        return fake_quant(x, self.group)
