import torch
import torch.nn as nn

TOKENS = 8192
HIDDEN = 7168
TOP_K = 8


class Model(nn.Module):
    """Last step of a mixture-of-experts layer: gathers each token's expert rows, weights them, adds the shared expert."""

    def __init__(self, routed_scale):
        super().__init__()
        self.routed_scale = routed_scale

    def forward(self, expert_rows, slot_of, gate, shared):
        tokens, top_k = slot_of.shape
        acc = torch.zeros(tokens, expert_rows.shape[1], dtype=torch.float32, device=expert_rows.device)
        for k in range(top_k):
            acc += gate[:, k : k + 1] * expert_rows[slot_of[:, k].long()].float()
        return (acc * self.routed_scale + shared.float()).to(expert_rows.dtype)


def get_inputs():
    expert_rows = torch.randn(TOKENS * TOP_K, HIDDEN, dtype=torch.bfloat16)
    slot_of = torch.randperm(TOKENS * TOP_K).reshape(TOKENS, TOP_K).to(torch.int32)
    gate = torch.softmax(torch.randn(TOKENS, TOP_K), dim=-1)
    shared = torch.randn(TOKENS, HIDDEN, dtype=torch.bfloat16)
    return [expert_rows, slot_of, gate, shared]


def get_init_inputs():
    return [2.5]
