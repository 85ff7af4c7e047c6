"""Host time per call: launches by number and kind of arguments, autotuned or not, in a row and in loops; torch calls.

    python calibration/h100/host.py OUT.csv

Every call does next to no device work, so that the wall time of an eager loop is the host's. Columns as
`h100-micro.csv`, with `call_us` and `spread` (highest over lowest of the repeats): device,term,params,call_us,spread.
"""

from __future__ import annotations

import csv
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import torch
import triton
import triton.language as tl

CALLS = 300
REPEATS = 9
N = 1024


@triton.jit
def args3(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def args6(a, b, c, y, n, m, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(a + i, mask=i < n), mask=i < m)


@triton.jit
def args12(a, b, c, y, n, m, s0, s1, s2, s3, s4, s5, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.arange(0, BM)
    tl.store(y + i * s0, tl.load(a + i * s1, mask=i < n), mask=i < m)


@triton.jit
def args20(
    a, b, c, d, e, f, g, y, n, m, s0, s1, s2, s3, s4, s5, f0, f1, f2, f3,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    i = tl.arange(0, BM)
    tl.store(y + i * s0, tl.load(a + i * s1, mask=i < n), mask=i < m)


@triton.autotune(configs=[triton.Config({"BLOCK": N}, num_warps=4)], key=["n"])
@triton.jit
def tuned3(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.autotune(configs=[triton.Config({"BM": N, "BN": 64, "BK": b}) for b in (32, 64)], key=["n", "m", "s0"])
@triton.jit
def tuned12(a, b, c, y, n, m, s0, s1, s2, s3, s4, s5, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.arange(0, BM)
    tl.store(y + i * s0, tl.load(a + i * s1, mask=i < n), mask=i < m)


@triton.heuristics({"BLOCK": lambda a: triton.next_power_of_2(a["n"])})
@triton.jit
def guessed3(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def cases() -> Iterator[tuple[str, str, Callable[[], object]]]:
    x, y, z, w = (torch.randn(N, device="cuda") for _ in range(4))
    m = torch.randn(32, 32, device="cuda")
    batch = torch.randn(64, 32, 32, device="cuda")
    half = torch.randn(32, 32, device="cuda", dtype=torch.float16)
    strides = (m.stride(0), 1, 32, 1, 32, 1)
    grid = lambda meta: (triton.cdiv(N, meta["BLOCK"]),)  # noqa: E731
    plain = lambda: args3[(1,)](x, y, N, BLOCK=N)  # noqa: E731
    yield "launch", "args=3;grid=tuple", plain
    yield "launch", "args=3;grid=lambda", lambda: args3[grid](x, y, N, BLOCK=N)
    yield "launch", "args=3;grid=tuple;options=1", lambda: args3[(1,)](x, y, N, BLOCK=N, num_warps=4, num_stages=2)
    yield "launch", "args=6;grid=tuple", lambda: args6[(1,)](x, z, w, y, N, N, BLOCK=N)
    yield "launch", "args=12;grid=tuple", lambda: args12[(1,)](x, z, w, y, N, N, *strides, BM=N, BN=64, BK=32)
    yield (
        "launch",
        "args=12;grid=tuple;strides=call",
        lambda: args12[(1, 1)](
            x,
            z,
            w,
            y,
            N,
            N,
            m.stride(0),
            m.stride(1),
            m.stride(0),
            m.stride(1),
            m.stride(0),
            m.stride(1),
            BM=N,
            BN=64,
            BK=32,
        ),
    )
    yield (
        "launch",
        "args=20;grid=tuple",
        lambda: args20[(1,)](x, z, w, x, z, w, x, y, N, N, *strides, 0.5, 0.25, 1.5, 2.5, BM=N, BN=64, BK=32),
    )
    yield "launch", "args=3;grid=tuple;autotuned=1", lambda: tuned3[(1,)](x, y, N)
    yield "launch", "args=3;grid=lambda;autotuned=1", lambda: tuned3[grid](x, y, N)
    yield "launch", "args=12;grid=tuple;autotuned=1", lambda: tuned12[(1,)](x, z, w, y, N, N, *strides)
    yield "launch", "args=3;grid=tuple;heuristics=1", lambda: guessed3[(1,)](x, y, N)

    def in_a_row(count: int) -> Callable[[], object]:
        def call() -> None:
            for _ in range(count):
                out = torch.empty_like(x)
                args3[(1,)](x, out, N, BLOCK=N)

        return call

    for count in (1, 2, 3, 5, 16, 64):
        yield "empty_and_launch", f"count={count}", in_a_row(count)

    def over_views() -> None:
        for e in range(64):
            args12[(1, 1)](
                batch[e], batch[e], batch[e], y, N, N, m.stride(0), m.stride(1), 32, 1, 32, 1, BM=N, BN=64, BK=32
            )

    yield "loop_of_launches_on_views", "count=64;args=12", over_views

    def tuned_over_views() -> None:
        for e in range(64):
            tuned12[(1, 1)](batch[e], batch[e], batch[e], y, N, N, m.stride(0), m.stride(1), 32, 1, 32, 1)

    yield "loop_of_launches_on_views", "count=64;args=12;autotuned=1", tuned_over_views
    yield "torch", "op=empty", lambda: torch.empty((32, 32), device="cuda", dtype=torch.float16)
    yield "torch", "op=empty_like", lambda: torch.empty_like(m)
    yield "torch", "op=zeros", lambda: torch.zeros((32, 32), device="cuda")
    yield "torch", "op=zeros_like", lambda: torch.zeros_like(m)
    yield "torch", "op=contiguous_noop", lambda: m.contiguous()
    yield "torch", "op=contiguous_transposed", lambda: m.t().contiguous()
    yield "torch", "op=contiguous_permuted", lambda: batch.transpose(0, 1).contiguous()
    yield "torch", "op=view", lambda: m.view(-1)
    yield "torch", "op=transpose", lambda: m.t()
    yield "torch", "op=index", lambda: batch[3]
    yield "torch", "op=stride", lambda: m.stride(0)
    yield "torch", "op=to_half", lambda: m.to(torch.float16)
    yield "torch", "op=to_float", lambda: half.to(torch.float32)
    yield "torch", "op=copy_", lambda: x.copy_(y)
    yield "torch", "op=add", lambda: m + m
    yield "torch", "op=relu", lambda: torch.relu(m)
    yield "torch", "op=softmax", lambda: torch.softmax(m, -1)
    yield "torch", "op=sum", lambda: m.sum(-1)
    yield "torch", "op=matmul", lambda: half @ half
    yield "torch", "op=bmm", lambda: torch.bmm(batch, batch)
    yield "torch", "op=cat", lambda: torch.cat([m, m])
    yield "torch", "op=item", lambda: x[0].item()

    class Wrapper(torch.nn.Module):
        def forward(self, value: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(value)
            args3[(1,)](value, out, N, BLOCK=N)
            return out

    module = Wrapper()
    yield "module_call", "launches=1", lambda: module(x)


def measure(call: Callable[[], object]) -> tuple[float, float]:
    """Median microseconds per call in an eager loop, and highest over lowest of the repeats."""
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    calls = max(5, min(CALLS, int(0.02 / max(1e-6, time.perf_counter() - start))))
    times = []
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return statistics.median(times), max(times) / min(times)


def main(path: str) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["device", "term", "params", "call_us", "spread"])
        for term, params, call in cases():
            us, spread = measure(call)
            writer.writerow([torch.cuda.get_device_name(), term, params, f"{us:.2f}", f"{spread:.2f}"])
            file.flush()
            print(term, params, f"{us:.2f}", f"{spread:.2f}")


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1])
