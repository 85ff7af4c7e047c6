import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def round_to_levels(x, scale, LEVELS: tl.constexpr):
    q = tl.floor(x / scale + 0.5)
    return tl.minimum(tl.maximum(q, -LEVELS), LEVELS)


@triton.jit
def fake_quant_kernel(x_ptr, y_ptr, num_groups, GROUP: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(axis=0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    offs = rows[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    mask = (rows < num_groups)[:, None]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=1), 1e-5) / 127.0
    q = round_to_levels(x, scale[:, None], LEVELS=127.0)
    tl.store(y_ptr + offs, (q * scale[:, None]).to(y_ptr.dtype.element_ty), mask=mask)


def fake_quant(x, group):
    y = torch.empty_like(x)
    n = x.numel() // group
    grid = lambda meta: (triton.cdiv(n, meta["ROWS"]),)
    fake_quant_kernel[grid](x, y, n, GROUP=group, ROWS=16, num_warps=4)
    return y


class ModelNew(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group

    def forward(self, x):
        return fake_quant(x, self.group)
