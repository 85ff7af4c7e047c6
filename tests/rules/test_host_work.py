"""KL602 and KL603: what the host does in each call that it should not."""

import pytest
from support.findings import run_rule

from kernlint.workload import HostSync

SYNC = """
@triton.jit
def scale(x, y, n, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * s, mask=i < n)

def run(x, s):
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), s, BLOCK=1024)
    return y

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = None

    def forward(self, x):
        {body}

def get_inputs():
    return [torch.randn(1024, 1024)]
"""


def syncing(body):
    return SYNC.replace("{body}", ("\n" + " " * 8).join(body.split("\n")))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return run(x, x.max().item())", id="item"),
        pytest.param("s = float(x.max())\nreturn run(x, s)", id="float"),
        pytest.param("h = x.cpu()\nreturn run(x, 2.0)", id="cpu"),
        pytest.param("y = run(x, 2.0)\ntorch.cuda.synchronize()\nreturn run(y, 2.0)", id="synchronize"),
        pytest.param(
            "for i in range(8):\n    x = run(x, 2.0)\n    m = x.max().item()\nreturn x", id="end of an iteration"
        ),
    ],
)
def test_sync_between_launches(body):
    found = run_rule("KL602", syncing(body))
    finding = found.only()
    assert finding.symbol == "ModelNew.forward"
    assert not any(isinstance(step, HostSync) for step, _ in found.after().walk())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return run(x, 2.0)", id="none"),
        pytest.param("n = int(torch.prod(torch.tensor(x.shape)))\nreturn run(x, float(n))", id="tensor on the CPU"),
        pytest.param("return run(x, 2.0).max().item()", id="the answer itself"),
        pytest.param("y = run(x, 2.0)\nreturn y.cpu()", id="the answer on the CPU"),
        pytest.param("n = int(x.shape[0])\nreturn run(x, float(n))", id="shapes are on the host"),
        pytest.param("s = x.max()\nreturn run(x, s)", id="value stays on the device"),
        pytest.param(
            "if self.scale is None:\n    self.scale = x.max().item()\nreturn run(x, self.scale)",
            id="read once and kept",
        ),
        pytest.param("n = torch.tensor([4, 8]).max().item()\nreturn run(x, float(n))", id="a list on the host"),
    ],
)
def test_no_sync_in_the_way(body):
    assert not run_rule("KL602", syncing(body))


BODY = """
{i}@triton.jit
{i}def double(x, y, n, BLOCK: tl.constexpr):
{i}    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
{i}    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)
"""
END = "\ndef get_inputs():\n    return [torch.randn(1024, 1024)]\n"
TUNED = "{i}@triton.autotune(configs=[triton.Config({{'BLOCK': 1024}})], key=['n'])"
CALL = "y = torch.empty_like(x)\n        {k}[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)\n        return y\n"
MODEL = "class ModelNew(torch.nn.Module):\n{init}    def forward(self, x):\n        {call}"


def model(call, init=""):
    return MODEL.format(init=init, call=call)


INSIDE = BODY.format(i=" " * 8)
FACTORY = "def make():\n" + BODY.format(i=" " * 4) + "    return double\n\n"


@pytest.mark.parametrize(
    ("source", "symbol"),
    [
        pytest.param(
            model(INSIDE.strip("\n").lstrip() + "\n        " + CALL.format(k="double")),
            "ModelNew.forward",
            id="in forward",
        ),
        pytest.param(FACTORY + model("k = make()\n        " + CALL.format(k="k")), "make", id="factory per call"),
        pytest.param(
            BODY.format(i="").replace("@triton.jit\n", "")
            + model("k = triton.jit(double)\n        " + CALL.format(k="k")),
            "ModelNew.forward",
            id="jit called",
        ),
        pytest.param(
            "from triton import jit as compiled\n"
            + FACTORY.replace("@triton.jit", "@compiled")
            + model("k = make()\n        " + CALL.format(k="k")),
            "make",
            id="other name of jit",
        ),
    ],
)
def test_jit_per_call(source, symbol):
    finding = run_rule("KL603", source + END).only()
    assert (finding.symbol, finding.severity) == (symbol, "error")


