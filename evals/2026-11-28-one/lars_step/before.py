import torch
import torch.nn as nn
import triton
import triton.language as tl

PARTS = 528


@triton.jit
def sumsq_kernel(w_ptr, g_ptr, part_ptr, n, P: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    sw = tl.zeros((BLOCK,), dtype=tl.float32)
    sg = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(pid * BLOCK, n, P * BLOCK):
        i = start + lane
        m = i < n
        w = tl.load(w_ptr + i, mask=m, other=0.0)
        g = tl.load(g_ptr + i, mask=m, other=0.0)
        sw += w * w
        sg += g * g
    tl.store(part_ptr + pid, tl.sum(sw, axis=0))
    tl.store(part_ptr + P + pid, tl.sum(sg, axis=0))


@triton.jit
def lars_update_kernel(w_ptr, g_ptr, v_ptr, part_ptr, w_out, v_out, n,
                       lr, momentum, wd, trust,
                       P: tl.constexpr, P2: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.arange(0, P2)
    # every program sums the partial results again
    wn = tl.sqrt(tl.sum(tl.load(part_ptr + p, mask=p < P, other=0.0), axis=0))
    gn = tl.sqrt(tl.sum(tl.load(part_ptr + P + p, mask=p < P, other=0.0), axis=0))
    local = trust * wn / (gn + wd * wn + 1e-9)
    # back to front: the tail of w and g was touched last
    blk = tl.num_programs(0) - 1 - tl.program_id(0)
    i = blk * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    w = tl.load(w_ptr + i, mask=m, other=0.0)
    g = tl.load(g_ptr + i, mask=m, other=0.0)
    v = tl.load(v_ptr + i, mask=m, other=0.0)
    v = momentum * v + local * (g + wd * w)
    tl.store(v_out + i, v, mask=m)
    tl.store(w_out + i, w - lr * v, mask=m)


class ModelNew(nn.Module):
    def __init__(self, lr, momentum, weight_decay, trust):
        super().__init__()
        self.lr, self.momentum, self.weight_decay, self.trust = lr, momentum, weight_decay, trust

    def forward(self, w, g, v):
        n = w.numel()
        part = torch.empty(2 * PARTS, device=w.device, dtype=torch.float32)
        w_new = torch.empty_like(w)
        v_new = torch.empty_like(v)
        sumsq_kernel[(PARTS,)](w, g, part, n, P=PARTS, BLOCK=4096, num_warps=8)
        lars_update_kernel[(triton.cdiv(n, 4096),)](
            w, g, v, part, w_new, v_new, n,
            self.lr, self.momentum, self.weight_decay, self.trust,
            P=PARTS, P2=triton.next_power_of_2(PARTS), BLOCK=4096, num_warps=8)
        return w_new, v_new
