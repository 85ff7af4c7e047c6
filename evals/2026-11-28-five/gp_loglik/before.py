import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_noise_kernel(K_ptr, A_ptr, n, noise, stride_row, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n
    k = tl.load(K_ptr + row * stride_row + cols, mask=mask, other=0.0)
    tl.store(A_ptr + row * n + cols, tl.where(cols == row, k + noise, k), mask=mask)


@triton.jit
def loglik_kernel(L_ptr, z_ptr, out_ptr, n, stride_diag, const, BLOCK: tl.constexpr):
    # a single program: n values only
    lane = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + lane
        ok = i < n
        diag = tl.load(L_ptr + i * stride_diag, mask=ok, other=1.0)
        z = tl.load(z_ptr + i, mask=ok, other=0.0)
        acc += 0.5 * z * z + tl.log(diag)
    tl.store(out_ptr, const - tl.sum(acc, axis=0))


class ModelNew(nn.Module):
    def __init__(self, noise):
        super().__init__()
        self.noise = noise

    def forward(self, K, y):
        n = K.shape[0]
        A = torch.empty((n, n), device=K.device, dtype=K.dtype)
        add_noise_kernel[(n, triton.cdiv(n, 1024))](K, A, n, self.noise, K.stride(0), BLOCK=1024)
        L, _ = torch.linalg.cholesky_ex(A)
        z = torch.linalg.solve_triangular(L, y[:, None], upper=False)
        out = torch.empty((), device=K.device, dtype=K.dtype)
        loglik_kernel[(1,)](
            L, z, out, n, L.stride(0) + L.stride(1), -0.5 * n * math.log(2.0 * math.pi),
            BLOCK=1024, num_warps=8,
        )
        return out
