"""Digital down-conversion of 8-bit I/Q samples: mix with an oscillator, low-pass FIR, decimate."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mix_kernel(iq_ptr, base_ptr, samples, step, BLOCK: tl.constexpr):
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = n < samples
    i = tl.load(iq_ptr + 2 * n, mask=ok, other=0).to(tl.float32) * 0.0078125
    q = tl.load(iq_ptr + 2 * n + 1, mask=ok, other=0).to(tl.float32) * 0.0078125
    # integer phase accumulator: exact at any sample number
    phase = ((n * step) & 1023).to(tl.float32) * 0.006135923151542565
    c = tl.cos(phase)
    s = tl.sin(phase)
    tl.store(base_ptr + n, i * c + q * s, mask=ok)
    tl.store(base_ptr + samples + n, q * c - i * s, mask=ok)


@triton.jit
def fir_decimate_kernel(base_ptr, taps_ptr, out_ptr, samples, outputs, taps, decim,
                        BLOCK_M: tl.constexpr, BLOCK_T: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    k = tl.arange(0, BLOCK_T)
    m_ok = m < outputs
    h = tl.load(taps_ptr + k, mask=k < taps, other=0.0)
    offs = m[:, None] * decim + k[None, :]
    ok = m_ok[:, None] & (k < taps)[None, :]
    re = tl.load(base_ptr + offs, mask=ok, other=0.0)
    im = tl.load(base_ptr + samples + offs, mask=ok, other=0.0)
    tl.store(out_ptr + 2 * m, tl.sum(re * h[None, :], axis=1), mask=m_ok)
    tl.store(out_ptr + 2 * m + 1, tl.sum(im * h[None, :], axis=1), mask=m_ok)


class ModelNew(nn.Module):
    def __init__(self, taps, decim, step):
        super().__init__()
        self.decim, self.step = decim, step
        n = torch.arange(taps) - (taps - 1) / 2
        h = torch.sinc(n / decim) * torch.hann_window(taps + 2, periodic=False)[1:-1]
        self.register_buffer("taps", (h / h.sum()).float())

    def forward(self, iq):
        samples, taps = iq.shape[0], self.taps.numel()
        outputs = (samples - taps) // self.decim + 1
        base = torch.empty((2, samples), dtype=torch.float32, device=iq.device)
        out = torch.empty((outputs, 2), dtype=torch.float32, device=iq.device)
        BLOCK = 1024
        mix_kernel[(triton.cdiv(samples, BLOCK),)](iq, base, samples, self.step, BLOCK=BLOCK, num_warps=4)
        BLOCK_M = 64
        fir_decimate_kernel[(triton.cdiv(outputs, BLOCK_M),)](
            base, self.taps, out, samples, outputs, taps, self.decim,
            BLOCK_M=BLOCK_M, BLOCK_T=triton.next_power_of_2(taps), num_warps=4)
        return out
