import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sample_kernel(logits_ptr, temp_ptr, uniform_ptr, token_ptr, logp_ptr, vocab, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    x_row = logits_ptr + row * vocab
    u_row = uniform_ptr + row * vocab
    temp = tl.load(temp_ptr + row)

    m = tl.full((BLOCK_SIZE,), -1e30, dtype=tl.float32)
    s = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    best = tl.full((BLOCK_SIZE,), float("-inf"), dtype=tl.float32)
    best_x = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    best_col = tl.zeros((BLOCK_SIZE,), dtype=tl.int32)
    for start in range(0, vocab, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < vocab
        x = tl.load(x_row + cols, mask=mask, other=0.0) / temp
        x = tl.where(mask, x, -1e30)
        u = tl.load(u_row + cols, mask=mask, other=0.5)
        m_new = tl.maximum(m, x)
        s = s * tl.exp(m - m_new) + tl.exp(x - m_new)
        m = m_new
        score = x - tl.log(-tl.log(u))
        better = score > best
        best = tl.where(better, score, best)
        best_x = tl.where(better, x, best_x)
        best_col = tl.where(better, cols, best_col)

    row_max = tl.max(m, axis=0)
    lse = row_max + tl.log(tl.sum(s * tl.exp(m - row_max), axis=0))
    lane = tl.argmax(best, axis=0)
    here = tl.arange(0, BLOCK_SIZE) == lane
    token = tl.sum(tl.where(here, best_col, 0), axis=0)
    chosen = tl.sum(tl.where(here, best_x, 0.0), axis=0)
    tl.store(token_ptr + row, token.to(tl.int64))
    tl.store(logp_ptr + row, chosen - lse)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, logits, temperature, uniform):
        logits = logits.contiguous()
        uniform = uniform.contiguous()
        batch, vocab = logits.shape
        token = torch.empty((batch,), device=logits.device, dtype=torch.int64)
        logp = torch.empty((batch,), device=logits.device, dtype=torch.float32)
        sample_kernel[(batch,)](logits, temperature, uniform, token, logp, vocab, BLOCK_SIZE=2048, num_warps=8)
        return token, logp
