import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def process(logits_ptr, seen_ptr, base, offs, mask, penalty, temp):
    x = tl.load(logits_ptr + base + offs, mask=mask, other=0.0)
    s = tl.load(seen_ptr + base + offs, mask=mask, other=0)
    x = tl.where(s != 0, tl.where(x > 0, x / penalty, x * penalty), x)
    return tl.where(mask, x / temp, float("-inf"))


@triton.jit
def top_kernel(logits_ptr, seen_ptr, temp_ptr, ptop_ptr, V, penalty, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    part = tl.program_id(0)
    temp = tl.load(temp_ptr + row)
    offs = part * BLOCK + tl.arange(0, BLOCK)
    z = process(logits_ptr, seen_ptr, row.to(tl.int64) * V, offs, offs < V, penalty, temp)
    tl.store(ptop_ptr + row * tl.num_programs(0) + part, tl.max(z, axis=0))


@triton.jit
def draw_kernel(logits_ptr, seen_ptr, temp_ptr, gumbel_ptr, ptop_ptr, psum_ptr, pbest_ptr, pz_ptr, ptok_ptr,
                V, penalty, log_min_p, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    row = tl.program_id(1)
    part = tl.program_id(0)
    parts = tl.num_programs(0)
    p = tl.arange(0, PARTS)
    top = tl.max(tl.load(ptop_ptr + row * parts + p, mask=p < parts, other=float("-inf")), axis=0)
    temp = tl.load(temp_ptr + row)
    lane = tl.arange(0, BLOCK)
    offs = part * BLOCK + lane
    base = row.to(tl.int64) * V
    z = process(logits_ptr, seen_ptr, base, offs, offs < V, penalty, temp)
    g = tl.load(gumbel_ptr + base + offs, mask=offs < V, other=0.0)
    z = tl.where(z >= top + log_min_p, z, float("-inf"))
    val, arg = tl.max(z + g, axis=0, return_indices=True)
    at = row * parts + part
    tl.store(psum_ptr + at, tl.sum(tl.exp(z - top), axis=0))
    tl.store(pbest_ptr + at, val)
    tl.store(pz_ptr + at, tl.max(tl.where(lane == arg, z, float("-inf")), axis=0) - top)
    tl.store(ptok_ptr + at, part * BLOCK + arg)


@triton.jit
def pick_kernel(psum_ptr, pbest_ptr, pz_ptr, ptok_ptr, token_ptr, logprob_ptr, parts, PARTS: tl.constexpr):
    row = tl.program_id(0)
    p = tl.arange(0, PARTS)
    mask = p < parts
    total = tl.sum(tl.load(psum_ptr + row * parts + p, mask=mask, other=0.0), axis=0)
    best = tl.load(pbest_ptr + row * parts + p, mask=mask, other=float("-inf"))
    win = tl.argmax(best, axis=0)
    tl.store(token_ptr + row, tl.load(ptok_ptr + row * parts + win).to(tl.int64))
    tl.store(logprob_ptr + row, tl.load(pz_ptr + row * parts + win) - tl.log(total))


class ModelNew(nn.Module):
    def __init__(self, penalty, log_min_p):
        super().__init__()
        self.penalty, self.log_min_p = penalty, log_min_p

    def forward(self, logits, seen, temperature, gumbel):
        B, V = logits.shape
        dev = logits.device
        token = torch.empty(B, device=dev, dtype=torch.int64)
        logprob = torch.empty(B, device=dev, dtype=torch.float32)
        BLOCK = 2048
        parts = triton.cdiv(V, BLOCK)
        PARTS = triton.next_power_of_2(parts)
        f = torch.empty((4, B, parts), device=dev, dtype=torch.float32)
        t = torch.empty((B, parts), device=dev, dtype=torch.int32)
        top_kernel[(parts, B)](logits, seen, temperature, f[0], V, self.penalty, BLOCK=BLOCK, num_warps=8)
        draw_kernel[(parts, B)](logits, seen, temperature, gumbel, f[0], f[1], f[2], f[3], t, V, self.penalty,
                                self.log_min_p, BLOCK=BLOCK, PARTS=PARTS, num_warps=8)
        pick_kernel[(B,)](f[1], f[2], f[3], t, token, logprob, parts, PARTS=PARTS, num_warps=1)
        return token, logprob
