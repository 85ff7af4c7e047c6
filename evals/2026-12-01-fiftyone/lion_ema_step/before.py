import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lion_ema_kernel(p_ptr, g_ptr, m_ptr, ema_ptr, po_ptr, half_ptr, mo_ptr, eo_ptr, n,
                    lr, beta1, beta2, wd, decay, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    ema = tl.load(ema_ptr + offs, mask=mask, other=0.0)

    c = beta1 * m + (1.0 - beta1) * g
    step = tl.where(c > 0.0, 1.0, tl.where(c < 0.0, -1.0, 0.0))
    p = p * (1.0 - lr * wd) - lr * step
    m = beta2 * m + (1.0 - beta2) * g
    ema = decay * ema + (1.0 - decay) * p

    tl.store(po_ptr + offs, p, mask=mask)
    tl.store(half_ptr + offs, p.to(tl.bfloat16), mask=mask)
    tl.store(mo_ptr + offs, m.to(tl.bfloat16), mask=mask)
    tl.store(eo_ptr + offs, ema, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, lr, beta1, beta2, wd, decay):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.wd, self.decay = lr, beta1, beta2, wd, decay

    def forward(self, p, g, m, ema):
        n = p.numel()
        po = torch.empty_like(p)
        half = torch.empty_like(p, dtype=torch.bfloat16)
        mo = torch.empty_like(m)
        eo = torch.empty_like(ema)
        BLOCK = 1024
        lion_ema_kernel[(triton.cdiv(n, BLOCK),)](p, g, m, ema, po, half, mo, eo, n, self.lr, self.beta1, self.beta2,
                                                  self.wd, self.decay, BLOCK=BLOCK, num_warps=4)
        return po, half, mo, eo
