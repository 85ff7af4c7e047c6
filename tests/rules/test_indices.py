"""The mixed-radix reading of addresses: what a store reaches, and whether it comes to a place twice."""

import pytest
from support.findings import HEADER

from kernlint.interpret.program import Program
from kernlint.rules.proofs.indices import addresses, always_run, program_indices
from kernlint.syntax.tree import parse_module
from kernlint.workload import Store

LAUNCHED = """
@triton.jit
def kernel(y, n, B: tl.constexpr):
    p, q = tl.program_id(0), tl.program_id(1)
    i = tl.arange(0, B)
{body}

def run():
    y = torch.empty(1 << 20, device="cuda")
    kernel[{grid}](y, 100, B=32)
    return y
"""


def stored(body: str, grid: str):
    """(launch, addresses of its one store)."""
    lines = "\n".join("    " + line for line in body.splitlines())
    program = Program(parse_module(HEADER + LAUNCHED.format(body=lines, grid=grid), "example.py"))
    (launch,) = program.workloads()[0].launches()
    ((store, loops),) = always_run(launch.kernel, Store)
    return launch, addresses(launch, store, loops)


@pytest.mark.parametrize(
    ("body", "grid", "count", "distinct"),
    [
        pytest.param("tl.store(y + p * B + i, 0.0)", "(4,)", 128, True, id="flat"),
        pytest.param("tl.store(y + p * B + i, 0.0, mask=p * B + i < n)", "(4,)", 100, True, id="masked tail"),
        pytest.param("tl.store(y + p * 16 + i, 0.0)", "(4,)", 80, False, id="overlapping"),
        pytest.param("tl.store(y + p + i * 4, 0.0)", "(4,)", 128, True, id="interleaved"),
        pytest.param("tl.store(y + q * n + p * B + i, 0.0, mask=p * B + i < n)", "(4, 3)", 300, True, id="rows of a mask's length"),
        pytest.param("tl.store(y + p * B + i, 0.0)", "(4, 3)", 128, False, id="a program id that moves nothing"),
        pytest.param(
            "tl.store(y + p // 4 * n + p % 4 * B + i, 0.0, mask=p % 4 * B + i < n)", "(12,)", 300, True, id="split program id"
        ),
        pytest.param("for k in range(0, 128, B):\n    tl.store(y + p * 128 + k + i, 0.0)", "(3,)", 384, True, id="loop"),
        pytest.param("tl.store(y + p * 64 + i, 0.0)", "(4,)", 32, True, id="gaps"),
        pytest.param(
            "f = p * B + i\ntl.store(y + f // 64 * 64 + f % 64, 0.0)", "(4,)", 128, True, id="divided flat index"
        ),
        pytest.param(
            "f = p * B + i\ntl.store(y + f % 64 * 2 + f // 64, 0.0)", "(4,)", 128, True, id="transposed flat index"
        ),
    ],
)  # fmt: skip
def test_what_a_store_reaches(body, grid, count, distinct):
    _, found = stored(body, grid)
    assert found is not None
    assert found.cover(count)
    assert not found.cover(count + 1)
    assert found.distinct == distinct


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        pytest.param("tl.store(y + p * B + i + 1, 0.0)", "(4,)", id="does not begin at zero"),
        pytest.param("tl.store(y + (p * B + i) % 50, 0.0)", "(4,)", id="remainder of lanes"),
        pytest.param("tl.store(y + p // 3 * B + i, 0.0)", "(4,)", id="divisor that does not divide the grid"),
        pytest.param("tl.store(y + p // 2 + p % 4 + i, 0.0)", "(4,)", id="two divisors"),
        pytest.param("tl.store(y + p * B - i, 0.0)", "(4,)", id="backwards"),
        pytest.param("tl.store(y + p * B + i, 0.0, mask=i * 2 < n)", "(4,)", id="mask of another stride"),
        pytest.param("tl.store(y + p * B + i, 0.0, mask=i < n)", "(4,)", id="bound beyond the lanes"),
        pytest.param("tl.store(y + tl.load(y + p + i).to(tl.int32), 0.0)", "(4,)", id="scatter"),
    ],
)
def test_what_cannot_be_proven(body, grid):
    _, found = stored(body, grid)
    assert found is None or not found.cover(128)


def test_a_split_program_id_has_two_extents():
    launch, _ = stored("tl.store(y + p // 4 * n + p % 4 * B + i, 0.0)", "(12, 5)")
    indices = program_indices(launch)
    (split,) = indices.splits
    assert [indices.extents[split.high], indices.extents[split.low]] == [3, 4]


def test_a_store_under_a_branch_may_not_run():
    launch, _ = stored("tl.store(y + p * B + i, 0.0)", "(4,)")
    assert len(always_run(launch.kernel, Store)) == 1
    body = HEADER + LAUNCHED.format(body="    if tl.load(y) > 0:\n        tl.store(y + p * B + i, 0.0)", grid="(4,)")
    (launch,) = Program(parse_module(body, "example.py")).workloads()[0].launches()
    assert launch.kernel.stores()
    assert not always_run(launch.kernel, Store)
