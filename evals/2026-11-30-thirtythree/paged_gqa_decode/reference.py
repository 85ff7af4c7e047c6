import torch
import torch.nn as nn

B = 16
KV_HEADS = 8
GROUP = 4
D = 128
PAGE = 16
MAX_PAGES = 256


class Model(nn.Module):
    """One decoding step of grouped-query attention over a paged key/value cache."""

    def __init__(self):
        super().__init__()

    def forward(self, q, k_cache, v_cache, block_table, lengths):
        b, hq, d = q.shape
        kv_heads = k_cache.shape[2]
        group = hq // kv_heads
        out = torch.empty_like(q)
        for i in range(b):  # one sequence at a time keeps the reference small
            k = k_cache[block_table[i].long()].reshape(-1, kv_heads, d).float()
            v = v_cache[block_table[i].long()].reshape(-1, kv_heads, d).float()
            qi = q[i].float().reshape(kv_heads, group, d)
            scores = torch.einsum("hgd,shd->hgs", qi, k) * d ** -0.5
            pos = torch.arange(k.shape[0], device=q.device)
            scores = scores.masked_fill(pos >= lengths[i], float("-inf"))
            out[i] = torch.einsum("hgs,shd->hgd", scores.softmax(-1), v).reshape(hq, d).to(q.dtype)
        return out


def get_inputs():
    n = B * MAX_PAGES
    q = torch.randn(B, KV_HEADS * GROUP, D).half()
    k = torch.randn(n, PAGE, KV_HEADS, D).half()
    v = torch.randn(n, PAGE, KV_HEADS, D).half()
    table = torch.randperm(n).reshape(B, MAX_PAGES).to(torch.int32)
    s = MAX_PAGES * PAGE
    lengths = torch.randint(3 * s // 4, s + 1, (B,), dtype=torch.int32)
    return [q, k, v, table, lengths]


def get_init_inputs():
    return []
