"""32-bit indices are widened where they are made, or where they are used if their type must not change."""

from __future__ import annotations

import pytest
from support.mends import came, mended, refusal, unchanged

KERNEL = """
@triton.jit
def k(x, o, stride, n, h, B: tl.constexpr):
    {index}
    c = tl.arange(0, B)
    tl.store(o + {store} + c, tl.load(x + {load} + c, mask=c < n, other=0.0), mask=c < n)
"""


def kernel(index: str, load: str, store: str | None = None) -> str:
    lines = index.replace("\n", "\n    ")
    return KERNEL.format(index=lines, load=load, store=store or load)


@pytest.mark.parametrize(
    ("index", "load", "lines"),
    [
        pytest.param(
            "row = tl.program_id(0)", "row * stride", ["row = tl.program_id(0).to(tl.int64)"], id="program-id"
        ),
        pytest.param(
            "row = tl.program_id(axis=0)  # a row",
            "stride * row",
            ["row = tl.program_id(axis=0).to(tl.int64)  # a row"],
            id="stride-first-and-a-comment",
        ),
        pytest.param(
            "program = tl.program_id(0)\nrow = program + 1",
            "row * stride",
            ["tl.store(o + row.to(tl.int64) * stride + c, tl.load(x + row.to(tl.int64) * stride + c, mask=c < n, other=0.0), mask=c < n)"],
            id="computed-from-a-program-id",
        ),
        pytest.param(
            "row = tl.program_id(0)\nbatch = row // h",
            "(batch * h + row % h) * stride",
            ["tl.store(o + (batch.to(tl.int64) * h + row % h) * stride + c, "
             "tl.load(x + (batch.to(tl.int64) * h + row % h) * stride + c, mask=c < n, other=0.0), mask=c < n)"],
            id="product-inside-a-product",
        ),
        pytest.param(
            "row = tl.program_id(0)\nlast = 0\nif n > 4:\n    last = row",
            "row * stride",
            ["tl.store(o + row.to(tl.int64) * stride + c, tl.load(x + row.to(tl.int64) * stride + c, mask=c < n, other=0.0), mask=c < n)"],
            id="another-variable-must-keep-its-type",
        ),
        pytest.param(
            "row = tl.program_id(0)\ntl.store(o, (row * 1103515245) >> 16)",
            "row * stride",
            ["tl.store(o + row.to(tl.int64) * stride + c, tl.load(x + row.to(tl.int64) * stride + c, mask=c < n, other=0.0), mask=c < n)"],
            id="a-hash-that-is-meant-to-wrap",
        ),
        pytest.param(
            "row = tl.program_id(0)\ntl.store(o, row * 1664525 < 0)",
            "row * stride",
            ["tl.store(o + row.to(tl.int64) * stride + c, tl.load(x + row.to(tl.int64) * stride + c, mask=c < n, other=0.0), mask=c < n)"],
            id="a-hash-that-is-compared",
        ),
        pytest.param(
            "row = tl.program_id(0)\nseed = row * 12345\nmixed = seed % 7",
            "row * stride + mixed",
            ["tl.store(o + row.to(tl.int64) * stride + mixed + c, "
             "tl.load(x + row.to(tl.int64) * stride + mixed + c, mask=c < n, other=0.0), mask=c < n)"],
            id="a-hash-behind-a-variable",
        ),
        pytest.param(
            "row = tl.program_id(0)\ntl.store(o, row * 12345 < n)",
            "row * stride",
            ["tl.store(o + row.to(tl.int64) * stride + c, tl.load(x + row.to(tl.int64) * stride + c, mask=c < n, other=0.0), mask=c < n)"],
            id="a-product-that-is-compared-and-no-address",
        ),
        pytest.param(
            "row = tl.program_id(0)\nseed = row * h\ntl.store(o, tl.rand(7, seed))",
            "row * stride",
            ["tl.store(o + row.to(tl.int64) * stride + c, tl.load(x + row.to(tl.int64) * stride + c, mask=c < n, other=0.0), mask=c < n)"],
            id="a-product-that-picks-a-random-number",
        ),
        pytest.param(
            "row = tl.program_id(0)\nat = row * stride * 1048583\nlast = at + 3 < n",
            "at",
            ["row = tl.program_id(0).to(tl.int64)"],
            id="a-large-factor-of-an-address-that-is-compared",
        ),
        pytest.param(
            "row = tl.program_id(0)\nbase = row * stride",
            "base",
            ["row = tl.program_id(0).to(tl.int64)"],
            id="through-a-variable",
        ),
    ],
)  # fmt: skip
def test_widened(index: str, load: str, lines: list[str]) -> None:
    result = mended(kernel(index, load), "KL730")
    assert came(result) == lines
    assert [(a.effects.applicability, a.effects.numerics) for a in result.applied] == [("safe", "exact")]


