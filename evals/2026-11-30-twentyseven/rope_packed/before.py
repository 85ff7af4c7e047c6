"""RoPE of q and k for packed sequences, one program for each token: all its heads share the position and the cos/sin row."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rope_packed_kernel(q_ptr, k_ptr, qo_ptr, ko_ptr, cu_ptr, cos_ptr, sin_ptr, n_cu,
                       HQ: tl.constexpr, HK: tl.constexpr, HALF: tl.constexpr,
                       BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
                       BLOCK_CU: tl.constexpr):
    t = tl.program_id(0)
    d = tl.arange(0, BLOCK_D)
    hq = tl.arange(0, BLOCK_Q)
    hk = tl.arange(0, BLOCK_K)
    dmask = d < HALF
    qmask = (hq[:, None] < HQ) & dmask[None, :]
    kmask = (hk[:, None] < HK) & dmask[None, :]
    qoffs = t.to(tl.int64) * (HQ * 2 * HALF) + hq[:, None] * (2 * HALF) + d[None, :]
    koffs = t.to(tl.int64) * (HK * 2 * HALF) + hk[:, None] * (2 * HALF) + d[None, :]
    q1 = tl.load(q_ptr + qoffs, mask=qmask, other=0.0).to(tl.float32)
    q2 = tl.load(q_ptr + qoffs + HALF, mask=qmask, other=0.0).to(tl.float32)
    k1 = tl.load(k_ptr + koffs, mask=kmask, other=0.0).to(tl.float32)
    k2 = tl.load(k_ptr + koffs + HALF, mask=kmask, other=0.0).to(tl.float32)

    # start of this token's document: the largest boundary that is not beyond it
    i = tl.arange(0, BLOCK_CU)
    cu = tl.load(cu_ptr + i, mask=i < n_cu, other=0)
    start = tl.max(tl.where(cu <= t, cu, 0), axis=0)
    pos = t - start
    c = tl.load(cos_ptr + pos * HALF + d, mask=dmask, other=0.0)[None, :]
    s = tl.load(sin_ptr + pos * HALF + d, mask=dmask, other=0.0)[None, :]

    tl.store(qo_ptr + qoffs, (q1 * c - q2 * s).to(tl.bfloat16), mask=qmask)
    tl.store(qo_ptr + qoffs + HALF, (q2 * c + q1 * s).to(tl.bfloat16), mask=qmask)
    tl.store(ko_ptr + koffs, (k1 * c - k2 * s).to(tl.bfloat16), mask=kmask)
    tl.store(ko_ptr + koffs + HALF, (k2 * c + k1 * s).to(tl.bfloat16), mask=kmask)


class ModelNew(nn.Module):
    def __init__(self, d=128, max_pos=2048, base=10000.0):
        super().__init__()
        inv = base ** (-torch.arange(0, d, 2).float() / d)
        ang = torch.arange(max_pos).float()[:, None] * inv[None, :]
        self.register_buffer("cos", ang.cos())
        self.register_buffer("sin", ang.sin())

    def forward(self, q, k, cu_seqlens):
        T, HQ, D = q.shape
        HK = k.shape[1]
        n_cu = cu_seqlens.numel()
        qo, ko = torch.empty_like(q), torch.empty_like(k)
        rope_packed_kernel[(T,)](
            q, k, qo, ko, cu_seqlens, self.cos, self.sin, n_cu,
            HQ=HQ, HK=HK, HALF=D // 2,
            BLOCK_Q=triton.next_power_of_2(HQ), BLOCK_K=triton.next_power_of_2(HK),
            BLOCK_D=triton.next_power_of_2(D // 2), BLOCK_CU=triton.next_power_of_2(n_cu), num_warps=4,
        )
        return qo, ko
