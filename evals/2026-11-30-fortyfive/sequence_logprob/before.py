import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def token_logprob_kernel(logits_ptr, targets_ptr, lengths_ptr, lp_ptr, length, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    seq = row // length
    pos = row % length
    if pos >= tl.load(lengths_ptr + seq):
        tl.store(lp_ptr + row, 0.0)
    else:
        base = logits_ptr + row * vocab
        # every lane keeps its own running maximum and sum; they are joined once, after the loop
        m = tl.full([BLOCK], -1.0e30, dtype=tl.float32)
        s = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, vocab, BLOCK):
            offs = start + tl.arange(0, BLOCK)
            x = tl.load(base + offs, mask=offs < vocab, other=-1.0e30)
            m_new = tl.maximum(m, x)
            s = s * tl.exp(m - m_new) + tl.exp(x - m_new)
            m = m_new
        top = tl.max(m, axis=0)
        lse = top + tl.log(tl.sum(s * tl.exp(m - top), axis=0))
        picked = tl.load(base + tl.load(targets_ptr + row))
        tl.store(lp_ptr + row, picked - lse)


@triton.jit
def sequence_total_kernel(lp_ptr, lengths_ptr, total_ptr, length, penalty, BLOCK: tl.constexpr):
    seq = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    lp = tl.load(lp_ptr + seq * length + offs, mask=offs < length, other=0.0).to(tl.float64)
    n = tl.load(lengths_ptr + seq).to(tl.float64)
    tl.store(total_ptr + seq, tl.sum(lp, axis=0) / tl.exp(penalty * tl.log(n)))


class ModelNew(nn.Module):
    def __init__(self, length_penalty):
        super().__init__()
        self.length_penalty = length_penalty

    def forward(self, logits, targets, lengths):
        sequences, length, vocab = logits.shape
        token_lp = torch.empty((sequences, length), dtype=torch.float32, device=logits.device)
        total = torch.empty((sequences,), dtype=torch.float64, device=logits.device)
        token_logprob_kernel[(sequences * length,)](
            logits, targets, lengths, token_lp, length, vocab, BLOCK=4096, num_warps=8
        )
        sequence_total_kernel[(sequences,)](
            token_lp, lengths, total, length, self.length_penalty,
            BLOCK=triton.next_power_of_2(length), num_warps=4,
        )
        return token_lp, total
