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
REPEATS = 7
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


@triton.jit
def pointers10(a, b, c, d, e, f, g, h, i, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(a + at, mask=at < n), mask=at < n)


@triton.jit
def ints10(x, y, n, s0, s1, s2, s3, s4, s5, s6, s7, s8, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at * s0, mask=at < n), mask=at < n)


@triton.jit
def floats10(x, y, n, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def constants10(
    x, y, n, C0: tl.constexpr, C1: tl.constexpr, C2: tl.constexpr, C3: tl.constexpr, C4: tl.constexpr, C5: tl.constexpr,
    C6: tl.constexpr, C7: tl.constexpr, C8: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


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


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (N, 2 * N)], key=["n"])
@triton.jit
def chosen3(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.heuristics({"BLOCK": lambda a: triton.next_power_of_2(a["n"])})
@triton.jit
def guessed3(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def cases() -> Iterator[tuple[str, str, Callable[[], object]]]:
    x, y, z, w = (torch.randn(N, device="cuda") for _ in range(4))
    m = torch.randn(32, 32, device="cuda")
    batch = torch.randn(64, 32, 32, device="cuda")
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
    yield "launch", "args=4;pointers=2;grid=lambda;options=1", lambda: args3[grid](x, y, N, BLOCK=N, num_warps=4)
    yield "launch", "args=12;pointers=10", lambda: pointers10[(1,)](x, y, z, w, x, y, z, w, x, y, N, BLOCK=N)
    yield "launch", "args=13;ints=10", lambda: ints10[(1,)](x, y, N, 1, 2, 3, 4, 5, 6, 7, 8, 9, BLOCK=N)
    yield "launch", "args=14;floats=10", lambda: floats10[(1,)](x, y, N, *[0.5] * 10, BLOCK=N)
    yield "launch", "args=13;constants=10", lambda: constants10[(1,)](x, y, N, 1, 2, 3, 4, 5, 6, 7, 8, 9, BLOCK=N)
    yield "launch", "args=3;grid=tuple;autotuned=1;configurations=2", lambda: chosen3[(1,)](x, y, N)

    def fresh(count: int) -> Callable[[], object]:
        """Launches on what was allocated for them, each on the result of the one before."""

        def call() -> torch.Tensor:
            value = x
            for _ in range(count):
                out = torch.empty_like(value)
                args3[grid](value, out, value.numel(), BLOCK=N)
                value = out
            return value

        return call

    for count in (1, 2, 4):
        yield "chain", f"count={count}", fresh(count)

    def with_strides() -> torch.Tensor:
        rows, columns = m.shape
        out = torch.empty((rows, columns), device=m.device, dtype=m.dtype)
        args12[(triton.cdiv(rows, 32), 1)](
            m, m, m, out, rows, columns, m.stride(0), m.stride(1), m.stride(0), m.stride(1), out.stride(0), out.stride(1),
            BM=N, BN=64, BK=32, num_warps=4,
        )  # fmt: skip
        return out

    yield "strided", "args=15;launches=1", with_strides

    def over_halves() -> None:
        for part in batch.chunk(8):
            args3[(1,)](part, y, N, BLOCK=N)

    yield "over_chunks", "count=8", over_halves

    class Wrapper(torch.nn.Module):
        def forward(self, value: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(value)
            args3[(1,)](value, out, N, BLOCK=N)
            return out

    module = Wrapper()
    yield "module_call", "launches=1", lambda: module(x)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, value: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(value)
            args3[(1,)](value, out, N, BLOCK=N)
            return out

    yield "autograd_function", "launches=1", lambda: Function.apply(x)
    yield from torch_cases()


def torch_cases() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Calls of torch on little data: the wall time of a loop of them is the host's."""
    functional = torch.nn.functional
    m, v = torch.randn(32, 64, device="cuda"), torch.randn(64, device="cuda")
    half, square = m.half(), torch.randn(64, 64, device="cuda", dtype=torch.float16)
    batch, image = torch.randn(8, 32, 64, device="cuda"), torch.randn(2, 16, 16, 16, device="cuda")
    filters, index = torch.randn(16, 16, 3, 3, device="cuda"), torch.randint(0, 32, (16,), device="cuda")
    heads, flags = torch.randn(2, 4, 64, 64, device="cuda", dtype=torch.float16), m > 0
    wide, large = torch.zeros(32, 64, device="cuda"), torch.randn(1 << 22, device="cuda")
    linear, norm = torch.nn.Linear(64, 64, device="cuda"), torch.nn.LayerNorm(64, device="cuda")
    calls: dict[str, dict[str, Callable[[], object]]] = {
        "alloc": {
            "empty": lambda: torch.empty((32, 64), device="cuda", dtype=torch.float16),
            "empty_of_shape": lambda: torch.empty(m.shape, device=m.device, dtype=m.dtype),
            "empty_like": lambda: torch.empty_like(m),
            "empty_like_16MB": lambda: torch.empty_like(large),
            "new_empty": lambda: m.new_empty(32, 64),
        },
        "fill": {
            "zeros": lambda: torch.zeros((32, 64), device="cuda"), "zeros_like": lambda: torch.zeros_like(m),
            "full": lambda: torch.full((32, 64), 1.0, device="cuda"), "ones": lambda: torch.ones(32, 64, device="cuda"),
            "zero_": lambda: wide.zero_(), "arange": lambda: torch.arange(64, device="cuda"),
        },
        "elementwise": {
            "add": lambda: m + m, "add_row": lambda: m + v, "mul_scalar": lambda: m * 2.0, "div": lambda: m / m,
            "relu": lambda: torch.relu(m), "exp": lambda: torch.exp(m), "gelu": lambda: functional.gelu(m),
            "silu": lambda: functional.silu(m), "clamp": lambda: m.clamp(min=0.0), "pow": lambda: m.pow(2),
            "rsqrt": lambda: torch.rsqrt(m), "where": lambda: torch.where(flags, m, wide), "lt": lambda: m < 0.5,
            "masked_fill": lambda: m.masked_fill(flags, 0.0), "add_": lambda: wide.add_(m), "tril": lambda: m.tril(),
            "maximum": lambda: torch.maximum(m, wide), "mul_mixed": lambda: half * m, "neg": lambda: -m,
        },
        "cast": {
            "half": lambda: m.half(), "to": lambda: m.to(torch.float16), "float": lambda: half.float(),
            "long": lambda: flags.long(), "to_same": lambda: m.to(torch.float32),
        },
        "copy": {
            "contiguous_transposed": lambda: m.t().contiguous(), "clone": lambda: m.clone(),
            "copy_": lambda: wide.copy_(m), "contiguous_permuted": lambda: batch.permute(1, 0, 2).contiguous(),
            "reshape_transposed": lambda: batch.transpose(1, 2).reshape(8, -1), "flip": lambda: m.flip(0),
            "repeat": lambda: m.repeat(2, 1), "repeat_interleave": lambda: m.repeat_interleave(2, 0),
            "pad": lambda: functional.pad(m, (1, 1)), "roll": lambda: torch.roll(m, 1, 0),
            "assigned_slice": lambda: wide.__setitem__(slice(0, 8), m[:8]),
        },
        "cat": {"cat": lambda: torch.cat([m, m]), "stack": lambda: torch.stack([m, m, m])},
        "reduce": {
            "sum": lambda: m.sum(-1), "mean": lambda: m.mean(-1, keepdim=True), "amax": lambda: m.amax(-1),
            "max": lambda: m.max(-1), "var": lambda: m.var(-1), "argmax": lambda: m.argmax(-1), "sum_all": lambda: m.sum(),
            "logsumexp": lambda: torch.logsumexp(m, -1), "norm": lambda: m.norm(dim=-1),
            "mse_loss": lambda: functional.mse_loss(m, wide), "max_pool2d": lambda: functional.max_pool2d(image, 2),
        },
        "softmax": {
            "softmax": lambda: torch.softmax(m, -1), "log_softmax": lambda: torch.log_softmax(m, -1),
            "cross_entropy": lambda: functional.cross_entropy(m, index.repeat(2)),
        },
        "norm": {
            "layer_norm": lambda: functional.layer_norm(m, (64,), v, v), "group_norm": lambda: functional.group_norm(image, 4),
            "rms_norm": lambda: functional.rms_norm(m, (64,), v), "normalize": lambda: functional.normalize(m, dim=-1),
            "batch_norm": lambda: functional.batch_norm(image, None, None, training=True),
        },
        "matmul": {
            "matmul": lambda: half @ square, "matmul_3d": lambda: batch @ m.t(), "bmm": lambda: torch.bmm(batch, batch.mT),
            "linear": lambda: functional.linear(half, square), "linear_bias": lambda: functional.linear(m, linear.weight, v),
            "addmm": lambda: torch.addmm(v, m, linear.weight), "einsum": lambda: torch.einsum("bik,bjk->bij", batch, batch),
            "matvec": lambda: m @ v, "outer": lambda: torch.outer(v, v),
        },
        "conv": {
            "conv2d": lambda: functional.conv2d(image, filters, padding=1),
            "conv1d": lambda: functional.conv1d(batch.mT, linear.weight[:, :, None]),
        },
        "attention": {
            "sdpa": lambda: functional.scaled_dot_product_attention(heads, heads, heads),
            "sdpa_causal": lambda: functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True),
        },
        "gather": {
            "index": lambda: m[index], "index_select": lambda: m.index_select(0, index),
            "embedding": lambda: functional.embedding(index, m),
            "gather": lambda: m.gather(1, index[:, None]), "index_add_": lambda: wide.index_add_(0, index, m[:16]),
            "scatter_add_": lambda: wide.scatter_add_(1, index[:, None], m),
            "index_put_": lambda: wide.__setitem__(index, m[:16]),
            "take_along_dim": lambda: torch.take_along_dim(m, index.repeat(2)[:, None], 1),
            "one_hot": lambda: functional.one_hot(index, 32), "searchsorted": lambda: torch.searchsorted(v, m),
        },
        "scan": {
            "cumsum": lambda: m.cumsum(-1), "sort": lambda: m.sort(-1), "topk": lambda: m.topk(8, -1), "argsort": lambda: m.argsort(-1),
            "bincount": lambda: torch.bincount(index, minlength=32),
        },
        "random": {"rand": lambda: torch.rand(32, 64, device="cuda"), "randn_like": lambda: torch.randn_like(m),
                   "dropout": lambda: functional.dropout(m, 0.1)},
        "sync": {
            "item": lambda: m[0, 0].item(), "cpu": lambda: m.cpu(), "tolist": lambda: v.tolist(), "nonzero": lambda: flags.nonzero(),
            "bool": lambda: bool(flags.any()), "synchronize": lambda: torch.cuda.synchronize(), "masked": lambda: m[flags],
            "tensor": lambda: torch.tensor([1, 2, 3], device="cuda"),
        },
        "view": {
            "view": lambda: m.view(-1), "reshape": lambda: m.reshape(64, 32), "transpose": lambda: m.transpose(0, 1), "t": lambda: m.t(),
            "permute": lambda: batch.permute(1, 0, 2), "unsqueeze": lambda: m.unsqueeze(0), "none": lambda: m[:, None],
            "slice": lambda: m[:, 8:16], "index_int": lambda: batch[3], "expand": lambda: v.expand(32, 64), "chunk": lambda: m.chunk(2, -1),
            "unbind": lambda: batch.unbind(0), "flatten": lambda: batch.flatten(0, 1), "contiguous_noop": lambda: m.contiguous(),
        },
        "python": {
            "stride": lambda: m.stride(0), "shape": lambda: m.shape, "numel": lambda: m.numel(), "device": lambda: m.device,
            "is_contiguous": lambda: m.is_contiguous(), "cdiv": lambda: triton.cdiv(1000, 64),
            "next_power_of_2": lambda: triton.next_power_of_2(1000), "parameter": lambda: linear.weight,
            "properties": lambda: torch.cuda.get_device_properties(0).multi_processor_count,
            "device_guard": lambda: torch.cuda.device(m.device).__enter__(),
        },
        "module": {"linear": lambda: linear(m), "layer_norm": lambda: norm(m)},
    }  # fmt: skip
    for kind, named in calls.items():
        for name, call in named.items():
            yield kind, f"op={name}", call

    def normalised(count: int) -> Callable[[], object]:
        def call() -> torch.Tensor:
            value = m
            for _ in range(count):
                mean = value.mean(-1, keepdim=True)
                spread = (value - mean).pow(2).mean(-1, keepdim=True)
                value = (value - mean) * torch.rsqrt(spread + 1e-5) * v
            return value

        return call

    yield "torch_chain", "rounds=1;reduce=2;elementwise=6", normalised(1)
    yield "torch_chain", "rounds=4;reduce=8;elementwise=24", normalised(4)

    def attended() -> torch.Tensor:
        scores = (heads @ heads.transpose(-1, -2)) * 0.125
        return torch.softmax(scores.float(), -1).to(heads.dtype) @ heads

    yield "torch_chain", "matmul=2;elementwise=1;cast=2;softmax=1;view=1", attended


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
