import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
Q_HEADS = 32
KV_HEADS = 8
CONTEXT = 512
HEAD_DIM = 128
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """One decoding step of grouped-query attention over a filled KV cache."""

    def __init__(self):
        super().__init__()

    def forward(self, q, k_cache, v_cache):
        # q: [B, Hq, D]; caches: [B, Hkv, S, D]
        b, hkv, s, d = k_cache.shape
        q = q.view(b, hkv, -1, d)
        out = F.scaled_dot_product_attention(q, k_cache, v_cache)
        return out.reshape(b, -1, d)


def get_inputs():
    q = torch.randn(BATCH, Q_HEADS, HEAD_DIM, device=DEVICE, dtype=torch.float16)
    k = torch.randn(BATCH, KV_HEADS, CONTEXT, HEAD_DIM, device=DEVICE, dtype=torch.float16)
    v = torch.randn(BATCH, KV_HEADS, CONTEXT, HEAD_DIM, device=DEVICE, dtype=torch.float16)
    return [q, k, v]


def get_init_inputs():
    return []
