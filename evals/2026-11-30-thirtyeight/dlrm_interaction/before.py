import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def interact_kernel(
    dense_ptr, sparse_ptr, z_ptr,
    F1, D,
    BLOCK_F: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # z[b] = t @ t.T with t = [dense[b]; sparse[b]]
    b = tl.program_id(0).to(tl.int64)
    f = tl.arange(0, BLOCK_F)
    d = tl.arange(0, BLOCK_D)
    dmask = d[None, :] < D
    emb = tl.load(
        sparse_ptr + b * (F1 - 1) * D + (f[:, None] - 1) * D + d[None, :],
        mask=(f[:, None] >= 1) & (f[:, None] < F1) & dmask, other=0.0,
    )
    bottom = tl.load(dense_ptr + b * D + d, mask=d < D, other=0.0)
    t = tl.where(f[:, None] == 0, bottom[None, :], emb)
    z = tl.dot(t, tl.trans(t))
    tl.store(
        z_ptr + b * F1 * F1 + f[:, None] * F1 + f[None, :], z,
        mask=(f[:, None] < F1) & (f[None, :] < F1),
    )


@triton.jit
def pack_kernel(
    dense_ptr, z_ptr, li_ptr, lj_ptr, out_ptr,
    F1, D, P,
    BLOCK_D: tl.constexpr, BLOCK_P: tl.constexpr,
):
    # out[b] = [dense[b], z[b][li, lj]]
    b = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    x = tl.load(dense_ptr + b * D + d, mask=d < D, other=0.0)
    tl.store(out_ptr + b * (D + P) + d, x, mask=d < D)

    p = tl.arange(0, BLOCK_P)
    pmask = p < P
    i = tl.load(li_ptr + p, mask=pmask, other=0)
    j = tl.load(lj_ptr + p, mask=pmask, other=0)
    z = tl.load(z_ptr + b * F1 * F1 + i * F1 + j, mask=pmask, other=0.0)
    tl.store(out_ptr + b * (D + P) + D + p, z.to(out_ptr.dtype.element_ty), mask=pmask)


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
        z = torch.empty((batch, f1, f1), device=dense.device, dtype=torch.float32)
        out = torch.empty((batch, dim + pairs), device=dense.device, dtype=dense.dtype)
        block_d = max(16, triton.next_power_of_2(dim))
        interact_kernel[(batch,)](
            dense, sparse, z, f1, dim,
            BLOCK_F=max(16, triton.next_power_of_2(f1)), BLOCK_D=block_d, num_warps=2,
        )
        pack_kernel[(batch,)](
            dense, z, self.li, self.lj, out, f1, dim, pairs,
            BLOCK_D=block_d, BLOCK_P=triton.next_power_of_2(pairs), num_warps=4,
        )
        return out
