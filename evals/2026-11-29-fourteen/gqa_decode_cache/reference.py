import torch
import torch.nn as nn

BATCH = 2
Q_HEADS = 32
KV_HEADS = 8
HEAD_DIM = 128
CACHE_LEN = 65536


class Model(nn.Module):
    """One decoding step of grouped-query attention against a dense KV cache."""

    def __init__(self, sm_scale):
        super().__init__()
        self.sm_scale = sm_scale

    def forward(self, q, k_cache, v_cache, seq_lens):
        b, hq, d = q.shape
        s, hkv = k_cache.shape[1], k_cache.shape[2]
        qg = q.view(b, hkv, hq // hkv, d).float()
        scores = torch.einsum("bhgd,bshd->bhgs", qg, k_cache.float()) * self.sm_scale
        pos = torch.arange(s, device=q.device)
        dead = pos[None, :] >= seq_lens[:, None]
        scores = scores.masked_fill(dead[:, None, None, :], float("-inf"))
        p = torch.softmax(scores, dim=-1)
        out = torch.einsum("bhgs,bshd->bhgd", p, v_cache.float())
        return out.reshape(b, hq, d).to(q.dtype)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randn(BATCH, Q_HEADS, HEAD_DIM, device=dev, dtype=torch.float16)
    k = torch.randn(BATCH, CACHE_LEN, KV_HEADS, HEAD_DIM, device=dev, dtype=torch.float16)
    v = torch.randn(BATCH, CACHE_LEN, KV_HEADS, HEAD_DIM, device=dev, dtype=torch.float16)
    lens = torch.tensor([CACHE_LEN - 3 * i for i in range(BATCH)], device=dev, dtype=torch.int32)
    return [q, k, v, lens]


def get_init_inputs():
    return [0.0883883]
