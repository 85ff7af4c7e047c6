import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lookup_kernel(table, indices, gain, out, batch, stride_index, DIM: tl.constexpr, BLOCK_B: tl.constexpr):
    b = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    d = tl.arange(0, DIM)
    ok = b < batch
    row = tl.load(indices + b * stride_index, mask=ok, other=0)
    values = tl.load(table + row[:, None] * DIM + d[None, :], mask=ok[:, None], other=0.0)
    tl.store(out + b[:, None] * DIM + d[None, :], values * tl.load(gain), mask=ok[:, None])


class ModelNew(nn.Module):
    def __init__(self, tables, rows, dim):
        super().__init__()
        self.tables = nn.Parameter(torch.randn(tables, rows, dim))
        self.gain = nn.Parameter(torch.rand(tables) + 0.5)

    def lookup(self, t, column):
        batch, dim = column.shape[0], self.tables.shape[-1]
        out = torch.empty(batch, dim, device=column.device, dtype=self.tables.dtype)
        grid = (triton.cdiv(batch, 32),)
        lookup_kernel[grid](
            self.tables[t], column, self.gain[t : t + 1], out, batch, column.stride(0), DIM=dim, BLOCK_B=32
        )
        return out

    def forward(self, indices):
        features = []
        for t in range(self.tables.shape[0]):
            features.append(self.lookup(t, indices[:, t]))
        return torch.stack(features, dim=1)
