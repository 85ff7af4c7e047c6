"""Hashed n-gram document encoder: idf-weighted mean of table rows, L2-normalized (first-stage dense retrieval)."""
import torch
import torch.nn as nn

N_DOCS = 65536
MAX_TERMS = 32
VOCAB = 200000
DIM = 256


class Model(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Parameter((torch.randn(vocab, dim) * 0.1).bfloat16())
        self.register_buffer("idf", 0.2 + torch.rand(vocab) * 5.0)

    def forward(self, terms, n_terms):
        pos = torch.arange(terms.shape[1], device=terms.device)
        w = self.idf[terms] * (pos[None, :] < n_terms[:, None]).float()
        out = torch.zeros(terms.shape[0], self.table.shape[1], device=terms.device)
        for i in range(terms.shape[1]):
            out += w[:, i, None] * self.table[terms[:, i]].float()
        out = out / w.sum(dim=1, keepdim=True)
        return (out / out.norm(dim=1, keepdim=True).clamp(min=1e-6)).to(self.table.dtype)


def get_inputs():
    terms = torch.randint(0, VOCAB, (N_DOCS, MAX_TERMS))
    n_terms = torch.randint(MAX_TERMS // 2, MAX_TERMS + 1, (N_DOCS,), dtype=torch.int32)
    return [terms, n_terms]


def get_init_inputs():
    return [VOCAB, DIM]
