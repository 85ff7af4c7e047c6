import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def vocab_chunk(logits_ptr, part_ptr, vocab, chunks, inv_temp, CHUNK: tl.constexpr):
    c = tl.program_id(0)
    row = tl.program_id(1)
    v = c * CHUNK + tl.arange(0, CHUNK)
    ok = v < vocab
    x = tl.load(logits_ptr + row.to(tl.int64) * vocab + v, mask=ok, other=0.0).to(tl.float32) * inv_temp
    top = tl.max(tl.where(ok, x, -1.0e30), axis=0)
    p = tl.where(ok, tl.exp(x - top), 0.0)
    at = part_ptr + (row * chunks + c) * 3
    tl.store(at, top)
    tl.store(at + 1, tl.sum(p, axis=0))
    tl.store(at + 2, tl.sum(p * x, axis=0))


@triton.jit
def typical_accept(logits_ptr, draft_ptr, part_ptr, lp_ptr, ent_ptr, acc_ptr, vocab, chunks,
                   inv_temp, eps, delta, BLOCK_C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK_C)
    ok = c < chunks
    at = part_ptr + (row * chunks + c) * 3
    m = tl.load(at, mask=ok, other=-1.0e30)
    s = tl.load(at + 1, mask=ok, other=0.0)
    t = tl.load(at + 2, mask=ok, other=0.0)
    tok = tl.load(draft_ptr + row)
    x = tl.load(logits_ptr + row.to(tl.int64) * vocab + tok).to(tl.float32) * inv_temp
    top = tl.max(m, axis=0)
    w = tl.exp(m - top)
    z = tl.sum(s * w, axis=0)
    lse = top + tl.log(z)
    entropy = lse - tl.sum(t * w, axis=0) / z
    lp = x - lse
    bar = tl.minimum(delta * tl.exp(-entropy), eps)
    tl.store(lp_ptr + row, lp)
    tl.store(ent_ptr + row, entropy)
    tl.store(acc_ptr + row, (tl.exp(lp) > bar).to(tl.int8))


class ModelNew(nn.Module):
    def __init__(self, temperature, eps, delta):
        super().__init__()
        self.temperature, self.eps, self.delta = temperature, eps, delta

    def forward(self, logits, draft):
        rows, vocab = logits.shape
        CHUNK = 4096
        chunks = triton.cdiv(vocab, CHUNK)
        part = torch.empty(rows, chunks, 3, device=logits.device, dtype=torch.float32)
        lp = torch.empty(rows, device=logits.device, dtype=torch.float32)
        entropy = torch.empty_like(lp)
        accept = torch.empty(rows, device=logits.device, dtype=torch.int8)
        inv_temp = 1.0 / self.temperature
        vocab_chunk[(chunks, rows)](logits, part, vocab, chunks, inv_temp, CHUNK=CHUNK, num_warps=4)
        typical_accept[(rows,)](logits, draft, part, lp, entropy, accept, vocab, chunks, inv_temp,
                                self.eps, self.delta, BLOCK_C=triton.next_power_of_2(chunks), num_warps=1)
        return lp, entropy, accept
