import torch
import torch.nn as nn

NUMEL = 67108864
GROUP = 2048


class Model(nn.Module):
    """One AdamW step with both moments kept as int8/uint8 with a scale per group (the second as its square root)."""

    def __init__(self, lr, beta1, beta2, eps, weight_decay):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.eps, self.weight_decay = lr, beta1, beta2, eps, weight_decay

    def forward(self, p, grad, m_q, m_scale, r_q, r_scale, step):
        n = p.numel()
        groups = m_scale.numel()
        pad = groups * 2048 - n

        def tiles(t):
            return torch.nn.functional.pad(t.float(), (0, pad)).view(groups, 2048)

        g = tiles(grad)
        m = self.beta1 * tiles(m_q) * m_scale[:, None] + (1 - self.beta1) * g
        r = tiles(r_q) * r_scale[:, None]
        v = self.beta2 * r * r + (1 - self.beta2) * g * g
        root = v.sqrt()
        m_hat = m / (1 - self.beta1 ** step)
        denom = root / (1 - self.beta2 ** step) ** 0.5 + self.eps
        pf = tiles(p)
        p_new = pf * (1 - self.lr * self.weight_decay) - self.lr * m_hat / denom
        m_s = m.abs().amax(1) / 127.0 + 1e-12
        r_s = root.amax(1) / 255.0 + 1e-12
        m_new = torch.floor(m / m_s[:, None] + 0.5).to(torch.int8)
        r_new = torch.floor(root / r_s[:, None] + 0.5).to(torch.uint8)
        cut = lambda t: t.reshape(-1)[:n]
        return cut(p_new), cut(m_new), m_s, cut(r_new), r_s


def get_inputs():
    groups = (NUMEL + GROUP - 1) // GROUP
    p = torch.randn(NUMEL) * 0.02
    grad = (torch.randn(NUMEL) * 1e-3).to(torch.bfloat16)
    m_q = torch.randint(-127, 128, (NUMEL,)).to(torch.int8)
    r_q = torch.randint(30, 256, (NUMEL,)).to(torch.uint8)
    m_scale = torch.rand(groups) * 2e-6 + 1e-6
    r_scale = torch.rand(groups) * 4e-6 + 4e-6
    return [p, grad, m_q, m_scale, r_q, r_scale, 100]


def get_init_inputs():
    return [1e-3, 0.9, 0.999, 1e-8, 0.01]
