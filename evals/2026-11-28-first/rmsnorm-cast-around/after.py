import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_fwd(X, G, Y, width, eps, P2: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, P2)
    ok = i < width
    x = tl.load(X + row * width + i, mask=ok, other=0.0).to(tl.float32)
    rstd = 1.0 / tl.sqrt(tl.sum(x * x, 0) / width + eps)
    y = x * rstd * tl.load(G + i, mask=ok)
    tl.store(Y + row * width + i, y, mask=ok)


def rms_norm(hidden, gain, eps=1e-6):
    rows, width = hidden.shape
    y = torch.empty_like(hidden)
    rms_fwd[(rows,)](hidden, gain, y, width, eps, triton.next_power_of_2(width), num_warps=8)
    return y


class ModelNew(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, hidden):
        return rms_norm(hidden, self.gain)
