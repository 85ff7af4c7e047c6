"""Symbol statistics for a chunked entropy coder: counts of byte values per chunk, and the ideal coded size of each chunk in bits."""
import torch
import torch.nn as nn

CHUNKS = 1024
LENGTH = 65536


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, data):
        # data: [CHUNKS, LENGTH] uint8
        chunks, length = data.shape
        counts = torch.zeros(chunks, 256, device=data.device, dtype=torch.int32)
        counts.scatter_add_(1, data.long(), torch.ones_like(data, dtype=torch.int32))
        c = counts.float()
        p = torch.where(counts > 0, c / length, torch.ones_like(c))
        bits = -(c * torch.log2(p)).sum(dim=1)
        return counts, bits


def get_inputs():
    # residuals of a predictor: peaked around 128
    data = (torch.randn(CHUNKS, LENGTH) * 6.0 + 128.0).round().clamp(0, 255).to(torch.uint8)
    return [data]


def get_init_inputs():
    return []
