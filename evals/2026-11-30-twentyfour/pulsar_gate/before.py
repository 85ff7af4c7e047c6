import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def peak(phase, amp, centre, width):
    d = phase - centre
    d = d - tl.floor(d + 0.5)
    z = d / width
    return amp * tl.exp(-0.5 * z * z)


@triton.jit
def gate_kernel(toa_ptr, weight_ptr, spin_ptr, profile_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    f0 = tl.load(spin_ptr)
    f1 = tl.load(spin_ptr + 1) / 2
    f2 = tl.load(spin_ptr + 2) / 6

    # years of seconds times tens of hertz: billions of turns, of which only the fraction counts
    t = tl.load(toa_ptr + i, mask=ok, other=0.0)
    turns = t * (f0 + t * (f1 + t * f2))
    phase = (turns - tl.floor(turns)).to(tl.float32)

    a0 = tl.load(profile_ptr)
    c0 = tl.load(profile_ptr + 1)
    w0 = tl.load(profile_ptr + 2)
    a1 = tl.load(profile_ptr + 3)
    c1 = tl.load(profile_ptr + 4)
    w1 = tl.load(profile_ptr + 5)
    gate = peak(phase, a0, c0, w0) + peak(phase, a1, c1, w1)

    w = tl.load(weight_ptr + i, mask=ok, other=0.0)
    tl.store(out_ptr + i, w * gate, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, f0, f1, f2):
        super().__init__()
        self.register_buffer("spin", torch.tensor([f0, f1, f2], dtype=torch.float64))
        self.profile = nn.Parameter(torch.tensor([[1.0, 0.0, 0.03], [0.6, 0.4, 0.05]]))

    def forward(self, toa, weight):
        n = toa.numel()
        out = torch.empty_like(weight)
        BLOCK = 1024
        gate_kernel[(triton.cdiv(n, BLOCK),)](toa, weight, self.spin, self.profile, out, n,
                                              BLOCK=BLOCK, num_warps=4)
        return out
