import torch
import torch.nn as nn

HORIZON = 128
ENVS = 1024


class Model(nn.Module):
    """Generalised advantage estimation over a time-major rollout buffer."""

    def __init__(self, gamma, lam):
        super().__init__()
        self.gamma = gamma
        self.lam = lam

    def forward(self, rewards, values, dones):
        # rewards, dones: [T, N]; values: [T + 1, N] (last row = bootstrap value)
        alive = 1.0 - dones
        delta = rewards + self.gamma * values[1:] * alive - values[:-1]
        decay = self.gamma * self.lam * alive
        adv = torch.empty_like(rewards)
        running = torch.zeros_like(rewards[0])
        for t in range(rewards.shape[0] - 1, -1, -1):
            running = torch.addcmul(delta[t], decay[t], running, out=adv[t])
        return adv, adv + values[:-1]


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rewards = torch.randn(HORIZON, ENVS, device=device)
    values = torch.randn(HORIZON + 1, ENVS, device=device)
    dones = (torch.rand(HORIZON, ENVS, device=device) < 0.02).float()
    return [rewards, values, dones]


def get_init_inputs():
    return [0.99, 0.95]
