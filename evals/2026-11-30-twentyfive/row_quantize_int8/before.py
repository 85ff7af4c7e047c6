import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantize_rows_kernel(x_ptr, gate_ptr, q_ptr, scale_ptr, n_rows, dim,
                         BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.arange(0, BLOCK_D)
    row_mask = rows < n_rows
    col_mask = cols < dim
    mask = row_mask[:, None] & col_mask[None, :]
    offs = rows[:, None] * dim + cols[None, :]

    gate = tl.load(gate_ptr + cols, mask=col_mask, other=0.0)
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    v = x * gate[None, :]

    # the norm only enters the scale: the int8 codes need the largest magnitude alone
    norm = tl.sqrt(tl.maximum(tl.sum(v * v, axis=1), 1e-12))
    amax = tl.maximum(tl.max(tl.abs(v), axis=1), 1e-6)
    inv = 127.0 / amax
    q = tl.floor(v * inv[:, None] + 0.5)

    tl.store(q_ptr + offs, q.to(tl.int8), mask=mask)
    tl.store(scale_ptr + rows, amax / (127.0 * norm), mask=row_mask)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gate = nn.Parameter(torch.rand(dim) + 0.5)

    def forward(self, x):
        x = x.contiguous()
        n_rows, dim = x.shape
        q = torch.empty((n_rows, dim), device=x.device, dtype=torch.int8)
        scale = torch.empty((n_rows,), device=x.device, dtype=torch.float32)
        BLOCK_R = 8
        quantize_rows_kernel[(triton.cdiv(n_rows, BLOCK_R),)](
            x, self.gate, q, scale, n_rows, dim,
            BLOCK_R=BLOCK_R, BLOCK_D=triton.next_power_of_2(dim), num_warps=4,
        )
        return q, scale
