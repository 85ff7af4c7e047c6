import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def smoothed_ce_kernel(logits_ptr, target_ptr, loss_ptr, row_stride, vocab, smoothing, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    base = logits_ptr + row * row_stride
    cols = tl.arange(0, BLOCK)

    # row maximum
    running = tl.full([BLOCK], float("-inf"), dtype=tl.float32)
    for start in range(0, vocab, BLOCK):
        idx = start + cols
        x = tl.load(base + idx, mask=idx < vocab, other=float("-inf")).to(tl.float32)
        running = tl.maximum(running, x)
    row_max = tl.max(running, axis=0)

    # log of the partition function
    z = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, vocab, BLOCK):
        idx = start + cols
        x = tl.load(base + idx, mask=idx < vocab, other=float("-inf")).to(tl.float32)
        z += tl.exp(x - row_max)
    lse = tl.log(tl.sum(z, axis=0)) + row_max

    # uniform part of the smoothed target
    u = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, vocab, BLOCK):
        idx = start + cols
        x = tl.load(base + idx, mask=idx < vocab, other=0.0).to(tl.float32)
        u += x
    uniform = lse - tl.sum(u, axis=0) / vocab

    target = tl.load(target_ptr + row)
    picked = tl.load(base + target).to(tl.float32)
    loss = (1.0 - smoothing) * (lse - picked) + smoothing * uniform
    tl.store(loss_ptr + row, loss)


class ModelNew(nn.Module):
    def __init__(self, smoothing):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits, target):
        rows, vocab = logits.shape
        loss = torch.empty(rows, dtype=torch.float32, device=logits.device)
        block = min(4096, triton.next_power_of_2(vocab))
        smoothed_ce_kernel[(rows,)](
            logits, target, loss, logits.stride(0), vocab, self.smoothing, BLOCK=block, num_warps=8
        )
        return loss
