import torch
import torch.nn as nn

N = 16384
MAX_NNZ = 27
BAND = 600
OMEGA = 0.8


class Model(nn.Module):
    """One weighted-Jacobi sweep x + omega * D^-1 (b - A x) on a CSR matrix in double precision."""

    def __init__(self, omega):
        super().__init__()
        self.omega = omega

    def forward(self, indptr, indices, values, dinv, b, x):
        n = b.numel()
        counts = (indptr[1:] - indptr[:-1]).long()
        rows = torch.repeat_interleave(torch.arange(n, device=b.device), counts, output_size=indices.numel())
        ax = torch.zeros_like(b).index_add_(0, rows, values * x[indices.long()])
        return x + self.omega * dinv * (b - ax)


def get_inputs():
    counts = torch.randint(5, MAX_NNZ + 1, (N,))
    indptr = torch.zeros(N + 1, dtype=torch.int64)
    indptr[1:] = counts.cumsum(0)
    nnz = int(indptr[-1])
    rows = torch.repeat_interleave(torch.arange(N), counts)
    cols = (rows + torch.randint(-BAND, BAND + 1, (nnz,))).clamp_(0, N - 1)
    values = -torch.rand(nnz, dtype=torch.float64)
    dinv = 1.0 / (counts.double() + 1.0)
    b = torch.randn(N, dtype=torch.float64)
    x = torch.randn(N, dtype=torch.float64)
    return [indptr.int(), cols.int(), values, dinv, b, x]


def get_init_inputs():
    return [OMEGA]
