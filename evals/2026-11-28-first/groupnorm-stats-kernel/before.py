import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def group_mean(x_ptr, mean_ptr, size, P: tl.constexpr):
    g = tl.program_id(0)
    o = tl.arange(0, P)
    x = tl.load(x_ptr + g * size + o, mask=o < size, other=0.0)
    tl.store(mean_ptr + g, tl.sum(x) / size)


@triton.jit
def group_var(x_ptr, mean_ptr, var_ptr, size, P: tl.constexpr):
    g = tl.program_id(0)
    o = tl.arange(0, P)
    x = tl.load(x_ptr + g * size + o, mask=o < size, other=0.0)
    d = tl.where(o < size, x - tl.load(mean_ptr + g), 0.0)
    tl.store(var_ptr + g, tl.sum(d * d) / size)


@triton.jit
def group_apply(x_ptr, mean_ptr, var_ptr, w_ptr, b_ptr, y_ptr, size, area, per_group, groups, eps, P: tl.constexpr):
    g = tl.program_id(0)
    o = tl.arange(0, P)
    x = tl.load(x_ptr + g * size + o, mask=o < size, other=0.0)
    channel = (g % groups) * per_group + o // area
    w = tl.load(w_ptr + channel, mask=o < size)
    b = tl.load(b_ptr + channel, mask=o < size)
    y = (x - tl.load(mean_ptr + g)) / tl.sqrt(tl.load(var_ptr + g) + eps)
    tl.store(y_ptr + g * size + o, y * w + b, mask=o < size)


class ModelNew(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, image):
        b, c, h, w = image.shape
        groups = self.norm.num_groups
        size = c // groups * h * w
        launch = dict(P=triton.next_power_of_2(size), num_warps=8)
        mean = torch.empty(b * groups, device=image.device)
        var = torch.empty_like(mean)
        y = torch.empty_like(image)
        grid = (b * groups,)
        group_mean[grid](image, mean, size, **launch)
        group_var[grid](image, mean, var, size, **launch)
        group_apply[grid](
            image, mean, var, self.norm.weight, self.norm.bias, y, size, h * w, c // groups, groups, self.norm.eps, **launch
        )
        return y
