"""TPC-H Q1-like pricing summary: filter on date, group by (return flag, line status), sums and count."""
import torch
import torch.nn as nn

ROWS = 1048576
CUTOFF = 2400
GROUPS = 6


class Model(nn.Module):
    def __init__(self, cutoff):
        super().__init__()
        self.cutoff = cutoff

    def forward(self, flag, status, qty, price, discount, shipdate):
        key = flag.to(torch.int64) * 2 + status.to(torch.int64)
        keep = (shipdate <= self.cutoff).to(torch.float64)
        columns = torch.stack([qty.double(), price.double() * (1.0 - discount.double()), torch.ones_like(keep)])
        total = torch.zeros(3, GROUPS, dtype=torch.float64, device=qty.device)
        for g in range(GROUPS):
            total[:, g] = (columns * ((key == g).double() * keep)).sum(dim=1)
        return total[0].float(), total[1].float(), total[2].to(torch.int32)


def get_inputs():
    flag = torch.randint(0, 3, (ROWS,), dtype=torch.int8)
    status = torch.randint(0, 2, (ROWS,), dtype=torch.int8)
    qty = torch.randint(1, 51, (ROWS,)).float()
    price = 900.0 + 100.0 * torch.rand(ROWS)
    discount = torch.randint(0, 11, (ROWS,)).float() * 0.01
    shipdate = torch.randint(0, 2526, (ROWS,), dtype=torch.int32)
    return [flag, status, qty, price, discount, shipdate]


def get_init_inputs():
    return [CUTOFF]