def test_in_a_helper() -> None:
    result = mended(
        """
        @triton.jit
        def place(row, stride, c):
            return row * stride + c

        @triton.jit
        def k(x, o, stride, n, B: tl.constexpr):
            c = tl.arange(0, B)
            at = place(tl.program_id(0), stride, c)
            tl.store(o + at, tl.load(x + at, mask=c < n, other=0.0), mask=c < n)
        """,
        "KL730",
    )
    # Callers may pass a plain number.
    assert came(result) == ["return tl.cast(row, tl.int64) * stride + c"]


def test_loop_variable() -> None:
    result = mended(
        """
        from triton.language import int64

        @triton.jit
        def k(x, o, stride, n, B: tl.constexpr):
            c = tl.arange(0, B)
            for row in range(0, n):
                tl.store(o + row * stride + c, tl.load(x + row * stride + c, mask=c < n, other=0.0), mask=c < n)
        """,
        "KL730",
    )
    assert "o + tl.cast(row, int64) * stride + c" in came(result)[0]


def test_proven_at_the_sizes_of_a_launch_by_keyword() -> None:
    result = mended(
        """
        @triton.jit
        def k(x, o, stride, n, B: tl.constexpr):
            r = tl.program_id(axis=0)
            c = tl.arange(0, B)
            tl.store(o + r * stride + c, tl.load(x + r * stride + c, mask=c < n, other=0.0), mask=c < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                o = torch.empty_like(x)
                k[(x.shape[0],)](x=x, o=o, stride=x.stride(0), n=x.shape[1], B=32768)
                return o

        def get_inputs():
            return [torch.randn(131072, 32000)]
        """,
        "KL730",
    )
    assert came(result) == ["r = tl.program_id(axis=0).to(tl.int64)"]


def test_loaded_tile_and_flat_indices() -> None:
    loaded = mended(kernel("page = tl.load(o + tl.program_id(0))", "page * stride"), "KL731")
    assert came(loaded) == ["page = tl.load(o + tl.program_id(0)).to(tl.int64)"]
    tile = mended(kernel("m = tl.program_id(0) * B + tl.arange(0, B)", "m * stride"), "KL732")
    assert "x + m.to(tl.int64) * stride + c" in came(tile)[0]
    flat = mended(kernel("m = tl.program_id(0) * B + tl.arange(0, B)", "m"), "KL733")
    assert came(flat) == ["m = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("off = 0\nfor i in range(n):\n    off = row * stride", id="carried-by-a-loop"),
        pytest.param("off = 7\noff += row * stride", id="updated-in-place"),
    ],
)
def test_a_variable_of_one_type(lines: str) -> None:
    source = kernel(f"row = tl.program_id(0) + 1\n{lines}", "off")
    assert refusal(source, "KL730") == "`off` would have 64 bits on one path and 32 on another"


def test_an_address_may_have_offsets_of_any_width() -> None:
    source = kernel("row = tl.program_id(0)\nx += row * stride\nx += 1", "0", "row * stride")
    assert came(mended(source, "KL730")) == ["row = tl.program_id(0).to(tl.int64)"]


def test_several_rules_do_not_collide() -> None:
    source = kernel("row = tl.program_id(0)\npage = tl.load(o + row)", "page * stride", "row * stride")
    assert came(mended(source, "KL730", "KL731")) == [
        "row = tl.program_id(0).to(tl.int64)",
        "page = tl.load(o + row).to(tl.int64)",
    ]


def test_nothing_to_widen() -> None:
    assert unchanged(kernel("row = tl.program_id(0).to(tl.int64)", "row * stride"), "KL730", "KL731", "KL733")
    assert unchanged(kernel("row = tl.program_id(0)", "tl.cast(row, tl.int64) * stride"), "KL730")
    assert unchanged(kernel("row = tl.program_id(0)", "row * B"), "KL730")


def test_variables_made_of_each_other_in_many_ways() -> None:
    # Asked again for each way, the last one would take 3^40 steps.
    chain = [f"s{i} = s{i - 1} + s{i - 1} - s{i - 1}" for i in range(1, 40)]
    source = kernel("\n".join(["s0 = stride", *chain, "row = tl.program_id(0)"]), "s39 * row")
    assert "row = tl.program_id(0).to(tl.int64)" in mended(source, "KL730").after
