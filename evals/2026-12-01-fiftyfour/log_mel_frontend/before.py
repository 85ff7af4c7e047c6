import torch
import torch.nn as nn
import triton
import triton.language as tl


def triangles(f, m):
    centres = torch.linspace(0.0, float(f - 1), m + 2)
    bins = torch.arange(f, dtype=torch.float32)[:, None]
    up = (bins - centres[:-2]) / (centres[1:-1] - centres[:-2])
    down = (centres[2:] - bins) / (centres[2:] - centres[1:-1])
    return torch.minimum(up, down).clamp(min=0.0)


@triton.jit
def _power_kernel(re_ptr, im_ptr, out_ptr, total, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < total
    re = tl.load(re_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    im = tl.load(im_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offs, (re * re + im * im).to(tl.bfloat16), mask=mask)


@triton.jit
def _mel_log_kernel(p_ptr, bank_ptr, out_ptr, R, F, M,
                    BLOCK_R: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_F: tl.constexpr):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    m = tl.arange(0, BLOCK_M)
    f = tl.arange(0, BLOCK_F)
    row = r.to(tl.int64)[:, None]
    acc = tl.zeros((BLOCK_R, BLOCK_M), dtype=tl.float32)
    for f0 in range(0, F, BLOCK_F):
        ff = f0 + f
        pm = (r < R)[:, None] & (ff < F)[None, :]
        p = tl.load(p_ptr + row * F + ff[None, :], mask=pm, other=0.0)
        w = tl.load(bank_ptr + ff[:, None] * M + m[None, :], mask=(ff < F)[:, None] & (m < M)[None, :], other=0.0)
        acc = tl.dot(p, w, acc)
    y = tl.log(acc + 1e-3).to(tl.bfloat16)
    tl.store(out_ptr + row * M + m[None, :], y, mask=(r < R)[:, None] & (m < M)[None, :])


class ModelNew(nn.Module):
    def __init__(self, f, m):
        super().__init__()
        self.register_buffer("bank", triangles(f, m).to(torch.bfloat16))

    def forward(self, re, im):
        b, t, f = re.shape
        m = self.bank.shape[1]
        rows = b * t
        out = torch.empty((b, t, m), device=re.device, dtype=torch.bfloat16)
        power = torch.empty_like(re)
        total = re.numel()
        _power_kernel[(triton.cdiv(total, 2048),)](re, im, power, total, BLOCK=2048, num_warps=4)
        BLOCK_R = 64
        _mel_log_kernel[(triton.cdiv(rows, BLOCK_R),)](
            power, self.bank, out, rows, f, m,
            BLOCK_R=BLOCK_R, BLOCK_M=max(16, triton.next_power_of_2(m)), BLOCK_F=64, num_warps=4, num_stages=3)
        return out
