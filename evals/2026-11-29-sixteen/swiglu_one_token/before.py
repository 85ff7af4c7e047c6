import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_rows_kernel(
    x_ptr, wg_ptr, wu_ptr, out_ptr,
    d_ff, d_model,
    BLOCK_F: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_F + tl.arange(0, BLOCK_F)
    row_mask = rows < d_ff
    cols = tl.arange(0, BLOCK_K)
    base = rows.to(tl.int64)[:, None] * d_model + cols[None, :]

    acc_g = tl.zeros((BLOCK_F, BLOCK_K), dtype=tl.float32)
    acc_u = tl.zeros((BLOCK_F, BLOCK_K), dtype=tl.float32)
    for k0 in range(0, d_model, BLOCK_K):
        k_mask = cols < d_model - k0
        mask = row_mask[:, None] & k_mask[None, :]
        wg = tl.load(wg_ptr + base + k0, mask=mask, other=0.0)
        wu = tl.load(wu_ptr + base + k0, mask=mask, other=0.0)
        x = tl.load(x_ptr + k0 + cols, mask=k_mask, other=0.0).to(tl.float32)
        acc_g += wg.to(tl.float32) * x[None, :]
        acc_u += wu.to(tl.float32) * x[None, :]

    g = tl.sum(acc_g, axis=1)
    u = tl.sum(acc_u, axis=1)
    y = g * tl.sigmoid(g) * u
    tl.store(out_ptr + rows, y.to(out_ptr.dtype.element_ty), mask=row_mask)


class ModelNew(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False).half()
        self.up = nn.Linear(d_model, d_ff, bias=False).half()

    def forward(self, x):
        d_ff, d_model = self.gate.weight.shape
        out = torch.empty((1, d_ff), device=x.device, dtype=x.dtype)
        BLOCK_F = 4
        gated_rows_kernel[(triton.cdiv(d_ff, BLOCK_F),)](
            x, self.gate.weight, self.up.weight, out, d_ff, d_model,
            BLOCK_F=BLOCK_F, BLOCK_K=1024, num_warps=4,
        )
        return out
