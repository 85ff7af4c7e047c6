import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ncc_kernel(fixed_ptr, moving_ptr, out_ptr, n_voxels, BLOCK: tl.constexpr):
    pair = tl.program_id(0).to(tl.int64)
    f_base = fixed_ptr + pair * n_voxels
    m_base = moving_ptr + pair * n_voxels
    # integer sums are exact: a lane sees at most n_voxels / BLOCK values of up to 255 * 255
    sf = tl.zeros([BLOCK], dtype=tl.int32)
    sm = tl.zeros([BLOCK], dtype=tl.int32)
    sff = tl.zeros([BLOCK], dtype=tl.int32)
    smm = tl.zeros([BLOCK], dtype=tl.int32)
    sfm = tl.zeros([BLOCK], dtype=tl.int32)
    for start in range(0, n_voxels, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n_voxels
        f = tl.load(f_base + offs, mask=mask, other=0).to(tl.int32)
        m = tl.load(m_base + offs, mask=mask, other=0).to(tl.int32)
        sf += f
        sm += m
        sff += f * f
        smm += m * m
        sfm += f * m
    n = n_voxels.to(tl.float64)
    tf = tl.sum(sf.to(tl.int64), axis=0).to(tl.float64)
    tm = tl.sum(sm.to(tl.int64), axis=0).to(tl.float64)
    vff = tl.sum(sff.to(tl.int64), axis=0).to(tl.float64) - tf * tf / n
    vmm = tl.sum(smm.to(tl.int64), axis=0).to(tl.float64) - tm * tm / n
    vfm = tl.sum(sfm.to(tl.int64), axis=0).to(tl.float64) - tf * tm / n
    ncc = vfm / tl.sqrt(vff * vmm + 1e-6)
    tl.store(out_ptr + pair, ncc.to(tl.float32))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, fixed, moving):
        fixed, moving = fixed.contiguous(), moving.contiguous()
        pairs = fixed.shape[0]
        n_voxels = fixed.numel() // pairs
        out = torch.empty(pairs, device=fixed.device, dtype=torch.float32)
        ncc_kernel[(pairs,)](fixed, moving, out, n_voxels, BLOCK=4096, num_warps=8)
        return out
