import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bag_kernel(table_ptr, ids_ptr, w_ptr, out_ptr, L, D, BLOCK_L: tl.constexpr, BLOCK_D: tl.constexpr):
    bag = tl.program_id(0)
    l = tl.arange(0, BLOCK_L)
    d = tl.arange(0, BLOCK_D)
    ids = tl.load(ids_ptr + bag * L + l, mask=l < L, other=0)
    w = tl.load(w_ptr + bag * L + l, mask=l < L, other=0.0)
    rows = tl.load(table_ptr + ids[:, None] * D + d[None, :],
                   mask=(l[:, None] < L) & (d[None, :] < D), other=0.0).to(tl.float32)
    y = tl.sum(rows * w[:, None], 0) / tl.maximum(tl.sum(w, 0), 1e-6)
    tl.store(out_ptr + bag * D + d, y.to(out_ptr.dtype.element_ty), mask=d < D)


class ModelNew(nn.Module):
    def __init__(self, num_embeddings, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, dim).half(), requires_grad=False)

    def forward(self, ids, w):
        B, L = ids.shape
        D = self.weight.shape[1]
        out = torch.empty(B, D, device=ids.device, dtype=self.weight.dtype)
        bag_kernel[(B,)](self.weight, ids, w, out, L, D, BLOCK_L=triton.next_power_of_2(L),
                         BLOCK_D=triton.next_power_of_2(D), num_warps=2)
        return out
