import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _decode_attn_kernel(
    Q, K, V, Out, SeqLens,
    sm_scale,
    stride_qb, stride_qh,
    stride_kb, stride_ks, stride_kh,
    stride_vb, stride_vs, stride_vh,
    stride_ob, stride_oh,
    GROUP: tl.constexpr,
    GROUP_PAD: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    b = tl.program_id(0)
    kvh = tl.program_id(1)

    offs_g = tl.arange(0, GROUP_PAD)
    offs_d = tl.arange(0, HEAD_DIM)
    offs_n = tl.arange(0, BLOCK_N)
    g_mask = offs_g < GROUP
    heads = kvh * GROUP + offs_g

    # all query heads that share this kv head
    q = tl.load(Q + b * stride_qb + heads[:, None] * stride_qh + offs_d[None, :],
                mask=g_mask[:, None], other=0.0)
    seq_len = tl.load(SeqLens + b)

    m_i = tl.full((GROUP_PAD,), float("-inf"), tl.float32)
    l_i = tl.zeros((GROUP_PAD,), tl.float32)
    acc = tl.zeros((GROUP_PAD, HEAD_DIM), tl.float32)
    qk_scale = sm_scale * 1.4426950408889634

    k_base = K + b.to(tl.int64) * stride_kb + kvh * stride_kh
    v_base = V + b.to(tl.int64) * stride_vb + kvh * stride_vh
    for start in range(0, seq_len, BLOCK_N):
        pos = start + offs_n
        live = pos < seq_len
        k = tl.load(k_base + pos[None, :].to(tl.int64) * stride_ks + offs_d[:, None],
                    mask=live[None, :], other=0.0)
        s = tl.dot(q, k) * qk_scale
        s = tl.where(live[None, :], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        alpha = tl.exp2(m_i - m_new)
        p = tl.exp2(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_base + pos[:, None].to(tl.int64) * stride_vs + offs_d[None, :],
                    mask=live[:, None], other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new

    acc = acc / l_i[:, None]
    tl.store(Out + b * stride_ob + heads[:, None] * stride_oh + offs_d[None, :],
             acc.to(Out.dtype.element_ty), mask=g_mask[:, None])


def decode_attention(q, k_cache, v_cache, seq_lens, sm_scale):
    batch, q_heads, head_dim = q.shape
    kv_heads = k_cache.shape[2]
    group = q_heads // kv_heads
    out = torch.empty_like(q)
    _decode_attn_kernel[(batch, kv_heads)](
        q, k_cache, v_cache, out, seq_lens, sm_scale,
        q.stride(0), q.stride(1),
        k_cache.stride(0), k_cache.stride(1), k_cache.stride(2),
        v_cache.stride(0), v_cache.stride(1), v_cache.stride(2),
        out.stride(0), out.stride(1),
        GROUP=group, GROUP_PAD=max(16, triton.next_power_of_2(group)),
        HEAD_DIM=head_dim, BLOCK_N=64,
        num_warps=4, num_stages=3,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, sm_scale):
        super().__init__()
        self.sm_scale = sm_scale

    def forward(self, q, k_cache, v_cache, seq_lens):
        return decode_attention(q, k_cache, v_cache, seq_lens, self.sm_scale)
