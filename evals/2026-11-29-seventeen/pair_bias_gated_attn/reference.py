import torch
import torch.nn as nn

SAMPLES = 1
NUM_HEADS = 16
NUM_TOKENS = 512
HEAD_DIM = 64


class Model(nn.Module):
    """Gated attention with pair bias (structure-prediction diffusion transformer)."""

    def __init__(self, head_dim):
        super().__init__()
        self.scale = head_dim ** -0.5

    def forward(self, q, k, v, pair_bias, gate):
        # q, k, v, gate: [S, H, N, D]; pair_bias: [H, N, N], shared by the samples
        logits = torch.matmul(q.float() * self.scale, k.float().transpose(-1, -2))
        logits += pair_bias.float()
        attn = torch.softmax(logits, dim=-1)
        out = torch.matmul(attn, v.float())
        return (torch.sigmoid(gate.float()) * out).to(q.dtype)


def get_inputs():
    shape = (SAMPLES, NUM_HEADS, NUM_TOKENS, HEAD_DIM)
    q = torch.randn(shape, dtype=torch.float16)
    k = torch.randn(shape, dtype=torch.float16)
    v = torch.randn(shape, dtype=torch.float16)
    bias = torch.randn(NUM_HEADS, NUM_TOKENS, NUM_TOKENS, dtype=torch.float16)
    gate = torch.randn(shape, dtype=torch.float16)
    return [q, k, v, bias, gate]


def get_init_inputs():
    return [HEAD_DIM]
