"""PyTorch's own operations: device time in a graph, wall and host time in an eager loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F

SIZE = {"float16": 2, "bfloat16": 2, "float32": 4, "int64": 8}


@dataclass(frozen=True)
class TorchOp:
    """One timed call. `make` allocates the operands and returns the call; `capturable` is False where it syncs."""

    op: str
    dtype: str
    shape: str
    make: Callable[[], Callable[[], object]]
    bytes_min: int
    flops: int = 0
    capturable: bool = True
    tf32: bool = False


def _normal(dtype: str, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype))


def _matmuls() -> Iterator[TorchOp]:
    shapes = [(m, n, k) for m in (1, 4, 16, 64) for n, k in ((1536, 1536), (3072, 12288), (12288, 3072))]
    shapes += [(256, 3072, 3072), (768, 768, 768), (1536, 1536, 1536), (3072, 3072, 3072), (6144, 6144, 6144)]
    shapes += [(192, 192, 192), (384, 384, 384), (8192, 8192, 2048)]
    for (m, n, k), dtype in itertools.product(shapes, ("float16", "bfloat16")):
        yield _matmul("matmul_nn", dtype, m, n, k)
        if dtype == "float16":
            yield _matmul("linear_bias", dtype, m, n, k)
    for m, n, k in shapes:
        if m in (16, 192, 256, 768, 1536, 3072):
            yield _matmul("matmul_nn_ieee", "float32", m, n, k)
            yield _matmul("matmul_nn_tf32", "float32", m, n, k, tf32=True)
    for n, k in ((3072, 3072), (12288, 3072)):
        for dtype in ("float16", "float32"):
            moved = SIZE[dtype] * (n * k + n + k)
            yield TorchOp("matvec", dtype, f"{n}x{k}", _call(torch.mv, dtype, (n, k), (k,)), moved, 2 * n * k)


def _call(function: Callable[..., object], dtype: str, *shapes: tuple[int, ...]) -> Callable[[], Callable[[], object]]:
    def make() -> Callable[[], object]:
        operands = [_normal(dtype, *shape) for shape in shapes]
        return lambda: function(*operands)

    return make


def _matmul(op: str, dtype: str, m: int, n: int, k: int, tf32: bool = False) -> TorchOp:
    shapes = [(m, k), (n, k), (n,)] if op == "linear_bias" else [(m, k), (k, n)]
    function = F.linear if op == "linear_bias" else torch.matmul
    moved = SIZE[dtype] * (m * k + n * k + m * n)
    return TorchOp(op, dtype, f"{m}x{n}x{k}", _call(function, dtype, *shapes), moved, 2 * m * n * k, tf32=tf32)


def _batched() -> Iterator[TorchOp]:
    sizes = [(24, 768, 768, 64), (24, 1536, 1536, 128), (24, 1536, 64, 1536), (96, 192, 192, 192), (6, 768, 3072, 768)]
    for (b, m, n, k), dtype in itertools.product(sizes, ("float16", "float32")):
        moved = SIZE[dtype] * b * (m * k + n * k + m * n)
        make = _call(torch.bmm, dtype, (b, m, k), (b, k, n))
        yield TorchOp("bmm", dtype, f"{b}x{m}x{n}x{k}", make, moved, 2 * b * m * n * k)

        def transposed(b: int = b, m: int = m, n: int = n, k: int = k, dtype: str = dtype) -> Callable[[], object]:
            x, y = _normal(dtype, b, m, k), _normal(dtype, b, n, k)
            return lambda: torch.matmul(x, y.transpose(1, 2))

        yield TorchOp("bmm_nt", dtype, f"{b}x{m}x{n}x{k}", transposed, moved, 2 * b * m * n * k)


def _movement() -> Iterator[TorchOp]:
    sizes = (2**14, 2**18, 2**22, 2**24, 2**26)
    for n, dtype in itertools.product(sizes, ("float16", "float32")):
        size = SIZE[dtype] * n

        def copy(n: int = n, dtype: str = dtype) -> Callable[[], object]:
            source, target = _normal(dtype, n), _normal(dtype, n)
            return lambda: target.copy_(source)

        def zeros(n: int = n, dtype: str = dtype) -> Callable[[], object]:
            return lambda: torch.zeros(n, device="cuda", dtype=getattr(torch, dtype))

        yield TorchOp("copy_", dtype, f"{n}", copy, 2 * size)
        yield TorchOp("zeros", dtype, f"{n}", zeros, size)
        yield TorchOp("fill_", dtype, f"{n}", _call(lambda x: x.fill_(1.0), dtype, (n,)), size)
    for n, (source, target) in itertools.product(
        sizes, (("float32", "float16"), ("float16", "float32"), ("float32", "bfloat16"), ("bfloat16", "float32"))
    ):
        make = _call(lambda x, target=target: x.to(getattr(torch, target)), source, (n,))
        yield TorchOp(f"to_{target}", source, f"{n}", make, n * (SIZE[source] + SIZE[target]))
    for b, t, h, d in ((2, 768, 12, 64), (8, 1536, 24, 64), (4, 3072, 24, 128)):
        for dtype in ("float16", "float32"):
            numel = b * t * h * d
            make = _call(lambda x: x.transpose(1, 2).contiguous(), dtype, (b, t, h, d))
            yield TorchOp("bthd_to_bhtd_contiguous", dtype, f"{b}x{t}x{h}x{d}", make, 2 * SIZE[dtype] * numel)
            make = _call(lambda x: x.permute(0, 2, 3, 1).contiguous(), dtype, (b, t, h, d))
            yield TorchOp("bthd_to_bhdt_contiguous", dtype, f"{b}x{t}x{h}x{d}", make, 2 * SIZE[dtype] * numel)
    for n, parts in itertools.product((2**18, 2**22, 2**25), (2, 4)):
        make = _call(lambda *x: torch.cat(x), "float16", *[(n // parts,)] * parts)
        yield TorchOp(f"cat{parts}_first", "float16", f"{n}", make, 2 * 2 * n)
        make = _call(lambda *x: torch.stack(x), "float16", *[(n // parts,)] * parts)
        yield TorchOp(f"stack{parts}", "float16", f"{n}", make, 2 * 2 * n)


def _attention() -> Iterator[TorchOp]:
    for (b, h, t, d), causal in itertools.product(
        [(1, 6, 768, 64), (2, 12, 1536, 64), (4, 10, 3072, 64), (1, 10, 6144, 128), (2, 12, 1536, 128)], (False, True)
    ):

        def make(shape: tuple[int, ...] = (b, h, t, d), causal: bool = causal) -> Callable[[], object]:
            q, k, v = (_normal("float16", *shape) for _ in range(3))
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)

        name = "sdpa_causal" if causal else "sdpa"
        work = 4 * b * h * t * t * d // (2 if causal else 1)
        yield TorchOp(name, "float16", f"{b}x{h}x{t}x{d}", make, 8 * b * h * t * d, work)


def _convolutions() -> Iterator[TorchOp]:
    images = [(4, 8, 16, 112, 3), (8, 32, 32, 56, 3), (16, 64, 64, 28, 3), (8, 128, 128, 56, 3), (8, 256, 256, 28, 3)]
    images += [(4, 8, 16, 112, 5), (8, 32, 32, 28, 5), (16, 256, 64, 56, 1), (4, 3, 64, 224, 7)]
    for (b, c, o, edge, ks), dtype in itertools.product(images, ("float16", "float32")):
        make = _call(lambda x, w, pad=ks // 2: F.conv2d(x, w, padding=pad), dtype, (b, c, edge, edge), (o, c, ks, ks))
        moved = SIZE[dtype] * (b * (c + o) * edge * edge + o * c * ks * ks)
        work = 2 * b * o * c * ks * ks * edge * edge
        yield TorchOp(f"conv2d_{ks}x{ks}", dtype, f"{b}x{c}x{edge}x{edge}x{o}", make, moved, work)


def _rows() -> Iterator[TorchOp]:
    def rms_chain(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w

    def softmax_chain(x: torch.Tensor) -> torch.Tensor:
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)

    for (rows, cols), dtype in itertools.product(
        [(512, 1536), (8192, 1024), (4096, 6144), (16384, 4096)], ("float16", "float32")
    ):
        size, shape = SIZE[dtype] * rows * cols, f"{rows}x{cols}"
        whole = (rows, cols)
        yield TorchOp("rms_norm_chain", dtype, shape, _call(rms_chain, dtype, whole, (cols,)), 2 * size)
        yield TorchOp("softmax_chain", dtype, shape, _call(softmax_chain, dtype, whole), 2 * size)
        rms = _call(lambda x, w: F.rms_norm(x, (x.shape[-1],), w), dtype, whole, (cols,))
        yield TorchOp("rms_norm", dtype, shape, rms, 2 * size)
        yield TorchOp("log_softmax", dtype, shape, _call(lambda x: F.log_softmax(x, -1), dtype, whole), 2 * size)
        reductions = {
            "mean_last": torch.mean,
            "var_last": torch.var,
            "amax_last": torch.amax,
            "argmax_last": torch.argmax,
            "logsumexp_last": torch.logsumexp,
        }
        for name, op in reductions.items():
            yield TorchOp(name, dtype, shape, _call(lambda x, op=op: op(x, -1), dtype, whole), size)
        yield TorchOp("mean_first", dtype, shape, _call(lambda x: x.mean(0), dtype, whole), size)
        yield TorchOp("cumsum_first", dtype, shape, _call(lambda x: x.cumsum(0), dtype, whole), 2 * size)
        yield TorchOp("cumsum_last", dtype, shape, _call(lambda x: x.cumsum(1), dtype, whole), 2 * size)
        yield TorchOp("flip_last", dtype, shape, _call(lambda x: x.flip(-1), dtype, whole), 2 * size)
        yield TorchOp("sort_last", dtype, shape, _call(lambda x: x.sort(-1), dtype, whole), 2 * size + 8 * rows * cols)
        yield TorchOp("topk8_last", dtype, shape, _call(lambda x: x.topk(8, -1), dtype, whole), size)


def _pointwise() -> Iterator[TorchOp]:
    one = {
        "tanh": torch.tanh,
        "exp": torch.exp,
        "log_abs_chain": lambda x: torch.log(x.abs()),
        "rsqrt": torch.rsqrt,
        "silu": F.silu,
        "erf": torch.erf,
        "pow2": lambda x: x.pow(2),
        "neg": torch.neg,
        "clamp": lambda x: x.clamp(-1, 1),
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "softplus": F.softplus,
    }
    two = {"mul": torch.mul, "div": torch.div, "where": lambda x, y: torch.where(x > y, x, y), "maximum": torch.maximum}
    for n, dtype in itertools.product((2**18, 2**24), ("float16", "float32")):
        for name, op in one.items():
            yield TorchOp(name, dtype, f"{n}", _call(op, dtype, (n,)), 2 * SIZE[dtype] * n, n)
        for name, op in two.items():
            yield TorchOp(name, dtype, f"{n}", _call(op, dtype, (n,), (n,)), 3 * SIZE[dtype] * n, n)
        chain = _call(lambda x, y: F.relu(x * 0.5 + y) * y, dtype, (n,), (n,))
        yield TorchOp("mul_add_relu_mul_chain", dtype, f"{n}", chain, 3 * SIZE[dtype] * n, 4 * n)


def _indexing() -> Iterator[TorchOp]:
    for rows, d, dtype in itertools.product((4096, 65536), (64, 1024), ("float16", "float32")):

        def operands(rows: int = rows, d: int = d, dtype: str = dtype) -> tuple[torch.Tensor, torch.Tensor]:
            return _normal(dtype, 50000, d), torch.randint(0, 50000, (rows,), device="cuda")

        def embedding(operands=operands) -> Callable[[], object]:
            table, index = operands()
            return lambda: F.embedding(index, table)

        def indexed(operands=operands) -> Callable[[], object]:
            table, index = operands()
            return lambda: table[index]

        def added(operands=operands, rows: int = rows, d: int = d, dtype: str = dtype) -> Callable[[], object]:
            table, index = operands()
            update = _normal(dtype, rows, d)
            return lambda: table.index_add_(0, index, update)

        moved, shape = rows * (2 * d * SIZE[dtype] + 8), f"{rows}x{d}"
        yield TorchOp("embedding", dtype, shape, embedding, moved)
        yield TorchOp("index_rows", dtype, shape, indexed, moved)
        yield TorchOp("index_add_rows", dtype, shape, added, moved + rows * d * SIZE[dtype])
    for n in (2**18, 2**24):

        def masked(n: int = n) -> Callable[[], object]:
            x = _normal("float32", n)
            mask = x > 0
            return lambda: x[mask]

        yield TorchOp("masked_fill", "float32", f"{n}", _call(lambda x: x.masked_fill(x > 0, 0.0), "float32", (n,)),
                      2 * 4 * n)  # fmt: skip
        yield TorchOp("boolean_index", "float32", f"{n}", masked, 2 * 4 * n, capturable=False)


def operations() -> list[TorchOp]:
    """All operations."""
    parts = (_matmuls, _movement, _batched, _attention, _rows, _pointwise, _convolutions, _indexing)
    return [operation for part in parts for operation in part()]
