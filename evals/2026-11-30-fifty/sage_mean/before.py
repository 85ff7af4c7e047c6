import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scatter_edges_kernel(
    x_ptr, src_ptr, dst_ptr, w_ptr, agg_ptr,
    n_edges, dim,
    BLOCK_E: tl.constexpr, BLOCK_D: tl.constexpr,
):
    e = tl.program_id(0) * BLOCK_E + tl.arange(0, BLOCK_E)
    e_mask = e < n_edges
    d = tl.arange(0, BLOCK_D)
    src = tl.load(src_ptr + e, mask=e_mask, other=0)
    dst = tl.load(dst_ptr + e, mask=e_mask, other=0)
    w = tl.load(w_ptr + e, mask=e_mask, other=0.0)
    mask = e_mask[:, None] & (d < dim)[None, :]
    feat = tl.load(x_ptr + src[:, None] * dim + d[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.atomic_add(agg_ptr + dst[:, None] * dim + d[None, :], feat * w[:, None], mask=mask, sem="relaxed")


@triton.jit
def finalize_kernel(
    x_ptr, agg_ptr, row_ptr, eps_ptr, out_ptr,
    n_nodes, dim,
    BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    n_mask = n < n_nodes
    d = tl.arange(0, BLOCK_D)
    mask = n_mask[:, None] & (d < dim)[None, :]
    begin = tl.load(row_ptr + n, mask=n_mask, other=0)
    end = tl.load(row_ptr + n + 1, mask=n_mask, other=0)
    deg = tl.maximum(end - begin, 1).to(tl.float32)
    eps = tl.load(eps_ptr)
    offs = n[:, None] * dim + d[None, :]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    agg = tl.load(agg_ptr + offs, mask=mask, other=0.0)
    out = (1.0 + eps) * x + agg / deg[:, None]
    tl.store(out_ptr + offs, out.to(out_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor([0.1]))

    def forward(self, x, src, dst, row_ptr, edge_weight):
        x = x.contiguous()
        n_nodes, dim = x.shape
        n_edges = src.numel()
        BLOCK_D = triton.next_power_of_2(dim)
        # float32 accumulator: bfloat16 atomics lose too many bits
        agg = torch.zeros(n_nodes, dim, device=x.device, dtype=torch.float32)
        scatter_edges_kernel[(triton.cdiv(n_edges, 16),)](
            x, src, dst, edge_weight, agg, n_edges, dim, BLOCK_E=16, BLOCK_D=BLOCK_D, num_warps=4,
        )
        out = torch.empty_like(x)
        finalize_kernel[(triton.cdiv(n_nodes, 16),)](
            x, agg, row_ptr, self.eps, out, n_nodes, dim, BLOCK_N=16, BLOCK_D=BLOCK_D, num_warps=4,
        )
        return out
