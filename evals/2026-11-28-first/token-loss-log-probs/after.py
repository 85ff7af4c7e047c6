import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nll_rows(logits, labels, loss, vocab, P: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    v = tl.arange(0, P)
    x = tl.load(logits + row * vocab + v, mask=v < vocab, other=float("-inf"))
    top = tl.max(x, axis=0)
    picked = tl.load(logits + row * vocab + tl.load(labels + row))
    tl.store(loss + row, top + tl.log(tl.sum(tl.exp(x - top), axis=0)) - picked)


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        tokens, vocab = logits.shape
        loss = torch.empty(tokens, device=logits.device)
        nll_rows[(tokens,)](logits, labels, loss, vocab, P=triton.next_power_of_2(vocab), num_warps=16)
        return loss.mean()
