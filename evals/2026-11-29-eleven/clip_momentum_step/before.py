import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _sumsq_partial(g_ptr, part_ptr, numel, NPROG: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(pid * BLOCK, numel, NPROG * BLOCK):
        offs = start + lane
        g = tl.load(g_ptr + offs, mask=offs < numel, other=0.0)
        acc += g * g
    tl.store(part_ptr + pid, tl.sum(acc, axis=0))


@triton.jit
def _apply(p_ptr, g_ptr, m_ptr, part_ptr, p_out, m_out, numel, lr, momentum, max_norm,
           NPROG: tl.constexpr, BLOCK: tl.constexpr):
    # last tiles first: the end of g was read most recently
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    offs = tile * BLOCK + tl.arange(0, BLOCK)
    mask = offs < numel
    g = tl.load(g_ptr + offs, mask=mask)
    m = tl.load(m_ptr + offs, mask=mask)
    p = tl.load(p_ptr + offs, mask=mask)
    norm = tl.sqrt(tl.sum(tl.load(part_ptr + tl.arange(0, NPROG)), axis=0))
    coef = tl.minimum(max_norm / (norm + 1e-6), 1.0)
    m = momentum * m + coef * g
    tl.store(m_out + offs, m, mask=mask)
    tl.store(p_out + offs, p - lr * m, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, lr, momentum, max_norm):
        super().__init__()
        self.lr = lr
        self.momentum = momentum
        self.max_norm = max_norm

    def forward(self, param, grad, buf):
        numel = param.numel()
        nprog = 512
        part = torch.empty(nprog, device=param.device, dtype=torch.float32)
        new_param = torch.empty_like(param)
        new_buf = torch.empty_like(buf)
        _sumsq_partial[(nprog,)](grad, part, numel, NPROG=nprog, BLOCK=4096, num_warps=8)
        BLOCK = 4096
        _apply[(triton.cdiv(numel, BLOCK),)](
            param, grad, buf, part, new_param, new_buf, numel,
            self.lr, self.momentum, self.max_norm,
            NPROG=nprog, BLOCK=BLOCK, num_warps=8,
        )
        return new_param, new_buf
