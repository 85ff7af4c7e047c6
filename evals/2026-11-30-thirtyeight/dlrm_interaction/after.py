import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def interact_pack_kernel(
    dense_ptr, sparse_ptr, out_ptr,
    F1, D, P,
    BLOCK_F: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # out[b] = [dense[b], strict lower triangle of t @ t.T], t = [dense[b]; sparse[b]]
    b = tl.program_id(0).to(tl.int64)
    f = tl.arange(0, BLOCK_F)
    d = tl.arange(0, BLOCK_D)
    dmask = d[None, :] < D
    emb = tl.load(
        sparse_ptr + b * (F1 - 1) * D + (f[:, None] - 1) * D + d[None, :],
        mask=(f[:, None] >= 1) & (f[:, None] < F1) & dmask, other=0.0,
    )
    bottom = tl.load(dense_ptr + b * D + d, mask=d < D, other=0.0)
    tl.store(out_ptr + b * (D + P) + d, bottom, mask=d < D)
    t = tl.where(f[:, None] == 0, bottom[None, :], emb)
    z = tl.dot(t, tl.trans(t))

    i = f[:, None]
    j = f[None, :]
    pos = i * (i - 1) // 2 + j
    tl.store(
        out_ptr + b * (D + P) + D + pos, z.to(out_ptr.dtype.element_ty),
        mask=(i < F1) & (j < i),
    )


class ModelNew(nn.Module):
    def __init__(self, fields):
        super().__init__()
        li, lj = torch.tril_indices(fields + 1, fields + 1, offset=-1)
        self.register_buffer("li", li.to(torch.int32))
        self.register_buffer("lj", lj.to(torch.int32))

    def forward(self, dense, sparse):
        batch, fields, dim = sparse.shape
        f1 = fields + 1
        pairs = f1 * (f1 - 1) // 2
        dense, sparse = dense.contiguous(), sparse.contiguous()
        out = torch.empty((batch, dim + pairs), device=dense.device, dtype=dense.dtype)
        interact_pack_kernel[(batch,)](
            dense, sparse, out, f1, dim, pairs,
            BLOCK_F=max(16, triton.next_power_of_2(f1)),
            BLOCK_D=max(16, triton.next_power_of_2(dim)), num_warps=2,
        )
        return out
