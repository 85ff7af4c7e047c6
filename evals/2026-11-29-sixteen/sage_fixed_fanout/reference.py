import torch
import torch.nn as nn

NODES = 500000
TARGETS = 65536
FANOUT = 16
FEAT = 256


class Model(nn.Module):
    """GraphSAGE mean aggregation with sampled neighbours, concatenated to the node's own feature."""

    def __init__(self):
        super().__init__()

    def forward(self, feats, targets, neighbours):
        mean = feats[neighbours].float().mean(dim=1).to(feats.dtype)
        return torch.cat([feats[targets], mean], dim=1)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    feats = torch.randn(NODES, FEAT, device=device, dtype=torch.float16)
    targets = torch.randint(0, NODES, (TARGETS,), device=device)
    neighbours = torch.randint(0, NODES, (TARGETS, FANOUT), device=device)
    return [feats, targets, neighbours]


def get_init_inputs():
    return []
