"""One stride for tensors of different layouts: a half of a projection, a transposed view and a slice get the wrong rows.

    TRITON_INTERPRET=1 python strides_of_another_tensor.py

Stands for three functions of cuda-triton-multiarch: `fused_rmsnorm_swiglu_triton` (`gate` by the stride of `x`),
`flash_attention_full_triton` (`K` and `V` by the strides of `Q`) and `softmax_triton` (rows of a slice by their length).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def gated(x, gate, y, x_stride, gate_stride, N: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, N)
    tl.store(y + row * N + column, tl.load(x + row * x_stride + column) * tl.load(gate + row * gate_stride + column))


def run(x, gate, gate_stride):
    y = torch.empty(x.shape)
    gated[(x.shape[0],)](x, gate, y, x.stride(0), gate_stride, N=x.shape[1])
    return y


torch.manual_seed(0)
x, projection = torch.randn(8, 64), torch.randn(8, 128)
for name, gate in (("contiguous", torch.randn(8, 64)), ("half of a projection", projection.chunk(2, -1)[1])):
    wrong, right = run(x, gate, x.stride(0)), run(x, gate, gate.stride(0))
    print(f"gate is {name}: error {(wrong - x * gate).abs().max():.2f} by the stride of x")
    assert torch.equal(right, x * gate)
    assert torch.equal(wrong, x * gate) == gate.is_contiguous()
