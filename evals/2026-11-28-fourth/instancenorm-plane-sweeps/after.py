import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def instance_norm_lrelu(x_ptr, w_ptr, b_ptr, y_ptr, C, HW, eps, slope, BLOCK: tl.constexpr):
    """The plane stays in registers between the statistics and the result."""
    plane = tl.program_id(0)
    idx = tl.arange(0, BLOCK)
    ok = idx < HW
    v = tl.load(x_ptr + plane.to(tl.int64) * HW + idx, mask=ok, other=0.0)
    mean = tl.sum(v, axis=0) / HW
    centred = tl.where(ok, v - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / HW + eps)
    out = centred * (tl.load(w_ptr + plane % C) * rstd) + tl.load(b_ptr + plane % C)
    tl.store(y_ptr + plane.to(tl.int64) * HW + idx, tl.where(out >= 0, out, out * slope), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, channels, slope=0.2):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)
        self.slope = slope

    def forward(self, x):
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        block = triton.next_power_of_2(h * w)
        warps = 16 if block > 8192 else 8
        instance_norm_lrelu[(n * c,)](
            x, self.norm.weight, self.norm.bias, y, c, h * w, self.norm.eps, self.slope, BLOCK=block, num_warps=warps
        )
        return y
