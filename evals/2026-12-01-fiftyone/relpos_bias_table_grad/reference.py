import torch
import torch.nn as nn

W = 1024      # windows in the batch
H = 6         # heads
WS = 7        # side of a window


class Model(nn.Module):
    """Gradient of a relative position bias table, given the gradient of the attention scores."""

    def __init__(self, ws, heads):
        super().__init__()
        self.ws = ws
        self.heads = heads
        c = torch.stack(torch.meshgrid(torch.arange(ws), torch.arange(ws), indexing="ij")).flatten(1)
        rel = c[:, :, None] - c[:, None, :] + (ws - 1)
        self.register_buffer("index", (rel[0] * (2 * ws - 1) + rel[1]).flatten().to(torch.int32))

    def forward(self, dscore):
        g = dscore.float().sum(0).flatten(1)                      # [H, S*S]
        out = torch.zeros((2 * self.ws - 1) ** 2, self.heads, device=g.device)
        return out.index_add_(0, self.index.long(), g.t().contiguous())


def get_inputs():
    return [torch.randn(W, H, WS * WS, WS * WS).half()]


def get_init_inputs():
    return [WS, H]
