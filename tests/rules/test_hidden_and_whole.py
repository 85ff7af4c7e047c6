"""KL311 and KL221: tiles whose contiguous axis the compiler cannot see, and tiles as large as the problem."""

import pytest
from support.findings import run_rule

from kernlint.rules.registry import find_rule


def program(code, *replaced):
    text = find_rule(code).bad
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    "replaced",
    [
        pytest.param((), id="as it is"),
        pytest.param((("(s - outer * inner)", "s % inner"),), id="modulo"),
        pytest.param((("4095)", "101)"),), id="another odd size"),
    ],
)
def test_division_hides_the_contiguous_axis(replaced):
    assert len(run_rule("KL311", program("KL311", *replaced)).findings) == 1


@pytest.mark.parametrize(
    "replaced",
    [
        pytest.param((("4095)", "4096)"),), id="a multiple of 16"),
        pytest.param((("BS=256, BR=128", "BS=32, BR=32"),), id="a tile that the L1 holds"),
        pytest.param((("outer = s // inner", "outer = tl.program_id(2)"),), id="no division"),
        pytest.param((("4095)", "1)"),), id="columns side by side"),
        pytest.param(
            (("base[:, None] + r[None, :] * inner", "base[:, None] * R + r[None, :]"),), id="columns contiguous"
        ),
        pytest.param((("x.shape[2], y.numel(), BS", "256, y.numel(), BS"),), id="divided by a multiple"),
    ],
)
def test_no_hidden_axis(replaced):
    assert not run_rule("KL311", program("KL311", *replaced))


def test_hidden_axis_under_other_names():
    text = program("KL311", ("inner", "width"), ("outer", "block"))
    assert len(run_rule("KL311", text).findings) == 1


@pytest.mark.parametrize(
    "replaced",
    [
        pytest.param((), id="as it is"),
        pytest.param((('lambda meta: (triton.cdiv(M, meta["BM"]),)', "(1,)"),), id="grid of one"),
        pytest.param((("BM=M, BN=N, BK=K", "M, N, K"),), id="by position"),
        pytest.param((("M, K = a.shape", "M, K = a.size(0), a.size(1)"),), id="size()"),
    ],
)
def test_tile_as_large_as_the_matrices(replaced):
    finding = run_rule("KL221", program("KL221", *replaced)).only()
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    "replaced",
    [
        pytest.param((("BM=M, BN=N", "BM=64, BN=64"),), id="fixed tile"),
        pytest.param((('lambda meta: (triton.cdiv(M, meta["BM"]),)', "(a.shape[1],)"),), id="a grid that grows"),
        pytest.param((("BM=M, BN=N, BK=K", "BM=16, BN=16, BK=K"),), id="only the depth"),
        pytest.param((("BM=M, BN=N", "BM=triton.next_power_of_2(M), BN=64"),), id="padded head dimension"),
        pytest.param(
            (("acc = tl.dot(tl.load", "acc = (tl.load"), (", tl.load(b + k[:, None] * N + n[None, :])", "")),
            id="no product",
        ),
    ],
)
def test_no_whole_problem(replaced):
    assert not run_rule("KL221", program("KL221", *replaced))
