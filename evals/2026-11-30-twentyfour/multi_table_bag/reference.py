import torch
import torch.nn as nn

TABLES = 128
ROWS = 20000
D = 64
B = 1024
MAX_BAG = 20


class Model(nn.Module):
    """Sum-pooled embedding bags of many categorical features (equal-sized tables, stacked)."""

    def __init__(self, tables, rows, dim):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(tables, rows, dim) * 0.1).to(torch.float16))

    def forward(self, ids, offsets):
        # ids of table 0's bags first, then table 1's ...; offsets has TABLES * B + 1 entries
        tables, rows, dim = self.weight.shape
        bags = offsets.numel() - 1
        batch = bags // tables
        place = torch.arange(ids.numel(), device=ids.device)
        bag = torch.searchsorted(offsets[1:], place, right=True)
        picked = self.weight.reshape(-1, dim)[(bag // batch) * rows + ids.long()]
        out = torch.zeros(bags, dim, dtype=torch.float32, device=ids.device)
        out.index_add_(0, bag, picked.float())
        return out.view(tables, batch, dim).transpose(0, 1).reshape(batch, tables * dim).to(torch.float16)


def get_inputs():
    lens = torch.randint(0, MAX_BAG + 1, (TABLES * B,))
    offsets = torch.zeros(TABLES * B + 1, dtype=torch.int64)
    offsets[1:] = lens.cumsum(0)
    ids = torch.randint(0, ROWS, (int(offsets[-1]),), dtype=torch.int32)
    return [ids, offsets]


def get_init_inputs():
    return [TABLES, ROWS, D]
