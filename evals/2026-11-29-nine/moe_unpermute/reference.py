import torch
import torch.nn as nn

TOKENS = 8192
TOPK = 8
HIDDEN = 4096


class Model(nn.Module):
    """Combine expert outputs: out[t] = residual[t] + sum_k gate[t, k] * expert_rows[slot[t, k]]."""

    def __init__(self):
        super().__init__()

    def forward(self, expert_rows, slot, gate, residual):
        out = residual.float()
        for k in range(slot.shape[1]):
            out = out + gate[:, k, None] * expert_rows[slot[:, k].long()].float()
        return out.to(residual.dtype)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    expert_rows = torch.randn(TOKENS * TOPK, HIDDEN, device=dev, dtype=torch.float16)
    slot = torch.randperm(TOKENS * TOPK, device=dev).to(torch.int32).view(TOKENS, TOPK)
    gate = torch.softmax(torch.randn(TOKENS, TOPK, device=dev), dim=-1)
    residual = torch.randn(TOKENS, HIDDEN, device=dev, dtype=torch.float16)
    return [expert_rows, slot, gate, residual]


def get_init_inputs():
    return []
