import torch
import torch.nn as nn

B = 4096
F = 39
D = 16


class Model(nn.Module):
    """Factorization-machine logit: bias + linear term + sum over field pairs of <v_i x_i, v_j x_j>."""

    def __init__(self, num_fields):
        super().__init__()
        self.linear = nn.Parameter(torch.randn(num_fields) * 0.1)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, emb, vals):
        v = emb.float() * vals[:, :, None]
        gram = torch.bmm(v, v.transpose(1, 2))
        pairs = torch.triu(gram, diagonal=1).sum(dim=(1, 2))
        return self.bias + (vals * self.linear).sum(dim=1) + pairs


def get_inputs():
    emb = (torch.randn(B, F, D) * 0.25).to(torch.bfloat16)
    vals = torch.rand(B, F)
    return [emb, vals]


def get_init_inputs():
    return [F]
