import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def verify_attn_kernel(q_ptr, k_ptr, v_ptr, lens_ptr, tree_ptr, acc_ptr, ml_ptr, S, scale,
                       T: tl.constexpr, G: tl.constexpr, HKV: tl.constexpr, D: tl.constexpr, NS: tl.constexpr,
                       ROWS: tl.constexpr, SPLIT: tl.constexpr, BLOCK_S: tl.constexpr):
    # all draft tokens and all query heads of one KV head share the KV tiles; the keys are split over programs
    split = tl.program_id(0)
    kvh = tl.program_id(1)
    b = tl.program_id(2)
    r = tl.arange(0, ROWS)
    live = r < T * G
    t = r // G
    h = kvh * G + r % G
    d = tl.arange(0, D)
    q_off = ((b * T + t) * (HKV * G) + h)[:, None] * D + d[None, :]
    q = tl.load(q_ptr + q_off, mask=live[:, None], other=0.0)
    ctx = tl.load(lens_ptr + b)
    end = ctx + T

    m = tl.full((ROWS,), -1.0e30, tl.float32)
    l = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    for s in range(split * SPLIT, tl.minimum(end, split * SPLIT + SPLIT), BLOCK_S):
        pos = s + tl.arange(0, BLOCK_S)
        in_draft = (pos >= ctx) & (pos < end)
        anc = tl.load(tree_ptr + t[:, None] * T + (pos - ctx)[None, :], mask=live[:, None] & in_draft[None, :], other=0)
        keep = (pos < ctx)[None, :] | (anc != 0)
        kv = ((b * S + pos) * HKV + kvh)[:, None] * D + d[None, :]
        k = tl.load(k_ptr + kv, mask=(pos < end)[:, None], other=0.0)
        sc = tl.where(keep, tl.dot(q, tl.trans(k)) * scale, -1.0e30)
        m_new = tl.maximum(m, tl.max(sc, axis=1))
        p = tl.where(keep, tl.exp(sc - m_new[:, None]), 0.0)
        alpha = tl.exp(m - m_new)
        v = tl.load(v_ptr + kv, mask=(pos < end)[:, None], other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        l = l * alpha + tl.sum(p, axis=1)
        m = m_new
    part = ((b * HKV + kvh) * (T * G) + r) * NS + split
    tl.store(acc_ptr + part[:, None] * D + d[None, :], acc, mask=live[:, None])
    tl.store(ml_ptr + part * 2, m, mask=live)
    tl.store(ml_ptr + part * 2 + 1, l, mask=live)


@triton.jit
def combine_kernel(acc_ptr, ml_ptr, out_ptr, T: tl.constexpr, G: tl.constexpr, HKV: tl.constexpr,
                   D: tl.constexpr, NS: tl.constexpr, NSP: tl.constexpr):
    r = tl.program_id(0)
    kvh = tl.program_id(1)
    b = tl.program_id(2)
    d = tl.arange(0, D)
    s = tl.arange(0, NSP)
    part = ((b * HKV + kvh) * (T * G) + r) * NS + s
    m = tl.load(ml_ptr + part * 2, mask=s < NS, other=-1.0e30)
    l = tl.load(ml_ptr + part * 2 + 1, mask=s < NS, other=0.0)
    acc = tl.load(acc_ptr + part[:, None] * D + d[None, :], mask=(s < NS)[:, None], other=0.0)
    w = tl.exp(m - tl.max(m, axis=0))
    o = tl.sum(acc * w[:, None], axis=0) / tl.sum(l * w, axis=0)
    row = (b * T + r // G) * (HKV * G) + kvh * G + r % G
    tl.store(out_ptr + row * D + d, o.to(tl.float16))


class ModelNew(nn.Module):
    def __init__(self, n_draft):
        super().__init__()
        tree = torch.zeros(n_draft, n_draft, dtype=torch.int8)
        for i in range(n_draft):
            j = i
            while True:
                tree[i, j] = 1
                if j == 0:
                    break
                j = (j - 1) // 2
        self.register_buffer("tree", tree)

    def forward(self, q, k_cache, v_cache, ctx_lens):
        b, t, hq, d = q.shape
        s, hkv = k_cache.shape[1], k_cache.shape[2]
        g = hq // hkv
        split = 128 if s <= 4096 else 256
        ns = triton.cdiv(s, split)
        acc = torch.empty(b * hkv * t * g * ns * d, dtype=torch.float32, device=q.device)
        ml = torch.empty(b * hkv * t * g * ns * 2, dtype=torch.float32, device=q.device)
        out = torch.empty_like(q)
        verify_attn_kernel[(ns, hkv, b)](q, k_cache, v_cache, ctx_lens, self.tree, acc, ml, s, d ** -0.5,
                                         T=t, G=g, HKV=hkv, D=d, NS=ns, ROWS=max(16, triton.next_power_of_2(t * g)),
                                         SPLIT=split, BLOCK_S=64, num_warps=4)
        combine_kernel[(t * g, hkv, b)](acc, ml, out, T=t, G=g, HKV=hkv, D=d, NS=ns,
                                        NSP=triton.next_power_of_2(ns), num_warps=4)
        return out
