"""Ranks each query's candidates: stable descending sort of half-precision scores, candidates past the query's length last."""
import torch
import torch.nn as nn

R = 8192
N = 1000
PAD_SCORE = -60000.0


class Model(nn.Module):
    def __init__(self, pad_score):
        super().__init__()
        self.pad_score = pad_score

    def forward(self, scores, lengths):
        col = torch.arange(scores.shape[1], device=scores.device)
        scores = scores.masked_fill(col[None, :] >= lengths[:, None], self.pad_score)
        ranked, order = torch.sort(scores, dim=1, descending=True, stable=True)
        return ranked, order.to(torch.int32)


def get_inputs():
    scores = torch.randn(R, N).to(torch.float16)
    lengths = torch.randint(N // 2, N + 1, (R,), dtype=torch.int32)
    return [scores, lengths]


def get_init_inputs():
    return [PAD_SCORE]