@pytest.mark.parametrize(
    ("made", "blocks", "severity"),
    [
        pytest.param("triton.autotune(configs=CONFIGS, key=['n'])(double)", "1024", "warning", id="one configuration"),
        pytest.param("triton.autotune(configs=CONFIGS, key=['n'])(double)", "512, 1024", "error", id="several"),
        pytest.param("triton.autotune(CONFIGS, ['n'])(triton.jit(plain))", "1024", "error", id="a function"),
    ],
)
def test_autotuner_called_per_call(made, blocks, severity):
    """The decorators are one finding, however many calls they are written as; it is slow if they compile or time anything."""
    configs = f"CONFIGS = [triton.Config({{'BLOCK': b}}) for b in ({blocks},)]\n"
    call = f"k = {made}\n        " + CALL.format(k="k").replace(", BLOCK=1024", "")
    plain = BODY.format(i="").replace("@triton.jit\n", "").replace("def double", "def plain")
    finding = run_rule("KL603", configs + plain + BODY.format(i="") + model(call) + END).only()
    assert "a `triton.autotune` object" in finding.message and finding.severity == severity


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(BODY.format(i="") + model(CALL.format(k="double")), id="module level"),
        pytest.param(FACTORY + "kernel = make()\n" + model(CALL.format(k="kernel")), id="factory at import"),
        pytest.param(
            "import functools\n@functools.lru_cache\n" + FACTORY + model("k = make()\n        " + CALL.format(k="k")),
            id="cached factory",
        ),
        pytest.param(
            FACTORY
            + model(
                CALL.format(k="self.k"),
                "    def __init__(self):\n        super().__init__()\n        self.k = make()\n",
            ),
            id="in __init__",
        ),
        pytest.param(
            FACTORY
            + "kernel = None\n"
            + model(
                "global kernel\n        if kernel is None:\n            kernel = make()\n        "
                + CALL.format(k="kernel")
            ),
            id="made once",
        ),
    ],
)
def test_jit_once(source):
    assert not run_rule("KL603", source + END)


UNSURE = {
    "argument that only the host reads": """
def forward(x, lengths):
    n = lengths.max().item()
    return run(x, float(n))
""".replace("lengths.max()", "lengths"),
    "optional argument": """
def forward(x, s=None):
    if s is None:
        s = x.max().item()
    return run(x, s)
""",
    "size of the result, computed from what was read": """
def forward(x, counts):
    ends = counts.cumsum(0).tolist()
    y = torch.zeros(max(ends[-1], 1) + 3, 4, device=x.device)
    scale[(4,)](x, y, 1024, 2.0, BLOCK=1024)
    return y
""",
    "size of what the result is gathered by": """
def forward(x, counts):
    ends = counts.cumsum(0)
    index = torch.empty((ends[-1].item(),), dtype=torch.int64, device=x.device)
    scale[(4,)](counts, index, 1024, 2.0, BLOCK=1024)
    return x.index_select(0, index)
""",
    "a slice of the result": """
def forward(x, counts):
    n = counts.sum().item()
    y = torch.empty_like(x)
    scale[(4,)](x, y, 1024, 2.0, BLOCK=1024)
    return y[:n]
""",
    "one size of the result among others": """
def forward(x, counts, dim):
    shape = list(x.shape)
    shape[dim] = counts.sum().item()
    y = torch.empty(shape, device=x.device)
    scale[(4,)](x, y, 1024, 2.0, BLOCK=1024)
    return y
""",
    "size of the result, read in either branch": """
def forward(x, counts):
    if x.shape[0] == 1:
        n = counts[0].item()
    else:
        n = counts.sum().item()
    y = torch.empty((n, 4), device=x.device)
    scale[(4,)](x, y, 1024, 2.0, BLOCK=1024)
    return y
""",
    "size of the result, read": """
def forward(x, counts):
    n = counts.sum().item()
    y = torch.empty((n, 4), device=x.device)
    scale[(4,)](x, y, 1024, 2.0, BLOCK=1024)
    return y
""",
    "size of the result": """
def forward(x):
    found = x.nonzero()
    y = run(x, 2.0)
    return y, found
""",
}


@pytest.mark.parametrize("source", UNSURE.values(), ids=UNSURE)
def test_a_sync_that_may_not_be_one(source):
    start = SYNC.index("class ModelNew")
    assert not run_rule("KL602", SYNC[:start] + source)


def test_the_syncs_of_a_function_are_one_finding():
    body = "a = x.max().item()\ny = run(x, a)\nb = y.min().item()\nreturn run(y, b)"
    found = run_rule("KL602", syncing(body))
    finding = found.only()
    assert "1 more place" in finding.message
    assert sum("reads" in evidence.text for evidence in finding.evidence) == 2
    assert not any(isinstance(step, HostSync) for step, _ in found.after().walk())


