import torch
import torch.nn as nn

BATCH = 2
Q_HEADS = 16
KV_HEADS = 4
SEQ = 4096
HEAD_DIM = 64


class Model(nn.Module):
    """Grouped-query attention without a mask: q [b, hq, s, d], k and v [b, hkv, s, d]."""

    def forward(self, q, k, v):
        group = q.shape[1] // k.shape[1]
        k = k.float().repeat_interleave(group, dim=1)
        v = v.float().repeat_interleave(group, dim=1)
        scores = q.float() @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return (torch.softmax(scores, dim=-1) @ v).to(torch.float16)


def get_inputs():
    kv = (BATCH, KV_HEADS, SEQ, HEAD_DIM)
    return [
        torch.randn(BATCH, Q_HEADS, SEQ, HEAD_DIM, dtype=torch.float16),
        torch.randn(kv, dtype=torch.float16),
        torch.randn(kv, dtype=torch.float16),
    ]


def get_init_inputs():
    return []
