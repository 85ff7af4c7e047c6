import torch
import torch.nn as nn

TOKENS = 8192
D_MODEL = 1024
D_HIDDEN = 2048
NUM_EXPERTS = 64


class Model(nn.Module):
    """Up-projection of a top-1 (switch) MoE layer; the router's choice is an input."""

    def __init__(self, num_experts, d_model, d_hidden):
        super().__init__()
        w = torch.randn(num_experts, d_model, d_hidden) / d_model ** 0.5
        self.w_up = nn.Parameter(w.half())

    def forward(self, x, expert_ids):
        y = torch.zeros(x.shape[0], self.w_up.shape[2], dtype=x.dtype, device=x.device)
        for e in range(self.w_up.shape[0]):
            y = torch.where((expert_ids == e)[:, None], x @ self.w_up[e], y)
        return torch.relu(y)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(TOKENS, D_MODEL, device=device).half()
    expert_ids = torch.randint(0, NUM_EXPERTS, (TOKENS,), device=device)
    return [x, expert_ids]


def get_init_inputs():
    return [NUM_EXPERTS, D_MODEL, D_HIDDEN]
