"""Causal sliding-window attention with a learned per-head sink logit (as in recent open-weight decoder models)."""
import math
import torch
import torch.nn as nn

BATCH = 2
HEADS = 16
SEQ = 4096
HEAD_DIM = 64
WINDOW = 512


class Model(nn.Module):
    def __init__(self, heads, head_dim, window):
        super().__init__()
        self.window = window
        self.scale = 1.0 / math.sqrt(head_dim)
        self.sinks = nn.Parameter(torch.randn(heads))

    def forward(self, q, k, v):
        b, h, s, _ = q.shape
        i = torch.arange(s, device=q.device)
        dist = i[:, None] - i[None, :]
        allowed = (dist >= 0) & (dist < self.window)
        scores = torch.matmul(q.float(), k.float().transpose(-1, -2)) * self.scale
        scores = scores.masked_fill(~allowed, float("-inf"))
        sink = self.sinks.float().view(1, h, 1, 1)
        m = torch.maximum(scores.amax(-1, keepdim=True), sink)
        p = torch.exp(scores - m)
        denom = p.sum(-1, keepdim=True) + torch.exp(sink - m)
        return torch.matmul(p / denom, v.float()).to(q.dtype)


def get_inputs():
    shape = (BATCH, HEADS, SEQ, HEAD_DIM)
    return [torch.randn(shape).half(), torch.randn(shape).half(), torch.randn(shape).half()]


def get_init_inputs():
    return [HEADS, HEAD_DIM, WINDOW]
