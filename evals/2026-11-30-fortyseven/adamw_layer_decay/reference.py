"""AdamW with layer-wise learning-rate decay for fine-tuning a ViT. Parameters live in one flat buffer, one aligned segment per tensor."""
import torch
import torch.nn as nn

DIM = 384
LAYERS = 12
ALIGN = 16


def segments(dim, layers, decay):
    """(offset, size, lr scale, decayed?) of every tensor of the blocks, each rounded up to ALIGN elements."""
    out, offset = [], 0
    for layer in range(layers):
        scale = decay ** (layers - 1 - layer)
        shapes = [(dim,), (dim,), (3 * dim, dim), (3 * dim,), (dim, dim), (dim,),
                  (dim,), (dim,), (4 * dim, dim), (4 * dim,), (dim, 4 * dim), (dim,)]
        for shape in shapes:
            n = 1
            for s in shape:
                n *= s
            n = (n + ALIGN - 1) // ALIGN * ALIGN
            out.append((offset, n, scale, len(shape) > 1))
            offset += n
    return out, offset


class Model(nn.Module):
    def __init__(self, dim, layers, lr=1e-2, decay=0.75, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.05):
        super().__init__()
        self.segments, self.total = segments(dim, layers, decay)
        self.lr, self.beta1, self.beta2, self.eps, self.weight_decay = lr, beta1, beta2, eps, weight_decay

    def forward(self, param, grad, exp_avg, exp_avg_sq, step):
        c1, c2 = 1 - self.beta1 ** step, 1 - self.beta2 ** step
        m = self.beta1 * exp_avg + (1 - self.beta1) * grad
        v = self.beta2 * exp_avg_sq + (1 - self.beta2) * grad * grad
        update = (m / c1) / ((v / c2).sqrt() + self.eps)
        new = torch.empty_like(param)
        for start, n, scale, decayed in self.segments:
            lr = self.lr * scale
            wd = self.weight_decay if decayed else 0.0
            s = slice(start, start + n)
            new[s] = param[s] * (1 - lr * wd) - lr * update[s]
        return new, m, v


def get_inputs():
    _, total = segments(DIM, LAYERS, 1.0)
    return [torch.randn(total), torch.randn(total), torch.randn(total) * 0.1, torch.rand(total) * 0.1, 10]


def get_init_inputs():
    return [DIM, LAYERS]
