import torch
import torch.nn as nn

EXPERTS = 16
CAPACITY = 1024
D_MODEL = 2048
D_HIDDEN = 2048


class Model(nn.Module):
    """First layer of a mixture of experts after dispatch: one product an expert [e, c, d] x [e, d, h], then ReLU squared."""

    def __init__(self, experts, d_model, d_hidden):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(experts, d_model, d_hidden, dtype=torch.float16) * d_model**-0.5)

    def forward(self, dispatched):
        h = torch.relu(torch.bmm(dispatched.float(), self.w1.float()))
        return (h * h).to(torch.float16)


def get_inputs():
    return [torch.randn(EXPERTS, CAPACITY, D_MODEL, dtype=torch.float16)]


def get_init_inputs():
    return [EXPERTS, D_MODEL, D_HIDDEN]
