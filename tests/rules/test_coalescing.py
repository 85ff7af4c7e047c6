"""KL304 and KL306: wasted sectors and queues for one address, and accesses that only look like them."""

import pytest
from support.findings import run_rule

COLUMNS = """
@triton.jit
def column_sums(x, out, rows, columns, BLOCK: tl.constexpr):
    {head}
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, rows, BLOCK):
        r = start + tl.arange(0, BLOCK)
        acc += tl.load(x + {at}, mask=r < rows, other=0.0).to(tl.float32)
    tl.store(out + c, tl.sum(acc, axis=0))

def sums(x):
    out = torch.empty(x.shape[1], device=x.device, dtype=torch.float32)
    column_sums[(x.shape[1],)](x, out, x.shape[0], x.shape[1], BLOCK=512)
    return out

def get_inputs():
    return [torch.randn(R, C, dtype=torch.float16)]

R, C = 8192, 4096

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return sums(x)
"""
COLUMN = COLUMNS.format(head="c = tl.program_id(0)", at="r * columns + c")

PERMUTE = """
@triton.jit
def to_channels_last(x, y, C, P, BLOCK: tl.constexpr):
    image, channel = tl.program_id(0) // C, tl.program_id(0) % C
    p = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + (image * C + channel) * P + p, mask=p < P)
    tl.store(y + {store}, value, mask=p < P)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(8, {extent}, 128, device=x.device, dtype=x.dtype)
        to_channels_last[(8 * 128, triton.cdiv({extent}, 1024))](x, y, 128, {extent}, BLOCK=1024)
        return y

def get_inputs():
    return [torch.randn(8, 128, {extent}{dtype})]
"""


def permute(store: str = "(image * P + p) * C + channel", extent: int = 3136, dtype: str = "") -> str:
    return PERMUTE.format(store=store, extent=extent, dtype=dtype)


@pytest.mark.parametrize(
    ("source", "function"),
    [
        pytest.param(COLUMN, "column_sums", id="column sums"),
        pytest.param(COLUMN.replace("R, C = 8192, 4096", "R, C = 8000, 4096"), "column_sums", id="masked tail"),
        pytest.param(COLUMN.replace("R, C = 8192, 4096", "R, C = 300, 1000"), "column_sums", id="one iteration"),
        pytest.param(COLUMN.replace(".float16", ".int8"), "column_sums", id="int8"),
        pytest.param(
            COLUMN.replace("(x, out, x.shape[0], x.shape[1],", "(out=out, x=x, columns=x.shape[1], rows=x.shape[0],"),
            "column_sums", id="keywords",
        ),
        pytest.param(
            COLUMN.replace("@triton.jit", "@triton.jit\ndef place(a, b, n):\n    return a * n + b\n\n@triton.jit", 1)
            .replace("r * columns + c", "place(r, c, columns)"),
            "column_sums", id="offset in a helper",
        ),
        pytest.param(permute(), "to_channels_last", id="transposing store"),
        pytest.param(permute(extent=200), "to_channels_last", id="one block of pixels"),
        pytest.param(permute(dtype=", dtype=torch.bfloat16"), "to_channels_last", id="bf16"),
    ],
)  # fmt: skip
def test_sectors_wasted(source, function):
    found = run_rule("KL304", source)
    assert found.only().kernel == found.only().symbol == function
    assert found.promised() > 1.2


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(COLUMNS.format(head="c = tl.program_id(0)", at="c * rows + r"), id="rows are contiguous"),
        pytest.param(COLUMNS.format(head="c = tl.program_id(0) * 64", at="r * columns + c"), id="neighbouring programs far apart"),
        pytest.param(COLUMN.replace("R, C = 8192, 4096", "R, C = 8192, 8"), id="a row is half a sector"),
        pytest.param(COLUMN.replace("R, C = 8192, 4096", "R, C = 8192, 1"), id="one column"),
        pytest.param(permute(store="(image * C + channel) * P + p"), id="same order"),
        pytest.param(
            COLUMN.replace("acc += tl.load(x + r * columns + c, mask=r < rows, other=0.0).to(tl.float32)",
                           "for k in range(16):\n            acc += tl.load(x + r * columns + c + k, mask=r < rows, other=0.0)"),
            id="a loop walks the sector",
        ),
        pytest.param(COLUMN.replace("def get_inputs", "def unused"), id="open sizes: the stride may be one"),
        pytest.param(
            COLUMN.replace("x + r * columns + c", "x + tl.load(x + r).to(tl.int32) + c"), id="gather",
        ),
    ],
)  # fmt: skip
def test_sectors_used(source):
    assert not run_rule("KL304", source)


ATOMIC = """
@triton.jit
def accumulate(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    {update}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.zeros(4096, device=x.device)
        accumulate[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y

def get_inputs():
    return [torch.randn(1 << 25)]
"""


@pytest.mark.parametrize(
    "update",
    [
        pytest.param("tl.atomic_add(y, tl.sum(value, axis=0))", id="scalar sum"),
        pytest.param("tl.atomic_max(y, tl.max(value, axis=0))", id="scalar maximum"),
        pytest.param("tl.atomic_add(y + tl.arange(0, BLOCK), value)", id="tile"),
    ],
)
def test_all_programs_queue(update):
    found = run_rule("KL306", ATOMIC.format(update=update))
    assert found.only().kernel == "accumulate"
    assert found.promised() > 1.3


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(ATOMIC.format(update="tl.atomic_add(y + tl.program_id(0) % 4096, tl.sum(value, axis=0))"), id="many addresses"),
        pytest.param(ATOMIC.format(update="tl.atomic_add(y + (value * 10).to(tl.int32), 1.0)"), id="histogram"),
        pytest.param(ATOMIC.format(update="tl.store(y + tl.program_id(0), tl.sum(value, axis=0))"), id="store"),
        pytest.param(
            ATOMIC.format(update="old = tl.atomic_add(y, tl.sum(value, axis=0))\n    tl.store(x + tl.program_id(0), old)"),
            id="old value used",
        ),
        pytest.param(ATOMIC.format(update="tl.atomic_cas(y, 0.0, 1.0)"), id="lock"),
        pytest.param(
            ATOMIC.format(update="if tl.sum(value, axis=0) > 0:\n        tl.atomic_add(y, 1.0)"), id="under a branch"
        ),
        pytest.param(
            ATOMIC.format(update="tl.atomic_add(y, tl.sum(value, axis=0))").replace("1 << 25", "1 << 14"), id="a few programs"
        ),
    ],
)  # fmt: skip
def test_no_queue(source):
    assert not run_rule("KL306", source)


