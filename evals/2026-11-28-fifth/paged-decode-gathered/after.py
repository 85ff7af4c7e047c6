import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, len_ptr, o_ptr, scale, pages,
    GROUP: tl.constexpr, KV_HEADS: tl.constexpr, DIM: tl.constexpr, PAGE: tl.constexpr, BLOCK_S: tl.constexpr,
):
    kv = tl.program_id(0)
    b = tl.program_id(1).to(tl.int64)
    length = tl.load(len_ptr + b)
    g = tl.arange(0, 16)
    d = tl.arange(0, DIM)
    heads = (b * KV_HEADS + kv) * GROUP + g
    real = (g < GROUP)[:, None]
    q = tl.load(q_ptr + heads[:, None] * DIM + d[None, :], mask=real, other=0.0)
    table_ptr += b * pages
    m = tl.full((16,), float("-inf"), dtype=tl.float32)
    l = tl.zeros((16,), dtype=tl.float32)
    acc = tl.zeros((16, DIM), dtype=tl.float32)
    for start in range(0, length, BLOCK_S):
        s = start + tl.arange(0, BLOCK_S)
        inside = s < length
        page = tl.load(table_ptr + s // PAGE, mask=inside, other=0).to(tl.int64)
        at = ((page * PAGE + s % PAGE) * KV_HEADS + kv)[:, None] * DIM + d[None, :]
        k = tl.load(k_ptr + at, mask=inside[:, None], other=0.0)
        v = tl.load(v_ptr + at, mask=inside[:, None], other=0.0)
        scores = tl.where(inside[None, :], tl.dot(q, tl.trans(k)) * scale, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, axis=1))
        p = tl.exp(scores - m_new[:, None])
        shrink = tl.exp(m - m_new)
        l = l * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        m = m_new
    tl.store(o_ptr + heads[:, None] * DIM + d[None, :], (acc / l[:, None]).to(o_ptr.dtype.element_ty), mask=real)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, q, k_cache, v_cache, block_table, lengths):
        b, h, d = q.shape
        _, page, kv_heads, _ = k_cache.shape
        out = torch.empty_like(q)
        decode_kernel[(kv_heads, b)](
            q, k_cache, v_cache, block_table, lengths, out, self.scale, block_table.shape[1],
            GROUP=h // kv_heads, KV_HEADS=kv_heads, DIM=d, PAGE=page, BLOCK_S=64,
        )
        return out
