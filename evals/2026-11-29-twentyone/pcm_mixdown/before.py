import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pcm_to_float_kernel(pcm_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = offs < n
    x = tl.load(pcm_ptr + offs, mask=live, other=0)
    tl.store(out_ptr + offs, x.to(tl.float32) * (1.0 / 32768.0), mask=live)


@triton.jit
def gain_kernel(x_ptr, gain_ptr, channels, samples, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < samples
    g = tl.load(gain_ptr + row % channels)
    ptr = x_ptr + row.to(tl.int64) * samples + offs
    tl.store(ptr, tl.load(ptr, mask=live, other=0.0) * g, mask=live)


@triton.jit
def mix_kernel(x_ptr, mix_ptr, samples, CHANNELS: tl.constexpr, BLOCK: tl.constexpr):
    clip = tl.program_id(1).to(tl.int64)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < samples
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for c in tl.static_range(CHANNELS):
        acc += tl.load(x_ptr + (clip * CHANNELS + c) * samples + offs, mask=live, other=0.0)
    tl.store(mix_ptr + clip * samples + offs, acc, mask=live)


@triton.jit
def peak_kernel(mix_ptr, peak_ptr, samples, BLOCK: tl.constexpr):
    clip = tl.program_id(1).to(tl.int64)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(mix_ptr + clip * samples + offs, mask=offs < samples, other=0.0)
    tl.atomic_max(peak_ptr + clip, tl.max(tl.abs(x), axis=0))


@triton.jit
def limiter_kernel(mix_ptr, peak_ptr, out_ptr, samples, target, BLOCK: tl.constexpr):
    clip = tl.program_id(1).to(tl.int64)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < samples
    scale = target / tl.maximum(tl.load(peak_ptr + clip), 1e-6)
    y = tl.load(mix_ptr + clip * samples + offs, mask=live, other=0.0) * scale
    y = 2.0 * tl.sigmoid(3.0 * y) - 1.0  # tanh(1.5 y)
    tl.store(out_ptr + clip * samples + offs, tl.floor(y * 32767.0 + 0.5).to(tl.int16), mask=live)


class ModelNew(nn.Module):
    def __init__(self, channels, target):
        super().__init__()
        self.target = target
        self.gain = nn.Parameter(0.2 + torch.rand(channels), requires_grad=False)

    def forward(self, pcm):
        pcm = pcm.contiguous()
        batch, channels, samples = pcm.shape
        dev = pcm.device
        x = torch.empty(pcm.shape, dtype=torch.float32, device=dev)
        mix = torch.empty((batch, samples), dtype=torch.float32, device=dev)
        peak = torch.zeros(batch, dtype=torch.float32, device=dev)
        out = torch.empty((batch, samples), dtype=torch.int16, device=dev)
        BLOCK = 2048
        blocks = triton.cdiv(samples, BLOCK)
        pcm_to_float_kernel[(triton.cdiv(pcm.numel(), BLOCK),)](pcm, x, pcm.numel(), BLOCK=BLOCK)
        gain_kernel[(blocks, batch * channels)](x, self.gain, channels, samples, BLOCK=BLOCK)
        mix_kernel[(blocks, batch)](x, mix, samples, CHANNELS=channels, BLOCK=BLOCK)
        peak_kernel[(blocks, batch)](mix, peak, samples, BLOCK=BLOCK)
        limiter_kernel[(blocks, batch)](mix, peak, out, samples, self.target, BLOCK=BLOCK)
        return out
