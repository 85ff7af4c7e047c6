import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def normalise_planes(bytes_ptr, planes_ptr, mean_ptr, std_ptr, pixels, CHANNELS: tl.constexpr, BLOCK: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = p < pixels
    for c in tl.static_range(CHANNELS):
        value = tl.load(bytes_ptr + (image * pixels + p) * CHANNELS + c, mask=ok, other=0).to(tl.float32)
        std = tl.load(std_ptr + c)
        scale = 1.0 / (255.0 * std)
        shift = -tl.load(mean_ptr + c) / std
        tl.store(planes_ptr + (image * CHANNELS + c) * pixels + p, value * scale + shift, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean))
        self.register_buffer("std", torch.tensor(std))

    def forward(self, images):
        n, h, w, c = images.shape
        planes = torch.empty((n, c, h, w), device=images.device, dtype=torch.float32)
        options = dict(CHANNELS=c, BLOCK=1024, num_warps=4)
        normalise_planes[triton.cdiv(h * w, 1024), n](images, planes, self.mean, self.std, h * w, **options)
        return planes
