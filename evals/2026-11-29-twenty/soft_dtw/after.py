import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmin3(a, b, c, gamma):
    lo = tl.minimum(tl.minimum(a, b), c)
    s = tl.exp((lo - a) / gamma) + tl.exp((lo - b) / gamma) + tl.exp((lo - c) / gamma)
    return lo - gamma * tl.log(s)


@triton.jit
def soft_dtw_kernel(x_ptr, y_ptr, out_ptr, n, m, gamma, BLOCK: tl.constexpr):
    # one pair of series; lane l owns row i = l + 1 and walks over the diagonals i + j == k
    b = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    i = lane + 1
    below = tl.maximum(lane - 1, 0)
    xv = tl.load(x_ptr + b * n + lane, mask=lane < n, other=0.0)

    left = tl.full((BLOCK,), 1e10, tl.float32)
    diag = tl.where(lane == 0, 0.0, 1e10)
    for k in range(2, n + m + 1):
        j = k - i
        inside = (i <= n) & (j >= 1) & (j <= m)
        yv = tl.load(y_ptr + b * m + j - 1, mask=inside, other=0.0)
        up = tl.where(lane == 0, 1e10, tl.gather(left, below, 0))
        v = (xv - yv) * (xv - yv) + softmin3(diag, up, left, gamma)
        left = tl.where(inside, v, 1e10)
        diag = up
    tl.store(out_ptr + b, tl.sum(tl.where(i == n, left, 0.0), axis=0))


def soft_dtw(x, y, gamma):
    x, y = x.contiguous(), y.contiguous()
    b, n = x.shape
    m = y.shape[1]
    out = torch.empty(b, device=x.device, dtype=x.dtype)
    BLOCK = triton.next_power_of_2(n)
    soft_dtw_kernel[(b,)](x, y, out, n, m, gamma, BLOCK=BLOCK, num_warps=max(1, min(8, BLOCK // 32)))
    return out


class ModelNew(nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma

    def forward(self, x, y):
        return soft_dtw(x, y, self.gamma)
