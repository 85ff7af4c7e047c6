"""Blocks that stand as two literals, in the grid and in the launch: they change together, or not at all."""

import textwrap

import pytest
from support.findings import run_rule

from kernlint.fix import fix_source
from kernlint.rules.registry import find_rule

STREAM = textwrap.dedent("""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def double(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

    class ModelNew(torch.nn.Module):
        def forward(self, x):
            n = x.numel()
            y = torch.empty_like(x)
            LAUNCH
            return y

    def get_inputs():
        return [torch.randn(SIZE)]
    """)


def stream(launch: str, size: int = 1 << 26) -> str:
    return STREAM.replace("LAUNCH", launch).replace("SIZE", str(size))


@pytest.mark.parametrize(
    "launch",
    [
        pytest.param("double[(triton.cdiv(n, 32),)](x, y, n, 32)", id="by position"),
        pytest.param("double[(triton.cdiv(n, 32), 1, 1)](x, y, n, BLOCK=32)", id="by keyword"),
        pytest.param("blocks = -(-n // 32)\n        double[(blocks,)](x, y, n, BLOCK=32)", id="rounded up by hand"),
        pytest.param("double[(n // 32,)](x, y, n, BLOCK=32)", id="rounded down, of a multiple"),
    ],
)
def test_both_change(launch: str) -> None:
    source = stream(launch)
    assert run_rule("KL202", source)
    after = fix_source(source, path="k.py", rules=["KL202"]).after
    assert "32" not in after.split("def forward")[1].split("return y")[0]
    assert not run_rule("KL202", after)


@pytest.mark.parametrize(
    "launch",
    [
        pytest.param("double[(2097152,)](x, y, n, 32)", id="a grid without the block"),
        pytest.param("double[((n + 31) // 32,)](x, y, n, 32)", id="half of the block is another number"),
        pytest.param("double[(triton.cdiv(n, 16) // 2,)](x, y, n, 32)", id="a product of two literals"),
        pytest.param(
            "double[(max(32, triton.cdiv(n, 16) // 2),)](x, y, n, 32)", id="the same number for another thing"
        ),
    ],
)
def test_neither_changes(launch: str) -> None:
    assert not run_rule("KL202", stream(launch))


def test_a_size_that_only_looks_like_a_multiple() -> None:
    # (n + 31) // 32 is n // 32 + 1 programs here, and (n + 31) // 1024 would leave the last element out.
    assert not run_rule("KL202", stream("double[((n + 31) // 32,)](x, y, n, 32)", (1 << 26) + 1))


def test_a_buffer_with_an_element_for_each_block_keeps_its_blocks() -> None:
    launch = "parts = torch.empty(triton.cdiv(n, 32))\n        double[(parts.numel(),)](x, y, n, 32)"
    assert not run_rule(
        "KL202", stream(launch).replace("double(x, y,", "double(x, y, parts,").replace("](x, y,", "](x, y, parts,")
    )


MATMUL = textwrap.dedent(find_rule("KL201").bad)
META = 'grid = lambda meta: (4096 // meta["BM"], 4096 // meta["BN"])'
assert META in MATMUL


def test_each_axis_of_a_matmul_has_its_literal() -> None:
    # All blocks are 16, so that the numbers do not tell which one belongs to rows and which to columns.
    source = MATMUL.replace(META, "grid = (triton.cdiv(4096, 16), triton.cdiv(4096, 16))")
    source = source.replace("4096, 4096, BM=16, BN=16, BK=32", "4096, 4096, 16, 16, 16")
    assert run_rule("KL201", source)
    after = fix_source(source, path="k.py", rules=["KL201"]).after
    rows, columns = (int(text.split(")")[0]) for text in after.split("cdiv(4096, ")[1:])
    assert f"4096, 4096, {rows}, {columns}, " in after
    assert rows > 16 < columns and not run_rule("KL201", after)


def test_axes_that_are_the_other_way_round() -> None:
    source = MATMUL.replace(META, "grid = (triton.cdiv(4096, 16), triton.cdiv(4096, 32))")
    source = source.replace("program_id(0) * BM", "program_id(1) * BM").replace(
        "program_id(1) * BN", "program_id(0) * BN"
    )
    source = source.replace("BM=16, BN=16, BK=32", "BM=32, BN=16, BK=32")
    after = fix_source(source, path="k.py", rules=["KL201"]).after
    columns, rows = (int(text.split(")")[0]) for text in after.split("cdiv(4096, ")[1:])
    assert f"BM={rows}, BN={columns}, " in after


def test_a_grid_with_one_literal_for_both_axes_stays() -> None:
    source = MATMUL.replace(META, "blocks = triton.cdiv(4096, 16)\n        grid = (blocks, blocks)")
    assert not run_rule("KL201", source)
