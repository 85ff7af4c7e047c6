import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def grad_a_partial_kernel(x_ptr, dh_ptr, part_ptr, tokens, d_in, span,
                          RANK: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    # one block of d and one span of the tokens a program
    split = tl.program_id(1)
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    r = tl.arange(0, RANK)
    first = split * span
    last = tl.minimum(first + span, tokens)
    t = first + tl.arange(0, BLOCK_T)
    d_mask = (d < d_in)[None, :]
    x_ptrs = x_ptr + t[:, None].to(tl.int64) * d_in + d[None, :]
    dh_ptrs = dh_ptr + t[:, None] * RANK + r[None, :]
    acc = tl.zeros((RANK, BLOCK_D), dtype=tl.float32)
    for t0 in range(0, span, BLOCK_T):
        t_mask = (t0 + t < last)[:, None]
        x = tl.load(x_ptrs, mask=t_mask & d_mask, other=0.0)
        dh = tl.load(dh_ptrs, mask=t_mask, other=0.0)
        acc = tl.dot(tl.trans(dh), x, acc)
        x_ptrs += BLOCK_T * d_in
        dh_ptrs += BLOCK_T * RANK
    o = split * RANK * d_in + r[:, None] * d_in + d[None, :]
    tl.store(part_ptr + o, acc, mask=d_mask)


@triton.jit
def reduce_kernel(part_ptr, main_ptr, out_ptr, n, splits, scale, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = o < n
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for s in range(splits):
        acc += tl.load(part_ptr + s * n + o, mask=mask, other=0.0)
    main = tl.load(main_ptr + o, mask=mask, other=0.0)
    tl.store(out_ptr + o, main + scale * acc, mask=mask)


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
        blocks = triton.cdiv(d_in, BLOCK_D)
        # some 500 programs, though no fewer than two steps each
        splits = max(1, min(512 // blocks, triton.cdiv(tokens, 2 * BLOCK_T)))
        span = triton.cdiv(triton.cdiv(tokens, splits), BLOCK_T) * BLOCK_T
        splits = triton.cdiv(tokens, span)
        part = torch.empty(splits, rank, d_in, device=x.device, dtype=torch.float32)
        grad_a_partial_kernel[(blocks, splits)](
            x, dh, part, tokens, d_in, span,
            RANK=rank, BLOCK_T=BLOCK_T, BLOCK_D=BLOCK_D, num_warps=4, num_stages=3)
        n = rank * d_in
        reduce_kernel[(triton.cdiv(n, 128),)](part, self.main_grad, out, n, splits, self.scale, BLOCK=128, num_warps=4)
        return out
