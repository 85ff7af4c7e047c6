import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chunk_linear_attention(
    q_ptr, k_ptr, v_ptr, o_ptr, seq, scale, stride_head,
    DIM: tl.constexpr, CHUNK: tl.constexpr, BLOCK_V: tl.constexpr,
):
    cols = tl.arange(0, DIM)
    vcols = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    base = tl.program_id(1).to(tl.int64) * stride_head
    local = tl.arange(0, CHUNK)
    causal = local[:, None] >= local[None, :]
    state = tl.zeros((DIM, BLOCK_V), dtype=tl.float32)
    for start in range(0, seq, CHUNK):
        rows = start + local
        inside = (rows < seq)[:, None]
        at_k = base + rows[:, None] * DIM + cols[None, :]
        at_v = base + rows[:, None] * DIM + vcols[None, :]
        q = tl.load(q_ptr + at_k, mask=inside, other=0.0).to(tl.float32)
        k = tl.load(k_ptr + at_k, mask=inside, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + at_v, mask=inside, other=0.0).to(tl.float32)
        acc = tl.dot(q, state, input_precision="ieee")
        scores = tl.dot(q, tl.trans(k), input_precision="ieee")
        acc += tl.dot(tl.where(causal, scores, 0.0), v, input_precision="ieee")
        state += tl.dot(tl.trans(k), v, input_precision="ieee")
        tl.store(o_ptr + at_v, (acc * scale).to(o_ptr.dtype.element_ty), mask=inside)


def linear_attention(q, k, v, scale, chunk=32, block_v=32):
    b, h, t, d = q.shape
    out = torch.empty_like(v)
    chunk_linear_attention[(d // block_v, b * h)](
        q, k, v, out, t, scale, q.stride(1), DIM=d, CHUNK=chunk, BLOCK_V=block_v, num_warps=4
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, q, k, v):
        return linear_attention(q, k, v, self.scale)
