import torch
import torch.nn as nn

GRAPHS = 32
NODES = 1024
FEATURES = 512


class Model(nn.Module):
    """One propagation step of a graph network over dense adjacency matrices: relu(adjacency @ features + bias)."""

    def forward(self, adjacency, features, bias):
        return torch.relu(torch.bmm(adjacency, features) + bias)


def get_inputs():
    adjacency = torch.rand(GRAPHS, NODES, NODES)
    adjacency = adjacency / adjacency.sum(dim=-1, keepdim=True)
    features = torch.randn(GRAPHS, NODES, FEATURES)
    bias = torch.randn(FEATURES) * 0.02
    return [adjacency.half(), features.half(), bias.half()]


def get_init_inputs():
    return []
