import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sample_partial_kernel(logits_ptr, noise_ptr, temp_ptr, stat_ptr, idx_ptr, V, NC, CHUNK: tl.constexpr):
    chunk = tl.program_id(0)
    row = tl.program_id(1)
    i = chunk * CHUNK + tl.arange(0, CHUNK)
    mask = i < V
    base = row.to(tl.int64) * V
    x = tl.load(logits_ptr + base + i, mask=mask, other=float("-inf"))
    noise = tl.load(noise_ptr + base + i, mask=mask, other=1.0)
    x = x / tl.load(temp_ptr + row)

    m = tl.max(x, axis=0)
    s = tl.sum(tl.exp(x - m), axis=0)
    score = x - tl.log(noise)
    best, at = tl.max(score, axis=0, return_indices=True)

    out = (row * NC + chunk) * 3
    tl.store(stat_ptr + out, m)
    tl.store(stat_ptr + out + 1, s)
    tl.store(stat_ptr + out + 2, best)
    tl.store(idx_ptr + row * NC + chunk, chunk * CHUNK + at)


@triton.jit
def sample_combine_kernel(logits_ptr, temp_ptr, stat_ptr, idx_ptr, token_ptr, logprob_ptr, V, NC, NCP: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, NCP)
    mask = c < NC
    part = row * NC + c
    m = tl.load(stat_ptr + part * 3, mask=mask, other=float("-inf"))
    s = tl.load(stat_ptr + part * 3 + 1, mask=mask, other=0.0)
    best = tl.load(stat_ptr + part * 3 + 2, mask=mask, other=float("-inf"))
    top = tl.max(m, axis=0)
    lse = top + tl.log(tl.sum(s * tl.exp(m - top), axis=0))
    winner = tl.argmax(best, axis=0)
    token = tl.load(idx_ptr + row * NC + winner)
    x = tl.load(logits_ptr + row.to(tl.int64) * V + token) / tl.load(temp_ptr + row)
    tl.store(token_ptr + row, token.to(tl.int64))
    tl.store(logprob_ptr + row, x - lse)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, logits, exp_noise, temperature):
        b, v = logits.shape
        nc = triton.cdiv(v, 4096)
        dev = logits.device
        stat = torch.empty((b, nc, 3), dtype=torch.float32, device=dev)
        idx = torch.empty((b, nc), dtype=torch.int32, device=dev)
        token = torch.empty(b, dtype=torch.int64, device=dev)
        logprob = torch.empty(b, dtype=torch.float32, device=dev)
        sample_partial_kernel[(nc, b)](logits, exp_noise, temperature, stat, idx, v, nc, CHUNK=4096, num_warps=8)
        sample_combine_kernel[(b,)](logits, temperature, stat, idx, token, logprob, v, nc,
                                    NCP=triton.next_power_of_2(nc), num_warps=1)
        return token, logprob
