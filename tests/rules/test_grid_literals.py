"""Blocks that stand as two literals, in the grid and in the launch: they change together, or not at all."""

import textwrap

import pytest
from support.findings import run_rule

from kernlint.fix import fix_source
from kernlint.request import Request
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
        pytest.param(
            "double[lambda meta: (triton.cdiv(n, 32),)](x, y, n, BLOCK=32)", id="in a function that looks nothing up"
        ),
    ],
)
def test_both_change(launch: str) -> None:
    source = stream(launch)
    assert run_rule("KL202", source)
    # Another tile asks for consent where sizes that the present one divides may be no multiples of it.
    after = fix_source(Request(source, path="k.py"), rules=["KL202"], unsafe=True).after
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
    # No mask is on K, so that a deeper tile asks for consent.
    after = fix_source(Request(source, path="k.py", device="h100"), rules=["KL201"], unsafe=True).after
    rows, columns = (int(text.split(")")[0]) for text in after.split("cdiv(4096, ")[1:])
    assert f"4096, 4096, {rows}, {columns}, " in after
    assert rows > 16 < columns and not run_rule("KL201", after)


def test_axes_that_are_the_other_way_round() -> None:
    source = MATMUL.replace(META, "grid = (triton.cdiv(4096, 16), triton.cdiv(4096, 32))")
    source = source.replace("program_id(0) * BM", "program_id(1) * BM").replace(
        "program_id(1) * BN", "program_id(0) * BN"
    )
    source = source.replace("BM=16, BN=16, BK=32", "BM=32, BN=16, BK=32")
    after = fix_source(Request(source, path="k.py", device="h100"), rules=["KL201"]).after
    columns, rows = (int(text.split(")")[0]) for text in after.split("cdiv(4096, ")[1:])
    assert f"BM={rows}, BN={columns}, " in after


def test_a_grid_with_one_literal_for_both_axes_stays() -> None:
    source = MATMUL.replace(META, "blocks = triton.cdiv(4096, 16)\n        grid = (blocks, blocks)")
    assert not run_rule("KL201", source)


FLAT = textwrap.dedent("""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        pid = tl.program_id(0)
        ORDER
        m = pm * BM + tl.arange(0, BM)
        n = pn * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            x = tl.load(a + m[:, None] * K + (start + k)[None, :]MASK_M)
            y = tl.load(b + (start + k)[:, None] * N + n[None, :]MASK_N)
            acc = tl.dot(x, y, acc)
        tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16)MASK_MN)

    class ModelNew(torch.nn.Module):
        def forward(self, a, b):
            M, K = a.shape
            N = b.shape[1]
            c = torch.empty(M, N, device=a.device, dtype=torch.float16)
            GRID
            matmul[grid](a, b, c, M, N, K, 16, 16, 16)
            return c

    def get_inputs():
        return [torch.randn(4096, 4096, dtype=torch.float16), torch.randn(4096, 4096, dtype=torch.float16)]
    """)

ROWS_FIRST = """num_n = tl.cdiv(N, BN)
    pm, pn = pid // num_n, pid % num_n"""
COLUMNS_FIRST = """num_m = tl.cdiv(M, BM)
    pm, pn = pid % num_m, pid // num_m"""
GROUPED = """num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    in_group = 8 * num_n
    first = pid // in_group * 8
    rows = min(num_m - first, 8)
    pm = first + (pid % in_group) % rows
    pn = (pid % in_group) // rows"""
PRODUCT = "grid = (triton.cdiv(M, 16) * triton.cdiv(N, 16),)"
MASKS = {
    "MASK_MN": ", mask=(m < M)[:, None] & (n < N)[None, :]",
    "MASK_M": ", mask=(m < M)[:, None], other=0.0",
    "MASK_N": ", mask=(n < N)[None, :], other=0.0",
}


def flat(order: str = ROWS_FIRST, grid: str = PRODUCT, masked: bool = True) -> str:
    source = FLAT.replace("ORDER", order).replace("GRID", grid)
    for name, mask in MASKS.items():
        source = source.replace(name, mask if masked else "")
    return source


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "not masked"])
@pytest.mark.parametrize("grid", [PRODUCT, "grid = (triton.cdiv(N, 16) * triton.cdiv(M, 16),)"], ids=["m n", "n m"])
@pytest.mark.parametrize(
    "order",
    [
        pytest.param(ROWS_FIRST, id="rows first"),
        pytest.param(COLUMNS_FIRST, id="columns first"),
        pytest.param(GROUPED, id="grouped"),
    ],
)
def test_each_factor_of_a_product_has_its_block(order: str, grid: str, masked: bool) -> None:
    # Blocks and sizes are equal numbers all: only what the kernel divides by which tells them apart.
    source = flat(order, grid, masked)
    # No mask is on K, so that a deeper tile asks for consent.
    after = fix_source(Request(source, path="k.py", device="h100"), rules=["KL201"], unsafe=True).after
    rows, columns = (after.split(f"cdiv({size}, ")[-1].split(")")[0] for size in "MN")
    assert rows != "16" != columns and rows != columns
    assert f"M, N, K, {rows}, {columns}, " in after


def test_factors_under_names() -> None:
    grid = "columns = triton.cdiv(N, 16)\n        rows = triton.cdiv(M, 16)\n        grid = (rows * columns,)"
    after = fix_source(Request(flat(grid=grid), path="k.py", device="h100"), rules=["KL201"], unsafe=True).after
    rows, columns = (after.split(f"cdiv({size}, ")[-1].split(")")[0] for size in "MN")
    assert f"M, N, K, {rows}, {columns}, " in after and rows != "16"


@pytest.mark.parametrize(
    "grid",
    [
        pytest.param("grid = (triton.cdiv(M, 16) * triton.cdiv(K, 16),)", id="a factor of another size"),
        pytest.param("grid = (((M + 15) // 16) * ((N + 15) // 16),)", id="half of a block is another number"),
        pytest.param("grid = (triton.cdiv(M * N, 16 * 16),)", id="no product of two counts"),
        pytest.param("grid = (256 * triton.cdiv(N, 16),)", id="one factor is no literal's"),
        pytest.param("blocks = triton.cdiv(M, 16)\n        grid = (blocks * blocks,)", id="one literal for both"),
        pytest.param(
            "c.zero_() if triton.cdiv(M, 16) > 8 else c\n        grid = (triton.cdiv(M, 8) // 2 * triton.cdiv(N, 16),)",
            id="a block of half the size",
        ),
    ],
)
def test_factors_that_are_not_told_apart_stay(grid: str) -> None:
    assert not run_rule("KL201", flat(grid=grid))


def test_sides_that_are_always_equal_stay() -> None:
    # With one size for rows and columns nothing says which of the literals is whose.
    source = flat(grid=PRODUCT.replace("M", "N")).replace("M, K = a.shape", "K = a.shape[1]")
    source = source.replace("N = b.shape[1]", "N = M = b.shape[1]")
    assert not run_rule("KL201", source)


def test_a_factor_that_the_kernel_is_told_stays() -> None:
    source = flat(grid="columns = triton.cdiv(N, 16)\n        grid = (triton.cdiv(M, 16) * columns,)")
    source = source.replace("M, N, K, BM:", "M, N, K, num_n, BM:").replace("num_n = tl.cdiv(N, BN)\n    ", "")
    source = source.replace("a, b, c, M, N, K, 16", "a, b, c, M, N, K, columns, 16")
    assert not run_rule("KL201", source)
