import torch
import torch.nn as nn

T = 16384
C = 512
NDM = 128
MAX_DELAY = 1500


def delay_table(ndm, nchan, max_delay, f_lo=1.1, f_hi=1.5):
    """Delay, in samples, of every channel for every trial dispersion measure."""
    freq = torch.linspace(f_hi, f_lo, nchan, dtype=torch.float64)
    curve = (freq ** -2 - f_hi ** -2) / (f_lo ** -2 - f_hi ** -2)
    trial = torch.linspace(0.0, 1.0, ndm, dtype=torch.float64)
    return torch.round(max_delay * trial[:, None] * curve[None, :]).clamp(0, max_delay).to(torch.int32)


class Model(nn.Module):
    """Incoherent dedispersion of an 8-bit filterbank (time, channel), as sigproc writes it."""

    def __init__(self, nchan, ndm, max_delay):
        super().__init__()
        self.max_delay = max_delay
        self.register_buffer("delays", delay_table(ndm, nchan, max_delay))

    def forward(self, fil):
        t_out = fil.shape[0] - self.max_delay
        t = torch.arange(t_out, device=fil.device)
        out = torch.zeros(self.delays.shape[0], t_out, dtype=torch.float32, device=fil.device)
        for c in range(fil.shape[1]):
            out += fil[:, c][t[None, :] + self.delays[:, c:c + 1].long()].float()
        return out


def get_inputs():
    return [torch.randint(0, 256, (T, C), dtype=torch.uint8)]


def get_init_inputs():
    return [C, NDM, MAX_DELAY]
