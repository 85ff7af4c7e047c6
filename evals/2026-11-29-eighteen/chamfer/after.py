import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _nearest_kernel(p_ptr, g_ptr, out_ptr, N, M, stride_pb, stride_pn, stride_gb, stride_gm,
                    BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr):
    pid_n = tl.program_id(0)
    b = tl.program_id(1).to(tl.int64)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = rn < N
    p = p_ptr + b * stride_pb + rn * stride_pn
    px = tl.load(p + 0, mask=mask_n, other=0.0)
    py = tl.load(p + 1, mask=mask_n, other=0.0)
    pz = tl.load(p + 2, mask=mask_n, other=0.0)

    best = tl.full((BLOCK_N, BLOCK_M), float("inf"), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        rm = start + tl.arange(0, BLOCK_M)
        mask_m = rm < M
        g = g_ptr + b * stride_gb + rm * stride_gm
        # a point at 1e18 is never the nearest one
        gx = tl.load(g + 0, mask=mask_m, other=1e18)
        gy = tl.load(g + 1, mask=mask_m, other=1e18)
        gz = tl.load(g + 2, mask=mask_m, other=1e18)
        dx = px[:, None] - gx[None, :]
        dy = py[:, None] - gy[None, :]
        dz = pz[:, None] - gz[None, :]
        best = tl.minimum(best, dx * dx + dy * dy + dz * dz)
    tl.store(out_ptr + b * N + rn, tl.min(best, axis=1), mask=mask_n)


def nearest(p, g):
    B, N, _ = p.shape
    M = g.shape[1]
    out = torch.empty((B, N), device=p.device, dtype=torch.float32)
    _nearest_kernel[(triton.cdiv(N, 32), B)](
        p, g, out, N, M, p.stride(0), p.stride(1), g.stride(0), g.stride(1),
        BLOCK_N=32, BLOCK_M=128, num_warps=4,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, weight: float = 1.0):
        super().__init__()
        self.weight = weight

    def forward(self, pred, gt):
        pred, gt = pred.contiguous(), gt.contiguous()
        return nearest(pred, gt).mean(dim=1) + self.weight * nearest(gt, pred).mean(dim=1)
