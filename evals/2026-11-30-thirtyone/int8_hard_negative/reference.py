import torch
import torch.nn as nn

QUERIES = 512
ITEMS = 262144
DIM = 128
CLASSES = 1000


class Model(nn.Module):
    """Hard-negative mining over an int8 memory bank: the best scoring item of another class, for each query."""

    def __init__(self, items, dim, classes):
        super().__init__()
        self.register_buffer("codes", torch.randint(-127, 128, (items, dim), dtype=torch.int8))
        self.register_buffer("scales", 0.005 + 0.005 * torch.rand(items))
        self.register_buffer("labels", torch.randint(0, classes, (items,), dtype=torch.int32))

    def forward(self, q_codes, q_scales, q_labels):
        dots = q_codes.float() @ self.codes.float().t()
        scores = (dots * self.scales[None, :]) * q_scales[:, None]
        scores = scores.masked_fill(q_labels[:, None] == self.labels[None, :], float("-inf"))
        best, index = scores.max(1)
        return best, index


def get_inputs():
    q = torch.randint(-127, 128, (QUERIES, DIM), dtype=torch.int8)
    return [q, 0.005 + 0.005 * torch.rand(QUERIES), torch.randint(0, CLASSES, (QUERIES,), dtype=torch.int32)]


def get_init_inputs():
    return [ITEMS, DIM, CLASSES]
