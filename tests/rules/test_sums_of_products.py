"""What a kernel adds up, and what it makes of two loaded tiles."""

import pytest
from support.findings import run_rule

from kernlint.rules.proofs.sums_of_products import contractions, product, squared_difference, sums

PROGRAM = """
@triton.jit
def kernel(a, b, y, N, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for j in range(8):
        for k in range(N):
            p, q = tl.load(a + k * B + i).to(tl.float32), tl.load(b + j * N + k)
            STEP
        AFTER
    tl.store(y + i, acc)

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        y = torch.empty(64, device=a.device)
        kernel[(1,)](a, b, y, 32, B=64)
        return y

def get_inputs():
    return [torch.randn(32, 64), torch.randn(8, 32)]
"""


def kernel_of(step: str, after: str = "pass"):
    (context,) = run_rule("KL502", PROGRAM.replace("STEP", step).replace("AFTER", after)).contexts
    (launch,) = context.workload.launches()
    return launch.kernel


@pytest.mark.parametrize(
    ("step", "after", "loops", "terms"),
    [
        pytest.param("acc += p * q", "pass", 2, 1, id="through both loops"),
        pytest.param("acc = q * p + acc", "pass", 2, 1, id="the other way round"),
        pytest.param("acc += p * q; acc += p", "pass", 2, 2, id="two terms"),
        pytest.param("acc += p * q", "acc = acc * 0.5", 1, 1, id="the outer loop scales it"),
        pytest.param("acc += p * q", "tl.store(y + i, acc)", 1, 1, id="the outer loop stores it"),
    ],
)
def test_sums(step, after, loops, terms):
    (found,) = [one for one in sums(kernel_of(step, after)) if one.nest]
    assert (len(found.nest), len(found.terms)) == (loops, terms)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("acc = acc * 0.9 + p * q", id="it decays"),
        pytest.param("acc = tl.maximum(acc, p * q)", id="the largest"),
        pytest.param("acc += p * acc", id="a term of itself"),
        pytest.param("acc -= p * q", id="taken away"),
        pytest.param("acc += p * q; tl.store(y + i, acc)", id="each partial sum is stored"),
        pytest.param("acc += p; acc += p * acc", id="a partial sum is read"),
    ],
)
def test_no_sums(step):
    assert not [one for one in sums(kernel_of(step)) if one.nest]


def test_products_and_squares():
    def made(step):
        kernel = kernel_of(step)
        (term,) = next(one for one in sums(kernel) if one.nest).terms
        return product(kernel, term), squared_difference(kernel, term)

    times, square = made("acc += p * q")
    assert times is not None and [one.axes for one in times.factors] == [(0,), ()] and square is None
    times, square = made("d = p - q; acc += d * d")
    assert times is None and square is not None
    for other in ("acc += (p - q) * (q - p)", "acc += p * p", "acc += (p + 1.0) * q"):
        assert made(other) == (None, None)


@pytest.mark.parametrize(
    ("other", "axis", "kept"),
    [
        pytest.param("t[None, :, :]", -1, (0, 1), id="the last axis"),
        pytest.param("tl.trans(t)[None, :, :]", -1, (0, 1), id="transposed"),
        pytest.param("tl.permute(t, (0, 1))[None, :, :]", -1, (0, 1), id="permuted to itself"),
    ],
)
def test_contractions_know_the_axes(other, axis, kept):
    step = (
        "s = tl.load(a + i[:, None] * B + i[None, :]); t = tl.load(b + i[:, None] * B + i[None, :]); "
        f"acc += tl.sum(tl.sum(s[:, None, :] * {other}, axis={axis}), axis=1)"
    )
    (found,) = contractions(kernel_of(step), product)
    assert (found.axis, found.kept, found.extents) == (2, kept, (64, 64, 64))
    swapped = found.tile.factors[1].axes != (1, 2)
    assert swapped == ("trans" in other)