def test_a_function_that_measures_waits_on_purpose():
    events = "a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))\n"
    body = events + "a.record()\ny = run(x, 2.0)\nb.record()\ntorch.cuda.synchronize()\n{}return run(y, 2.0)"
    assert run_rule("KL602", syncing(body.format("")))
    assert not run_rule("KL602", syncing(body.format("self.time = a.elapsed_time(b)\n")))


@pytest.mark.parametrize(
    ("start", "end", "waits"),
    [
        pytest.param("a = time.perf_counter()", "print(time.perf_counter() - a)", False, id="fences of a clock"),
        pytest.param("a = time.perf_counter()", "print(a)", True, id="one reading measures nothing"),
        pytest.param("a = x.time()", "print(x.time() - a)", True, id="no clock"),
        pytest.param("def told(): return time.time() - time.time()", "told()", True, id="a clock of another function"),
    ],
)
def test_a_function_that_reads_a_clock_of_the_host_waits_on_purpose(start: str, end: str, waits: bool) -> None:
    body = f"{start}\ny = run(x, 2.0)\ntorch.cuda.synchronize()\n{end}\nreturn run(y, 2.0)"
    assert bool(run_rule("KL602", f"import time\n{syncing(body)}")) == waits


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("y = run(x, 2.0)\ntorch.cuda.synchronize()\nreturn run(y, 2.0)", False),
        ("return run(x, x.max().item())", True),
        ("if x.max() > 1:\n    x = x * 2\nreturn run(x, 2.0)", True),
        ("i = x.nonzero()\nreturn run(x, 2.0) + i.shape[0]", True),
        ("return run(x, torch.tensor([2.0], device='cuda'))", True),
        ("y = run(x, x.max().item())\ntorch.cuda.synchronize()\nreturn run(y, 2.0)", True),
    ],
)
def test_the_advice_fits_the_wait(body: str, value: bool) -> None:
    told = run_rule("KL602", syncing(body)).findings[0].change
    assert ("Keep the value" in str(told)) == value == ("no value is read" not in str(told))


COMPARED = """
from elsewhere import reference

def compare(x):
    y = run(x, {scale})
    z = reference(x)
    {check}
    print("largest:", torch.max(torch.abs(y - z)))
"""


@pytest.mark.parametrize(
    ("scale", "check", "waits"),
    [
        ("2.0", "assert torch.amax(y - z).item() <= 0.05", False),
        ("2.0", "error = (y - z).abs().max().item()\n    if error > 0.05:\n        print(error)", False),
        ("2.0", "assert (y - z).abs().max() <= 0.05", False),
        ("2.0", "torch.cuda.synchronize()", True),
        ("2.0", "error = (y - z).abs().max().item()\n    print(error)\n    z = run(z, error)", True),
        ("x.max().item()", "pass", False),
    ],
    ids=[
        "asserted",
        "printed where it is large",
        "a tensor in an assert",
        "no value",
        "used too",
        "for the launch that is checked",
    ],
)
def test_what_a_check_reads_to_say_it(scale, check, waits):
    start = SYNC.index("class ModelNew")
    assert bool(run_rule("KL602", SYNC[:start] + COMPARED.format(scale=scale, check=check))) == waits


def test_what_a_function_that_is_no_check_asserts_is_waited_for():
    start = SYNC.index("class ModelNew")
    source = "def forward(x):\n    y = run(x, 2.0)\n    assert {read}.max().item() < 4\n    {end}(run(y, 2.0))\n"
    keep = "from elsewhere import keep\n"
    assert run_rule("KL602", SYNC[:start] + source.format(read="(y - x).abs()", end="return "))
    assert run_rule("KL602", SYNC[:start] + keep + source.format(read="y", end="keep"))


def test_the_syncs_of_two_functions_are_two_findings():
    helper = "def largest(x):\n    return run(x, x.max().item())\n\n"
    source = syncing("y = largest(x)\nreturn run(y, y.min().item())").replace(
        "class ModelNew", helper + "class ModelNew"
    )
    assert [f.symbol for f in run_rule("KL602", source).findings] == ["largest", "ModelNew.forward"]


def test_a_sync_that_may_not_be_one_is_not_counted():
    start = SYNC.index("class ModelNew")
    source = "def forward(x, n):\n    a = n.item()\n    y = run(x, a)\n    return run(y, y.max().item())\n"
    assert "more place" not in run_rule("KL602", SYNC[:start] + source).only().message


def test_a_sync_on_what_the_device_made_is_more_than_a_remark():
    start = SYNC.index("class ModelNew")
    source = "def forward(x, lengths):\n    return run(x, float(lengths.max().item()))\n"
    assert run_rule("KL602", SYNC[:start] + source).only().severity == "warning"
