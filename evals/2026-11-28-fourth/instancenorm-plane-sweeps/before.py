import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def instance_norm_lrelu(x_ptr, w_ptr, b_ptr, y_ptr, C, HW, eps, slope, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    x_ptr += plane.to(tl.int64) * HW
    y_ptr += plane.to(tl.int64) * HW

    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, HW, BLOCK):
        idx = off + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + idx, mask=idx < HW, other=0.0)
    mean = tl.sum(total, axis=0) / HW

    sq = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, HW, BLOCK):
        idx = off + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + idx, mask=idx < HW, other=0.0)
        v = tl.where(idx < HW, v - mean, 0.0)
        sq += v * v
    rstd = 1.0 / tl.sqrt(tl.sum(sq, axis=0) / HW + eps)

    scale = tl.load(w_ptr + plane % C) * rstd
    shift = tl.load(b_ptr + plane % C) - mean * scale
    for off in range(0, HW, BLOCK):
        idx = off + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + idx, mask=idx < HW, other=0.0) * scale + shift
        tl.store(y_ptr + idx, tl.where(v >= 0, v, v * slope), mask=idx < HW)


class ModelNew(nn.Module):
    LAUNCH = {"BLOCK": 512, "num_warps": 4}

    def __init__(self, channels, slope=0.2):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)
        self.slope = slope

    def forward(self, x):
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        instance_norm_lrelu[(n * c,)](
            x, self.norm.weight, self.norm.bias, y, c, h * w, self.norm.eps, self.slope, **self.LAUNCH
        )
        return y
