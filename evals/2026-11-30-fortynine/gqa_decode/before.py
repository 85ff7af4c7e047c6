import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gqa_decode_kernel(
    q_ptr, k_ptr, v_ptr, len_ptr, o_ptr,
    scale, n_heads, n_kv_heads, max_len,
    GROUP: tl.constexpr, D: tl.constexpr, BLOCK_S: tl.constexpr,
):
    # one program per (query head, sequence)
    h = tl.program_id(0)
    b = tl.program_id(1)
    kv_h = h // GROUP
    d = tl.arange(0, D)
    s_offs = tl.arange(0, BLOCK_S)

    seq_len = tl.load(len_ptr + b)
    q = tl.load(q_ptr + (b * n_heads + h) * D + d).to(tl.float32)
    q = q * (scale * 1.4426950408889634)
    base = (b * n_kv_heads + kv_h).to(tl.int64) * max_len * D

    m = tl.full((), float("-inf"), tl.float32)
    l = tl.zeros((), tl.float32)
    acc = tl.zeros((D,), tl.float32)

    for start in range(0, seq_len, BLOCK_S):
        s = start + s_offs
        mask = s < seq_len
        ptrs = base + s[:, None] * D + d[None, :]
        k = tl.load(k_ptr + ptrs, mask=mask[:, None], other=0.0)
        qk = tl.sum(k.to(tl.float32) * q[None, :], axis=1)
        qk = tl.where(mask, qk, float("-inf"))
        m_new = tl.maximum(m, tl.max(qk, axis=0))
        alpha = tl.exp2(m - m_new)
        p = tl.exp2(qk - m_new)
        v = tl.load(v_ptr + ptrs, mask=mask[:, None], other=0.0)
        acc = acc * alpha + tl.sum(p[:, None] * v.to(tl.float32), axis=0)
        l = l * alpha + tl.sum(p, axis=0)
        m = m_new

    tl.store(o_ptr + (b * n_heads + h) * D + d, (acc / l).to(o_ptr.dtype.element_ty))


class ModelNew(nn.Module):
    def __init__(self, n_heads, n_kv_heads, head_dim):
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.scale = head_dim ** -0.5

    def forward(self, q, k_cache, v_cache, seq_lens):
        B, H, D = q.shape
        out = torch.empty_like(q)
        gqa_decode_kernel[(H, B)](
            q, k_cache, v_cache, seq_lens, out,
            self.scale, H, self.n_kv_heads, k_cache.shape[2],
            GROUP=H // self.n_kv_heads, D=D, BLOCK_S=64,
            num_warps=4, num_stages=3,
        )
        return out
