import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def qk_norm_rope_kernel(qkv_ptr, pos_ptr, cs_ptr, qw_ptr, kw_ptr, q_ptr, k_ptr, eps,
                        HQ: tl.constexpr, HKV: tl.constexpr, D: tl.constexpr, HB: tl.constexpr):
    HALF: tl.constexpr = D // 2
    t = tl.program_id(0)
    h = tl.program_id(1) * HB + tl.arange(0, HB)
    i = tl.arange(0, HALF)
    is_q = h < HQ
    mask = (h < HQ + HKV)[:, None]

    src = qkv_ptr + t.to(tl.int64) * ((HQ + 2 * HKV) * D) + h[:, None] * D + i[None, :]
    a = tl.load(src, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(src + HALF, mask=mask, other=0.0).to(tl.float32)
    pos = tl.load(pos_ptr + t)
    cos = tl.load(cs_ptr + pos * D + i)[None, :]
    sin = tl.load(cs_ptr + pos * D + HALF + i)[None, :]

    rstd = tl.rsqrt((tl.sum(a * a, axis=1) + tl.sum(b * b, axis=1)) / D + eps)[:, None]
    qw_a = tl.load(qw_ptr + i).to(tl.float32)[None, :]
    qw_b = tl.load(qw_ptr + HALF + i).to(tl.float32)[None, :]
    kw_a = tl.load(kw_ptr + i).to(tl.float32)[None, :]
    kw_b = tl.load(kw_ptr + HALF + i).to(tl.float32)[None, :]
    a = a * rstd * tl.where(is_q[:, None], qw_a, kw_a)
    b = b * rstd * tl.where(is_q[:, None], qw_b, kw_b)
    lo = (a * cos - b * sin).to(tl.bfloat16)
    hi = (b * cos + a * sin).to(tl.bfloat16)

    tq = t.to(tl.int64) * (HQ * D)
    tk = t.to(tl.int64) * (HKV * D)
    dst_q = q_ptr + tq + h[:, None] * D + i[None, :]
    dst_k = k_ptr + tk + (h - HQ)[:, None] * D + i[None, :]
    dst = tl.where(is_q[:, None], dst_q, dst_k)
    tl.store(dst, lo, mask=mask)
    tl.store(dst + HALF, hi, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, hq, hkv, d, max_pos, eps=1e-6):
        super().__init__()
        self.hq, self.hkv, self.d, self.eps = hq, hkv, d, eps
        self.q_weight = nn.Parameter((torch.rand(d) + 0.5).bfloat16(), requires_grad=False)
        self.k_weight = nn.Parameter((torch.rand(d) + 0.5).bfloat16(), requires_grad=False)
        freq = 1.0 / 1e6 ** (torch.arange(0, d, 2).float() / d)
        ang = torch.arange(max_pos).float()[:, None] * freq[None, :]
        self.register_buffer("cos_sin", torch.cat([ang.cos(), ang.sin()], dim=1))

    def forward(self, qkv, positions):
        t = qkv.shape[0]
        q = torch.empty((t, self.hq, self.d), dtype=qkv.dtype, device=qkv.device)
        k = torch.empty((t, self.hkv, self.d), dtype=qkv.dtype, device=qkv.device)
        grid = (t, triton.cdiv(self.hq + self.hkv, 8))
        qk_norm_rope_kernel[grid](qkv, positions, self.cos_sin, self.q_weight, self.k_weight, q, k, self.eps,
                                  HQ=self.hq, HKV=self.hkv, D=self.d, HB=8, num_warps=2)
        return q, k
