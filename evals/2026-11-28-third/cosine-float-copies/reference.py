import torch
import torch.nn as nn
import torch.nn.functional as F

PAIRS = 65536
WIDTH = 1024


class Model(nn.Module):
    """Cosine similarity of rows of two bf16 matrices."""

    def forward(self, anchor, positive):
        return F.cosine_similarity(anchor.float(), positive.float(), dim=1, eps=1e-8)


def get_inputs():
    anchor = torch.randn(PAIRS, WIDTH)
    return [anchor.bfloat16(), (0.5 * anchor + torch.randn(PAIRS, WIDTH)).bfloat16()]


def get_init_inputs():
    return []
