import triton
import triton.language as tl
import torch
from torch import nn


@triton.jit
def fm_second_order(emb, out, stride_b, stride_f, n_fields, dim, F: tl.constexpr, D: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    f = tl.arange(0, F)
    d = tl.arange(0, D)
    mask = (f[:, None] < n_fields) & (d[None, :] < dim)
    v = tl.load(emb + b * stride_b + f[:, None] * stride_f + d[None, :], mask=mask, other=0.0).to(tl.float32)
    # sum_{i<j} v_i v_j = ((sum_i v_i)^2 - sum_i v_i^2) / 2
    s = tl.sum(v, axis=0)
    q = tl.sum(v * v, axis=0)
    tl.store(out + b, 0.5 * tl.sum(s * s - q, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, emb):
        assert emb.stride(2) == 1
        batch, fields, dim = emb.shape
        out = torch.empty(batch, 1, dtype=emb.dtype, device=emb.device)
        fm_second_order[(batch,)](
            emb, out, emb.stride(0), emb.stride(1), fields, dim,
            F=triton.next_power_of_2(fields), D=triton.next_power_of_2(dim), num_warps=2,
        )
        return out
