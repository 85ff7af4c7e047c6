"""KL102 and KL103 with the deeper tile that narrow operands leave room for, and KL101 to KL103 without."""

from __future__ import annotations

import pytest
from support.findings import Found, run_rule

PROGRAM = """
@triton.jit
def product(x, w, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, tl.cdiv(K, BK)):
        k = start * BK + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0).to(tl.float32)
        b = tl.load(w + k[:, None] + n[None, :] * K, mask=k[:, None] < K, other=0.0).to(tl.float32)
        acc += tl.dot(a, b)
    tl.store(y + m[:, None] * N + n[None, :], acc)

class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        M, K = x.shape
        N = w.shape[0]
        y = torch.empty(M, N, device=x.device)
        LAUNCH
        return y

def get_inputs():
    return [torch.randn(M, K).to(torch.float16), torch.randn(N, K).to(torch.float16)]

M, N, K = 8192, 4096, 2048
"""
LAUNCH = "product[(triton.cdiv(M, 128), triton.cdiv(N, 128))](x, w, y, M, N, K, BM=128, BN=128, BK=32, num_warps=8)"
NAMED = f"depth = 32; {LAUNCH.replace('BK=32', 'BK=depth')}"
DICTIONARY = f"meta = dict(BM=128, BN=128, BK=32); {LAUNCH.replace('BM=128, BN=128, BK=32', '**meta')}"


def found_in(code: str = "KL103", launch: str = LAUNCH, changed: dict[str, str] | None = None) -> Found:
    source = PROGRAM.replace("LAUNCH", launch)
    for old, new in (changed or {}).items():
        assert old in source
        source = source.replace(old, new)
    return run_rule(code, source)


def depth_after(found: Found) -> int:
    (dot,) = (dot for launch in found.after().launches() for dot in launch.kernel.dots())
    assert dot.a.dtype.bits <= 16
    return dot.k


@pytest.mark.parametrize(
    "launch",
    [pytest.param(LAUNCH, id="in the call"), pytest.param(NAMED, id="a name"), pytest.param(DICTIONARY, id="meta")],
)
def test_halves_go_twice_as_deep(launch: str) -> None:
    found = found_in(launch=launch)
    assert depth_after(found) == 64
    change = found.only().change
    assert change is not None and "BK=64" in change.method and "BK=64" in change.plan


def test_fp8_goes_four_times_as_deep() -> None:
    found = found_in("KL102", changed={"torch.float16": "torch.float8_e4m3fn"})
    assert depth_after(found) == 128


@pytest.mark.parametrize(
    ("launch", "changed"),
    [
        pytest.param(LAUNCH.replace("BK=32", "BK=128, num_stages=4"), {}, id="no room for it"),
        pytest.param(LAUNCH, {"K = 8192, 4096, 2048": "K = 8192, 4096, 32"}, id="no more of K"),
        pytest.param(LAUNCH, {"acc += tl.dot(a, b)": "acc += tl.dot(a, b) * tl.load(y + start)"}, id="a scale for each step"),
        pytest.param(LAUNCH, {"8192, 4096, 2048": "8192, 4096, 2080", "tl.cdiv(K, BK)": "K // BK"}, id="steps that would end early"),
        pytest.param(LAUNCH, {"2048": "2080", ", mask=k[None, :] < K, other=0.0": "", ", mask=k[:, None] < K, other=0.0": ""},
                     id="nothing masks the end of K"),
        pytest.param(LAUNCH.replace("BK=32", "BK=triton.next_power_of_2(y.shape[0] // 256)"), {}, id="computed from sizes"),
        pytest.param(LAUNCH.replace("BM=128", "BM=32").replace("M, 128)", "M, 32)"),
                     {"BM + tl": "BK + tl", "zeros((BM": "zeros((BK", "arange(0, BM)": "arange(0, BK)"}, id="the rows' extent as well"),
    ],
)  # fmt: skip
def test_the_depth_stays(launch: str, changed: dict[str, str]) -> None:
    found = found_in(launch=launch, changed=changed)
    before = found.contexts[0].launches()[0].kernel.dots()[0].k
    assert depth_after(found) == before
    change = found.only().change
    assert change is not None and "leave room" not in change.method


def test_integers_change_their_type_alone() -> None:
    found = found_in("KL101", changed={"torch.float16": "torch.int8"})
    assert depth_after(found) == 32


def test_open_sizes_keep_the_depth() -> None:
    source = PROGRAM.replace("LAUNCH", "assert x.dtype == torch.float16 and w.dtype == torch.float16; " + LAUNCH)
    change = run_rule("KL103", source[: source.index("def get_inputs")]).only().change
    assert change is not None and "leave room" not in change.method
