"""Two-tower retrieval training loss: in-batch sampled softmax with the log-Q correction."""
import torch
import torch.nn as nn

BATCH = 4096
DIM = 128
TEMPERATURE = 0.05


class Model(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, users, items, log_q):
        logits = users.float() @ items.float().t() / self.temperature - log_q[None, :]
        return torch.logsumexp(logits, dim=1) - torch.diagonal(logits)


def get_inputs():
    users = torch.nn.functional.normalize(torch.randn(BATCH, DIM), dim=1).half()
    items = torch.nn.functional.normalize(torch.randn(BATCH, DIM), dim=1).half()
    log_q = torch.log(torch.rand(BATCH) * 0.01 + 1e-4)
    return [users, items, log_q]


def get_init_inputs():
    return [TEMPERATURE]
