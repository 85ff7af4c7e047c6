import math
import torch
import torch.nn as nn

BATCH = 1
KV_HEADS = 8
GROUP = 4
HEAD_DIM = 128
MAX_LEN = 131072
SLACK = 100


class Model(nn.Module):
    """One decoding step of grouped-query attention against a padded KV cache."""

    def __init__(self):
        super().__init__()

    def forward(self, q, k_cache, v_cache, lengths):
        B, HKV, S, D = k_cache.shape
        G = q.shape[1] // HKV
        qg = q.view(B, HKV, G, D)
        scores = torch.matmul(qg, k_cache.transpose(-1, -2)).float() / math.sqrt(D)
        valid = torch.arange(S, device=q.device)[None, :] < lengths[:, None]
        scores = scores.masked_fill(~valid[:, None, None, :], float("-inf"))
        p = torch.softmax(scores, dim=-1).to(v_cache.dtype)
        return torch.matmul(p, v_cache).view(B, HKV * G, D)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randn(BATCH, KV_HEADS * GROUP, HEAD_DIM, device=device, dtype=torch.float16)
    k = torch.randn(BATCH, KV_HEADS, MAX_LEN, HEAD_DIM, device=device, dtype=torch.float16)
    v = torch.randn(BATCH, KV_HEADS, MAX_LEN, HEAD_DIM, device=device, dtype=torch.float16)
    lengths = torch.randint(MAX_LEN - SLACK, MAX_LEN + 1, (BATCH,), device=device, dtype=torch.int32)
    return [q, k, v, lengths]


def get_init_inputs():
    return []
