import torch
import torch.nn as nn

STEPS = 4
NEURONS = 16777216


class Model(nn.Module):
    """Leaky integrators with smooth spikes: a layer of a spiking network as it is trained, a few steps of time long."""

    def __init__(self, decay, threshold, slope):
        super().__init__()
        self.decay, self.threshold, self.slope = decay, threshold, slope

    def forward(self, current):
        membrane = torch.zeros_like(current[0])
        spikes = []
        for step in range(current.shape[0]):
            membrane = membrane * self.decay + current[step]
            spike = torch.sigmoid(self.slope * (membrane - self.threshold))
            membrane = membrane * (1.0 - spike)
            spikes.append(spike)
        return torch.stack(spikes)


def get_inputs():
    return [torch.randn(STEPS, NEURONS)]


def get_init_inputs():
    return [0.5, 1.0, 4.0]
