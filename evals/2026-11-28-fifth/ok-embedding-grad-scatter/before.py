import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_rows(grad_ptr, index_ptr, table_ptr, tokens, DIM: tl.constexpr, ROWS: tl.constexpr):
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, DIM)
    real = t < tokens
    row = tl.load(index_ptr + t, mask=real, other=0)
    g = tl.load(grad_ptr + t.to(tl.int64)[:, None] * DIM + d[None, :], mask=real[:, None], other=0.0)
    tl.atomic_add(table_ptr + row[:, None] * DIM + d[None, :], g, mask=real[:, None], sem="relaxed")


class ModelNew(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def forward(self, grad, index):
        tokens, dim = grad.shape
        table = torch.zeros((self.rows, dim), device=grad.device, dtype=grad.dtype)
        add_rows[(triton.cdiv(tokens, 16),)](grad, index, table, tokens, DIM=dim, ROWS=16)
        return table