RUNS = """
@triton.jit
def bias_gradient(g, out, n, C, S, BLOCK: tl.constexpr):
    {at}
    value = tl.load(g + i, mask=i < n, other=0.0).to(tl.float32)
    {update}

class ModelNew(torch.nn.Module):
    def forward(self, g):
        N, C, S = g.shape
        out = torch.zeros(C, device=g.device, dtype=torch.float32)
        bias_gradient[(triton.cdiv(g.numel(), 512),)](g, out, g.numel(), C, S, BLOCK=512)
        return out

def get_inputs():
    return [torch.randn(32, 48, 3000, dtype=torch.float16)]
"""
AT = "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"
SENT = "tl.atomic_add(out + i // S % C, value, mask=i < n)"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(RUNS.format(at=AT, update=SENT), id="as written"),
        pytest.param(
            RUNS.format(at=AT, update="row = i // S\n    p = out + row - row // C * C\n    tl.atomic_add(p, value, mask=i < n)"),
            id="remainder by hand",
        ),
        pytest.param(
            RUNS.format(at="start = BLOCK * tl.program_id(0)\n    i = tl.arange(0, BLOCK) + start", update=SENT), id="other order"
        ),
        pytest.param(RUNS.format(at=AT, update=SENT.replace("add", "max")), id="maxima"),
        pytest.param(RUNS.format(at=AT, update=SENT).replace("3000", "2048"), id="runs of whole blocks"),
        pytest.param(RUNS.format(at=AT, update=SENT).replace("3000", "100"), id="runs shorter than a block"),
        pytest.param(RUNS.format(at=AT, update="tl.atomic_add(out + tl.zeros([BLOCK], tl.int32), value, mask=i < n)"), id="one address"),
    ],
)  # fmt: skip
def test_lanes_queue(source):
    found = run_rule("KL306", source)
    assert found.only().kernel == "bias_gradient"
    assert found.promised() > 1.3


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(RUNS.format(at=AT, update="tl.atomic_add(out + i % C, value, mask=i < n)"), id="neighbours apart"),
        pytest.param(RUNS.format(at=AT, update="tl.atomic_add(out + i, value, mask=i < n)"), id="no address twice"),
        pytest.param(RUNS.format(at=AT, update="tl.atomic_add(out + i // S % C + i % 2, value, mask=i < n)"), id="two in turns"),
        pytest.param(
            RUNS.format(at=AT, update="tl.atomic_add(out + tl.load(g + i).to(tl.int32), value, mask=i < n)"), id="loaded index"
        ),
        pytest.param(
            RUNS.format(at=AT, update=f"old = {SENT}\n    tl.store(g + i, old.to(tl.float16), mask=i < n)"), id="old value used"
        ),
        pytest.param(RUNS.format(at=AT, update="tl.atomic_add(out + tl.program_id(0) % C, tl.sum(value, axis=0))"), id="summed first"),
        pytest.param(RUNS.format(at=AT, update="tl.store(out + i // S % C, value, mask=i < n)"), id="a store"),
        pytest.param(RUNS.format(at=AT, update=SENT.replace("add", "xchg")), id="an exchange"),
        pytest.param(RUNS.format(at=AT, update=SENT).replace("3000", "1"), id="runs of one"),
        pytest.param(RUNS.format(at=AT, update=SENT).replace("32, 48, 3000", "1, 4, 100"), id="few elements"),
        pytest.param(RUNS.format(at=AT.replace("program_id(0) * BLOCK", "program_id(0) * 2 * BLOCK"), update=SENT), id="every other block"),
    ],
)  # fmt: skip
def test_lanes_do_not_queue(source):
    assert not run_rule("KL306", source)


FLAT = """
@triton.jit
def transpose(x, y, high, wide, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, col = at // wide, at % wide
    tl.store(y + col * high + row, tl.load(x + at, mask=at < high * wide), mask=at < high * wide)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        high, wide = x.shape
        y = torch.empty(wide, high, device=x.device)
        transpose[(triton.cdiv(high * wide, 512),)](x, y, high, wide, BLOCK=512)
        return y

def get_inputs():
    return [torch.randn(H, W)]

H, W = 4096, 2048
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("at % wide", "at % wide", id="quotient and remainder"),
        pytest.param("at % wide", "at - at // wide * wide", id="the remainder written out"),
        pytest.param("H, W = 4096, 2048", "H, W = 2048, 4096", id="the other way round"),
        pytest.param("H, W = 4096, 2048", "H, W = 4096, 1000", id="tiles that cross the end of a row"),
    ],
)
def test_a_divided_flat_index(old: str, new: str) -> None:
    (finding,) = run_rule("KL304", FLAT.replace(old, new)).findings
    assert "`y`" in finding.message and finding.change is not None


def test_a_divided_flat_index_in_the_same_order_on_both_sides() -> None:
    assert not run_rule("KL304", FLAT.replace("col * high + row", "row * wide + col"))
