import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def group_norm(x_ptr, w_ptr, b_ptr, y_ptr, size, area, per_group, groups, eps, P: tl.constexpr):
    g = tl.program_id(0)
    o = tl.arange(0, P)
    x = tl.load(x_ptr + g * size + o, mask=o < size, other=0.0)
    mean = tl.sum(x) / size
    d = tl.where(o < size, x - mean, 0.0)
    var = tl.sum(d * d) / size
    channel = (g % groups) * per_group + o // area
    w = tl.load(w_ptr + channel, mask=o < size)
    b = tl.load(b_ptr + channel, mask=o < size)
    tl.store(y_ptr + g * size + o, d / tl.sqrt(var + eps) * w + b, mask=o < size)


class ModelNew(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, image):
        b, c, h, w = image.shape
        groups = self.norm.num_groups
        size = c // groups * h * w
        y = torch.empty_like(image)
        group_norm[(b * groups,)](
            image, self.norm.weight, self.norm.bias, y, size, h * w, c // groups, groups, self.norm.eps,
            P=triton.next_power_of_2(size), num_warps=8,
        )
        return y
