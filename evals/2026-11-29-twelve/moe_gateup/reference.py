import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_EXPERTS = 32
CAPACITY = 256
HIDDEN = 2048
INTER = 1408


class Model(nn.Module):
    """Gate/up projection of a mixture-of-experts layer on capacity-bucketed tokens."""

    def __init__(self, num_experts, hidden, inter):
        super().__init__()
        s = hidden ** -0.5
        self.w_gate = nn.Parameter((torch.randn(num_experts, hidden, inter) * s).half())
        self.w_up = nn.Parameter((torch.randn(num_experts, hidden, inter) * s).half())

    def forward(self, tokens, counts):
        # tokens: [E, C, H]; the first counts[e] rows of bucket e are valid
        g = torch.bmm(tokens, self.w_gate).float()
        u = torch.bmm(tokens, self.w_up).float()
        y = F.silu(g) * u
        valid = torch.arange(tokens.shape[1], device=tokens.device)[None, :] < counts[:, None]
        return (y * valid[..., None]).half()


def get_inputs():
    tokens = torch.randn(NUM_EXPERTS, CAPACITY, HIDDEN).half()
    counts = torch.randint(0, CAPACITY + 1, (NUM_EXPERTS,), dtype=torch.int32)
    return [tokens, counts]


def get_init_inputs():
    return [NUM_EXPERTS, HIDDEN, INTER]
