import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pcen_kernel(
    e_ptr, o_ptr, alpha_ptr, delta_ptr, root_ptr,
    T, F, smooth,
    BLOCK_F: tl.constexpr,
):
    b = tl.program_id(0).to(tl.int64)
    f = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
    fm = f < F
    alpha = tl.load(alpha_ptr + f, mask=fm, other=0.0)
    delta = tl.load(delta_ptr + f, mask=fm, other=1.0)
    root = tl.load(root_ptr + f, mask=fm, other=1.0)
    bias = tl.exp(root * tl.log(delta))

    e_ptr += b * T * F
    o_ptr += b * T * F
    # smoother starts from the first frame
    m = tl.load(e_ptr + f, mask=fm, other=1.0)
    for t in range(0, T):
        e = tl.load(e_ptr + t * F + f, mask=fm, other=1.0)
        m = (1.0 - smooth) * m + smooth * e
        gain = tl.exp(-alpha * tl.log(m + 1e-6))
        y = tl.exp(root * tl.log(e * gain + delta)) - bias
        tl.store(o_ptr + t * F + f, y, mask=fm)


class ModelNew(nn.Module):
    def __init__(self, bands, smooth):
        super().__init__()
        self.smooth = smooth
        self.alpha = nn.Parameter(torch.full((bands,), 0.96))
        self.delta = nn.Parameter(torch.full((bands,), 2.0))
        self.root = nn.Parameter(torch.full((bands,), 0.5))

    def forward(self, energy):
        energy = energy.contiguous()
        B, T, F = energy.shape
        out = torch.empty_like(energy)
        BLOCK_F = 32
        pcen_kernel[(B, triton.cdiv(F, BLOCK_F))](
            energy, out, self.alpha, self.delta, self.root,
            T, F, self.smooth,
            BLOCK_F=BLOCK_F, num_warps=1,
        )
        return out
