"""MPPI: roll K sampled control sequences of a speed-controlled unicycle over a horizon and score them."""
import torch
import torch.nn as nn

K = 16384
T = 48
NUM_OBS = 6


class Model(nn.Module):
    def __init__(self, num_obs, dt):
        super().__init__()
        self.dt = dt
        self.register_buffer("obstacles", torch.rand(num_obs, 3) * torch.tensor([4.0, 4.0, 0.5]) + torch.tensor([0.5, 0.5, 0.3]))
        self.register_buffer("goal", torch.tensor([5.0, 5.0]))

    def forward(self, x0, u_nom, noise):
        horizon, _, k = noise.shape
        x, y, th, v = (x0[i].expand(k) for i in range(4))
        cost = torch.zeros(k, device=noise.device)
        for t in range(horizon):
            acc = (u_nom[t, 0] + noise[t, 0]).clamp(-2.0, 2.0)
            om = (u_nom[t, 1] + noise[t, 1]).clamp(-1.5, 1.5)
            v = (v + acc * self.dt).clamp(-0.5, 3.0)
            th = th + om * self.dt
            x = x + v * torch.cos(th) * self.dt
            y = y + v * torch.sin(th) * self.dt
            cost = cost + (x - self.goal[0]) ** 2 + (y - self.goal[1]) ** 2 + 0.05 * (acc * acc + om * om)
            for m in range(self.obstacles.shape[0]):
                ox, oy, r = self.obstacles[m]
                d = torch.sqrt((x - ox) ** 2 + (y - oy) ** 2 + 1e-6)
                cost = cost + 50.0 * torch.relu(r - d)
        return cost, torch.stack([x, y, th, v])


def get_inputs():
    x0 = torch.tensor([0.0, 0.0, 0.7, 0.5])
    u_nom = torch.randn(T, 2) * 0.3
    noise = torch.randn(T, 2, K) * 0.6
    return [x0, u_nom, noise]


def get_init_inputs():
    return [NUM_OBS, 0.05]
