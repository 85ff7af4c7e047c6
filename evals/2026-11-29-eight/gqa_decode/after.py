import math
import torch
import torch.nn as nn
import triton
import triton.language as tl

LOG2E = 1.4426950408889634


@triton.jit
def decode_attn_part(
    Q, K, V, PartO, PartM, PartL, Lens, qk_scale,
    sqb, sqh,
    skb, skh, sks,
    svb, svh, svs,
    HKV, chunk,
    G: tl.constexpr, GP: tl.constexpr, D: tl.constexpr, BLOCK_S: tl.constexpr, SPLITS: tl.constexpr,
):
    pid = tl.program_id(0)
    split = tl.program_id(1)
    b = pid // HKV
    hk = pid % HKV
    n = tl.load(Lens + b)

    g = tl.arange(0, GP)
    d = tl.arange(0, D)
    s = tl.arange(0, BLOCK_S)
    q = tl.load(Q + b * sqb + (hk * G + g)[:, None] * sqh + d[None, :], mask=(g < G)[:, None], other=0.0)
    k_base = K + b.to(tl.int64) * skb + hk.to(tl.int64) * skh
    v_base = V + b.to(tl.int64) * svb + hk.to(tl.int64) * svh

    m_i = tl.full((GP,), -1.0e30, tl.float32)
    l_i = tl.zeros((GP,), tl.float32)
    acc = tl.zeros((GP, D), tl.float32)
    lo = split * chunk
    hi = tl.minimum(lo + chunk, n)
    for s0 in range(lo, hi, BLOCK_S):
        live = (s0 + s) < hi
        k = tl.load(k_base + (s0 + s)[None, :] * sks + d[:, None], mask=live[None, :], other=0.0)
        qk = tl.dot(q, k) * qk_scale
        qk = tl.where(live[None, :], qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, axis=1))
        p = tl.exp2(qk - m_new[:, None])
        corr = tl.exp2(m_i - m_new)
        l_i = l_i * corr + tl.sum(p, axis=1)
        v = tl.load(v_base + (s0 + s)[:, None] * svs + d[None, :], mask=live[:, None], other=0.0)
        acc = acc * corr[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new

    slot = (pid * G + g) * SPLITS + split
    tl.store(PartM + slot, m_i, mask=g < G)
    tl.store(PartL + slot, l_i, mask=g < G)
    tl.store(PartO + slot[:, None] * D + d[None, :], acc, mask=(g < G)[:, None])


@triton.jit
def decode_attn_merge(PartO, PartM, PartL, Out, D: tl.constexpr, SPLITS: tl.constexpr):
    head = tl.program_id(0)
    i = head * SPLITS + tl.arange(0, SPLITS)
    d = tl.arange(0, D)
    m = tl.load(PartM + i)
    scale = tl.exp2(m - tl.max(m, axis=0))
    l = tl.sum(tl.load(PartL + i) * scale, axis=0)
    o = tl.sum(tl.load(PartO + i[:, None] * D + d[None, :]) * scale[:, None], axis=0) / l
    tl.store(Out + head * D + d, o.to(tl.float16))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k_cache, v_cache, lengths):
        B, HKV, S, D = k_cache.shape
        H = q.shape[1]
        out = torch.empty((B, H, D), dtype=q.dtype, device=q.device)
        G = H // HKV
        BLOCK_S = 64
        blocks = triton.cdiv(S, BLOCK_S)
        splits = min(64, triton.next_power_of_2(triton.cdiv(256, B * HKV)), triton.next_power_of_2(triton.cdiv(blocks, 2)))
        chunk = triton.cdiv(blocks, splits) * BLOCK_S
        part_o = torch.empty((B * H, splits, D), dtype=torch.float32, device=q.device)
        part_m = torch.empty((B * H, splits), dtype=torch.float32, device=q.device)
        part_l = torch.empty((B * H, splits), dtype=torch.float32, device=q.device)
        decode_attn_part[(B * HKV, splits)](
            q, k_cache, v_cache, part_o, part_m, part_l, lengths, LOG2E / math.sqrt(D),
            q.stride(0), q.stride(1),
            k_cache.stride(0), k_cache.stride(1), k_cache.stride(2),
            v_cache.stride(0), v_cache.stride(1), v_cache.stride(2),
            HKV, chunk,
            G=G, GP=max(16, triton.next_power_of_2(G)), D=D, BLOCK_S=BLOCK_S, SPLITS=splits,
            num_warps=4, num_stages=3,
        )
        decode_attn_merge[(B * H,)](part_o, part_m, part_l, out, D=D, SPLITS=splits, num_warps=4)
        return out
