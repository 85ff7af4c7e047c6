"""KL302 and KL303: fills and copies that a kernel makes needless, and those that it does not."""

import pytest
from support.findings import run_rule
from support.lint import check

from kernlint.workload import Launch, TorchOp

FILL = """
@triton.jit
def kernel(x, y, rows, n, BLOCK: tl.constexpr):
    {body}

def run(x):
    y = torch.zeros({shape}, device=x.device, dtype=x.dtype)
    kernel[{grid}](x, y, 64, {n}, BLOCK=1024)
    return y

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return run(x)

def get_inputs():
    return [torch.randn(64, 3000)]
"""
FLAT = """i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)"""
ROWS = """row, i = tl.program_id(0), tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        c = start + i
        tl.store(y + row * n + c, tl.load(x + row * n + c, mask=c < n), mask=c < n)"""
DIVIDED = """pid = tl.program_id(0)
    tiles = tl.cdiv(n, BLOCK)
    c = pid % tiles * BLOCK + tl.arange(0, BLOCK)
    at = pid // tiles * n + c
    tl.store(y + at, tl.load(x + at, mask=c < n), mask=c < n)"""


def fill(body: str, grid: str, n: str = "x.numel()", shape: str = "64, 3000") -> str:
    return FILL.format(body=body, grid=grid, n=n, shape=shape)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(fill(FLAT, "(triton.cdiv(x.numel(), 1024),)"), id="flat with a masked tail"),
        pytest.param(fill(ROWS, "(64,)", "3000"), id="a row per program, in a loop"),
        pytest.param(fill(DIVIDED, "(64 * 3,)", "3000"), id="row and column from one program id"),
        pytest.param(
            fill(FLAT, "(triton.cdiv(x.numel(), 1024),)").replace("torch.zeros(64, 3000, device", "torch.full((64, 3000), 1.0, device"),
            id="full",
        ),
        pytest.param(
            fill(FLAT, "(triton.cdiv(x.numel(), 1024),)").replace("def get_inputs():\n    return [torch.randn(64, 3000)]", "")
            .replace("y = torch.zeros(64, 3000, device", "M, N = x.shape\n    y = torch.zeros(M, N, device"),
            id="open sizes",
        ),
    ],
)  # fmt: skip
def test_fill_that_the_kernel_overwrites(source):
    found = run_rule("KL302", source)
    assert found.only().symbol == "run"
    assert not [s for s, _ in found.after().walk() if isinstance(s, TorchOp) and s.kind == "fill"]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(fill(FLAT, "(triton.cdiv(x.numel(), 1024) - 1,)"), id="grid one block short"),
        pytest.param(fill(FLAT, "(triton.cdiv(x.numel(), 1024),)", "x.numel() - 1"), id="mask one element short"),
        pytest.param(fill(FLAT, "(triton.cdiv(x.numel(), 1024),)", shape="65, 3000"), id="larger output"),
        pytest.param(fill(FLAT.replace("y + i", "y + 2 * i"), "(triton.cdiv(x.numel(), 1024),)"), id="every other element"),
        pytest.param(fill(FLAT.replace("tl.store(y", "tl.atomic_add(y"), "(triton.cdiv(x.numel(), 1024),)"), id="atomics"),
        pytest.param(
            fill(FLAT.replace("mask=i < n)", "mask=i < n) + tl.load(y + i)", 1), "(triton.cdiv(x.numel(), 1024),)"), id="reads it"
        ),
        pytest.param(fill(FLAT.replace("mask=i < n)", "mask=tl.load(x + i) > 0)"), "(188,)"), id="mask from data"),
        pytest.param(
            fill(FLAT.replace("    tl.store", "    if tl.load(x) > 0:\n        tl.store"), "(188,)"), id="store under a branch"
        ),
        pytest.param(
            fill(FLAT, "(188,)").replace("    kernel[", "    y[0] = 5\n    kernel["), id="something else writes first"
        ),
        pytest.param(fill(ROWS, "(63,)", "3000"), id="a row missing"),
        pytest.param(fill(FLAT, "(188,)").replace("torch.zeros", "torch.empty"), id="not filled"),
    ],
)  # fmt: skip
def test_fill_that_is_needed(source):
    assert not run_rule("KL302", source)


