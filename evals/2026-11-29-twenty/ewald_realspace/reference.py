import torch
import torch.nn as nn

N_ATOMS = 2048
BOX = 20.0
ALPHA = 0.35
R_CUT = 9.0


class Model(nn.Module):
    """Real-space part of the Ewald potential at every ion (minimum image, spherical cutoff)."""

    def __init__(self, box, alpha, r_cut):
        super().__init__()
        self.box = box
        self.alpha = alpha
        self.r_cut = r_cut

    def forward(self, pos, charge):
        r2 = None
        for c in range(3):
            d = pos[:, None, c] - pos[None, :, c]
            d = d - self.box * torch.floor(d / self.box + 0.5)
            r2 = d * d if r2 is None else r2 + d * d
        r = torch.sqrt(r2)
        keep = r < self.r_cut
        keep.fill_diagonal_(False)
        v = torch.erfc(self.alpha * r) / r
        v = torch.where(keep, v, torch.zeros_like(v))
        return v @ charge


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    pos = torch.rand(N_ATOMS, 3, device=dev) * BOX
    charge = torch.randn(N_ATOMS, device=dev)
    return [pos, charge]


def get_init_inputs():
    return [BOX, ALPHA, R_CUT]
