import torch
import torch.nn as nn

TOKENS = 4096
D_IN = 4096
D_OUT = 4096


class Model(nn.Module):
    """Linear layer on fp8 (e4m3) activations and weights with one scale for each of both; fp16 result."""

    def forward(self, act, weight, act_scale, weight_scale):
        return ((act.float() @ weight.float().t()) * (act_scale * weight_scale)).half()


def get_inputs():
    act = torch.randn(TOKENS, D_IN).to(torch.float8_e4m3fn)
    weight = torch.randn(D_OUT, D_IN).to(torch.float8_e4m3fn)
    return [act, weight, torch.tensor(0.02), torch.tensor(0.05)]


def get_init_inputs():
    return []
