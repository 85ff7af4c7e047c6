import torch
import torch.nn as nn

T = 128
H = 4096
O = 4096
ADAPTERS = 32
R = 16


class Model(nn.Module):
    """Adds to the base projection y of every token the low-rank update of that token's own adapter (-1: none)."""

    def __init__(self, n_adapters, hidden, out_features, rank):
        super().__init__()
        self.lora_a = nn.Parameter((torch.randn(n_adapters, rank, hidden) * hidden ** -0.5).to(torch.float16))
        self.lora_b = nn.Parameter((torch.randn(n_adapters, out_features, rank) * 0.2).to(torch.float16))
        self.register_buffer("scaling", 0.5 + torch.rand(n_adapters))

    def forward(self, x, y, adapter_ids):
        out = y.float()
        for i in range(self.lora_a.shape[0]):
            h = x.float() @ self.lora_a[i].float().t()
            delta = h @ self.lora_b[i].float().t() * self.scaling[i]
            out = out + torch.where((adapter_ids == i)[:, None], delta, torch.zeros_like(delta))
        return out.to(y.dtype)


def get_inputs():
    x = torch.randn(T, H).to(torch.float16)
    y = torch.randn(T, O).to(torch.float16)
    ids = torch.randint(-1, ADAPTERS, (T,), dtype=torch.int32)
    return [x, y, ids]


def get_init_inputs():
    return [ADAPTERS, H, O, R]
