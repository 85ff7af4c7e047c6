"""Mean aggregation over in-neighbours plus self term (GIN), Triton version: one program per destination (CSR)."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gin_csr_kernel(
    x_ptr, rowptr_ptr, src_ptr, eps_ptr, out_ptr, n_feat,
    BLOCK_E: tl.constexpr, BLOCK_F: tl.constexpr,
):
    v = tl.program_id(0).to(tl.int64)
    f = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
    f_mask = f < n_feat
    start = tl.load(rowptr_ptr + v)
    stop = tl.load(rowptr_ptr + v + 1)
    x_self = tl.load(x_ptr + v * n_feat + f, mask=f_mask, other=0.0).to(tl.float32)
    eps = tl.load(eps_ptr)
    acc = tl.zeros([BLOCK_E, BLOCK_F], dtype=tl.float32)
    for base in range(start, stop, BLOCK_E):
        e = base + tl.arange(0, BLOCK_E)
        e_mask = e < stop
        s = tl.load(src_ptr + e, mask=e_mask, other=0).to(tl.int64)
        msg = tl.load(x_ptr + s[:, None] * n_feat + f[None, :], mask=e_mask[:, None] & f_mask[None, :], other=0.0)
        acc += msg.to(tl.float32)
    deg = tl.maximum(stop - start, 1).to(tl.float32)
    out = (1.0 + eps) * x_self + tl.sum(acc, axis=0) / deg
    tl.store(out_ptr + v * n_feat + f, out.to(out_ptr.dtype.element_ty), mask=f_mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor([0.1]))

    def forward(self, x, rowptr, src, dst):
        x = x.contiguous()
        n_nodes, n_feat = x.shape
        out = torch.empty_like(x)
        BLOCK_F = min(128, triton.next_power_of_2(n_feat))
        gin_csr_kernel[(n_nodes, triton.cdiv(n_feat, BLOCK_F))](
            x, rowptr, src, self.eps, out, n_feat, BLOCK_E=8, BLOCK_F=BLOCK_F, num_warps=1,
        )
        return out
