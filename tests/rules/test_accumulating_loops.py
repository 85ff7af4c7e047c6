"""KL601: Python loops that add one term at a time to a tensor; KL509 has the recurrences that are more than a sum."""

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def add_term(acc, y, g, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    weight = tl.load(g)
    s = tl.load(acc + i, mask=inside)
    v = tl.load(y + i, mask=inside).to(tl.float32)
    STORE

K, N = 6, 8388608

def combine(x, terms, weights):
    total = START
    for k in range(K):
        add_term[(triton.cdiv(N, 1024),)](total, terms[k], weights[k], N, BLOCK=1024)
    return RESULT

class ModelNew(torch.nn.Module):
    def forward(self, x, terms, weights):
        return combine(x, terms, weights)

def get_inputs():
    return [torch.randn(N, dtype=torch.float16), torch.randn(K, N, dtype=torch.float16), torch.rand(K)]
"""
STORE = "tl.store(acc + i, s + weight * v, mask=inside)"


def program(store: str = STORE, start: str = "x.float()", result: str = "total.to(x.dtype)") -> str:
    return PROGRAM.replace("STORE", store).replace("START", start).replace("RESULT", result)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(), id="weighted sum"),
        pytest.param(program("s += weight * v\n    tl.store(acc + i, value=s, mask=inside)"), id="in place"),
        pytest.param(program("new = v * weight + s\n    tl.store(acc + i, new, inside)"), id="another order"),
        pytest.param(program(start="x.to(torch.float32)").replace("total", "out"), id="another name"),
    ],
)
def test_terms_added_one_at_a_time(source):
    found = run_rule("KL601", source)
    assert found.only().symbol == "combine"
    assert found.promised() > 1.2
    assert not run_rule("KL509", source)


@pytest.mark.parametrize(
    "store",
    [
        pytest.param("tl.store(acc + i, s * 0.9 + weight * v, mask=inside)", id="a leak"),
        pytest.param("tl.store(acc + i, tl.maximum(s, weight * v), mask=inside)", id="a maximum"),
        pytest.param("tl.store(acc + i, s + weight * v * s, mask=inside)", id="a term of the sum"),
        pytest.param("tl.store(acc + i, weight * v - s, mask=inside)", id="alternating"),
        pytest.param("s = tl.abs(s)\n    tl.store(acc + i, s + v, mask=inside)", id="of magnitudes"),
    ],
)
def test_recurrences_are_no_sums(store):
    assert not run_rule("KL601", program(store))
    assert run_rule("KL509", program(store))
