"""DLRM feature interaction: dense vector followed by the strictly lower triangle of the pairwise dot products."""
import torch
import torch.nn as nn

BATCH = 2048
FEATURES = 27      # 1 dense + 26 categorical
DIM = 64


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        i, j = torch.tril_indices(features, features, offset=-1)
        self.features = features
        self.register_buffer("rows", i, persistent=False)
        self.register_buffer("cols", j, persistent=False)

    def forward(self, feats):
        # feats: (batch, features, dim); row 0 is the bottom MLP's output
        z = torch.bmm(feats.float(), feats.float().transpose(1, 2))
        pairs = z[:, self.rows, self.cols].to(feats.dtype)
        return torch.cat([feats[:, 0], pairs], dim=1)


def get_inputs():
    return [(torch.randn(BATCH, FEATURES, DIM) * 0.3).half()]


def get_init_inputs():
    return [FEATURES]
