import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def zscore_kernel(x_ptr, y_ptr, stride_x, stride_y, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=0.0).to(tl.float32)
    # first the mean, then the squared deviations from it
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / n_cols
    y = centred * (1.0 / tl.sqrt(var + eps))
    tl.store(y_ptr + row * stride_y + cols, y.to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, returns):
        n_rows, n_cols = returns.shape
        out = torch.empty((n_rows, n_cols), device=returns.device, dtype=returns.dtype)
        BLOCK = triton.next_power_of_2(n_cols)
        num_warps = 4 if BLOCK <= 2048 else 8
        zscore_kernel[(n_rows,)](
            returns, out, returns.stride(0), out.stride(0), n_cols, self.eps,
            BLOCK=BLOCK, num_warps=num_warps,
        )
        return out
