import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_mul_quant(gu_ptr, q_ptr, scale_ptr, hidden, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    ok = c < hidden
    gate = tl.load(gu_ptr + row * 2 * hidden + c, mask=ok, other=0.0).to(tl.float32)
    up = tl.load(gu_ptr + row * 2 * hidden + hidden + c, mask=ok, other=0.0).to(tl.float32)
    # the row stays in registers, rounded as the float16 intermediate was
    h = (gate / (1.0 + tl.exp(-gate)) * up).to(tl.float16).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(h), axis=0), 1e-6) / 127.0
    q = tl.floor(h * (1.0 / scale) + 0.5)
    q = tl.minimum(tl.maximum(q, -127.0), 127.0)
    tl.store(scale_ptr + row, scale)
    tl.store(q_ptr + row * hidden + c, q.to(tl.int8), mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, gate_up):
        tokens, hidden = gate_up.shape[0], gate_up.shape[1] // 2
        scale = torch.empty(tokens, device=gate_up.device, dtype=torch.float32)
        q = torch.empty(tokens, hidden, device=gate_up.device, dtype=torch.int8)
        silu_mul_quant[(tokens,)](gate_up, q, scale, hidden,
                                  BLOCK=triton.next_power_of_2(hidden), num_warps=16)
        return q, scale
