import torch
import torch.nn as nn

TOKENS = 16384
TOP_K = 4
HIDDEN = 2048


class Model(nn.Module):
    """Copies tokens to the slots of their experts, each times its gate; bf16."""

    def forward(self, x, index, gate):
        return (x[index].float() * gate[:, None]).to(x.dtype)


def get_inputs():
    x = torch.randn(TOKENS, HIDDEN).bfloat16()
    index = torch.randint(0, TOKENS, (TOKENS * TOP_K,))
    return [x, index, torch.rand(TOKENS * TOP_K)]


def get_init_inputs():
    return []
