"""KL730 to KL734: 32-bit indices, proven to overflow at the sizes in view or not bounded by anything."""

from __future__ import annotations

import pytest

from tests.support.values import findings, severities

KERNEL = """
@triton.jit
def copy(x, y, stride, n, BLOCK: tl.constexpr):
    row = {row}
    col = tl.arange(0, BLOCK)
    v = tl.load(x + {offset} + col, mask=col < n, other=0.0)
    tl.store(y + {offset} + col, v, mask=col < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        copy[(x.shape[0],)](x, y, {stride}, x.shape[1], BLOCK=16384)
        return y

def get_inputs():
    return [torch.empty({rows}, 16384, dtype=torch.bfloat16)]
"""


HELPER = """
@triton.jit
def offset_of(r, s):
    return r * s
"""


def program(row="tl.program_id(0)", offset="row * stride", stride="x.stride(0)", rows=262144):
    return KERNEL.format(row=row, offset=offset, stride=stride, rows=rows)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(), id="program-times-stride"),
        pytest.param(program(offset="stride * row"), id="other-order"),
        pytest.param(program(row="tl.program_id(axis=0) + 0"), id="through-arithmetic"),
        pytest.param(program(offset="(row * stride).to(tl.int64)"), id="cast-after-the-product"),
        pytest.param(program(offset="row * n"), id="size-instead-of-stride"),
        pytest.param(program(stride="stride=x.stride(0)").replace("x.shape[1], BLOCK", "n=x.shape[1], BLOCK"), id="keyword"),
        pytest.param(HELPER + program(offset="offset_of(row, stride)"), id="in-a-helper"),
    ],
)  # fmt: skip
def test_proven(source):
    found = findings("KL730", source)
    assert found and {f.severity for f in found} == {"error"}
    assert "> 2^31" in found[0].message


def test_the_message_has_the_numbers():
    assert "262143 x 16384 = 4294950912 > 2^31" in findings("KL730", program())[0].message


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(rows=4096), id="small"),
        pytest.param(program(rows=131072), id="exactly-what-fits"),
        pytest.param(program(row="tl.program_id(0).to(tl.int64)"), id="widened-program"),
        pytest.param(program(row="tl.cast(tl.program_id(0), tl.int64)"), id="tl.cast"),
        pytest.param(program(offset="row * stride.to(tl.int64)"), id="widened-stride"),
        pytest.param(program().replace("stride, n,", "stride: tl.int64, n,"), id="annotated-stride"),
        pytest.param(program(offset="tl.full((), 0, tl.int64) + row.to(tl.int64) * stride"), id="64-bit-base"),
    ],
)
def test_silent(source):
    assert findings("KL730", source) == []


def test_a_loop_variable_takes_the_width_of_its_bounds():
    source = """
    @triton.jit
    def rows(x, stride, per, BLOCK: tl.constexpr):
        first = tl.program_id(0){wide} * per
        for row in range(first, first + per):
            tl.store(x + row * stride + tl.arange(0, BLOCK), 1.0)
    """
    assert severities("KL730", source.format(wide="")) == ["info"]
    assert severities("KL730", source.format(wide=".to(tl.int64)")) == []


def test_counting_programs_is_no_product_of_sizes():
    source = """
    @triton.jit
    def persistent(x, rows, BLOCK: tl.constexpr):
        for row in range(tl.program_id(0), rows, tl.num_programs(0)):
            tl.store(x + row, 1.0)
    """
    assert findings("KL730", source) == []


def test_a_check_of_the_size_settles_it():
    source = """
    @triton.jit
    def copy(x, y, stride, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        c = tl.arange(0, BLOCK)
        tl.store(y + row * stride + c, tl.load(x + row * stride + c))

    def run(x: torch.Tensor, y: torch.Tensor):
        {check}
        copy[(x.shape[0],)](x, y, x.stride(0), BLOCK=64)
    """
    assert severities("KL730", source.format(check="pass")) == ["info"]
    assert findings("KL730", source.format(check="assert x.numel() < 2**31")) == []
    assert findings("KL730", source.format(check="if x.numel() >= 2**31: raise ValueError")) == []


@pytest.mark.parametrize(
    ("code", "value"),
    [("KL731", "tl.load(table + i)"), ("KL731", "tl.load(table + i) + 1")],
)
def test_loaded_indices(code, value):
    source = f"""
    @triton.jit
    def gather(table, pages, out, stride, BLOCK: tl.constexpr):
        i = tl.program_id(0)
        page = {value}
        c = tl.arange(0, BLOCK)
        tl.store(out + i * BLOCK + c, tl.load(pages + page * stride + c))
    """
    assert severities(code, source) == ["info"]
    assert findings(code, source.replace(value, value.replace("+ i)", "+ i).to(tl.int64)"))) == []


def test_tables_of_int64_are_wide():
    source = """
    @triton.jit
    def gather(table, pages, out, stride, BLOCK: tl.constexpr):
        page = tl.load(table + tl.program_id(0))
        c = tl.arange(0, BLOCK)
        tl.store(out + c, tl.load(pages + page * stride + c))

    def run(pages: torch.Tensor, out: torch.Tensor, n: int):
        table = torch.zeros(n, dtype=torch.{dtype})
        gather[(n,)](table, pages, out, pages.stride(0), BLOCK=64)
    """
    assert findings("KL731", source.format(dtype="int64")) == []
    assert severities("KL731", source.format(dtype="int32")) == ["info"]
