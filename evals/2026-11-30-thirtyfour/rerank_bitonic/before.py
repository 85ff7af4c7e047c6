import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _encode(score, idx):
    # Order-preserving 16-bit code of the score (reversed, for a descending sort) above the 16-bit position.
    score = tl.where(score == 0.0, 0.0, score).to(tl.float16)
    bits = score.to(tl.int16, bitcast=True).to(tl.int32)
    code = tl.where(bits < 0, bits ^ 0x7FFF, bits)
    return ((-1 - code) << 16) | idx


@triton.jit
def _decode_score(key):
    code = -1 - (key >> 16)
    bits = tl.where(code < 0, code ^ 0x7FFF, code)
    return bits.to(tl.int16).to(tl.float16, bitcast=True)


@triton.jit
def pack_kernel(score_ptr, len_ptr, key_ptr, N, P, pad_score, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    length = tl.load(len_ptr + row)
    score = tl.load(score_ptr + row * N + col, mask=col < N, other=0.0).to(tl.float32)
    key = _encode(tl.where(col < length, score, pad_score), col)
    key = tl.where(col < N, key, 0x7FFFFFFF)
    tl.store(key_ptr + row * P + col, key, mask=col < P)


@triton.jit
def compare_exchange_kernel(key_ptr, P, k, j, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    pair = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = pair < P // 2
    lo = (pair // j) * (2 * j) + pair % j
    hi = lo + j
    base = key_ptr + row * P
    a = tl.load(base + lo, mask=mask)
    b = tl.load(base + hi, mask=mask)
    ascending = (lo & k) == 0
    small = tl.minimum(a, b)
    big = tl.maximum(a, b)
    tl.store(base + lo, tl.where(ascending, small, big), mask=mask)
    tl.store(base + hi, tl.where(ascending, big, small), mask=mask)


@triton.jit
def unpack_kernel(key_ptr, score_ptr, idx_ptr, N, P, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < N
    key = tl.load(key_ptr + row * P + col, mask=mask, other=0)
    tl.store(score_ptr + row * N + col, _decode_score(key), mask=mask)
    tl.store(idx_ptr + row * N + col, key & 0xFFFF, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, pad_score):
        super().__init__()
        self.pad_score = pad_score

    def forward(self, scores, lengths):
        R, N = scores.shape
        P = triton.next_power_of_2(N)
        keys = torch.empty((R, P), device=scores.device, dtype=torch.int32)
        ranked = torch.empty_like(scores)
        order = torch.empty((R, N), device=scores.device, dtype=torch.int32)
        BLOCK = 512
        pack_kernel[(R, triton.cdiv(P, BLOCK))](scores, lengths, keys, N, P, self.pad_score, BLOCK=BLOCK)
        k = 2
        while k <= P:
            j = k // 2
            while j > 0:
                compare_exchange_kernel[(R, triton.cdiv(P // 2, BLOCK))](keys, P, k, j, BLOCK=BLOCK)
                j //= 2
            k *= 2
        unpack_kernel[(R, triton.cdiv(N, BLOCK))](keys, ranked, order, N, P, BLOCK=BLOCK)
        return ranked, order
