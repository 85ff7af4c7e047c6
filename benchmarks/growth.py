"""How the processor time of a check and of a verdict grows with the number of layers or kernels in one file.

    python benchmarks/growth.py [--counts 10 40 200] [--write DIR]

Each program is made for a number of layers: one matmul and one norm kernel behind launchers that all layers share (``layers``),
the same two kernels launched anew for each layer (``written_out``), and a pair of kernels of its own for each layer, called
by a model (``copies``) or by nobody, so that their sizes stay open (``open_copies``). Twice the layers may take twice the
time, but not four times. Seconds are of the processor, with all children.
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


PROGRAMS: dict[str, Callable[[int], str]] = {f.__name__: f for f in (layers, written_out, copies, open_copies)}


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
        for name in options.programs:
            for count in options.counts:
                (options.write / f"{name}_{count}.py").write_text(PROGRAMS[name](count))
        return
    kernlint = [sys.executable, "-m", "kernlint"]
    print(f"{'CPU seconds':14}{'layers':>8}{'check':>8}{'verdict':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.programs:
            for count in options.counts:
                path = Path(scratch) / f"{name}_{count}.py"
                path.write_text(PROGRAMS[name](count))
                check = run([*kernlint, "check", "--isolated", "--no-cache", "--jobs", "1", str(path)])
                verdict = run([*kernlint, str(path)], (0, 1, 2))
                print(f"{name:14}{count:8}{check.cpu_s:8.2f}{verdict.cpu_s:8.2f}", flush=True)


if __name__ == "__main__":
    main()