COPY = """
@triton.jit
def update(p, g, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load({read}, mask=i < n) - 0.1 * tl.load(g + i, mask=i < n)
    tl.store(out + i, value, mask=i < n)

def apply(p, g):
    fresh = torch.empty_like(p)
    update[(triton.cdiv(p.numel(), 1024),)](p, g, fresh, p.numel(), BLOCK=1024)
    {back}

class ModelNew(torch.nn.Module):
    def forward(self, p, g):
        return apply(p, g)

def get_inputs():
    return [torch.randn(1000, 3000), torch.randn(1000, 3000)]
"""
BACK = "p.copy_(fresh)\n    return p"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(COPY.format(read="p + i", back=BACK), id="method"),
        pytest.param(COPY.format(read="g + i", back=BACK), id="the original is not even read"),
        pytest.param(
            COPY.format(read="p + i", back=BACK).replace("(p, g, fresh, p.numel(), BLOCK", "(p=p, out=fresh, g=g, n=p.numel(), BLOCK"),
            id="keywords",
        ),
        pytest.param(
            COPY.format(read="p + i", back=BACK).replace("fresh", "scratch").replace("randn(1000, 3000)", "randn(1000, 3000).half()"),
            id="renamed, half",
        ),
    ],
)  # fmt: skip
def test_copy_back_that_the_kernel_could_do(source):
    found = run_rule("KL303", source)
    assert (found.only().symbol, found.only().kernel) == ("apply", "update")
    steps = [step for step, _ in found.after().walk()]
    assert len(steps) == 1
    assert isinstance(steps[0], Launch)
    assert steps[0].tensor("out").storage.id == found.after().inputs[0].storage.id


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(COPY.format(read="p + i + 1", back=BACK), id="reads a neighbour"),
        pytest.param(COPY.format(read="p + n - 1 - i", back=BACK), id="reads backwards"),
        pytest.param(COPY.format(read="p", back=BACK), id="reads one element of all"),
        pytest.param(COPY.format(read="p + i", back="p.copy_(fresh)\n    return fresh"), id="the new tensor is returned"),
        pytest.param(COPY.format(read="p + i", back="q = p + fresh\n    p.copy_(fresh)\n    return q"), id="read in between"),
        pytest.param(COPY.format(read="p + i", back="p.copy_(fresh.to(torch.float16))\n    return p"), id="through a cast"),
        pytest.param(COPY.format(read="p + i", back="p.copy_(g)\n    return p"), id="copies something else"),
        pytest.param(COPY.format(read="p + i", back="return fresh"), id="no copy"),
        pytest.param(
            COPY.format(read="p + i", back=BACK).replace("    tl.store", "    tl.store(out + i, value)\n    tl.store"), id="written twice"
        ),
        pytest.param(
            COPY.format(read="p + i", back=BACK).replace("(p.numel(), 1024),)]", "(p.numel(), 1024) - 1,)]"), id="a block missing"
        ),
    ],
)  # fmt: skip
def test_copy_back_that_is_needed(source):
    assert not run_rule("KL303", source)


def test_copies_of_one_function_are_one_finding():
    source = COPY.format(read="p + i", back=BACK).replace(
        "    update[",
        "    other = torch.empty_like(g)\n"
        "    update[(triton.cdiv(p.numel(), 1024),)](g, p, other, p.numel(), BLOCK=1024)\n"
        "    g.copy_(other)\n"
        "    update[",
    )  # fmt: skip
    assert len(run_rule("KL303", source).only().evidence) == 2


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            FLAT.replace("mask=i < n)", "mask=(i < n) & (tl.load(x + i) > 0))"), id="half of the mask is data"
        ),
        pytest.param(
            FLAT.replace("    tl.store", "    keep = (i < n) & (i != 7)\n    tl.store").replace(
                "mask=i < n)", "mask=keep)"
            ),
            id="hole",
        ),
        pytest.param(
            FLAT.replace("    tl.store", "    if tl.load(x) > 0:\n        return\n    tl.store"), id="early return"
        ),
    ],
)
def test_stores_that_skip_elements_in_bounds(body):
    assert not run_rule("KL302", fill(body, "(188,)"))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            FLAT.replace("    tl.store", "    ok = i < n\n    tl.store").replace("mask=i < n)", "mask=ok)"), id="named"
        ),
        pytest.param(FLAT.replace("mask=i < n)", "mask=n > i)"), id="turned round"),
        pytest.param(FLAT.replace(" * 2, mask=i < n)", " * 2, i < n)"), id="positional"),
    ],
)
def test_masks_that_only_bound_the_tail(body):
    assert run_rule("KL302", fill(body, "(188,)")).only().symbol == "run"


