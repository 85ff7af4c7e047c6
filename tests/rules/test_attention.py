"""KL501: attention whose scores go through memory, in kernels, torch calls and mixtures of both."""

import pytest
from support.findings import run_rule

KERNELS = """
@triton.jit
def first(q, k, s, S, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    h = tl.program_id(2)
    a = tl.load(q + h * S * D + m[:, None] * D + d[None, :])
    b = tl.load(k + h * T * D + n[None, :] * D + d[:, None])
    tl.store(s + h * S * T + m[:, None] * T + n[None, :], tl.dot(a, b) * 0.125)

@triton.jit
def rows(s, p, T, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(s + r * T + c, mask=c < T, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(p + r * T + c, e / tl.sum(e, axis=0), mask=c < T)

@triton.jit
def squash(s, p, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p + i, tl.sigmoid(tl.load(s + i, mask=i < n)), mask=i < n)

@triton.jit
def second(p, v, o, S, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    h = tl.program_id(1)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, T, BN):
        n = start + tl.arange(0, BN)
        a = tl.load(p + h * S * T + m[:, None] * T + n[None, :])
        b = tl.load(v + h * T * D + n[:, None] * D + d[None, :])
        acc += tl.dot(a.to(tl.float16), b)
    tl.store(o + h * S * D + m[:, None] * D + d[None, :], acc.to(tl.float16))

H, S, T, D = 32, 1024, 1024, 64

def scores(q, k):
    s = torch.empty(H, S, T, device=q.device)
    first[(S // 128, T // 128, H)](q, k, s, S, T, D=D, BM=128, BN=128)
    return s

def softmax(s):
    p = torch.empty_like(s)
    rows[(H * S,)](s, p, T, BLOCK=triton.next_power_of_2(T), num_warps=4)
    return p

def product(p, v):
    o = torch.empty(H, S, D, device=v.device, dtype=v.dtype)
    second[(S // 128, H)](p, v, o, S, T, D=D, BM=128, BN=64)
    return o

class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        {body}

def get_inputs():
    return [torch.randn(H, S, D, dtype=torch.float16), torch.randn(H, T, D, dtype=torch.float16),
            torch.randn(H, T, D, dtype=torch.float16)]
"""


def program(body):
    return KERNELS.replace("{body}", ("\n" + " " * 8).join(body.split("\n")))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return product(softmax(scores(q, k)), v)", id="three kernels"),
        pytest.param("return torch.matmul(softmax(scores(q, k)).half(), v)", id="torch product"),
        pytest.param("return product(torch.softmax(scores(q, k), -1), v)", id="torch softmax"),
        pytest.param(
            "s = torch.matmul(q, k.transpose(1, 2)) * 0.125\nreturn product(softmax(s.float()), v)",
            id="torch scores, scaled and cast",
        ),
        pytest.param(
            "s = scores(q, k)\nrows[(H * S,)](s, s, T, BLOCK=1024)\nreturn product(s, v)", id="softmax in place"
        ),
        pytest.param(
            "o = torch.empty_like(q)\np = softmax(scores(q, k))\n"
            "second[(S // 128, H)](o=o, v=v, p=p, T=T, S=S, BN=64, BM=128, D=D)\nreturn o",
            id="keywords in another order",
        ),
    ],
)
def test_materialised(body):
    found = run_rule("KL501", program(body))
    assert "stores [32, 1024, 1024] scores" in found.only().message
    assert found.promised() > 1.5


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "s = scores(q, k)\np = torch.empty_like(s)\nsquash[(H * S * T // 1024,)](s, p, H * S * T, BLOCK=1024)\nreturn product(p, v)",
            id="no softmax",
        ),
        pytest.param("return product(scores(q, k), v)", id="linear attention order of products"),
        pytest.param("p = softmax(scores(q, k))\nreturn product(p, v), p", id="probabilities are returned"),
        pytest.param("s = scores(q, k)\no = product(softmax(s), v)\nreturn o, s.sum()", id="scores are read again"),
        pytest.param("return softmax(scores(q, k))", id="no second product"),
        pytest.param("return product(torch.log_softmax(scores(q, k), -1), v)", id="log of the probabilities"),
        pytest.param(
            "s = scores(q, k)\nreturn product(softmax(torch.rand_like(s)), v)", id="softmax of something else"
        ),
    ],
)
def test_other_chains_stay(body):
    assert not run_rule("KL501", program(body))


def test_heads_too_wide_for_the_chip_stay():
    assert not run_rule("KL501", program("return product(softmax(scores(q, k)), v)"), D=512, S=256, T=256)
