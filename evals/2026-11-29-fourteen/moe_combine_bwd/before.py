import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _combine_bwd(
    GRAD_OUT, EXPERT_OUT, WEIGHTS, SLOTS,
    GRAD_EXPERT, GRAD_W,
    hidden,
    TOPK: tl.constexpr,
    TOPK_P2: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    token = tl.program_id(axis=0).to(tl.int64)
    kk = tl.arange(0, TOPK_P2)
    dd = tl.arange(0, BLOCK_D)
    k_mask = kk < TOPK
    d_mask = dd < hidden
    mask = k_mask[:, None] & d_mask[None, :]

    slot = tl.load(SLOTS + token * TOPK + kk, mask=k_mask, other=0)
    w = tl.load(WEIGHTS + token * TOPK + kk, mask=k_mask, other=0.0)
    g = tl.load(GRAD_OUT + token * hidden + dd, mask=d_mask, other=0.0).to(tl.float32)

    offs = slot[:, None] * hidden + dd[None, :]
    rows = tl.load(EXPERT_OUT + offs, mask=mask, other=0.0).to(tl.float32)

    # rows of grad_expert are written by exactly one token
    tl.store(GRAD_EXPERT + offs, (w[:, None] * g[None, :]).to(tl.float16), mask=mask)
    tl.store(GRAD_W + token * TOPK + kk, tl.sum(rows * g[None, :], axis=1), mask=k_mask)


def moe_combine_backward(grad_out, expert_out, weights, slots):
    tokens, hidden = grad_out.shape
    topk = slots.shape[1]
    grad_expert = torch.empty_like(expert_out)
    grad_w = torch.empty((tokens, topk), device=grad_out.device, dtype=torch.float32)
    _combine_bwd[(tokens,)](
        grad_out, expert_out, weights, slots, grad_expert, grad_w,
        hidden=hidden,
        TOPK=topk,
        TOPK_P2=triton.next_power_of_2(topk),
        BLOCK_D=triton.next_power_of_2(hidden),
        num_warps=8,
    )
    return grad_expert, grad_w


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, grad_out, expert_out, weights, slots):
        return moe_combine_backward(grad_out, expert_out, weights, slots)
