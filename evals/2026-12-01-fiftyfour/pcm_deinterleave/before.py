import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _planar_kernel(pcm_ptr, dc_ptr, gain_ptr, out_ptr, T, C: tl.constexpr, BLOCK: tl.constexpr):
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1)
    mask = t < T
    s = tl.load(pcm_ptr + t.to(tl.int64) * C + c, mask=mask, other=0)
    dc = tl.load(dc_ptr + c)
    gain = tl.load(gain_ptr + c)
    y = (s.to(tl.float32) * (1.0 / 32768.0) - dc) * gain
    tl.store(out_ptr + c.to(tl.int64) * T + t, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("dc", torch.randn(channels) * 0.01)
        self.register_buffer("gain", torch.rand(channels) + 0.5)

    def forward(self, pcm):
        frames, channels = pcm.shape
        out = torch.empty((channels, frames), device=pcm.device, dtype=torch.float32)
        BLOCK = 1024
        grid = (triton.cdiv(frames, BLOCK), channels)
        _planar_kernel[grid](pcm, self.dc, self.gain, out, frames, C=channels, BLOCK=BLOCK, num_warps=4)
        return out
