import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rollout_kernel(x0_ptr, state_ptr, cost_ptr, u_ptr, noise_ptr, obs_ptr, goal_ptr, K, horizon, dt,
                   NUM_OBS: tl.constexpr, BLOCK: tl.constexpr):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = k < K
    zero = tl.zeros((BLOCK,), dtype=tl.float32)
    x = zero + tl.load(x0_ptr)
    y = zero + tl.load(x0_ptr + 1)
    th = zero + tl.load(x0_ptr + 2)
    v = zero + tl.load(x0_ptr + 3)
    cost = zero
    goal_x = tl.load(goal_ptr)
    goal_y = tl.load(goal_ptr + 1)
    # the noise of the next step is fetched while this one is computed
    next_a = tl.load(noise_ptr + k, mask=mask, other=0.0)
    next_o = tl.load(noise_ptr + K + k, mask=mask, other=0.0)
    for t in range(horizon):
        acc = tl.load(u_ptr + 2 * t) + next_a
        om = tl.load(u_ptr + 2 * t + 1) + next_o
        n_ptr = noise_ptr + tl.minimum(t + 1, horizon - 1) * (2 * K) + k
        next_a = tl.load(n_ptr, mask=mask, other=0.0)
        next_o = tl.load(n_ptr + K, mask=mask, other=0.0)
        acc = tl.minimum(tl.maximum(acc, -2.0), 2.0)
        om = tl.minimum(tl.maximum(om, -1.5), 1.5)
        v = tl.minimum(tl.maximum(v + acc * dt, -0.5), 3.0)
        th = th + om * dt
        x = x + v * tl.cos(th) * dt
        y = y + v * tl.sin(th) * dt
        gx = x - goal_x
        gy = y - goal_y
        cost += gx * gx + gy * gy + 0.05 * (acc * acc + om * om)
        for m in tl.static_range(NUM_OBS):
            dx = x - tl.load(obs_ptr + 3 * m)
            dy = y - tl.load(obs_ptr + 3 * m + 1)
            r = tl.load(obs_ptr + 3 * m + 2)
            d = tl.sqrt(dx * dx + dy * dy + 1e-6)
            cost += 50.0 * tl.maximum(r - d, 0.0)
    tl.store(state_ptr + k, x, mask=mask)
    tl.store(state_ptr + K + k, y, mask=mask)
    tl.store(state_ptr + 2 * K + k, th, mask=mask)
    tl.store(state_ptr + 3 * K + k, v, mask=mask)
    tl.store(cost_ptr + k, cost, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_obs, dt):
        super().__init__()
        self.dt = dt
        self.register_buffer("obstacles", torch.rand(num_obs, 3) * torch.tensor([4.0, 4.0, 0.5]) + torch.tensor([0.5, 0.5, 0.3]))
        self.register_buffer("goal", torch.tensor([5.0, 5.0]))

    def forward(self, x0, u_nom, noise):
        horizon, _, k = noise.shape
        u_nom = u_nom.contiguous()
        noise = noise.contiguous()
        state = torch.empty(4, k, device=noise.device, dtype=torch.float32)
        cost = torch.empty(k, device=noise.device, dtype=torch.float32)
        BLOCK = 64
        rollout_kernel[(triton.cdiv(k, BLOCK),)](
            x0, state, cost, u_nom, noise, self.obstacles, self.goal, k, horizon, self.dt,
            NUM_OBS=self.obstacles.shape[0], BLOCK=BLOCK, num_warps=2)
        return cost, state
