"""Axial 2-D rotary embedding of q and k in one launch; the tables stay in registers over several heads."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


def axial_tables(gh, gw, d, base=100.0):
    freq = base ** (-torch.arange(0, d // 4).float() / (d // 4))
    y, x = torch.meshgrid(torch.arange(gh).float(), torch.arange(gw).float(), indexing="ij")
    ang = torch.cat([y.reshape(-1, 1) * freq, x.reshape(-1, 1) * freq], dim=1)
    return ang.cos(), ang.sin()


@triton.jit
def rotate_pairs(x, cos, sin, BLOCK_T: tl.constexpr, D: tl.constexpr):
    a, b = tl.split(tl.reshape(x.to(tl.float32), (BLOCK_T, D // 2, 2)))
    y = tl.join(a * cos - b * sin, a * sin + b * cos)
    return tl.reshape(y, (BLOCK_T, D))


@triton.jit
def axial_rope_kernel(q_ptr, k_ptr, cos_ptr, sin_ptr, qo_ptr, ko_ptr, T, BH,
                      D: tl.constexpr, BLOCK_T: tl.constexpr, HEADS: tl.constexpr):
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    d = tl.arange(0, D)
    h = tl.arange(0, D // 2)
    tmask = (t < T)[:, None]
    cos = tl.load(cos_ptr + t[:, None] * (D // 2) + h[None, :], mask=tmask, other=0.0)
    sin = tl.load(sin_ptr + t[:, None] * (D // 2) + h[None, :], mask=tmask, other=0.0)

    for i in tl.static_range(HEADS):
        bh = tl.program_id(1) * HEADS + i
        mask = (t < tl.where(bh < BH, T, 0))[:, None]
        offs = bh.to(tl.int64) * T * D + t[:, None] * D + d[None, :]
        q = tl.load(q_ptr + offs, mask=mask, other=0.0)
        k = tl.load(k_ptr + offs, mask=mask, other=0.0)
        q = rotate_pairs(q, cos, sin, BLOCK_T, D)
        k = rotate_pairs(k, cos, sin, BLOCK_T, D)
        tl.store(qo_ptr + offs, q.to(qo_ptr.dtype.element_ty), mask=mask)
        tl.store(ko_ptr + offs, k.to(ko_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, gh, gw, d):
        super().__init__()
        cos, sin = axial_tables(gh, gw, d)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)

    def forward(self, q, k):
        q, k = q.contiguous(), k.contiguous()
        b, h, t, d = q.shape
        qo, ko = torch.empty_like(q), torch.empty_like(k)
        grid = (triton.cdiv(t, 32), triton.cdiv(b * h, 4))
        axial_rope_kernel[grid](q, k, self.cos, self.sin, qo, ko, t, b * h,
                                D=d, BLOCK_T=32, HEADS=4, num_warps=4)
        return qo, ko
