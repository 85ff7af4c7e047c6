import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def grad_a_kernel(x_ptr, dh_ptr, main_ptr, out_ptr, tokens, d_in, scale,
                  RANK: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    # out[:, block of d] = main_grad + scale * dh^T x, with x streamed through once
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    r = tl.arange(0, RANK)
    t = tl.arange(0, BLOCK_T)
    d_mask = (d < d_in)[None, :]
    x_ptrs = x_ptr + t[:, None].to(tl.int64) * d_in + d[None, :]
    dh_ptrs = dh_ptr + t[:, None] * RANK + r[None, :]
    acc = tl.zeros((RANK, BLOCK_D), dtype=tl.float32)
    for t0 in range(0, tokens, BLOCK_T):
        t_mask = (t0 + t < tokens)[:, None]
        x = tl.load(x_ptrs, mask=t_mask & d_mask, other=0.0)
        dh = tl.load(dh_ptrs, mask=t_mask, other=0.0)
        acc = tl.dot(tl.trans(dh), x, acc)
        x_ptrs += BLOCK_T * d_in
        dh_ptrs += BLOCK_T * RANK
    o = r[:, None] * d_in + d[None, :]
    main = tl.load(main_ptr + o, mask=d_mask, other=0.0)
    tl.store(out_ptr + o, main + scale * acc, mask=d_mask)


class ModelNew(nn.Module):
    def __init__(self, rank, d_in, scale):
        super().__init__()
        self.scale = scale
        self.register_buffer("main_grad", torch.randn(rank, d_in))

    def forward(self, x, dh):
        x = x.contiguous()
        dh = dh.contiguous()
        tokens, d_in = x.shape
        rank = dh.shape[1]
        out = torch.empty_like(self.main_grad)
        BLOCK_T, BLOCK_D = 64, 128
        grad_a_kernel[(triton.cdiv(d_in, BLOCK_D),)](
            x, dh, self.main_grad, out, tokens, d_in, self.scale,
            RANK=rank, BLOCK_T=BLOCK_T, BLOCK_D=BLOCK_D, num_warps=4, num_stages=3)
        return out
