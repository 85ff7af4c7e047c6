import torch
import torch.nn as nn
import triton
import triton.language as tl

NUM_PARTIALS = 512


@triton.jit
def sumsq_kernel(grad_ptr, partial_ptr, numel, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(pid * BLOCK, numel, step):
        idx = start + tl.arange(0, BLOCK)
        g = tl.load(grad_ptr + idx, mask=idx < numel, other=0.0)
        acc += g * g
    tl.store(partial_ptr + pid, tl.sum(acc, axis=0))


@triton.jit
def momentum_kernel(param_ptr, grad_ptr, vel_ptr, partial_ptr, new_param_ptr, new_vel_ptr,
                    numel, lr, momentum, max_norm,
                    PARTIALS: tl.constexpr, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = idx < numel
    g = tl.load(grad_ptr + idx, mask=mask)
    v = tl.load(vel_ptr + idx, mask=mask)
    p = tl.load(param_ptr + idx, mask=mask)

    partial = tl.load(partial_ptr + tl.arange(0, PARTIALS))
    norm = tl.sqrt(tl.sum(partial, axis=0))
    coef = tl.minimum(max_norm / (norm + 1e-6), 1.0)

    v = momentum * v + coef * g
    tl.store(new_vel_ptr + idx, v, mask=mask)
    tl.store(new_param_ptr + idx, p - lr * v, mask=mask)


def clipped_momentum_step(param, grad, velocity, lr, momentum, max_norm):
    numel = param.numel()
    partials = torch.empty(NUM_PARTIALS, device=param.device, dtype=torch.float32)
    new_param = torch.empty_like(param)
    new_velocity = torch.empty_like(velocity)
    sumsq_kernel[(NUM_PARTIALS,)](grad, partials, numel, BLOCK=4096, num_warps=8)
    momentum_kernel[(triton.cdiv(numel, 4096),)](
        param, grad, velocity, partials, new_param, new_velocity,
        numel, lr, momentum, max_norm,
        PARTIALS=NUM_PARTIALS, BLOCK=4096, num_warps=8,
    )
    return new_param, new_velocity


class ModelNew(nn.Module):
    def __init__(self, lr, momentum, max_norm):
        super().__init__()
        self.lr = lr
        self.momentum = momentum
        self.max_norm = max_norm

    def forward(self, param, grad, velocity):
        return clipped_momentum_step(param, grad, velocity, self.lr, self.momentum, self.max_norm)
