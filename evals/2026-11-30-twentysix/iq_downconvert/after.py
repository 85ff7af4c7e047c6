"""Digital down-conversion of 8-bit I/Q samples: mix with an oscillator, low-pass FIR, decimate."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ddc_kernel(iq_ptr, taps_ptr, out_ptr, outputs, taps, decim, step,
               BLOCK_M: tl.constexpr, BLOCK_T: tl.constexpr):
    TURN: tl.constexpr = 0.006135923151542565
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    k = tl.arange(0, BLOCK_T)
    m_ok = m < outputs
    # the oscillator goes into the taps: sum_k h[k] e(-k) x[mD + k], turned by e(-mD) afterwards
    h = tl.load(taps_ptr + k, mask=k < taps, other=0.0) * 0.0078125
    kp = ((k * step) & 1023).to(tl.float32) * TURN
    hc = (h * tl.cos(kp))[None, :]
    hs = (h * tl.sin(kp))[None, :]

    # one 16-bit load a sample: I in the low byte, Q in the high byte
    ok = m_ok[:, None] & (k < taps)[None, :]
    v = tl.load(iq_ptr + m[:, None] * decim + k[None, :], mask=ok, other=0).to(tl.int32)
    i = ((v << 24) >> 24).to(tl.float32)
    q = (v >> 8).to(tl.float32)
    re = tl.sum(i * hc + q * hs, axis=1)
    im = tl.sum(q * hc - i * hs, axis=1)

    mp = ((m * decim * step) & 1023).to(tl.float32) * TURN
    c = tl.cos(mp)
    s = tl.sin(mp)
    tl.store(out_ptr + 2 * m, re * c + im * s, mask=m_ok)
    tl.store(out_ptr + 2 * m + 1, im * c - re * s, mask=m_ok)


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
        out = torch.empty((outputs, 2), dtype=torch.float32, device=iq.device)
        BLOCK_M = 64
        ddc_kernel[(triton.cdiv(outputs, BLOCK_M),)](
            iq.view(torch.int16), self.taps, out, outputs, taps, self.decim, self.step,
            BLOCK_M=BLOCK_M, BLOCK_T=triton.next_power_of_2(taps), num_warps=4)
        return out
