"""KL307: sizes that Triton may not specialise on, and accesses that would be vectors if it might."""

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit(do_not_specialize={free})
def kernel(x, y, s, w, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    {body}
    tl.store(w + i, tl.load(w + i).to(tl.float32))

def forward(x, y, s, w):
    kernel[(x.shape[0],)](x, y, s, w, x.shape[0], x.shape[1], BLOCK=1024)
"""


def program(body, free):
    return PROGRAM.format(free=free, body=body.replace("\n", "\n    "))


@pytest.mark.parametrize(
    ("body", "free"),
    [
        pytest.param(
            "tl.store(y + row * 4096 + i, tl.load(x + row * 4096 + i, mask=i < N), mask=i < N)",
            ["N"],
            id="bound",
        ),
        pytest.param(
            "tl.store(y + row * N + i, tl.load(x + row * N + i, mask=i < 1000), mask=i < 1000)",
            ["N"],
            id="stride of rows",
        ),
        pytest.param(
            "tl.store(y + row * M * N + i, tl.load(x + row * M * N + i, mask=i < 1000), mask=i < 1000)",
            ["M", "N"],
            id="both factors free",
        ),
        pytest.param(
            "tl.store(y + row * (M + N) + i, tl.load(x + row * (M + N) + i, mask=i < 1000), mask=i < 1000)",
            ["M"],
            id="a sum with one that is not",
        ),
        pytest.param(
            "n = N\ntl.store(y + row * n + i, tl.load(x + row * n + i, mask=i < 1000), mask=i < 1000)",
            ["N"],
            id="another name",
        ),
    ],
)
def test_hits(body, free):
    run_rule("KL307", program(body, free)).only()


@pytest.mark.parametrize(
    ("body", "free"),
    [
        pytest.param(
            "tl.store(y + row * M * N + i, tl.load(x + row * M * N + i, mask=i < 1000), mask=i < 1000)",
            ["M"],
            id="a factor that aligns",
        ),
        pytest.param(
            "tl.store(y + (row * M + 3) * N + i, tl.load(x + row * N + i, mask=i < 1000), mask=i < 1000)",
            ["M"],
            id="rows of a slice",
        ),
        pytest.param(
            "tl.store(y + row * M * BLOCK + i, tl.load(x + row * M * BLOCK + i, mask=i < 1000), mask=i < 1000)",
            ["M"],
            id="a constexpr that aligns",
        ),
        pytest.param(
            "tl.store(y + row * M * 16 + i, tl.load(x + row * M * 16 + i, mask=i < 1000), mask=i < 1000)",
            ["M"],
            id="a multiple of 16",
        ),
        pytest.param(
            "tl.store(y + i * M, tl.load(x + i * M, mask=i < 1000), mask=i < 1000)", ["M"], id="stride of the lanes"
        ),
        pytest.param("tl.store(y + i, tl.load(x + i, mask=row < M), mask=row < M)", ["M"], id="guard on the program"),
        pytest.param("tl.store(y + i, tl.load(x + i), mask=i < N)", ["M"], id="another size"),
        pytest.param(
            "r = tl.arange(0, 16)\nt = tl.load(x + r[:, None] * N + i[None, :], mask=i[None, :] < N)\n"
            "tl.store(s + r, tl.sum(t, axis=1), mask=r < M)",
            ["M"],
            id="a vector beside the tile",
        ),
    ],
)
def test_no_hits(body, free):
    assert not run_rule("KL307", program(body, free))


def test_one_program_is_too_small_to_matter():
    source = program("tl.store(y + i, tl.load(x + i, mask=i < N), mask=i < N)", ["N"])
    assert run_rule("KL307", source)
    assert not run_rule("KL307", source.replace("(x.shape[0],)", "(1,)"))


def test_indices_are_too_few_to_matter():
    source = program("tl.store(y + row * N + i, tl.load(x + row * N + i, mask=i < N) + 1, mask=i < N)", ["N"])
    source = source.replace(".to(tl.float32)", "")
    assert run_rule("KL307", source)
    made = "x = x.to(torch.{})\n    kernel["
    assert run_rule("KL307", source.replace("kernel[", made.format("float16")))
    assert not run_rule("KL307", source.replace("kernel[", made.format("int32")))
