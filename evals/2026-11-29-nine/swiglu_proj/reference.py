import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 8192
D_MODEL = 8192
D_FF = 8192


class Model(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.d_ff = d_ff
        self.gate_up = nn.Linear(d_model, 2 * d_ff, bias=False, dtype=torch.float16)

    def forward(self, x):
        h = self.gate_up(x)
        gate, up = h[:, :self.d_ff], h[:, self.d_ff:]
        return F.silu(gate) * up


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(TOKENS, D_MODEL, device=device, dtype=torch.float16)]


def get_init_inputs():
    return [D_MODEL, D_FF]
