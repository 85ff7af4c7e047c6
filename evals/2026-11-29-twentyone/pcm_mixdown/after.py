import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mix_peak_kernel(pcm_ptr, gain_ptr, mix_ptr, peak_ptr, samples, CHANNELS: tl.constexpr, BLOCK: tl.constexpr):
    # 16-bit samples in, mixed float samples and the clip's peak out
    clip = tl.program_id(1).to(tl.int64)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < samples
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for c in tl.static_range(CHANNELS):
        g = tl.load(gain_ptr + c) * (1.0 / 32768.0)
        x = tl.load(pcm_ptr + (clip * CHANNELS + c) * samples + offs, mask=live, other=0)
        acc += x.to(tl.float32) * g
    tl.store(mix_ptr + clip * samples + offs, acc, mask=live)
    tl.atomic_max(peak_ptr + clip, tl.max(tl.abs(acc), axis=0))


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
        mix = torch.empty((batch, samples), dtype=torch.float32, device=dev)
        peak = torch.zeros(batch, dtype=torch.float32, device=dev)
        out = torch.empty((batch, samples), dtype=torch.int16, device=dev)
        BLOCK = 2048
        grid = (triton.cdiv(samples, BLOCK), batch)
        mix_peak_kernel[grid](pcm, self.gain, mix, peak, samples, CHANNELS=channels, BLOCK=BLOCK)
        limiter_kernel[grid](mix, peak, out, samples, self.target, BLOCK=BLOCK)
        return out
