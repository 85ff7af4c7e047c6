import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count_tokens_kernel(history_ptr, counts_ptr, V, T, BLOCK_T: tl.constexpr):
    row = tl.program_id(1)
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    token = tl.load(history_ptr + row * T + t, mask=t < T, other=-1)
    valid = token >= 0
    tl.atomic_add(counts_ptr + row * V + token, 1, mask=valid, sem="relaxed")


@triton.jit
def penalties_kernel(
    logits_ptr, counts_ptr, rep_ptr, freq_ptr, pres_ptr, out_ptr,
    V, BLOCK_V: tl.constexpr,
):
    row = tl.program_id(1)
    v = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    mask = v < V

    count = tl.load(counts_ptr + row * V + v, mask=mask, other=0)
    x = tl.load(logits_ptr + row * V + v, mask=mask, other=0.0)
    rep = tl.load(rep_ptr + row)
    freq = tl.load(freq_ptr + row)
    pres = tl.load(pres_ptr + row)

    seen = count > 0
    x = tl.where(seen, tl.where(x > 0, x / rep, x * rep), x)
    x = x - freq * count.to(tl.float32) - pres * seen.to(tl.float32)
    tl.store(out_ptr + row * V + v, x, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, logits, history, repetition, frequency, presence):
        B, V = logits.shape
        T = history.shape[1]
        counts = torch.zeros((B, V), device=logits.device, dtype=torch.int32)
        BLOCK_T = 256
        count_tokens_kernel[(triton.cdiv(T, BLOCK_T), B)](
            history, counts, V, T, BLOCK_T=BLOCK_T, num_warps=4)
        out = torch.empty_like(logits)
        BLOCK_V = 1024
        penalties_kernel[(triton.cdiv(V, BLOCK_V), B)](
            logits, counts, repetition, frequency, presence, out,
            V, BLOCK_V=BLOCK_V, num_warps=4,
        )
        return out
