"""KL406: tensors that follow from indices and a few operands, worked out by torch for one kernel; others are left alone."""

import pytest
from support.findings import run_rule

from kernlint.workload import TorchOp

PROGRAM = """
@triton.jit
def scores(q, bias, out, heads, N, BLOCK: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    column = tl.arange(0, BLOCK)
    inside = column < N
    s = tl.load(q + (head * N + row) * N + column, mask=inside, other=-float("inf"))
    s += tl.load(bias + {place} + column, mask=inside, other=0.0)
    e = tl.exp(s - tl.max(s, axis=0))
    tl.store(out + (head * N + row) * N + column, e / tl.sum(e, axis=0), mask=inside)

H, N = 16, 2048

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("slopes", torch.rand(H))
        {init}

    def forward(self, q):
        {make}
        out = torch.empty_like(q)
        scores[(N, H)](q, bias, out, H, N, BLOCK=2048)
        {more}
        return {result}

def get_inputs():
    return [torch.randn(H, N, N, dtype=torch.float16)]
"""
BY_HEAD, SHARED = "(head * N + row) * N", "row * N"

ALIBI = (
    "at = torch.arange(N, device=q.device)",
    "bias = self.slopes[:, None, None] * (at[None, :] - at[:, None])",
)
CAUSAL = (
    "at = torch.arange(N, device=q.device)",
    "bias = torch.where(at[None, :] > at[:, None], -1e9, 0.0)",
)
TRIANGLE = ("bias = torch.triu(torch.full((N, N), -1e9, device=q.device), 1)",)
WINDOW = (
    "at = torch.arange(N, device=q.device, dtype=torch.float32)",
    "bias = torch.zeros(N, N, device=q.device)",
    "bias.masked_fill_((at[:, None] - at[None, :]).abs() > 128, -1e9)",
)
ONCE = (
    "at = torch.arange(N)",
    "self.register_buffer('bias', self.slopes[:, None, None] * (at[None, :] - at[:, None]))",
)


def program(
    lines: tuple[str, ...], place: str = BY_HEAD, more: str = "", result: str = "out", init: tuple[str, ...] = ()
) -> str:
    indent = "\n        "
    return PROGRAM.format(
        place=place, make=indent.join(lines), more=more, result=result, init=indent.join(init) or "pass"
    )


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(ALIBI), id="slopes times distances"),
        pytest.param(program(tuple(line.replace("at", "index") for line in ALIBI)), id="another name"),
        pytest.param(program((*ALIBI, "bias = bias.to(torch.float16)")), id="converted"),
        pytest.param(program(CAUSAL, SHARED), id="causal mask"),
        pytest.param(program(TRIANGLE, SHARED), id="triangle"),
        pytest.param(program(WINDOW, SHARED), id="filled in place"),
    ],
)
def test_tables_of_indices(source):
    found = run_rule("KL406", source)
    assert found.only().kernel == "scores"
    after = found.after()
    assert {step.kind for step in after.steps if isinstance(step, TorchOp)} == {"alloc"}
    assert all(load.base != "bias" for launch in after.launches() for load in launch.kernel.loads())


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(ALIBI, result="(out, bias)"), id="returned"),
        pytest.param(program(ALIBI, more="total = bias.sum()", result="out, total"), id="summed too"),
        pytest.param(program(ALIBI, more="scores[(N, H)](out, bias, q, H, N, BLOCK=2048)"), id="read by two launches"),
        pytest.param(program((*ALIBI, "bias = bias + q")), id="an operand as large"),
        pytest.param(program((*ALIBI, "bias = bias + torch.rand(H, N, N, device=q.device)")), id="random numbers"),
        pytest.param(program((*ALIBI, "bias = bias.cumsum(-1)")), id="running sums"),
        pytest.param(program((*ALIBI, "bias = bias.softmax(-1)")), id="normalised rows"),
        pytest.param(program(("bias = self.bias",), init=ONCE), id="made once"),
        pytest.param(program(("bias = self.slopes",), "head"), id="no table"),
    ],
)  # fmt: skip
def test_tables_that_are_needed(source):
    assert not run_rule("KL406", source)
