import torch
import torch.nn as nn

BATCH = 8
KV_HEADS = 8
GROUP = 4
CACHE = 8192
HEAD_DIM = 128


class Model(nn.Module):
    """One decoding step of grouped-query attention over an int8 cache with a scale per position."""

    def forward(self, q, k8, v8, k_scale, v_scale):
        k = k8.float() * k_scale.float()[..., None]
        v = v8.float() * v_scale.float()[..., None]
        b, hq, d = q.shape
        qg = q.float().view(b, k8.shape[1], -1, d)
        p = torch.softmax(qg @ k.transpose(-1, -2) / d**0.5, dim=-1)
        return (p @ v).view(b, hq, d).to(torch.float16)


def get_inputs():
    cache = (BATCH, KV_HEADS, CACHE, HEAD_DIM)
    return [
        torch.randn(BATCH, KV_HEADS * GROUP, HEAD_DIM, dtype=torch.float16),
        torch.randint(-127, 128, cache, dtype=torch.int8),
        torch.randint(-127, 128, cache, dtype=torch.int8),
        torch.rand(BATCH, KV_HEADS, CACHE).mul(0.02).add(0.005).half(),
        torch.rand(BATCH, KV_HEADS, CACHE).mul(0.02).add(0.005).half(),
    ]


def get_init_inputs():
    return []
