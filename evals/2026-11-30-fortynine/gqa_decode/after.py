import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gqa_decode_kernel(
    q_ptr, k_ptr, v_ptr, len_ptr, o_ptr,
    scale, n_heads, n_kv_heads, max_len,
    GROUP: tl.constexpr, GROUP_PAD: tl.constexpr, D: tl.constexpr, BLOCK_S: tl.constexpr,
):
    # one program per (KV head, sequence): all query heads of the group share each K/V tile
    kv_h = tl.program_id(0)
    b = tl.program_id(1)
    g = tl.arange(0, GROUP_PAD)
    d = tl.arange(0, D)
    s_offs = tl.arange(0, BLOCK_S)

    seq_len = tl.load(len_ptr + b)
    q_offs = (b * n_heads + kv_h * GROUP + g[:, None]) * D + d[None, :]
    q = tl.load(q_ptr + q_offs, mask=g[:, None] < GROUP, other=0.0)
    base = (b * n_kv_heads + kv_h).to(tl.int64) * max_len * D

    m = tl.full((GROUP_PAD,), float("-inf"), tl.float32)
    l = tl.zeros((GROUP_PAD,), tl.float32)
    acc = tl.zeros((GROUP_PAD, D), tl.float32)

    for start in range(0, seq_len, BLOCK_S):
        s = start + s_offs
        mask = s < seq_len
        ptrs = base + s[:, None] * D + d[None, :]
        k = tl.load(k_ptr + ptrs, mask=mask[:, None], other=0.0)
        qk = tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634)
        qk = tl.where(mask[None, :], qk, float("-inf"))
        m_new = tl.maximum(m, tl.max(qk, axis=1))
        alpha = tl.exp2(m - m_new)
        p = tl.exp2(qk - m_new[:, None])
        v = tl.load(v_ptr + ptrs, mask=mask[:, None], other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        l = l * alpha + tl.sum(p, axis=1)
        m = m_new

    tl.store(o_ptr + q_offs, (acc / l[:, None]).to(o_ptr.dtype.element_ty), mask=g[:, None] < GROUP)


class ModelNew(nn.Module):
    def __init__(self, n_heads, n_kv_heads, head_dim):
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.scale = head_dim ** -0.5

    def forward(self, q, k_cache, v_cache, seq_lens):
        B, H, D = q.shape
        out = torch.empty_like(q)
        group = H // self.n_kv_heads
        gqa_decode_kernel[(self.n_kv_heads, B)](
            q, k_cache, v_cache, seq_lens, out,
            self.scale, H, self.n_kv_heads, k_cache.shape[2],
            GROUP=group, GROUP_PAD=max(16, triton.next_power_of_2(group)), D=D, BLOCK_S=64,
            num_warps=4, num_stages=3,
        )
        return out
