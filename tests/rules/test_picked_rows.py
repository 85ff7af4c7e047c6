"""KL405: rows that are written for the few elements that the next step picks, and rows that are needed."""

from __future__ import annotations

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def log_softmax(x, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf"))
    v = v - tl.max(v, 0)
    tl.store(y + row * n + i, v - tl.log(tl.sum(tl.exp(v), 0)), mask=i < n)

@triton.jit
def negated(y, labels, out, n):
    row = tl.program_id(0)
    tl.store(out + row, -tl.load(y + row * n + tl.load(labels + row)))

class ModelNew(torch.nn.Module):
    def forward(self, logits, labels):
        rows, n = logits.shape
        y = torch.empty_like(logits)
        log_softmax[(rows,)](logits, y, n, BLOCK=triton.next_power_of_2(n), num_warps=8)
        return PICK

def get_inputs():
    return [torch.randn(4096, N), torch.randint(0, N, (4096,))]

N = 8192
"""
LAUNCHED = """out = torch.empty(rows, device=y.device)
        negated[(rows,)](y, labels, out, n)
        return out.mean()"""


@pytest.mark.parametrize(
    "pick",
    [
        pytest.param("-y.gather(1, labels[:, None]).mean()", id="gather"),
        pytest.param("-torch.gather(y, dim=1, index=labels.unsqueeze(-1)).mean()", id="as a function"),
        pytest.param("torch.nn.functional.nll_loss(y, labels)", id="a loss"),
        pytest.param("(z := y).gather(1, labels[:, None]).sum()", id="another name"),
        pytest.param(LAUNCHED, id="a kernel of its own"),
    ],
)
def test_found(pick: str) -> None:
    source = PROGRAM.replace("return PICK", pick if "return" in pick else f"return {pick}")
    found = run_rule("KL405", source)
    finding = found.only()
    assert "`y`" in finding.message and finding.kernel == "log_softmax"
    assert found.promised() > 1.25


@pytest.mark.parametrize(
    "pick",
    [
        pytest.param("(-y.gather(1, labels[:, None]).mean(), y)", id="the rows are returned"),
        pytest.param("y.gather(1, labels[:, None]).mean() + y.sum()", id="the rows are read again"),
        pytest.param("y.gather(1, labels[:, None]).mean() - logits.gather(1, labels[:, None]).mean() + y[0, 0]", id="a second pick"),
        pytest.param("y.gather(1, y.argsort(1)).mean()", id="as many as there are"),
        pytest.param("logits.gather(1, labels[:, None]).mean()", id="rows of the input"),
        pytest.param("y.index_select(0, labels)", id="whole rows"),
        pytest.param("y.sum(1)", id="every element"),
    ],
)  # fmt: skip
def test_silent(pick: str) -> None:
    assert not run_rule("KL405", PROGRAM.replace("PICK", pick))


def test_a_reader_that_was_not_followed() -> None:
    source = PROGRAM.replace("return PICK", LAUNCHED)
    seen = source.replace(
        "    row = tl.program_id(0)\n    tl.store(out", "    row = tl.program_id(0)\n    look(y, n)\n    tl.store(out"
    )
    assert seen != source
    assert not run_rule("KL405", "from elsewhere import look\n" + seen)


def test_short_rows_are_not_worth_it() -> None:
    assert not run_rule("KL405", PROGRAM.replace("PICK", "-y.gather(1, labels[:, None])").replace("N = 8192", "N = 4"))
