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
def sample_kernel(logits_ptr, seen_ptr, temp_ptr, gumbel_ptr, token_ptr, logprob_ptr,
                  V, penalty, log_min_p, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = row.to(tl.int64) * V
    temp = tl.load(temp_ptr + row)
    lane = tl.arange(0, BLOCK)

    # pass 1: maximum of the processed logits
    top = float("-inf")
    for start in range(0, V, BLOCK):
        offs = start + lane
        z = process(logits_ptr, seen_ptr, base, offs, offs < V, penalty, temp)
        top = tl.maximum(top, tl.max(z, axis=0))

    # pass 2: normaliser of the kept tokens and the Gumbel-max draw
    floor = top + log_min_p
    total = 0.0
    best = float("-inf")
    best_z = 0.0
    token = 0
    for start in range(0, V, BLOCK):
        offs = start + lane
        mask = offs < V
        z = process(logits_ptr, seen_ptr, base, offs, mask, penalty, temp)
        g = tl.load(gumbel_ptr + base + offs, mask=mask, other=0.0)
        z = tl.where(z >= floor, z, float("-inf"))
        total += tl.sum(tl.exp(z - top), axis=0)
        score = z + g
        val, arg = tl.max(score, axis=0, return_indices=True)
        z_at = tl.max(tl.where(lane == arg, z, float("-inf")), axis=0)
        better = val > best
        best = tl.where(better, val, best)
        best_z = tl.where(better, z_at, best_z)
        token = tl.where(better, start + arg, token)
    tl.store(token_ptr + row, token.to(tl.int64))
    tl.store(logprob_ptr + row, best_z - top - tl.log(total))


class ModelNew(nn.Module):
    def __init__(self, penalty, log_min_p):
        super().__init__()
        self.penalty, self.log_min_p = penalty, log_min_p

    def forward(self, logits, seen, temperature, gumbel):
        B, V = logits.shape
        token = torch.empty(B, device=logits.device, dtype=torch.int64)
        logprob = torch.empty(B, device=logits.device, dtype=torch.float32)
        sample_kernel[(B,)](logits, seen, temperature, gumbel, token, logprob, V, self.penalty, self.log_min_p,
                            BLOCK=2048, num_warps=8)
        return token, logprob
