import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def penalties_kernel(
    logits_ptr, history_ptr, rep_ptr, freq_ptr, pres_ptr, out_ptr,
    V, T, BLOCK_V: tl.constexpr,
):
    row = tl.program_id(1)
    v = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    mask = v < V

    # how often each token of this block was generated
    count = tl.zeros((BLOCK_V,), tl.int32)
    hist = history_ptr + row * T
    for t in range(0, T):
        token = tl.load(hist + t).to(tl.int32)
        count += (v == token).to(tl.int32)

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
        out = torch.empty_like(logits)
        BLOCK_V = 1024
        penalties_kernel[(triton.cdiv(V, BLOCK_V), B)](
            logits, history, repetition, frequency, presence, out,
            V, T, BLOCK_V=BLOCK_V, num_warps=4,
        )
        return out
