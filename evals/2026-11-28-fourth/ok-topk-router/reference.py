import torch
import torch.nn as nn

TOKENS = 65536
EXPERTS = 64
TOP_K = 4


class Model(nn.Module):
    """Routing of a mixture of experts: the best k experts of each token and their weights, a softmax over those k."""

    def __init__(self, top_k):
        super().__init__()
        self.top_k = top_k

    def forward(self, logits):
        best, expert = torch.topk(logits, self.top_k, dim=-1)
        return torch.softmax(best, dim=-1), expert.to(torch.int32)


def get_inputs():
    return [torch.randn(TOKENS, EXPERTS)]


def get_init_inputs():
    return [TOP_K]
