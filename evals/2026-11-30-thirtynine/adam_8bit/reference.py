"""Adam step with block-wise 8-bit states (dynamic-tree code book, blocks of 256 values)."""
import torch
import torch.nn as nn

N = 1 << 20
QBLOCK = 256


def dynamic_map(signed):
    data = [0.0, 1.0]
    for i in range(7):
        b = torch.linspace(0.1, 1.0, 2 ** (i if signed else i + 1) + 1)
        mid = ((b[:-1] + b[1:]) / 2 * 10.0 ** (i - 6)).tolist()
        data += mid + ([-v for v in mid] if signed else [])
    return torch.tensor(sorted(data), dtype=torch.float32)


class Model(nn.Module):
    def __init__(self, lr, beta1, beta2, eps, weight_decay):
        super().__init__()
        self.lr, self.beta1, self.beta2, self.eps, self.weight_decay = lr, beta1, beta2, eps, weight_decay
        for name, signed in (("m", True), ("v", False)):
            q = dynamic_map(signed)
            self.register_buffer(f"code_{name}", q)
            self.register_buffer(f"bound_{name}", (q[1:] + q[:-1]) / 2)

    def dequant(self, code, absmax, book):
        scale = absmax.repeat_interleave(QBLOCK)[: code.numel()]
        return book[code.long()] * scale

    def quant(self, x, bound):
        n = x.numel()
        pad = (-n) % QBLOCK
        blocks = torch.nn.functional.pad(x, (0, pad)).view(-1, QBLOCK)
        absmax = blocks.abs().amax(1).clamp(min=1e-20)
        code = torch.bucketize(blocks / absmax[:, None], bound).view(-1)[:n]
        return code.to(torch.uint8), absmax

    def forward(self, p, g, m_code, m_max, v_code, v_max, step):
        m = self.dequant(m_code, m_max, self.code_m) * self.beta1 + (1 - self.beta1) * g
        v = self.dequant(v_code, v_max, self.code_v) * self.beta2 + (1 - self.beta2) * g * g
        c1 = 1 - self.beta1 ** step
        c2 = 1 - self.beta2 ** step
        p = p * (1 - self.lr * self.weight_decay)
        p = p - self.lr * (m / c1) / ((v / c2).sqrt() + self.eps)
        m_code, m_max = self.quant(m, self.bound_m)
        v_code, v_max = self.quant(v, self.bound_v)
        return p, m_code, m_max, v_code, v_max


def get_inputs():
    nb = (N + QBLOCK - 1) // QBLOCK
    return [torch.randn(N), torch.randn(N) * 0.1,
            torch.randint(0, 256, (N,), dtype=torch.uint8), torch.rand(nb) * 0.1 + 0.01,
            torch.randint(100, 256, (N,), dtype=torch.uint8), torch.rand(nb) * 0.01 + 0.001, 10]


def get_init_inputs():
    return [1e-2, 0.9, 0.995, 1e-8, 0.01]
