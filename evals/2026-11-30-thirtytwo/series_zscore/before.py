import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def zscore_kernel(x_ptr, gain_ptr, z_ptr, mean_ptr, std_ptr, T, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    live = cols < T
    base = row.to(tl.int64) * T
    x = tl.load(x_ptr + base + cols, mask=live, other=float("nan")).to(tl.float32)
    ok = x == x                                   # gaps are NaN
    gain = tl.load(gain_ptr)

    n = tl.maximum(tl.sum(ok.to(tl.float32), axis=0), 1.0)
    mean = tl.sum(tl.where(ok, x, 0.0), axis=0) / n
    # second pass about the mean: offsets are large beside the spread
    d = tl.where(ok, x - mean, 0.0)
    std = tl.sqrt(tl.sum(d * d, axis=0) / n)

    z = d * (gain / (std + eps))
    tl.store(z_ptr + base + cols, z.to(tl.bfloat16), mask=live)
    tl.store(mean_ptr + row, mean)
    tl.store(std_ptr + row, std)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.tensor([1.4]))

    def forward(self, series):
        series = series.contiguous()
        pixels, T = series.shape
        z = torch.empty_like(series)
        mean = torch.empty(pixels, dtype=torch.float32, device=series.device)
        std = torch.empty_like(mean)
        # a whole series per program, 16 samples a lane
        BLOCK = triton.next_power_of_2(T)
        num_warps = max(1, min(8, BLOCK // 512))
        zscore_kernel[(pixels,)](series, self.gain, z, mean, std, T, self.eps, BLOCK=BLOCK, num_warps=num_warps)
        return z, mean, std
