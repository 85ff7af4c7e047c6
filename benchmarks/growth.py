"""How the processor time of a check and of a verdict grows with the number of layers or kernels in one file.

    python benchmarks/growth.py [--counts 10 40 200] [--write DIR]

Each program is made for a number of layers: one matmul and one norm kernel behind launchers that all layers share (``layers``),
the same two kernels launched anew for each layer (``written_out``), and a pair of kernels of its own for each layer, called
by a model (``copies``) or by nobody, so that their sizes stay open (``open_copies``). Twice the layers may take twice the
time, but not four times. Two networks of the size that benchmarks of whole models have come last (``vgg``, ``googlenet``). Seconds
are of the processor, with all children; beside them what ``import libcst`` takes at that moment, as machines and their loads differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_HEAD = """
import torch
import triton
import triton.language as tl
"""

_KERNELS = """

@triton.jit
def matmul{i}_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=(m < M)[:, None] & (start + k < K)[None, :], other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + n[None, :], mask=(n < N)[None, :] & (start + k < K)[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def norm{i}_kernel(x, w, out, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    v = tl.load(x + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(v * v, axis=0) / N + eps)
    g = tl.load(w + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row * N + cols, (v * scale * g).to(tl.float16), mask=mask)
"""

_LAUNCHERS = """

def linear{i}(a, b):
    assert a.dtype == torch.float16 and b.dtype == torch.float16
    assert a.is_contiguous() and b.is_contiguous()
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    matmul{i}_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a, b, c, M, N, K, BM=16, BN=16, BK=32)
    return c


def norm{i}(x, w):
    M, N = x.shape
    out = torch.empty_like(x)
    norm{i}_kernel[(M,)](x, w, out, N, 1e-6, BLOCK=triton.next_power_of_2(N))
    return out
"""

_INLINE = """
        h{j} = torch.empty((x.shape[0], {n}), device=x.device, dtype=torch.float16)
        matmul_kernel[(triton.cdiv(x.shape[0], 16), triton.cdiv({n}, 16))](
            x, self.w{i}, h{j}, x.shape[0], {n}, {k}, BM=16, BN=16, BK=32
        )
        x = torch.empty_like(h{j})
        norm_kernel[(h{j}.shape[0],)](h{j}, self.g{i}, x, {n}, 1e-6, BLOCK=triton.next_power_of_2({n}))
"""

#: Widths of the layers in turn: as a model has them, a few for many layers.
_WIDTHS = (1024, 4096, 1024, 2048)
_ROWS = 512


def layers(count: int) -> str:
    """A model of ``count`` layers that call one matmul and one norm kernel."""
    calls = [f"        x = norm(linear(x, self.w{i}), self.g{i})" for i in range(count)]
    return _HEAD + _KERNELS.format(i="") + _LAUNCHERS.format(i="") + _model(count, calls)


def written_out(count: int) -> str:
    """The same with a launch of its own for each layer."""
    calls = [_INLINE.format(i=i, j=i, n=_width(i + 1), k=_width(i)).strip("\n") for i in range(count)]
    return _HEAD + _KERNELS.format(i="") + _model(count, calls)


def copies(count: int) -> str:
    """A model of ``count`` layers, each with kernels and launchers of its own."""
    calls = [f"        x = norm{i}(linear{i}(x, self.w{i}), self.g{i})" for i in range(count)]
    return open_copies(count) + _model(count, calls)


def open_copies(count: int) -> str:
    """``count`` matmul and norm kernels with launchers whose sizes their callers choose."""
    return _HEAD + "".join(_KERNELS.format(i=i) + _LAUNCHERS.format(i=i) for i in range(count))


_NETWORK = """

@triton.jit
def conv_kernel(
    x, w, bias, out, N, C, H, W, OC, OH, OW, stride, pad,
    KH: tl.constexpr, KW: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, RELU: tl.constexpr,
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    ow, oh, image = m % OW, (m // OW) % OH, m // (OW * OH)
    K = C * KH * KW
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        kw, kh, c = k % KW, (k // KW) % KH, k // (KW * KH)
        ih = oh[:, None] * stride + kh[None, :] - pad
        iw = ow[:, None] * stride + kw[None, :] - pad
        inside = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W) & (k < K)[None, :] & (m < N * OH * OW)[:, None]
        a = tl.load(x + ((image[:, None] * C + c[None, :]) * H + ih) * W + iw, mask=inside, other=0.0)
        b = tl.load(w + n[None, :] * K + k[:, None], mask=(n < OC)[None, :] & (k < K)[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
    acc += tl.load(bias + n, mask=n < OC, other=0.0)[None, :]
    if RELU:
        acc = tl.maximum(acc, 0.0)
    place = ((image[:, None] * OC + n[None, :]) * OH + oh[:, None]) * OW + ow[:, None]
    tl.store(out + place, acc, mask=(m < N * OH * OW)[:, None] & (n < OC)[None, :])


@triton.jit
def pool_kernel(x, out, H, W, OH, OW, total, stride, pad, K: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ow, oh, plane = i % OW, (i // OW) % OH, i // (OW * OH)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for kh in range(K):
        for kw in range(K):
            ih, iw = oh * stride + kh - pad, ow * stride + kw - pad
            inside = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W) & (i < total)
            best = tl.maximum(best, tl.load(x + (plane * H + ih) * W + iw, mask=inside, other=float("-inf")))
    tl.store(out + i, best, mask=i < total)


@triton.jit
def linear_kernel(
    a, b, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, RELU: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=(m < M)[:, None] & (start + k < K)[None, :], other=0.0)
        y = tl.load(b + n[None, :] * K + (start + k)[:, None], mask=(n < N)[None, :] & (start + k < K)[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
    acc += tl.load(bias + n, mask=n < N, other=0.0)[None, :]
    if RELU:
        acc = tl.maximum(acc, 0.0)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


def conv(x, layer, relu=True):
    x = x.contiguous()
    N, C, H, W = x.shape
    OC, _, KH, KW = layer.weight.shape
    stride, pad = layer.stride[0], layer.padding[0]
    OH, OW = (H + 2 * pad - KH) // stride + 1, (W + 2 * pad - KW) // stride + 1
    out = torch.empty((N, OC, OH, OW), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(N * OH * OW, 64), triton.cdiv(OC, 64))
    conv_kernel[grid](
        x, layer.weight, layer.bias, out, N, C, H, W, OC, OH, OW, stride, pad, KH, KW, BM=64, BN=64, BK=32, RELU=relu
    )
    return out


def pool(x, size, stride, pad=0):
    N, C, H, W = x.shape
    OH, OW = (H + 2 * pad - size) // stride + 1, (W + 2 * pad - size) // stride + 1
    out = torch.empty((N, C, OH, OW), device=x.device, dtype=x.dtype)
    total = N * C * OH * OW
    pool_kernel[(triton.cdiv(total, 256),)](x, out, H, W, OH, OW, total, stride, pad, K=size, BLOCK=256)
    return out


def linear(x, layer, relu=True):
    M, K = x.shape
    N = layer.weight.shape[0]
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    linear_kernel[grid](x, layer.weight, layer.bias, out, M, N, K, BM=32, BN=32, BK=32, RELU=relu)
    return out
"""


def vgg() -> str:
    """A VGG-16 with Triton kernels for its layers, beside the one of torch."""
    built, called, reference = [], [], []
    channels = 3
    for block, (width, count) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))):
        for number in range(count):
            name = f"conv{block}_{number}"
            built.append(f"self.{name} = torch.nn.Conv2d({channels}, {width}, 3, padding=1)")
            called.append(f"x = conv(x, self.{name})")
            reference.append(f"x = torch.relu(self.{name}(x))")
            channels = width
        called.append("x = pool(x, 2, 2)")
        reference.append("x = torch.nn.functional.max_pool2d(x, 2, 2)")
    called.append("x = x.view(x.shape[0], -1)")
    reference.append("x = x.flatten(1)")
    for number, (fan_in, fan_out) in enumerate(((512 * 7 * 7, 4096), (4096, 4096), (4096, 1000))):
        built.append(f"self.fc{number} = torch.nn.Linear({fan_in}, {fan_out})")
        called.append(f"x = linear(x, self.fc{number}, relu={number < 2})")
        reference.append(f"x = {'torch.relu' if number < 2 else ''}(self.fc{number}(x))")
    return _network(built, called, reference, "torch.rand(10, 3, 224, 224)")


def googlenet() -> str:
    """A GoogLeNet (Inception v1): 57 convolutions in nine modules."""
    built, called, reference = [], [], []

    def add(name: str, fan_in: int, fan_out: int, size: int, stride: int = 1, source: str = "x", to: str = "x") -> None:
        built.append(
            f"self.{name} = torch.nn.Conv2d({fan_in}, {fan_out}, {size}, stride={stride}, padding={size // 2})"
        )
        called.append(f"{to} = conv({source}, self.{name})")
        reference.append(f"{to} = torch.relu(self.{name}({source}))")

    def pooled(size: int, stride: int, source: str = "x", to: str = "x") -> None:
        called.append(f"{to} = pool({source}, {size}, {stride}, 1)")
        reference.append(f"{to} = torch.nn.functional.max_pool2d({source}, {size}, {stride}, 1)")

    add("conv1", 3, 64, 7, 2)
    pooled(3, 2)
    add("conv2", 64, 64, 1)
    add("conv3", 64, 192, 3)
    pooled(3, 2)
    modules = (
        (192, 64, 96, 128, 16, 32, 32), (256, 128, 128, 192, 32, 96, 64), (480, 192, 96, 208, 16, 48, 64),
        (512, 160, 112, 224, 24, 64, 64), (512, 128, 128, 256, 24, 64, 64), (512, 112, 144, 288, 32, 64, 64),
        (528, 256, 160, 320, 32, 128, 128), (832, 256, 160, 320, 32, 128, 128), (832, 384, 192, 384, 48, 128, 128),
    )  # fmt: skip
    for i, (fan_in, one, reduce3, three, reduce5, five, proj) in enumerate(modules):
        if i in (2, 7):
            pooled(3, 2)
        add(f"i{i}_1", fan_in, one, 1, to="a")
        add(f"i{i}_3r", fan_in, reduce3, 1, to="b")
        add(f"i{i}_3", reduce3, three, 3, source="b", to="b")
        add(f"i{i}_5r", fan_in, reduce5, 1, to="c")
        add(f"i{i}_5", reduce5, five, 5, source="c", to="c")
        pooled(3, 1, to="d")
        add(f"i{i}_p", fan_in, proj, 1, source="d", to="d")
        for lines in (called, reference):
            lines.append("x = torch.cat([a, b, c, d], dim=1)")
    for lines in (called, reference):
        lines.append("x = x.mean(dim=(2, 3))")
    built.append("self.fc = torch.nn.Linear(1024, 1000)")
    called.append("x = linear(x, self.fc, relu=False)")
    reference.append("x = self.fc(x)")
    return _network(built, called, reference, "torch.rand(10, 3, 224, 224)")


def _network(built: list[str], called: list[str], reference: list[str], given: str) -> str:
    text = _HEAD + _NETWORK
    for name, calls in (("Model", reference), ("ModelNew", called)):
        lines = ["def __init__(self):", "    super().__init__()", *(f"    {line}" for line in built), ""]
        lines += ["def forward(self, x):", *(f"    {line}" for line in calls), "    return x"]
        text += f"\n\nclass {name}(torch.nn.Module):\n" + "\n".join(f"    {line}".rstrip() for line in lines) + "\n"
    return f"{text}\n\ndef get_inputs():\n    return [{given}]\n"


PROGRAMS: dict[str, Callable[[int], str]] = {f.__name__: f for f in (layers, written_out, copies, open_copies)}
NETWORKS: dict[str, Callable[[], str]] = {f.__name__: f for f in (vgg, googlenet)}


def _width(layer: int) -> int:
    return _WIDTHS[layer % len(_WIDTHS)]


def _model(count: int, calls: list[str]) -> str:
    parameters = [
        line
        for i in range(count)
        for line in (
            f"        self.w{i} = torch.nn.Parameter(torch.randn({_width(i)}, {_width(i + 1)}, dtype=torch.float16))",
            f"        self.g{i} = torch.nn.Parameter(torch.ones({_width(i + 1)}, dtype=torch.float16))",
        )
    ]
    return "\n".join(
        [
            "\n\nclass ModelNew(torch.nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            *parameters,
            "\n    def forward(self, x):",
            *calls,
            "        return x",
            "\n\ndef get_inputs():",
            f"    return [torch.randn({_ROWS}, {_width(0)}, dtype=torch.float16)]\n",
        ]
    )


def main() -> None:
    from check_speed import run  # beside this file

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", nargs="+", type=int, default=[10, 40, 200])
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--write", type=Path, help="only write the programs there")
    options = parser.parse_args()
    if options.write is not None:
        options.write.mkdir(parents=True, exist_ok=True)
        for name, network in NETWORKS.items():
            (options.write / f"{name}.py").write_text(network())
        for name in options.programs:
            for count in options.counts:
                (options.write / f"{name}_{count}.py").write_text(PROGRAMS[name](count))
        return
    kernlint = [sys.executable, "-m", "kernlint"]
    print(f"{'CPU seconds':14}{'layers':>8}{'check':>8}{'verdict':>8}{'libcst':>8}")
    programs = [(name, str(count), PROGRAMS[name](count)) for name in options.programs for count in options.counts]
    programs += [(name, "", network()) for name, network in NETWORKS.items()]
    with tempfile.TemporaryDirectory() as scratch:
        # First one that is not told: Python compiles kernlint then, where it has not before.
        for name, count, text in [("", "", layers(1)), *programs]:
            # In a folder of its own: who reads a kernel from elsewhere is looked for in the files beside it.
            path = Path(scratch) / f"program_{name}{count}" / "k.py"
            path.parent.mkdir()
            path.write_text(text)
            libcst = [run([sys.executable, "-c", "import libcst"]).cpu_s]
            check = run([*kernlint, "check", "--isolated", "--no-cache", "--jobs", "1", str(path)])
            libcst.append(run([sys.executable, "-c", "import libcst"]).cpu_s)
            verdict = run([*kernlint, str(path)])
            libcst.append(run([sys.executable, "-c", "import libcst"]).cpu_s)
            if name:
                print(f"{name:14}{count:>8}{check.cpu_s:8.2f}{verdict.cpu_s:8.2f}{sum(libcst) / 3:8.2f}", flush=True)


if __name__ == "__main__":
    main()
