import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ddim_step_kernel(x_ptr, eps_ptr, noise_ptr, steps_ptr, cx_ptr, ce_ptr, cn_ptr, out_ptr, numel, BLOCK: tl.constexpr):
    b = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < numel
    offs = b.to(tl.int64) * numel + i
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    eps = tl.load(eps_ptr + offs, mask=mask, other=0.0)
    noise = tl.load(noise_ptr + offs, mask=mask, other=0.0)

    step = tl.load(steps_ptr + b)
    cx = tl.load(cx_ptr + step)
    ce = tl.load(ce_ptr + step)
    cn = tl.load(cn_ptr + step)

    # float64 here: the two large terms cancel at early steps and the loop must reproduce the CPU scheduler
    out = cx * x.to(tl.float64)
    out += ce * eps.to(tl.float64)
    out += cn * noise.to(tl.float64)
    tl.store(out_ptr + offs, out.to(tl.float32), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, steps, eta=0.3):
        super().__init__()
        betas = torch.linspace(0.00085 ** 0.5, 0.012 ** 0.5, 1000, dtype=torch.float64) ** 2
        ac = torch.cumprod(1.0 - betas, 0)
        ac = torch.cat([torch.ones(1, dtype=torch.float64), ac[torch.arange(steps) * (1000 // steps)]])
        a, a_prev = ac[1:], ac[:-1]
        var = (1 - a_prev) / (1 - a) * (1 - a / a_prev)
        std = eta * var.sqrt()
        self.register_buffer("c_x", (a_prev / a).sqrt())
        self.register_buffer("c_eps", (1 - a_prev - std ** 2).clamp(min=0).sqrt() - (a_prev * (1 - a) / a).sqrt())
        self.register_buffer("c_noise", std)

    def forward(self, sample, eps, noise, steps):
        b = sample.shape[0]
        numel = sample.numel() // b
        out = torch.empty_like(sample)
        grid = (triton.cdiv(numel, 2048), b)
        ddim_step_kernel[grid](sample, eps, noise, steps, self.c_x, self.c_eps, self.c_noise, out, numel,
                               BLOCK=2048, num_warps=8)
        return out
