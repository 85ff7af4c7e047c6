"""KL306: one atomic for each element into few counters that it reads, and scatters that only look like it."""

from __future__ import annotations

import pytest
from support.findings import run_rule

from kernlint.workload import Atomic, Loop

PROGRAM = """
@triton.jit
def count(index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    bin = tl.load(index + i, mask=mask, other=0)
    tl.atomic_add(out + bin, 1, mask=mask)

class ModelNew(torch.nn.Module):
    def forward(self, index):
        out = torch.zeros(SIZE, dtype=torch.int32, device=index.device)
        n = index.numel()
        count[(triton.cdiv(n, 1024),)](index, out, n, BLOCK=1024)
        return out

SIZE = 256

def get_inputs():
    return [torch.randint(0, SIZE, (1 << 22,))]
"""
ADD = "tl.atomic_add(out + bin, 1, mask=mask)"
HELPED = "put(out, bin, mask)\n\n@triton.jit\ndef put(where, k, m):\n    tl.atomic_add(where + k, 1, mask=m)"
ONCE = """    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    bin = tl.load(index + i, mask=mask, other=0)
    tl.atomic_add"""
LOOPED = """    for s in range(tl.program_id(0), tl.cdiv(n, BLOCK), 1024):
        i = s * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        bin = tl.load(index + i, mask=mask, other=0)
        tl.atomic_add"""
ROWS = (
    PROGRAM.replace("index + i", "index + tl.program_id(1) * n + i")
    .replace("out + bin", "out + tl.program_id(1) * 256 + bin")
    .replace("torch.zeros(SIZE", "torch.zeros((index.shape[0], SIZE)")
    .replace("n = index.numel()", "n = index.shape[1]")
    .replace("(triton.cdiv(n, 1024),)", "(triton.cdiv(n, 1024), index.shape[0])")
    .replace("(1 << 22,)", "(64, 1 << 16)")
)


def replaced(source: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(PROGRAM, id="counts"),
        pytest.param(ROWS, id="counters of each row"),
        pytest.param(
            replaced(PROGRAM, (ADD, "tl.atomic_add(pointer=out + bin, val=ones, mask=mask, sem='relaxed')"),
                     ("    bin =", "    ones = tl.full((BLOCK,), 1, tl.int32)\n    bin =")),
            id="a tile of ones, by keyword",
        ),
        pytest.param(
            replaced(PROGRAM, ("    tl.atomic", "    at = tl.minimum(tl.maximum((bin * 0.5 - 3.0).to(tl.int32), 0), 255)\n    tl.atomic"),
                     ("out + bin, 1", "out + at, 1.0"), ("torch.int32", "torch.float32")),
            id="bins that are computed from what is read",
        ),
        pytest.param(
            replaced(PROGRAM, ("tl.arange(0, BLOCK)", "tl.arange(0, 16)[:, None] * (BLOCK // 16) + tl.arange(0, BLOCK // 16)[None, :]")),
            id="a tile",
        ),
        pytest.param(replaced(PROGRAM, (ADD, HELPED)), id="in a helper"),
        pytest.param(replaced(PROGRAM, (ONCE, LOOPED), ("(triton.cdiv(n, 1024),)", "(1024,)")), id="in a loop over blocks"),
    ],
)  # fmt: skip
def test_counted_in_the_program_first(source: str) -> None:
    found = run_rule("KL306", source)
    finding = found.only()
    assert "256 addresses of `out`" in finding.message and "tl.histogram" in finding.change.plan
    after = found.after().launches()[0].kernel
    (atomic,) = (node for node, _ in after.walk(Atomic))
    assert atomic.shape == (256,) and atomic is after.body[-1]
    context = found.contexts[0]
    before, now = context.gpu_us(context.variant), context.gpu_us(finding.change.variant)
    assert before is not None and now is not None and now < before / 2


def test_a_program_counts_several_blocks() -> None:
    (launch,) = run_rule("KL306", PROGRAM).after().launches()
    assert any(isinstance(node, Loop) for node in launch.kernel.body) and launch.programs in (1024, 256)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(replaced(PROGRAM, ("SIZE = 256", "SIZE = 1 << 20")), id="many counters"),
        pytest.param(replaced(PROGRAM, (ADD, f"old = {ADD}\n    tl.store(index + i, old, mask=mask)")), id="the old value is a rank"),
        pytest.param(replaced(PROGRAM, ("bin, 1,", "bin, i,")), id="another number in each lane"),
        pytest.param(replaced(PROGRAM, ("bin, 1,", "bin, bin.to(tl.int32),")), id="the value that was read"),
        pytest.param(replaced(PROGRAM, ("atomic_add", "atomic_max")), id="a maximum"),
        pytest.param(replaced(PROGRAM, ("(1 << 22,)", "(2048,)")), id="few elements"),
        pytest.param(replaced(PROGRAM, ("out + bin", "out + i % 256")), id="an address of the program's own"),
        pytest.param(replaced(ROWS, ("1) * 256", "1) * 100")), id="windows that overlap"),
        pytest.param(replaced(PROGRAM, (ADD, f"{ADD}\n    tl.atomic_add(out + bin, 1, mask=mask & (bin > 3))")), id="two atomics"),
        pytest.param(replaced(PROGRAM, ("    tl.atomic", "    if n > tl.load(index):\n        tl.atomic")), id="on a condition"),
        pytest.param(
            replaced(PROGRAM, ("bin = tl.load(index + i, mask=mask, other=0)", "bin = tl.load(index + tl.program_id(0))"),
                     (ADD, "tl.atomic_add(out + bin, 1)")),
            id="one a program",
        ),
    ],
)  # fmt: skip
def test_silent(source: str) -> None:
    found = run_rule("KL306", source)
    assert not [finding for finding in found.findings if "for each element" in finding.message]
