"""Code of public repositories that the compiler refuses wherever it gets there: one kernel for each construct, with the message.

    python refused_in_repositories.py

Which kernel of which repository each stands for, `docs/found-in-the-wild.md` says. Compiled for sm_90 by Triton 3.9, which needs no GPU.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from triton.compiler.errors import CompilationError

debug = False


def noise(x):
    return x * 0.5


@triton.jit
def arange_of_an_argument(x, y, n, B: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(y + i, tl.load(x + i))


@triton.jit
def arange_of_a_local_number(x, y, n, B: tl.constexpr):
    group = 1
    row = tl.program_id(0) * group + tl.arange(0, group)
    tl.store(y + row, tl.load(x + row))


@triton.jit
def static_range_of_an_argument(x, y, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for start in tl.static_range(0, n, B):
        total += tl.load(x + start + tl.arange(0, B))
    tl.store(y + tl.arange(0, B), total)


@triton.jit
def python_function(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, noise(tl.load(x + i)))


@triton.jit
def plain_global(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    if debug:
        tl.device_print("i", i)
    tl.store(y + i, tl.load(x + i))


@triton.jit
def block_through_one_pointer(x, y, n, B: tl.constexpr):
    total = tl.zeros([1, 1], tl.float32)
    total += tl.load(x)
    tl.store(y, total)


@triton.jit
def number_with_two_indices(x, y, n, B: tl.constexpr):
    i, best = tl.arange(0, B), tl.full((), -1, tl.int32)
    for start in range(0, n, B):
        at = tl.argmax(tl.load(x + start + i), axis=0)
        best = tl.sum((start + i) * tl.where(i[:, None] == at[None, :], 1, 0), axis=0)
    tl.store(y, best)


@triton.jit
def added_to_before_it_is_there(x, y, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        columns += start + tl.arange(0, B)  # noqa: F821
        total += tl.load(x + columns)
    tl.store(y + tl.arange(0, B), total)


@triton.jit
def known_in_a_loop_only(x, y, n, B: tl.constexpr):
    for start in range(0, n, B):
        largest = tl.max(tl.load(x + start + tl.arange(0, B)))
    tl.store(y, largest)


@triton.jit
def scan_of_one_unpacked(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    sums, _ = tl.cumsum(tl.load(x + i), 0)
    tl.store(y + i, sums)


@triton.jit
def python_float(x, y, n, B: tl.constexpr):
    tl.store(y, tl.load(x) / tl.sqrt(float(n)))


@triton.jit
def rsqrt_of_a_half(x, y, n, B: tl.constexpr):
    tl.store(y, tl.rsqrt(tl.load(x).to(tl.float16)))


@triton.jit
def misspelt_argument(x, y, n, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), tl.zeros([B], dytpe=tl.float32))


@triton.jit
def libdevice(x, y, n, B: tl.constexpr):
    tl.store(y, tl.libdevice.rsqrt(tl.load(x)))


@triton.jit
def tanh(x, y, n, B: tl.constexpr):
    tl.store(y, tl.math.tanh(tl.load(x)))


@triton.jit
def select(x, y, n, B: tl.constexpr):
    tl.store(y, tl.select(tl.load(x) > 0, 1.0, 0.0))


@triton.jit
def clamp_from_below(x, y, n, B: tl.constexpr):
    tl.store(y, tl.clamp(tl.load(x), min=1e-8))


def refusal(kernel):
    """What the compiler says of ``kernel``, on one line; empty where it takes it."""
    types = {"x": "*fp32", "y": "*fp32", "n": "i32", "B": "constexpr"}
    try:
        compile(ASTSource(kernel, types, constexprs={"B": 128}), target=GPUTarget("cuda", 90, 32))
    except (CompilationError, RuntimeError) as error:
        return f"{error} {error.__cause__ or ''}".strip().replace("\n", " ")
    return ""


SAID = (
    (arange_of_an_argument, "constexpr"),
    (arange_of_a_local_number, "constexpr"),
    (static_range_of_an_argument, "constexpr"),
    (python_function, "noise"),
    (plain_global, "debug"),
    (block_through_one_pointer, "block"),
    (number_with_two_indices, "too many indices"),
    (added_to_before_it_is_there, "columns"),
    (known_in_a_loop_only, "largest"),
    (scan_of_one_unpacked, "unpack"),
    (python_float, "float"),
    (rsqrt_of_a_half, "fp16"),
    (misspelt_argument, "dytpe"),
    (libdevice, "libdevice"),
    (tanh, "tanh"),
    (select, "select"),
    (clamp_from_below, "max"),
)
for kernel, word in SAID:
    said = refusal(kernel)
    print(f"{kernel.fn.__name__}: ...{said[-150:]}")
    assert said, kernel.fn.__name__
    assert word in said, word
