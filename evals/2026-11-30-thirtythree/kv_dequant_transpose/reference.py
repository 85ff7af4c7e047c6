import torch
import torch.nn as nn

B = 8
HEADS = 8
D = 128
PAGE = 16
MAX_PAGES = 256


class Model(nn.Module):
    """Gathers a paged int8 key cache into dense half precision keys, transposed: (batch, head, dim, position)."""

    def __init__(self):
        super().__init__()

    def forward(self, cache, scales, block_table, lengths):
        b, pages = block_table.shape
        _, page, heads, d = cache.shape
        s = pages * page
        k = cache[block_table.long()].reshape(b, s, heads, d).float()
        k = k * scales[block_table.long()].reshape(b, s, heads, 1)
        pos = torch.arange(s, device=cache.device)
        k = torch.where((pos[None, :] < lengths[:, None])[:, :, None, None], k, torch.zeros_like(k))
        return k.half().permute(0, 2, 3, 1).contiguous()


def get_inputs():
    n = B * MAX_PAGES
    cache = torch.randint(-127, 128, (n, PAGE, HEADS, D), dtype=torch.int8)
    scales = 0.01 + 0.02 * torch.rand(n, PAGE, HEADS)
    table = torch.randperm(n).reshape(B, MAX_PAGES).to(torch.int32)
    s = MAX_PAGES * PAGE
    lengths = torch.randint(3 * s // 4, s + 1, (B,), dtype=torch.int32)
    return [cache, scales, table, lengths]


def get_init_inputs():
    return []
