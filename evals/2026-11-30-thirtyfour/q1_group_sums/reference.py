"""TPC-H Q1 in small: filter on the ship date, group by a dictionary code of few values, two sums and a count."""
import torch
import torch.nn as nn

ROWS = 64000000
GROUPS = 4
CUTOFF = 2400


class Model(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, quantity, price, discount, ship_date, code, cutoff):
        keep = ship_date <= cutoff
        sums, counts = [], []
        for g in range(self.groups):
            sel = keep & (code == g)
            sums.append(torch.stack([torch.where(sel, quantity, 0.0).sum(dtype=torch.float64),
                                     torch.where(sel, price * (1.0 - discount), 0.0).sum(dtype=torch.float64)]))
            counts.append(sel.sum())
        return torch.stack(sums, 1).float(), torch.stack(counts).to(torch.int32)


def get_inputs():
    quantity = torch.randint(1, 51, (ROWS,)).float()
    price = torch.rand(ROWS) * 100.0
    discount = torch.rand(ROWS) * 0.1
    ship_date = torch.randint(0, 2526, (ROWS,), dtype=torch.int32)
    code = torch.randint(0, GROUPS, (ROWS,), dtype=torch.int8)
    return [quantity, price, discount, ship_date, code, CUTOFF]


def get_init_inputs():
    return [GROUPS]
