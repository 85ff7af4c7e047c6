import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def visibility_kernel(core_ptr, outer_ptr, out_ptr, n_f, n_a, n_b, n_t, inv_t,
                      BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr, BLOCK_T: tl.constexpr):
    f = tl.program_id(2)
    a = tl.program_id(1) * BLOCK_A + tl.arange(0, BLOCK_A)
    b = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    t = tl.arange(0, BLOCK_T)
    ma = a < n_a
    mb = b < n_b
    pa = core_ptr + (f * n_a + a[:, None]) * n_t + t[None, :]
    pb = outer_ptr + (f * n_b + b[None, :]) * n_t + t[:, None]
    ia = n_f * n_a * n_t
    ib = n_f * n_b * n_t
    re = tl.zeros((BLOCK_A, BLOCK_B), dtype=tl.int32)
    im_p = tl.zeros((BLOCK_A, BLOCK_B), dtype=tl.int32)
    im_m = tl.zeros((BLOCK_A, BLOCK_B), dtype=tl.int32)
    for t0 in range(0, n_t, BLOCK_T):
        mt = t0 + t < n_t
        ka = ma[:, None] & mt[None, :]
        kb = mt[:, None] & mb[None, :]
        ar = tl.load(pa + t0, mask=ka, other=0)
        ai = tl.load(pa + ia + t0, mask=ka, other=0)
        br = tl.load(pb + t0, mask=kb, other=0)
        bi = tl.load(pb + ib + t0, mask=kb, other=0)
        re = tl.dot(ar, br, re, out_dtype=tl.int32)
        re = tl.dot(ai, bi, re, out_dtype=tl.int32)
        im_p = tl.dot(ai, br, im_p, out_dtype=tl.int32)
        im_m = tl.dot(ar, bi, im_m, out_dtype=tl.int32)
    o = (f * n_a + a[:, None]) * n_b + b[None, :]
    mo = ma[:, None] & mb[None, :]
    tl.store(out_ptr + o, re.to(tl.float32) * inv_t, mask=mo)
    tl.store(out_ptr + n_f * n_a * n_b + o, (im_p - im_m).to(tl.float32) * inv_t, mask=mo)


class ModelNew(nn.Module):
    """Visibilities between A core antennas and B outriggers in F channels, averaged over T samples.

    core: (2, F, A, T) int8 real and imaginary voltages; outer: (2, F, B, T) int8. Returns (2, F, A, B) float32.
    """

    def __init__(self):
        super().__init__()

    def forward(self, core, outer):
        _, n_f, n_a, n_t = core.shape
        n_b = outer.shape[2]
        out = torch.empty(2, n_f, n_a, n_b, device=core.device, dtype=torch.float32)
        BLOCK_A, BLOCK_B = 64, 64
        grid = (triton.cdiv(n_b, BLOCK_B), triton.cdiv(n_a, BLOCK_A), n_f)
        visibility_kernel[grid](
            core, outer, out, n_f, n_a, n_b, n_t, 1.0 / n_t,
            BLOCK_A=BLOCK_A, BLOCK_B=BLOCK_B, BLOCK_T=64, num_warps=4, num_stages=3)
        return out
