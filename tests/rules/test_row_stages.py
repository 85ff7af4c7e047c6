"""KL407: launches that take rows from stage to stage through memory."""

import pytest
from support.findings import run_rule

KERNELS = """
@triton.jit
def butterfly(src, dst, pairs, half, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lo = (i // half) * (2 * half) + i % half
    a = tl.load(src + lo, mask=i < pairs)
    b = tl.load(src + lo + half, mask=i < pairs)
    tl.store(dst + lo, (a + b) * scale, mask=i < pairs)
    tl.store(dst + lo + half, (a - b) * scale, mask=i < pairs)

@triton.jit
def doubling(src, dst, n, N, d, BLOCK: tl.constexpr):
    # one step of a scan along rows of N elements
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(src + i, mask=i < n)
    left = tl.load(src + i - d, mask=(i % N >= d) & (i < n), other=0.0)
    tl.store(dst + i, v + left, mask=i < n)

@triton.jit
def rows_doubling(src, dst, N, d, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(src + row * N + i, mask=i < N)
    left = tl.load(src + row * N + i - d, mask=(i >= d) & (i < N), other=0.0)
    tl.store(dst + row * N + i, v + left, mask=i < N)

@triton.jit
def spilling(src, dst, n, d, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(src + i - d, mask=(i >= d) & (i < n), other=0.0)
    tl.store(dst + i, tl.load(src + i, mask=i < n) + left, mask=i < n)

@triton.jit
def reverse(src, dst, N, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(dst + row * N + (N - 1 - i), tl.load(src + row * N + i, mask=i < N), mask=i < N)

@triton.jit
def twice(src, dst, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + i, tl.load(src + i, mask=i < n) * 2.0, mask=i < n)

@triton.jit
def flip(src, dst, M, N, B: tl.constexpr):
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    tl.store(dst + n[None, :] * M + m[:, None], tl.load(src + m[:, None] * N + n[None, :]))

ROWS, D = 8192, 512

def stage(y, half, block=1024):
    pairs = y.numel() // 2
    butterfly[(triton.cdiv(pairs, block),)](y, y, pairs, half, 0.7, BLOCK=block)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        n, pairs = x.numel(), x.numel() // 2
        {body}

def get_inputs():
    return [torch.randn(ROWS, D)]
"""
WHILE = "y, half = x.clone(), 1\nwhile half < D:\n    stage(y, half)\n    half *= 2\nreturn y"


def program(body, *edits):
    source = KERNELS.replace("{body}", body.replace("\n", "\n" + " " * 8))
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(
    ("body", "launches"),
    [
        pytest.param(WHILE, 9, id="a while loop, in place"),
        pytest.param(WHILE.replace("stage(y, half)", "stage(y, half, block=64)"), 9, id="programs smaller than a row"),
        pytest.param(WHILE.replace("half < D", "2 * half <= y.shape[1]"), 9, id="the bound from the tensor"),
        pytest.param(
            "half = D // 2\ny = x.clone()\nwhile half >= 1:\n    stage(y, half)\n    half //= 2\nreturn y", 9, id="downwards"
        ),
        pytest.param(
            "a, b, half = x.clone(), torch.empty_like(x), 1\nwhile half < D:\n"
            "    butterfly[(triton.cdiv(pairs, 512),)](a, b, pairs, half, 1.0, BLOCK=512)\n    a, b = b, a\n    half *= 2\nreturn a",
            9, id="two buffers in turn",
        ),
        pytest.param(
            "a, b, d = x.clone(), torch.empty_like(x), 1\nwhile d < D:\n"
            "    doubling[(triton.cdiv(n, 1024),)](a, b, n, D, d, BLOCK=1024)\n    a, b = b, a\n    d *= 2\nreturn a",
            9, id="a scan by doubling, masked at the start of a row",
        ),
        pytest.param(
            "a, b, d = x.clone(), torch.empty_like(x), 1\nwhile d < D:\n"
            "    rows_doubling[(ROWS,)](a, b, D, d, BLOCK=512)\n    a, b = b, a\n    d *= 2\nreturn a",
            9, id="a program for each row already",
        ),
        pytest.param("y = x.clone()\nstage(y, 1)\nstage(y, 2)\nstage(y, 4)\nreturn y", 3, id="written out"),
        pytest.param(
            "y, z = x.clone(), torch.empty_like(x)\nstage(y, 256)\nreverse[(ROWS,)](y, z, D, BLOCK=512)\nstage(z, 1)\nreturn z",
            3, id="different kernels",
        ),
    ],
)  # fmt: skip
def test_stages_of_rows(body, launches):
    found = run_rule("KL407", program(body))
    finding = found.only()
    assert f"{launches} launches" in finding.message and "8192 rows of 512" in finding.message
    assert found.promised() > 1.5


