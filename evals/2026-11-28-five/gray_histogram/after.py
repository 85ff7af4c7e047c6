import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(img_ptr, hist_ptr, pixels, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    image = tl.program_id(1)
    bins = tl.arange(0, 256)
    counts = tl.zeros([256], dtype=tl.int32)
    for i in range(STEPS):
        offs = (tl.program_id(0) * STEPS + i) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < pixels
        v = tl.load(img_ptr + image.to(tl.int64) * pixels + offs, mask=mask, other=0).to(tl.int32)
        counts += tl.histogram(v, 256)
        # lanes beyond the image were counted in bin 0
        extra = BLOCK - tl.sum(mask.to(tl.int32), axis=0)
        counts -= tl.where(bins == 0, extra, 0)
    tl.atomic_add(hist_ptr + image * 256 + bins, counts, mask=counts > 0)


class ModelNew(torch.nn.Module):
    def forward(self, img):
        img = img.contiguous()
        n = img.shape[0]
        pixels = img.numel() // n
        hist = torch.zeros((n, 256), dtype=torch.int32, device=img.device)
        grid = lambda meta: (triton.cdiv(pixels, meta["BLOCK"] * meta["STEPS"]), n)
        histogram_kernel[grid](img, hist, pixels, BLOCK=2048, STEPS=4)
        return hist
