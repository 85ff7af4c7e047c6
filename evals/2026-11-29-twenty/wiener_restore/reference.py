import torch
import torch.nn as nn

BATCH = 16
HEIGHT = 2048
WIDTH = 2048
NSR = 0.01


class Model(nn.Module):
    """Wiener deconvolution of a stack of images with one known transfer function."""

    def __init__(self, nsr):
        super().__init__()
        self.nsr = nsr

    def forward(self, images, otf_re, otf_im):
        otf = torch.complex(otf_re, otf_im)
        spec = torch.fft.rfft2(images)
        gain = otf.conj() / (otf_re ** 2 + otf_im ** 2 + self.nsr)
        return torch.fft.irfft2(spec * gain, s=images.shape[-2:])


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    images = torch.rand(BATCH, HEIGHT, WIDTH, device=dev)
    yy = torch.arange(HEIGHT, device=dev, dtype=torch.float32)[:, None] - 3.0
    xx = torch.arange(WIDTH, device=dev, dtype=torch.float32)[None, :] - 4.0
    psf = torch.exp(-(yy * yy + 0.5 * xx * xx) / 4.0)
    otf = torch.fft.rfft2(psf / psf.sum())
    return [images, otf.real.contiguous(), otf.imag.contiguous()]


def get_init_inputs():
    return [NSR]
