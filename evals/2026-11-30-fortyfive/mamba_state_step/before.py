import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def state_step_kernel(
    state_ptr, x_ptr, dt_ptr, b_ptr, c_ptr, z_ptr, a_log_ptr, d_ptr, dt_bias_ptr, y_ptr, new_ptr,
    heads, groups, head_dim, n_state,
    BLOCK_P: tl.constexpr, BLOCK_N: tl.constexpr,
):
    pid_p = tl.program_id(0)
    h = tl.program_id(1)
    batch = tl.program_id(2)

    offs_p = pid_p * BLOCK_P + tl.arange(0, BLOCK_P)
    offs_n = tl.arange(0, BLOCK_N)
    p_mask = offs_p < head_dim
    n_mask = offs_n < n_state
    tile_mask = p_mask[:, None] & n_mask[None, :]

    bh = (batch * heads + h).to(tl.int64)
    tile = bh * head_dim * n_state + offs_p[:, None] * n_state + offs_n[None, :]
    state = tl.load(state_ptr + tile, mask=tile_mask, other=0.0)

    # step size: softplus(dt + bias), linear for large arguments
    raw = tl.load(dt_ptr + bh).to(tl.float32) + tl.load(dt_bias_ptr + h)
    step = tl.where(raw > 20.0, raw, tl.log(1.0 + tl.exp(raw)))
    decay = tl.exp(-tl.exp(tl.load(a_log_ptr + h)) * step)

    bg = batch * groups + h // (heads // groups)
    b = tl.load(b_ptr + bg * n_state + offs_n, mask=n_mask, other=0.0).to(tl.float32)
    c = tl.load(c_ptr + bg * n_state + offs_n, mask=n_mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + bh * head_dim + offs_p, mask=p_mask, other=0.0).to(tl.float32)
    z = tl.load(z_ptr + bh * head_dim + offs_p, mask=p_mask, other=0.0).to(tl.float32)

    new = state * decay + (x * step)[:, None] * b[None, :]
    tl.store(new_ptr + tile, new, mask=tile_mask)

    y = tl.sum(new * c[None, :], axis=1) + tl.load(d_ptr + h) * x
    y = y * z * tl.sigmoid(z)
    tl.store(y_ptr + bh * head_dim + offs_p, y.to(y_ptr.dtype.element_ty), mask=p_mask)


class ModelNew(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.a_log = nn.Parameter(torch.log(torch.rand(heads) * 15 + 1))
        self.d_skip = nn.Parameter(torch.ones(heads) + 0.1 * torch.randn(heads))
        self.dt_bias = nn.Parameter(torch.randn(heads) * 0.5 - 3.0)

    def forward(self, state, x, dt, b_in, c_in, z):
        batch, heads, head_dim, n_state = state.shape
        y = torch.empty_like(x)
        new = torch.empty_like(state)
        BLOCK_P = 32
        grid = (triton.cdiv(head_dim, BLOCK_P), heads, batch)
        state_step_kernel[grid](
            state, x, dt, b_in, c_in, z, self.a_log, self.d_skip, self.dt_bias, y, new,
            heads, b_in.shape[1], head_dim, n_state,
            BLOCK_P=BLOCK_P, BLOCK_N=triton.next_power_of_2(n_state), num_warps=4,
        )
        return y, new
