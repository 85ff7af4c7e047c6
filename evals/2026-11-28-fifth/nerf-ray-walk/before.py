import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def render_kernel(sigma_ptr, delta_ptr, rgb_ptr, out_ptr, num_samples, background):
    ray = tl.program_id(0)
    first = ray * num_samples
    transmittance = 1.0
    red = 0.0
    green = 0.0
    blue = 0.0
    opacity = 0.0
    for s in range(num_samples):
        sigma = tl.load(sigma_ptr + first + s)
        delta = tl.load(delta_ptr + first + s)
        alpha = 1.0 - tl.exp(-sigma * delta)
        weight = alpha * transmittance
        colour = rgb_ptr + (first + s) * 3
        red += weight * tl.load(colour)
        green += weight * tl.load(colour + 1)
        blue += weight * tl.load(colour + 2)
        opacity += weight
        transmittance = transmittance * (1.0 - alpha)
    rest = (1.0 - opacity) * background
    tl.store(out_ptr + ray * 3 + 0, red + rest)
    tl.store(out_ptr + ray * 3 + 1, green + rest)
    tl.store(out_ptr + ray * 3 + 2, blue + rest)


class ModelNew(nn.Module):
    def __init__(self, background):
        super().__init__()
        self.background = background

    def forward(self, sigma, delta, rgb):
        num_rays, num_samples = sigma.shape
        out = torch.empty((num_rays, 3), device=sigma.device, dtype=sigma.dtype)
        render_kernel[(num_rays,)](sigma, delta, rgb, out, num_samples, self.background, num_warps=1)
        return out
