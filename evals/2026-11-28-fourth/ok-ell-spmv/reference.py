import torch
import torch.nn as nn

ROWS = 2_000_000
WIDTH = 16
BAND = 96


class Model(nn.Module):
    """Sparse matrix times vector in the ELLPACK format, entries column by column: columns and values [width, rows]; an absent
    entry has the value 0. Then y = alpha * A x + beta * y0, as a step of a solver."""

    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha, self.beta = alpha, beta

    def forward(self, columns, values, x, y0):
        return self.alpha * (values * x[columns.long()]).sum(dim=0) + self.beta * y0


def get_inputs():
    row = torch.arange(ROWS)[None, :]
    columns = (row + torch.randint(-BAND, BAND + 1, (WIDTH, ROWS))).clamp(0, ROWS - 1).to(torch.int32)
    values = torch.randn(WIDTH, ROWS) * (torch.rand(WIDTH, ROWS) < 0.9)
    return [columns, values, torch.randn(ROWS), torch.randn(ROWS)]


def get_init_inputs():
    return [0.5, 1.5]
