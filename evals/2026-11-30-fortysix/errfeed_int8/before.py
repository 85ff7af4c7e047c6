import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def compress_kernel(
    grad_ptr, res_ptr,
    q_ptr, scale_ptr, new_res_ptr,
    R, G,
    BLOCK_R: tl.constexpr, BLOCK_G: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.arange(0, BLOCK_G)
    row_mask = rows < R
    mask = row_mask[:, None] & (cols < G)[None, :]
    offs = rows.to(tl.int64)[:, None] * G + cols[None, :]

    grad = tl.load(grad_ptr + offs, mask=mask, other=0.0)
    res = tl.load(res_ptr + offs, mask=mask, other=0.0)
    x = grad + res

    absmax = tl.max(tl.abs(x), axis=1)
    scale = tl.maximum(absmax, 1e-12) * (1.0 / 127.0)

    # correctly rounded division: sender and receiver must agree on every code
    q = tl.floor(tl.div_rn(x, tl.broadcast_to(scale[:, None], x.shape)) + 0.5)
    q = tl.minimum(tl.maximum(q, -127.0), 127.0)
    new_res = x - q * scale[:, None]

    tl.store(q_ptr + offs, q.to(tl.int8), mask=mask)
    tl.store(new_res_ptr + offs, new_res, mask=mask)
    tl.store(scale_ptr + rows, scale, mask=row_mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, grad, residual):
        grad = grad.contiguous()
        residual = residual.contiguous()
        R, G = grad.shape
        q = torch.empty((R, G), device=grad.device, dtype=torch.int8)
        scale = torch.empty((R,), device=grad.device, dtype=torch.float32)
        new_residual = torch.empty_like(grad)
        BLOCK_R = 8
        compress_kernel[(triton.cdiv(R, BLOCK_R),)](
            grad, residual, q, scale, new_residual, R, G,
            BLOCK_R=BLOCK_R, BLOCK_G=triton.next_power_of_2(G), num_warps=4,
        )
        return q, scale, new_residual