def test_a_return_behind_nested_conditions_leaves_the_zeros():
    source = """
    @triton.jit
    def rows(x, labels, y, n, HAS: tl.constexpr, BLOCK: tl.constexpr):
        pid = tl.program_id(0)
        if HAS:
            if tl.load(labels + pid) == -100:
                return
        i = tl.arange(0, BLOCK)
        tl.store(y + pid, tl.sum(tl.load(x + pid * n + i, mask=i < n, other=0.0)))

    def run(x, labels, has: HAS_TYPE):
        y = torch.zeros(x.shape[0], device=x.device)
        rows[(x.shape[0],)](x, labels, y, x.shape[1], HAS=has, BLOCK=1024)
        return y
    """
    assert not run_rule("KL302", source.replace(": HAS_TYPE", ""))
    assert not run_rule("KL302", source.replace("has: HAS_TYPE", "has=True"))


def test_what_one_caller_leaves_out_another_may_pass():
    source = """
@triton.jit
def rows(x, labels, y, n, HAS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if HAS:
        if tl.load(labels + pid) == -100:
            return
    i = tl.arange(0, BLOCK)
    tl.store(y + pid, tl.sum(tl.load(x + pid * n + i, mask=i < n, other=0.0)))

def run(x, labels=None):
    y = torch.zeros(x.shape[0], device=x.device)
    rows[(x.shape[0],)](x, labels, y, x.shape[1], HAS=labels is not None, BLOCK=1024)
    return y
"""
    model = """
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return run(x)

def get_inputs():
    return [torch.randn(64, 1024)]
"""
    assert not run_rule("KL302", source)
    assert run_rule("KL302", source + model)


#: A launch that overwrites a fill, of sizes that callers choose.
OPEN = """
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

def run(x: torch.Tensor, like: torch.Tensor):
    n, = x.shape
    y = torch.zeros_like(x, dtype=torch.float32)
    kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
"""
#: One that nobody but the public name of its `apply` calls, beside a test.
APPLIED = """
class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        n, = x.shape
        y = torch.zeros_like(x)
        kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
        return y

{name} = _Run.apply

def test_run():
    assert {name}(torch.randn(6, device="cuda")).shape == (6,)
"""


def told(source: str) -> list[str]:
    found = check("import torch\nimport triton\nimport triton.language as tl\n" + source, codes=frozenset({"KL302"}))
    return [finding.severity for finding in found]


def test_a_fill_is_told_where_the_passes_beside_it_have_no_price():
    assert told(OPEN) == ["info"]
    assert told(OPEN.replace("return y", "return y.to(like.dtype)")) == ["info"]
    assert (
        told(OPEN.replace("torch.zeros_like", "torch.empty_like").replace("return y", "return y.to(like.dtype)")) == []
    )


def test_a_launch_overwrites_what_the_compiler_of_another_vendor_may_take():
    given = OPEN.replace("BLOCK=1024)", "BLOCK=1024, buffer_size_limit=512)")
    assert told(given) == []  # the launch fails
    assert told("import torch_npu\n" + given) == ["info"]


def test_a_private_function_of_autograd_is_asked_about_where_its_apply_has_a_public_name():
    kernel = OPEN.partition("def run")[0]
    assert told(kernel + APPLIED.format(name="run")) == ["info"]
    assert told(kernel + APPLIED.format(name="_run")) == []  # the test is all that calls it
