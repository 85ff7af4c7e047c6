import torch
import torch.nn as nn

N = 512       # queries in the batch
K = 65536     # negatives in the queue
D = 128


class Model(nn.Module):
    """InfoNCE against a queue of negatives: one loss for each query."""

    def __init__(self, tau):
        super().__init__()
        self.tau = tau

    def forward(self, q, k, queue):
        q, k, queue = q.float(), k.float(), queue.float()
        pos = (q * k).sum(1, keepdim=True) / self.tau
        neg = q @ queue.t() / self.tau
        return torch.logsumexp(torch.cat([pos, neg], 1), 1) - pos[:, 0]


def get_inputs():
    q = nn.functional.normalize(torch.randn(N, D), dim=1).half()
    k = nn.functional.normalize(torch.randn(N, D), dim=1).half()
    queue = nn.functional.normalize(torch.randn(K, D), dim=1).half()
    return [q, k, queue]


def get_init_inputs():
    return [0.07]
