import torch
import torch.nn as nn

BATCH = 8
HEADS = 32
SEQ = 2048
DIM = 128


class Model(nn.Module):
    """Merges the heads of an attention's output and gates the result: (batch, heads, seq, dim) to (batch, seq, heads * dim)."""

    def forward(self, attended, gate):
        batch, heads, seq, dim = attended.shape
        merged = attended.transpose(1, 2).reshape(batch, seq, heads * dim)
        return merged * torch.sigmoid(gate)


def get_inputs():
    attended = torch.randn(BATCH, HEADS, SEQ, DIM).to(torch.bfloat16)
    gate = torch.randn(BATCH, SEQ, HEADS * DIM).to(torch.bfloat16)
    return [attended, gate]


def get_init_inputs():
    return []
