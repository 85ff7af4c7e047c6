"""KL509: steps of several launches, each of whose programs goes on with what the program of its number wrote."""

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def over_rows(x, n, P: tl.constexpr):
    r, c = tl.arange(0, P)[:, None], tl.arange(0, P)[None, :]
    at = tl.program_id(0) * n * n + r * n + c
    v = tl.load(x + at, mask=(r < n) & (c < n), other=0.0)
    tl.store(x + at, v / (tl.sum(v, axis=1)[:, None] + 1e-6), mask=(r < n) & (c < n))

@triton.jit
def over_columns(x, n, P: tl.constexpr):
    r, c = tl.arange(0, P)[:, None], tl.arange(0, P)[None, :]
    at = PLACE * n * n + r * n + c
    v = tl.load(x + at, mask=(r < n) & (c < n), other=0.0)
    tl.store(x + at, v / (tl.sum(v, axis=0)[None, :] + 1e-6), mask=(r < n) & (c < n))

B, N, STEPS = 512, 64, 12

class ModelNew(torch.nn.Module):
    def forward(self, scores):
        x = torch.exp(scores)
        for _ in range(STEPS):
            BODY
        return x

def get_inputs():
    return [torch.randn(B, N, N)]
"""
ROWS, COLUMNS = "over_rows[(B,)](x, N, P=64)", "over_columns[(B,)](x, N, P=64)"


def program(*body: str, place: str = "tl.program_id(0)") -> str:
    return PROGRAM.replace("BODY", "\n            ".join(body)).replace("PLACE", place)


@pytest.mark.parametrize(
    ("body", "kernels"),
    [
        pytest.param((ROWS, COLUMNS), "`over_rows` and `over_columns`", id="two kernels"),
        pytest.param((ROWS, COLUMNS, ROWS), "`over_rows` and `over_columns`", id="three launches"),
        pytest.param((COLUMNS,), "`over_columns`", id="one"),
    ],
)
def test_steps_of_several_launches(body, kernels):
    found = run_rule("KL509", program(*body))
    assert kernels in found.only().message
    assert found.promised() > 1.2


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(ROWS, COLUMNS, place="(B - 1 - tl.program_id(0))"), id="another program's matrix"),
        pytest.param(program(ROWS, "x = x / x.sum((1, 2), keepdim=True)", COLUMNS), id="torch in between"),
        pytest.param(program(ROWS, "over_columns[(B // 2,)](x, N, P=64)"), id="half of the matrices"),
        pytest.param(program(ROWS, "x = x.transpose(0, 1).contiguous()", ROWS), id="across the matrices"),
    ],
)
def test_programs_that_need_each_other(source):
    assert not run_rule("KL509", source)
