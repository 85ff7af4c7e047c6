import torch
import torch.nn as nn
import triton
import triton.language as tl

MERSENNE_31 = (1 << 31) - 1


@triton.jit
def minhash_kernel(
    x_ptr, len_ptr, a_ptr, b_ptr, sig_ptr,
    max_len, perms, PRIME: tl.constexpr,
    BLOCK_L: tl.constexpr, BLOCK_K: tl.constexpr,
):
    doc = tl.program_id(0)
    ks = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    kmask = ks < perms
    a = tl.load(a_ptr + ks, mask=kmask, other=1).to(tl.int32).to(tl.int64)   # a < 2^31: one widening multiply
    b = tl.load(b_ptr + ks, mask=kmask, other=0)
    n = tl.load(len_ptr + doc)

    ls = tl.arange(0, BLOCK_L)
    best = tl.full([BLOCK_L, BLOCK_K], PRIME, dtype=tl.uint32)
    for l0 in range(0, n, BLOCK_L):
        live = l0 + ls < n
        x = tl.load(x_ptr + doc * max_len + l0 + ls, mask=live, other=0).to(tl.int64)
        # a, x < 2^31: the product does not overflow 64 bits
        h = x[:, None] * a[None, :] + b[None, :]
        # modulo 2^31 - 1 by folding: 2^31 = 1, so the high part is added to the low part
        h = (h & PRIME) + (h >> 31)                            # < 2^32
        u = ((h & PRIME) + (h >> 31)).to(tl.uint32)            # <= 2^31
        h = tl.where(u >= PRIME, u - PRIME, u)
        h = tl.where(live[:, None], h, PRIME)
        best = tl.minimum(best, h)

    sig = tl.min(best, axis=0)
    tl.store(sig_ptr + doc * perms + ks, sig.to(tl.int32), mask=kmask)


class ModelNew(nn.Module):
    def __init__(self, perms):
        super().__init__()
        g = torch.Generator().manual_seed(7)
        self.register_buffer("a", torch.randint(1, MERSENNE_31, (perms,), generator=g, dtype=torch.int64))
        self.register_buffer("b", torch.randint(0, MERSENNE_31, (perms,), generator=g, dtype=torch.int64))

    def forward(self, shingles, lengths):
        docs, max_len = shingles.shape
        perms = self.a.numel()
        sig = torch.empty((docs, perms), dtype=torch.int32, device=shingles.device)
        BLOCK_K = 64
        grid = (docs, triton.cdiv(perms, BLOCK_K))
        minhash_kernel[grid](
            shingles, lengths, self.a, self.b, sig,
            max_len, perms, PRIME=MERSENNE_31,
            BLOCK_L=16, BLOCK_K=BLOCK_K, num_warps=4,
        )
        return sig
