import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def oscillator(cycles):
    frac = cycles - tl.floor(cycles)
    return tl.sin(frac * 6.283185307179586)


@triton.jit
def harmonic_bank_kernel(amp_ptr, phase_ptr, f0_ptr, audio_ptr, nyquist, n_harm, n_samples,
                         BLOCK_H: tl.constexpr, BLOCK_T: tl.constexpr):
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    b = tl.program_id(1)
    t_mask = t < n_samples

    # fundamental phase for this chunk, in cycles
    phase = tl.load(phase_ptr + b * n_samples + t, mask=t_mask, other=0.0).to(tl.float64)
    f0 = tl.load(f0_ptr + b * n_samples + t, mask=t_mask, other=0.0)

    acc = tl.zeros([BLOCK_H, BLOCK_T], dtype=tl.float64)
    for h0 in range(0, n_harm, BLOCK_H):
        h = h0 + tl.arange(0, BLOCK_H)
        k = (h + 1).to(tl.float32)
        live = (k[:, None] * f0[None, :]) < nyquist
        a = tl.load(amp_ptr + (b * n_harm + h)[:, None] * n_samples + t[None, :],
                    mask=(h < n_harm)[:, None] & t_mask[None, :] & live, other=0.0)
        wave = oscillator(k.to(tl.float64)[:, None] * phase[None, :])
        acc += a.to(tl.float64) * wave
    audio = tl.sum(acc, axis=0)
    tl.store(audio_ptr + b * n_samples + t, audio.to(tl.float32), mask=t_mask)


class ModelNew(nn.Module):
    def __init__(self, sample_rate):
        super().__init__()
        self.nyquist = sample_rate / 2.0

    def forward(self, amps, phase, f0):
        batch, n_harm, n_samples = amps.shape
        amps, phase, f0 = amps.contiguous(), phase.contiguous(), f0.contiguous()
        audio = torch.empty_like(phase)
        grid = lambda meta: (triton.cdiv(n_samples, meta["BLOCK_T"]), batch)
        harmonic_bank_kernel[grid](amps, phase, f0, audio, self.nyquist, n_harm, n_samples,
                                   BLOCK_H=8, BLOCK_T=128, num_warps=4)
        return audio
