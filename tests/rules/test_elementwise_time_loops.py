"""KL509: steps of an elementwise recurrence that a Python loop launches, and loops that only look like it."""

from __future__ import annotations

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def step(x, state, nxt, y, t, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(state + i, mask=i < n)
    s = tl.sigmoid(s) * 0.5 + tl.load(x + t * n + i, mask=i < n)
    tl.store(nxt + i, s, mask=i < n)
    tl.store(y + t * n + i, s * 2, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        steps, n = x.shape
        grid = (triton.cdiv(n, 256),)
        y = torch.empty_like(x)
        state = torch.zeros(n, device=x.device)
        for t in range(steps):
            step[grid](x, state, state, y, t, n, BLOCK=256)
        return y

def get_inputs():
    return [torch.randn(128, 65536)]
"""
CALL = "step[grid](x, state, state, y, t, n, BLOCK=256)"
HANDED = (
    "nxt = torch.empty_like(state)\n            step[grid](x, state, nxt, y, t, n, BLOCK=256)\n            state = nxt"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(CALL, CALL, id="in place, with the index as an argument"),
        pytest.param(CALL, "step[grid](x[t], state, state, y[t], 0, n, BLOCK=256)", id="views of each step"),
        pytest.param(CALL, HANDED, id="a new state in each step"),
        pytest.param(CALL, f"now = t\n            {CALL.replace(', t,', ', now,')}", id="another name of the index"),
        pytest.param("s = tl.load(state", "u = s = tl.load(state", id="another name of the state"),
    ],
)
def test_found(old: str, new: str) -> None:
    (finding,) = run_rule("KL509", PROGRAM.replace(old, new)).findings
    assert "128 steps" in finding.message and finding.change is not None


def test_one_launch_takes_the_place_of_all() -> None:
    found = run_rule("KL509", PROGRAM)
    (finding,), (context,) = found.findings, found.contexts
    assert finding.change is not None and finding.change.variant is not None
    before, after = context.gpu_us(context.variant), context.gpu_us(finding.change.variant)
    workload = context.after(finding.change.variant)
    assert workload is not None and len(list(workload.launches())) == 1
    assert before is not None and after is not None and after < before / 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("tl.load(state + i, mask=i < n)", "tl.load(state + i + 1, mask=i < n - 1)", id="a neighbour"),
        pytest.param("tl.load(state + i, mask", "tl.load(state + n - 1 - i, mask", id="the state the other way round"),
        pytest.param(
            "tl.load(x + t * n + i", "tl.load(y + t * n - n + i", id="another program's result of the last step"
        ),
        pytest.param("tl.sigmoid(s)", "tl.sum(s, axis=0)", id="a reduction over the state"),
        pytest.param("s * 2", "s * tl.load(nxt + i % 7)", id="the new state of others"),
        pytest.param("tl.store(nxt + i, s", "tl.store(nxt + i * 0, s", id="one element for all"),
        pytest.param("tl.store(y + t * n", "tl.store(y + 0 * n", id="the last result is all that counts"),
        pytest.param(
            "            step[grid]",
            "            if t > 3:\n                break\n            step[grid]",
            id="a break",
        ),
        pytest.param(CALL, f"{CALL}\n            state = state.roll(1)", id="the state moves between steps"),
        pytest.param(CALL, f"{CALL}\n            x.add_(y)", id="the input changes between steps"),
        pytest.param(CALL, "step[grid](x, x, y, y, t, n, BLOCK=256)", id="independent iterations"),
        pytest.param("for t in range(steps)", "while t < steps", id="an open number of steps"),
    ],
)
def test_silent(old: str, new: str) -> None:
    assert not run_rule("KL509", PROGRAM.replace(old, new))
