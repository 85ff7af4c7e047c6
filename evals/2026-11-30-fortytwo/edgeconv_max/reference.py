"""EdgeConv aggregation in the split form: relu(max over neighbours of (u_i + v_j) + bias), u and v from linear layers."""
import torch
import torch.nn as nn

CLOUDS = 4
POINTS = 1024
NEIGHBORS = 16
CHANNELS = 64


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)

    def forward(self, u, v, knn):
        clouds, points, k = knn.shape
        c = v.shape[-1]
        flat = knn.long().reshape(clouds, points * k, 1).expand(-1, -1, c)
        nb = torch.gather(v, 1, flat).view(clouds, points, k, c)
        h = nb.float().amax(2) + u.float() + self.bias
        return torch.relu(h).to(u.dtype)


def get_inputs():
    u = torch.randn(CLOUDS, POINTS, CHANNELS).bfloat16()
    v = torch.randn(CLOUDS, POINTS, CHANNELS).bfloat16()
    knn = torch.randint(0, POINTS, (CLOUDS, POINTS, NEIGHBORS), dtype=torch.int32)
    return [u, v, knn]


def get_init_inputs():
    return [CHANNELS]
