import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def csr_mean_kernel(
    x_ptr, src_ptr, w_ptr, row_ptr, eps_ptr, out_ptr,
    dim,
    BLOCK_E: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # one destination node per program: its incoming edges are contiguous, so the sum stays in registers
    n = tl.program_id(0)
    d = tl.arange(0, BLOCK_D)
    d_mask = d < dim
    begin = tl.load(row_ptr + n)
    end = tl.load(row_ptr + n + 1)

    acc = tl.zeros((BLOCK_E, BLOCK_D), tl.float32)
    for start in range(begin, end, BLOCK_E):
        e = start + tl.arange(0, BLOCK_E)
        e_mask = e < end
        src = tl.load(src_ptr + e, mask=e_mask, other=0)
        w = tl.load(w_ptr + e, mask=e_mask, other=0.0)
        mask = e_mask[:, None] & d_mask[None, :]
        feat = tl.load(x_ptr + src[:, None] * dim + d[None, :], mask=mask, other=0.0).to(tl.float32)
        acc += feat * w[:, None]

    deg = tl.maximum(end - begin, 1).to(tl.float32)
    eps = tl.load(eps_ptr)
    x = tl.load(x_ptr + n * dim + d, mask=d_mask, other=0.0).to(tl.float32)
    out = (1.0 + eps) * x + tl.sum(acc, axis=0) / deg
    tl.store(out_ptr + n * dim + d, out.to(out_ptr.dtype.element_ty), mask=d_mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor([0.1]))

    def forward(self, x, src, dst, row_ptr, edge_weight):
        x = x.contiguous()
        n_nodes, dim = x.shape
        BLOCK_D = triton.next_power_of_2(dim)
        out = torch.empty_like(x)
        csr_mean_kernel[(n_nodes,)](
            x, src, edge_weight, row_ptr, self.eps, out, dim, BLOCK_E=16, BLOCK_D=BLOCK_D, num_warps=2,
        )
        return out
