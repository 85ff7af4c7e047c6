import os

import torch
import torch.nn as nn
import triton
import triton.language as tl


CONFIGS = [
    triton.Config({"BLOCK": 2048}, num_warps=4),
    triton.Config({"BLOCK": 1024}, num_warps=4),
    triton.Config({"BLOCK": 4096}, num_warps=8),
]
if os.environ.get("TRITON_INTERPRET") == "1":
    CONFIGS = CONFIGS[:1]


@triton.autotune(configs=CONFIGS, key=["numel"])
@triton.jit
def accumulate_kernel(dw_ptr, main_ptr, out_ptr, numel, inv_scale, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < numel
    dw = tl.load(dw_ptr + offs, mask=mask).to(tl.float32)
    main = tl.load(main_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, main + dw * inv_scale, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, loss_scale):
        super().__init__()
        self.loss_scale = loss_scale

    def forward(self, x, dy, main_grad):
        dw = torch.mm(dy.t(), x)
        out = torch.empty_like(main_grad)
        numel = out.numel()
        grid = lambda meta: (triton.cdiv(numel, meta["BLOCK"]),)
        accumulate_kernel[grid](dw, main_grad, out, numel, 1.0 / self.loss_scale)
        return out
