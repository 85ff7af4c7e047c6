"""KL401: launches side by side whose results come together in a later step."""

import pytest
from support.findings import run_rule

from kernlint.workload import Launch, TorchOp

KERNELS = """
@triton.jit
def along(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
    tl.store(y + i, tl.load(x + i, mask=i < n) - left, mask=i < n)

@triton.jit
def across(x, y, n, W, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    up = tl.load(x + i - W, mask=(i >= W) & (i < n), other=0.0)
    tl.store(y + i, tl.load(x + i, mask=i < n) - up, mask=i < n)

@triton.jit
def weighted(a, b, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p, q = tl.load(a + i, mask=i < n), tl.load(b + i, mask=i < n)
    tl.store(y + i, tl.sqrt(p * p + q * q), mask=i < n)

@triton.jit
def half(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 0.5, mask=i < n)

def slope(x):
    y = torch.empty_like(x)
    along[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y

class ModelNew(torch.nn.Module):
    def forward(self, x, r):
        n, w = x.numel(), x.shape[1]
        gx, gy, out = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
        grid = (triton.cdiv(n, 1024),)
        {body}

def get_inputs():
    return [torch.randn(4096, 2048), torch.randn(4096, 2048)]
"""
ALONG, ACROSS = "along[grid](x, gx, n, BLOCK=1024)\n", "across[grid](x, gy, n, w, BLOCK=1024)\n"
PAIR = ALONG + ACROSS
JOIN = "weighted[(triton.cdiv(n, 512),)](gx, gy, out, n, BLOCK=512)\nreturn out"


def program(body):
    return KERNELS.replace("{body}", body.replace("\n", "\n" + " " * 8))


def device_steps(workload):
    return [s for s, _ in workload.walk() if isinstance(s, Launch) or (isinstance(s, TorchOp) and s.kind != "alloc")]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(PAIR + JOIN, id="a kernel joins them"),
        pytest.param(
            PAIR + "return torch.sqrt(gx * gx + gy * gy + 1e-6).clamp(0.0, 1.0)", id="a torch chain joins them"
        ),
        pytest.param(PAIR + "return gx + gy", id="one torch call joins them"),
        pytest.param(PAIR + "return torch.sigmoid(gx) * torch.tanh(gy)", id="each has work of its own first"),
        pytest.param(
            "gy = slope(x)\nacross[grid](r, gx, n, w, BLOCK=1024)\n" + JOIN, id="other inputs, one in a helper"
        ),
        pytest.param(
            "across[grid](x=x, y=gy, n=n, W=w, BLOCK=1024)\nalong[grid](x=x, y=gx, n=n, BLOCK=1024)\n" + JOIN,
            id="the other order, by keyword",
        ),
        pytest.param(
            PAIR + "gz = torch.empty_like(x)\nhalf[grid](r, gz, n, BLOCK=1024)\nreturn gx * gy + gz", id="three of them"
        ),
        pytest.param(PAIR + "z = gx + gy\nz.mul_(0.5)\nreturn z", id="in place afterwards"),
    ],
)
def test_launches_whose_results_come_together(body):
    found = run_rule("KL401", program(body))
    finding = found.only()
    assert "`along`" in finding.message and "`across`" in finding.message
    assert len(device_steps(found.after())) == 1


def test_what_both_read_is_read_once():
    found = run_rule("KL401", program(PAIR + JOIN))
    (launch,) = found.after().launches()
    (centre,) = [load for load in launch.kernel.loads() if "-" not in str(load.offset)]
    assert centre.base == "x" and len(launch.kernel.loads()) == 3 and len(launch.kernel.stores()) == 1
    assert any("`x`" in e.text and "more than one step" in e.text for e in found.only().evidence)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(PAIR + "return gx, gy", id="the results stay apart"),
        pytest.param(PAIR + "return gx + gy, gx, gy", id="the results are returned as well"),
        pytest.param(PAIR + "return gx.sum(0) + gy.sum(1).mean()", id="reduced apart"),
        pytest.param(PAIR + "return (gx + gy.t().reshape(gx.shape)), gx, gy", id="joined element by other element"),
        pytest.param(
            "along[grid](x, gx, n, BLOCK=1024)\nif gx.sum().item() > 0:\n    pass\nacross[grid](x, gy, n, w, BLOCK=1024)\n"
            "return gx.sum(), gy",
            id="a host sync between",
        ),
        pytest.param(
            ALONG + ACROSS.replace("(x, gy", "(r, x") + "return gx + x", id="the second overwrites what the first reads"
        ),
    ],
)
def test_launches_that_stay_apart(body):
    assert not run_rule("KL401", program(body))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(ALONG + f"x.zero_()\n{ACROSS}" + JOIN, id="an input overwritten between"),
        pytest.param(ALONG + ACROSS.replace("grid]", "(triton.cdiv(n, 512),)]").replace("1024", "512") + JOIN, id="another grid"),
        pytest.param(ALONG + ACROSS.replace("1024", "1024, num_warps=8") + JOIN, id="other warps"),
        pytest.param(ALONG + ACROSS.replace("(x,", "(gx,") + JOIN, id="the second reads the first"),
    ],
)  # fmt: skip
def test_launches_that_are_no_siblings(body):
    findings = run_rule("KL401", program(body)).findings
    assert findings
    for finding in findings:
        assert not ("`along`" in finding.message and "`across`" in finding.message)
