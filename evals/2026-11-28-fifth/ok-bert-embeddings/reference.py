import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 256
SEQ = 512
VOCAB = 30522
DIM = 768


class Model(nn.Module):
    """BERT's embeddings: word, position and segment added up, then a layer norm."""

    def __init__(self, vocab, seq, dim):
        super().__init__()
        self.word = nn.Parameter(torch.randn(vocab, dim).half())
        self.position = nn.Parameter(torch.randn(seq, dim).half())
        self.segment = nn.Parameter(torch.randn(2, dim).half())
        self.weight = nn.Parameter((1.0 + 0.1 * torch.randn(dim)).half())
        self.bias = nn.Parameter((0.1 * torch.randn(dim)).half())

    def forward(self, ids, segments):
        total = F.embedding(ids, self.word).float() + self.position[: ids.shape[1]].float()
        total = total + F.embedding(segments, self.segment).float()
        normed = F.layer_norm(total, (total.shape[-1],), self.weight.float(), self.bias.float(), 1e-5)
        return normed.to(self.word.dtype)


def get_inputs():
    return [torch.randint(0, VOCAB, (BATCH, SEQ)), torch.randint(0, 2, (BATCH, SEQ))]


def get_init_inputs():
    return [VOCAB, SEQ, DIM]
