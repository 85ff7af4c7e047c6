import math
import torch
import torch.nn as nn

BATCH = 2
Q_HEADS = 32
KV_HEADS = 8
CONTEXT = 65536
HEAD_DIM = 128


class Model(nn.Module):
    """Attention of one new token per sequence over the key/value cache (grouped query heads)."""

    def __init__(self, kv_heads):
        super().__init__()
        self.kv_heads = kv_heads

    def forward(self, q, k_cache, v_cache, seq_lens):
        b, hq, d = q.shape
        t = k_cache.shape[2]
        qg = q.view(b, self.kv_heads, hq // self.kv_heads, d).float()
        s = qg @ k_cache.float().transpose(-1, -2) / math.sqrt(d)
        valid = torch.arange(t, device=q.device)[None, :] < seq_lens[:, None]
        s = s.masked_fill(~valid[:, None, None, :], float("-inf"))
        o = torch.softmax(s, dim=-1) @ v_cache.float()
        return o.reshape(b, hq, d).to(q.dtype)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randn(BATCH, Q_HEADS, HEAD_DIM, device=dev, dtype=torch.float16)
    k = torch.randn(BATCH, KV_HEADS, CONTEXT, HEAD_DIM, device=dev, dtype=torch.float16)
    v = torch.randn(BATCH, KV_HEADS, CONTEXT, HEAD_DIM, device=dev, dtype=torch.float16)
    lens = CONTEXT - 5 * torch.arange(BATCH, device=dev, dtype=torch.int32)
    return [q, k, v, lens.to(torch.int32)]


def get_init_inputs():
    return [KV_HEADS]
