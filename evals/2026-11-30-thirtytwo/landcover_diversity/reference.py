"""Per-tile class histogram of a uint8 land-cover raster, and Shannon diversity with class weights."""
import torch
import torch.nn as nn

TILES = 64
SIDE = 512


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        w = torch.ones(256)
        w[0] = 0.0                       # 0 is nodata
        self.class_weight = nn.Parameter(w)

    def forward(self, raster):
        t = raster.shape[0]
        codes = raster.reshape(t, -1).long()
        base = torch.arange(t, device=raster.device)[:, None] * 256
        hist = torch.zeros(t * 256, dtype=torch.int32, device=raster.device)
        hist.index_add_(0, (codes + base).reshape(-1), torch.ones(codes.numel(), dtype=torch.int32, device=raster.device))
        hist = hist.reshape(t, 256)
        c = hist.float() * self.class_weight
        p = c / c.sum(1, keepdim=True).clamp(min=1.0)
        shannon = -(p * torch.log(p.clamp(min=1e-12))).sum(1)
        return hist, shannon


def get_inputs():
    # a few dominant classes with patches, as in land-cover products
    coarse = torch.randint(0, 12, (TILES, SIDE // 8 + 1, SIDE // 8 + 1))
    patches = coarse.repeat_interleave(8, 1).repeat_interleave(8, 2)[:, :SIDE, :SIDE]
    table = torch.tensor([10, 10, 10, 10, 10, 40, 40, 50, 60, 80, 95, 0])
    cls = table[patches]
    noise = torch.rand(TILES, SIDE, SIDE)
    cls = torch.where(noise < 0.05, torch.randint(0, 256, (TILES, SIDE, SIDE)), cls)
    return [cls.to(torch.uint8)]


def get_init_inputs():
    return []
