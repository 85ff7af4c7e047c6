import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fm_kernel(emb_ptr, vals_ptr, linear_ptr, bias_ptr, out_ptr,
              n_batch, n_fields, dim,
              BLOCK_B: tl.constexpr, BLOCK_F: tl.constexpr, BLOCK_D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    fields = tl.arange(0, BLOCK_F)
    cols = tl.arange(0, BLOCK_D)
    row_mask = rows < n_batch
    val_mask = row_mask[:, None] & (fields < n_fields)[None, :]

    x = tl.load(vals_ptr + rows[:, None] * n_fields + fields[None, :], mask=val_mask, other=0.0)
    w = tl.load(linear_ptr + fields, mask=fields < n_fields, other=0.0)
    first = tl.sum(x * w[None, :], axis=1)

    # sum_{i<j} v_i v_j = ((sum v)^2 - sum v^2) / 2: one pass over the embeddings
    offs = rows[:, None, None] * (n_fields * dim) + fields[None, :, None] * dim + cols[None, None, :]
    mask = val_mask[:, :, None] & (cols < dim)[None, None, :]
    v = tl.load(emb_ptr + offs, mask=mask, other=0.0).to(tl.float32) * x[:, :, None]
    total = tl.sum(v, axis=1)
    squares = tl.sum(v * v, axis=1)
    pairs = 0.5 * tl.sum(total * total - squares, axis=1)

    tl.store(out_ptr + rows, tl.load(bias_ptr) + first + pairs, mask=row_mask)


class ModelNew(nn.Module):
    def __init__(self, num_fields):
        super().__init__()
        self.linear = nn.Parameter(torch.randn(num_fields) * 0.1)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, emb, vals):
        emb = emb.contiguous()
        vals = vals.contiguous()
        n_batch, n_fields, dim = emb.shape
        out = torch.empty(n_batch, device=emb.device, dtype=torch.float32)
        BLOCK_B = 2
        fm_kernel[(triton.cdiv(n_batch, BLOCK_B),)](
            emb, vals, self.linear, self.bias, out, n_batch, n_fields, dim,
            BLOCK_B=BLOCK_B, BLOCK_F=triton.next_power_of_2(n_fields),
            BLOCK_D=triton.next_power_of_2(dim), num_warps=1,
        )
        return out
