import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode_attn_kernel(Q, K, KS, V, VS, LENS, O, S, sm_scale,
                       HQ: tl.constexpr, HKV: tl.constexpr, G: tl.constexpr, D: tl.constexpr,
                       BLOCK_G: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_S: tl.constexpr):
    b = tl.program_id(0)
    hk = tl.program_id(1)
    n = tl.load(LENS + b)
    offs_g = tl.arange(0, BLOCK_G)
    offs_d = tl.arange(0, BLOCK_D)
    q_ptr = (b * HQ + hk * G + offs_g[:, None]) * D + offs_d[None, :]
    q_mask = (offs_g[:, None] < G) & (offs_d[None, :] < D)
    q = tl.load(Q + q_ptr, mask=q_mask, other=0.0)

    row = (b * HKV + hk).to(tl.int64) * S
    m = tl.full([BLOCK_G], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_G], tl.float32)
    acc = tl.zeros([BLOCK_G, BLOCK_D], tl.float32)
    for start in range(0, n, BLOCK_S):
        offs_s = start + tl.arange(0, BLOCK_S)
        live = offs_s < n
        kv = (row + offs_s)[:, None] * D + offs_d[None, :]
        kv_mask = live[:, None] & (offs_d[None, :] < D)
        k = tl.load(K + kv, mask=kv_mask, other=0).to(tl.float16)
        ks = tl.load(KS + row + offs_s, mask=live, other=0.0).to(tl.float32)
        s = tl.dot(q, tl.trans(k)) * (ks * sm_scale)[None, :]
        s = tl.where(live[None, :], s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        alpha = tl.exp2(m - m_new)
        p = tl.exp2(s - m_new[:, None])
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(V + kv, mask=kv_mask, other=0).to(tl.float16)
        vs = tl.load(VS + row + offs_s, mask=live, other=0.0).to(tl.float32)
        acc = acc * alpha[:, None] + tl.dot((p * vs[None, :]).to(tl.float16), v)
        m = m_new
    tl.store(O + q_ptr, (acc / l[:, None]).to(tl.float16), mask=q_mask)


class ModelNew(nn.Module):
    def __init__(self, hq, hkv, d):
        super().__init__()
        self.hq, self.hkv, self.d = hq, hkv, d

    def forward(self, q, k_cache, k_scale, v_cache, v_scale, lens):
        b, hq, d = q.shape
        s = k_cache.shape[2]
        g = self.hq // self.hkv
        out = torch.empty_like(q)
        decode_attn_kernel[(b, self.hkv)](
            q, k_cache, k_scale, v_cache, v_scale, lens, out, s, 1.4426950408889634 / math.sqrt(d),
            HQ=hq, HKV=self.hkv, G=g, D=d,
            BLOCK_G=max(16, triton.next_power_of_2(g)), BLOCK_D=max(16, triton.next_power_of_2(d)),
            BLOCK_S=64, num_warps=4, num_stages=3)
        return out
