import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_moments_kernel(x_ptr, mean_ptr, var_ptr, row_stride, N_COLS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * row_stride + cols, mask=cols < N_COLS, other=0.0)
    xd = x.to(tl.float64)
    total = tl.sum(xd, axis=0)
    total_sq = tl.sum(xd * xd, axis=0)
    mean = total / N_COLS
    tl.store(mean_ptr + row, mean)
    tl.store(var_ptr + row, total_sq / N_COLS - mean * mean)


def row_moments(record: torch.Tensor):
    if record.stride(-1) != 1:
        record = record.contiguous()
    rows, cols = record.shape
    mean = torch.empty(rows, dtype=torch.float64, device=record.device)
    var = torch.empty(rows, dtype=torch.float64, device=record.device)
    block = triton.next_power_of_2(cols)
    row_moments_kernel[(rows,)](record, mean, var, record.stride(0), N_COLS=cols, BLOCK=block, num_warps=8)
    return mean, var


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, record):
        return row_moments(record)
