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
        pytest.param("tl.sigmoid(s)", "tl.sum(s, axis=0)", id="a reduction over the program's own state"),
        pytest.param(
            "tl.load(x + t * n + i", "tl.load(y + t * n - n + i", id="the program's own result of the last step"
        ),
        pytest.param(
            "for t in range(steps):\n            step[grid](x, state, state, y, t, n, BLOCK=256)",
            "t = 0\n        while steps > t:\n            step[grid](x, state, state, y, t, n, BLOCK=256)\n            t = t + 1",
            id="a while that counts",
        ),
    ],
)
def test_found(old: str, new: str) -> None:
    (finding,) = run_rule("KL509", PROGRAM.replace(old, new)).findings
    assert "128 steps" in finding.message and finding.change is not None


def test_one_launch_takes_the_place_of_all() -> None:
    found = run_rule("KL509", PROGRAM)
    assert found.promised() > 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("tl.load(state + i, mask=i < n)", "tl.load(state + i + 1, mask=i < n - 1)", id="a neighbour"),
        pytest.param("tl.load(state + i, mask", "tl.load(state + n - 1 - i, mask", id="the state the other way round"),
        pytest.param(
            "tl.load(x + t * n + i", "tl.load(y + t * n - n + 1 + i", id="another program's result of the last step"
        ),
        pytest.param("tl.store(y + t * n", "tl.store(y + t * 8", id="results of later steps over those of others"),
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


ROWS = """
@triton.jit
def step(src, dst, move, x, stride, K, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    real = i < K
    score = tl.load(src + b * K + i, mask=real, other=-1e30)
    pairs = tl.load(move + i[:, None] * K + i[None, :], mask=real[:, None] & real[None, :], other=-1e30)
    best = tl.max(score[:, None] + pairs, axis=0)
    tl.store(dst + b * K + i, best + tl.load(x + b * stride + i, mask=real, other=0.0), mask=real)

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.move = torch.nn.Parameter(torch.randn(40, 40))

    def forward(self, x):
        B, T, K = x.shape
        a = x[:, 0].contiguous()
        b = torch.empty_like(a)
        for t in range(1, T):
            step[(B,)](a, b, self.move, x[:, t], x.stride(0), K, BLOCK=64)
            a, b = b, a
        return a.amax(1)

def get_inputs():
    return [torch.randn(64, 200, 40)]
"""
BODY = ROWS[ROWS.index("    score = ") : ROWS.index("    best = ")]
INNER = """    best = tl.full((BLOCK,), -1e30, tl.float32)
    for j in range(K):
        best = tl.maximum(best, tl.load(src + b * K + j) + tl.load(move + j * K + i, mask=real, other=-1e30))
"""
SHIFTED = """    score = tl.load(src + b * K + i - 1, mask=real & (i >= 1), other=-1e30)
    best = tl.maximum(score, tl.load(src + b * K + i, mask=real, other=-1e30))
"""
STEP = "            step[(B,)](a, b, self.move, x[:, t], x.stride(0), K, BLOCK=64)\n            a, b = b, a\n"
BEST = "    best = tl.max(score[:, None] + pairs, axis=0)\n"


def of_rows(*changes: tuple[str, str]) -> str:
    source = ROWS
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(ROWS, id="two buffers in turn"),
        pytest.param(
            of_rows(
                (
                    STEP,
                    "            now = torch.empty_like(a)\n"
                    + STEP.replace("a, b = b, a", "a = now").replace("(a, b,", "(a, now,"),
                )
            ),
            id="a new state in each step",
        ),
        pytest.param(of_rows((STEP, STEP.replace("(a, b,", "(a, a,").replace("a, b = b, a", "pass"))), id="in place"),
        pytest.param(
            of_rows(
                ("for t in range(1, T):", "t = T - 1\n        while t >= 1:"),
                (STEP, STEP + "            t -= 1\n"),
            ),
            id="backwards in a while",
        ),
        pytest.param(
            of_rows(
                ("b = torch.empty_like(a)", "both = [a, torch.empty_like(a)]"),
                (STEP, STEP.replace("(a, b,", "(both[(t + 1) % 2], both[t % 2],").replace("a, b = b, a", "pass")),
                ("a.amax", "both[0].amax"),
            ),
            id="a list of two buffers",
        ),
        pytest.param(
            of_rows(("for t in range(1, T):", "for xt in x[:, 1:].unbind(1):"), ("x[:, t], x", "xt, x")),
            id="the steps' views",
        ),
        pytest.param(
            of_rows(
                ("for t in range(1, T):", "for t, xt in enumerate(reversed(x.transpose(0, 1))):"),
                ("x[:, t], x", "xt, x"),
            ),
            id="the steps' views and their numbers",
        ),
        pytest.param(of_rows((BODY, INNER), (BEST, "")), id="a loop over the elements of the state"),
        pytest.param(of_rows((BODY, SHIFTED), (BEST, "")), id="neighbours in the program's own row"),
    ],
)
def test_rows_found(source: str) -> None:
    found = run_rule("KL509", source)
    assert found.promised() > 1.3


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(of_rows(("src + b * K + i", "src + (63 - b) * K + i")), id="another program's row"),
        pytest.param(
            of_rows((BODY, SHIFTED.replace(" & (i >= 1)", "")), (BEST, "")), id="a neighbour in another program's row"
        ),
        pytest.param(
            of_rows((BODY, INNER), (BEST, ""), ("tl.arange(0, BLOCK)", "tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)"),
                    ("step[(B,)]", "step[(B, 2)]"), ("BLOCK=64", "BLOCK=32")),
            id="programs that share a row",
        ),
        pytest.param(of_rows(("a, b = b, a\n", "a, b = b, a\n            a.sub_(a.amax(1, True))\n")), id="a step between"),
        pytest.param(
            of_rows(("b = torch.empty_like(a)", "b, c = torch.empty_like(a), torch.zeros_like(a)"), ("a, b = b, a", "a, b, c = c, a, b")),
            id="the state of two steps before",
        ),
        pytest.param(
            of_rows(("        for t", "        moves = [self.move, self.move + 1]\n        for t"), ("b, self.move", "b, moves[t % 2]")),
            id="weights in turn",
        ),
        pytest.param(of_rows(("a, b = b, a", "a, b = b, a\n            if t == 7:\n                break")), id="a break"),
        pytest.param(of_rows(("dst + b * K + i", "dst + (b // 2) * K + i")), id="two programs write one row"),
    ],
)  # fmt: skip
def test_rows_silent(source: str) -> None:
    assert not run_rule("KL509", source)