def test_the_function_with_the_loop_is_blamed():
    assert run_rule("KL407", program(WHILE)).only().symbol == "ModelNew.forward"
    helper = "def transform(y):\n    half = 1\n    while half < D:\n        butterfly[(n // 2048,)](y, y, n // 2, half, 0.7, BLOCK=1024)\n"
    helper = helper.replace("n // ", "y.numel() // ") + "        half *= 2\n    return y\n\nclass ModelNew"
    source = program("return transform(x.clone())", ("class ModelNew", helper))
    assert run_rule("KL407", source).only().symbol == "transform"


def test_stages_beyond_a_row_stay_launches():
    found = run_rule("KL407", program(WHILE.replace("half < D", "half < 4 * D")))
    assert "9 launches" in found.only().message


def test_rows_of_two_dimensions_are_one_row():
    body = "y, half = x.view(4096, 2, D).clone(), 1\nwhile half < 2 * D:\n    stage(y, half)\n    half *= 2\nreturn y"
    assert "4096 rows of 1024" in run_rule("KL407", program(body)).only().message


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(WHILE.replace("half < D", "half < 2"), id="one launch"),
        pytest.param(
            "a, b, d = x.clone(), torch.empty_like(x), 1\nwhile d < D:\n"
            "    spilling[(triton.cdiv(n, 1024),)](a, b, n, d, BLOCK=1024)\n    a, b = b, a\n    d *= 2\nreturn a",
            id="reads across the start of a row",
        ),
        pytest.param(
            "a, b = torch.empty_like(x), torch.empty_like(x)\ntwice[(triton.cdiv(n, 1024),)](x, a, n, BLOCK=1024)\n"
            "twice[(triton.cdiv(n, 512),)](a, b, n, BLOCK=512)\nreturn b",
            id="element by element",
        ),
        pytest.param(
            "a, b = x.new_empty(D, ROWS), torch.empty_like(x)\nflip[(ROWS // 32, D // 32)](x, a, ROWS, D, B=32)\n"
            "flip[(D // 32, ROWS // 32)](a, b, D, ROWS, B=32)\nreturn b",
            id="transposes",
        ),
        pytest.param("y, z = x.clone(), x.clone()\nstage(y, 1)\nstage(z, 2)\nreturn y, z", id="of different tensors"),
        pytest.param(
            "y = x.clone()\nstage(y, 1)\nz = y.sum()\nstage(y, 2)\nreturn y, z", id="something else reads between"
        ),
        pytest.param(
            WHILE.replace("half *= 2", "half *= 2\n    if y.max().item() > 3.0:\n        break"),
            id="the host waits between",
        ),
    ],
)
def test_other_launches_stay(body):
    assert not run_rule("KL407", program(body))


def test_rows_too_long_for_a_program_stay():
    assert not run_rule("KL407", program(WHILE, ("ROWS, D = 8192, 512", "ROWS, D = 64, 65536")))


def test_few_rows_stay_where_the_device_would_idle():
    assert not run_rule(
        "KL407", program(WHILE.replace("half < D", "half < 4"), ("ROWS, D = 8192, 512", "ROWS, D = 2, 16384"))
    )
