import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lion_int8_kernel(
    w_ptr, g_ptr, code_ptr, absmax_ptr,
    w_out_ptr, code_out_ptr, absmax_out_ptr,
    n, num_blocks, lr, beta1, beta2, wd,
    QBLOCK: tl.constexpr, ROWS: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row_ok = rows < num_blocks
    offs = rows[:, None] * QBLOCK + tl.arange(0, QBLOCK)[None, :]
    mask = offs < n

    w = tl.load(w_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    code = tl.load(code_ptr + offs, mask=mask, other=0).to(tl.float32)
    old_max = tl.load(absmax_ptr + rows, mask=row_ok, other=0.0)

    # dequantise, decide the direction, decay and step
    m = code * (old_max / 127.0)[:, None]
    c = beta1 * m + (1.0 - beta1) * g
    upd = tl.where(c > 0, 1.0, tl.where(c < 0, -1.0, 0.0))
    w = w * (1.0 - lr * wd) - lr * upd
    tl.store(w_out_ptr + offs, w.to(w_out_ptr.dtype.element_ty), mask=mask)

    # new momentum, requantised with the block's own maximum
    m = beta2 * m + (1.0 - beta2) * g
    m = tl.where(mask, m, 0.0)
    new_max = tl.max(tl.abs(m), axis=1)
    inv = 127.0 / tl.maximum(new_max, 1e-20)
    q = tl.floor(m * inv[:, None] + 0.5)
    tl.store(code_out_ptr + offs, q.to(tl.int8), mask=mask)
    tl.store(absmax_out_ptr + rows, new_max, mask=row_ok)


class ModelNew(nn.Module):
    def __init__(self, n, qblock, beta1=0.9, beta2=0.99, weight_decay=0.1):
        super().__init__()
        nb = (n + qblock - 1) // qblock
        self.qblock, self.beta1, self.beta2, self.wd = qblock, beta1, beta2, weight_decay
        self.weight = nn.Parameter(torch.randn(n).bfloat16())
        self.register_buffer("codes", torch.randint(-127, 128, (n,), dtype=torch.int8))
        self.register_buffer("absmax", 0.5 + torch.rand(nb))

    def forward(self, grad, lr):
        n, nb = self.weight.numel(), self.absmax.numel()
        w = torch.empty_like(self.weight)
        codes = torch.empty_like(self.codes)
        absmax = torch.empty_like(self.absmax)
        ROWS = 8  # one warp a quantisation block, 16-byte loads
        lion_int8_kernel[(triton.cdiv(nb, ROWS),)](
            self.weight, grad, self.codes, self.absmax, w, codes, absmax,
            n, nb, lr, self.beta1, self.beta2, self.wd,
            QBLOCK=self.qblock, ROWS=ROWS, num_warps=8,
        )
        return w, codes, absmax
