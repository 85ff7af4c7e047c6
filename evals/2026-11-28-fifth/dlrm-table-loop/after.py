import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lookup_kernel(tables, indices, gain, out, batch, rows, num_tables, DIM: tl.constexpr, BLOCK_B: tl.constexpr):
    t = tl.program_id(1).to(tl.int64)
    b = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    d = tl.arange(0, DIM)
    ok = b < batch
    slot = b * num_tables + t
    row = tl.load(indices + slot, mask=ok, other=0)
    values = tl.load(tables + (t * rows + row)[:, None] * DIM + d[None, :], mask=ok[:, None], other=0.0)
    tl.store(out + slot[:, None] * DIM + d[None, :], values * tl.load(gain + t), mask=ok[:, None])


class ModelNew(nn.Module):
    def __init__(self, tables, rows, dim):
        super().__init__()
        self.tables = nn.Parameter(torch.randn(tables, rows, dim))
        self.gain = nn.Parameter(torch.rand(tables) + 0.5)

    def forward(self, indices):
        num_tables, rows, dim = self.tables.shape
        batch = indices.shape[0]
        out = torch.empty(batch, num_tables, dim, device=indices.device, dtype=self.tables.dtype)
        grid = (triton.cdiv(batch, 32), num_tables)
        lookup_kernel[grid](self.tables, indices, self.gain, out, batch, rows, num_tables, DIM=dim, BLOCK_B=32)
        return out
