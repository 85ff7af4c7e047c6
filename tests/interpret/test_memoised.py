"""What a call does every time, told from what it does once: caches, memoised functions, set-up, checks, host tensors."""

import libcst as cst
import pytest

from kernlint.interpret.host.memoised import run_once
from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.syntax.walk import walk
from kernlint.workload import HostSync, Launch, TorchOp

HEAD = """
import functools
import torch
import triton
import triton.language as tl

CACHE = {}
SEEN = set()
OK = None

@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

def launch(x):
    y = torch.empty_like(x)
    copy[(1,)](x, y, 64, BLOCK=64)
    return y
"""


def steps_of(source, entry="run"):
    """(what every call does, what the first one does), as names in order, allocations left out."""
    workloads = Program(parse_module(HEAD + source, "a.py")).workloads()
    workload = next(w for w in workloads if w.entry == entry)

    def names(call):
        found = []
        for step, _ in call.walk():
            if isinstance(step, Launch):
                found.append(step.kernel.name)
            elif isinstance(step, HostSync):
                found.append("sync")
            elif isinstance(step, TorchOp) and step.kind not in ("alloc", "fill"):
                found.append(step.name)
        return found

    return names(workload), names(workload.first_call())


KEPT = {
    "missing key": "    if w not in CACHE:\n        CACHE[w] = w.float().exp()\n    w = CACHE[w]\n",
    "key by name": "    key = (w.shape, w.dtype)\n    if not key in CACHE:\n        v = w.exp()\n        CACHE[key] = v\n",
    "get": "    v = CACHE.get(w)\n    if v is None:\n        v = w.exp()\n        CACHE[w] = v\n",
    "walrus": "    if (v := CACHE.get(w)) is None:\n        v = CACHE[w] = w.exp()\n",
    "alias": "    table = CACHE\n    if w not in table:\n        table[w] = w.exp()\n",
    "set of seen": "    if w not in SEEN:\n        s = w.exp().sum().item()\n        SEEN.add(w)\n",
    "global": "    global OK\n    if OK is None:\n        OK = w.exp().sum().item()\n",
    "negated": "    global OK\n    if not OK:\n        OK = w.exp().sum().item()\n",
    "stale": "    global OK\n    if OK is None or OK.shape != w.shape:\n        OK = w.exp()\n",
    "stale by its key": "    if w.packed is None or w.key != w.shape:\n        w.packed, w.key = w.exp(), w.shape\n",
    "and a flag": "    global OK\n    if OK is None and w.is_cuda:\n        OK = w.exp()\n",
    "not to be asked for": "    global OK\n    if again or OK is None:\n        OK = w.exp()\n",
    "kept unless told": "    if not (keep and w in CACHE):\n        CACHE[w] = w.exp()\n",
    "attribute of an argument": "    if w.packed is None:\n        w.packed = w.exp()\n",
    "hasattr": "    if not hasattr(w, 'packed'):\n        w.packed = w.exp()\n",
    "getattr": "    p = getattr(w, 'packed', None)\n    if p is None:\n        p = w.exp()\n        setattr(w, 'packed', p)\n",
    "function attribute": "    if run.table is None:\n        run.table = w.exp()\n",
    "else": "    if w in CACHE:\n        v = CACHE[w]\n    else:\n        v = w.exp()\n        CACHE[w] = v\n",
    "behind a lock": "    with LOCK:\n        if w not in CACHE:\n            CACHE[w] = w.exp()\n",
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_what_fills_a_cache_runs_once(body):
    later, first = steps_of(f"def run(x, w, again=False, keep=True):\n{body}    return launch(x)\n")
    assert later == ["copy"]
    assert first[-1] == "copy"
    module = parse_module(HEAD + f"def run(x, w, again=False, keep=True):\n{body}    return launch(x)\n", "a.py")
    (function,) = (f for f in module.of(cst.FunctionDef) if f.name.value == "run")
    assert any(isinstance(n, cst.Call) for s in run_once(function, module) for n in walk(s))


EACH_TIME = {
    "no condition": "    CACHE[w] = w.exp()\n",
    "argument": "    if w is None:\n        w = x.exp()\n    else:\n        w = w.exp()\n",
    "container of the call": "    table = {}\n    if 1 not in table:\n        table[1] = w.exp()\n",
    "keyword arguments": "    if 's' not in options:\n        options['s'] = w.exp()\n",
    "another condition": "    if w.shape[0] > 8:\n        CACHE[w] = w.exp()\n    else:\n        CACHE[w] = w.exp()\n",
    "or a size": "    global OK\n    if OK is None or x.shape[0] > 8:\n        OK = w.exp()\n    else:\n        OK = w.exp()\n",
    "unless a flag": "    if w in CACHE and not flag:\n        pass\n    else:\n        CACHE[w] = w.exp()\n",
    "on unless told": "    global OK\n    if fresh or OK is None:\n        OK = w.exp()\n",
    "not kept": "    if w not in CACHE:\n        w = w.exp()\n    else:\n        w = w.exp()\n",
    "other place": "    global OK\n    OK = CACHE.get(0)\n    if OK is not None:\n        w.exp()\n    else:\n        w.exp()\n",
}


@pytest.mark.parametrize("body", EACH_TIME.values(), ids=EACH_TIME)
def test_what_every_call_runs(body):
    later, first = steps_of(f"def run(x, w, flag, fresh=True, **options):\n{body}    return launch(x)\n")
    assert later == first == ["exp", "copy"]


PERHAPS_EACH_TIME = {
    "or a flag": "    global OK\n    if flag or OK is None:\n        OK = w.exp()\n",
    "or an attribute": "    if w.packed is None or w.requires_grad:\n        w.packed = w.exp()\n",
}


@pytest.mark.parametrize(
    "body", [*EACH_TIME.values(), *PERHAPS_EACH_TIME.values()], ids=[*EACH_TIME, *PERHAPS_EACH_TIME]
)
def test_what_may_run_again_does_not_run_once(body):
    module = parse_module(HEAD + f"def run(x, w, flag, fresh=True, **options):\n{body}    return launch(x)\n", "a.py")
    (function,) = (f for f in module.of(cst.FunctionDef) if f.name.value == "run")
    assert not run_once(function, module)


def test_what_stands_behind_the_return_of_a_kept_value():
    source = """
def prepared(w):
    if w in CACHE:
        return CACHE[w]
    v = w.exp()
    CACHE[w] = v
    return v

def run(x, w):
    prepared(w)
    return launch(x)
"""
    later, first = steps_of(source)
    assert later == ["copy"]
    assert first == ["exp", "copy"]


def test_a_method_fills_the_attribute():
    source = """
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.packed = None
        self.weight = torch.nn.Parameter(torch.randn(64))

    def pack(self):
        self.packed = self.weight.exp()

    def forward(self, x):
        if self.packed is None:
            self.pack()
        return launch(x)
"""
    assert steps_of(source, "Layer.forward") == (["copy"], ["exp", "copy"])


@pytest.mark.parametrize("decorator", ["functools.lru_cache(maxsize=None)", "functools.cache", "remember"])
def test_memoised_functions(decorator):
    source = f"""
def remember(fn):
    last = None
    @functools.wraps(fn)
    def wrapper(*args):
        nonlocal last
        if last is not None and last[0] is args[0]:
            return last[1]
        result = fn(*args)
        last = (args[0], result)
        return result
    return wrapper

@{decorator}
def lengths(w):
    return w.exp().sum().item()

def run(x, w):
    lengths(w)
    return launch(x)
"""
    later, first = steps_of(source)
    assert later == ["copy"]
    assert first[-1] == "copy" and "exp" in first


def test_a_decorator_that_keeps_nothing():
    source = """
def checked(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        if not args:
            return None
        return fn(*args)
    return wrapper

@checked
def twice(w):
    return w.exp()

def run(x, w):
    twice(w)
    return launch(x)
"""
    assert steps_of(source) == (["exp", "copy"], ["exp", "copy"])


def test_a_function_that_only_fills_a_cache_is_no_entry_of_calls():
    source = """
def pack(w):
    return launch(w.exp())

def run(x, w):
    if w not in CACHE:
        CACHE[w] = pack(w)
    return launch(x)
"""
    assert steps_of(source, "pack")[0] == []
    assert steps_of(source, "run")[0] == ["copy"]


NO_EFFECT = {
    "test": "def run():\n    x = torch.randn(64)\n    y = launch(x.clone())\n    assert torch.allclose(x, y)\n",
    "verdict of a check": "def run(x):\n    y = launch(x.exp())\n    return bool((x - y).abs().max().item() < 1e-3)\n",
    "check with code from elsewhere": "def run(n=64):\n    x = torch.randn(n)\n    measured(launch(x.exp()))\n",
    "measures of a check": "def run(n):\n    x = torch.randn(n)\n    y = launch(x.exp())\n    return (x - y).abs().max().item()\n",
    "time of a benchmark": "def run(n):\n    x = torch.rand(n)\n    ms = measured(lambda: launch(x))\n    return ms, launch(x)\n",
    "test of numbers written out": "def run():\n    x = torch.tensor([1.0, 2.0], device='cuda')\n    return {'case': launch(x)}\n",
    "warm-up": "def run():\n    launch(torch.zeros(64).exp())\n",
}


@pytest.mark.parametrize("source", NO_EFFECT.values(), ids=NO_EFFECT)
def test_a_call_that_leaves_nothing_is_not_on_any_path(source):
    later, first = steps_of(source)
    assert later == []
    assert "copy" in first


EFFECT = {
    "returned": "def run(x):\n    return launch(x)\n",
    "of noise": "def run(x):\n    return launch(x + torch.randn_like(x))\n",
    "of noise alone, launched there": "def run():\n    x = torch.randn(64)\n    y = torch.empty_like(x)\n"
    "    copy[(1,)](x, y, 64, BLOCK=64)\n    return y\n",
    "of constants": "def run():\n    return launch(torch.zeros(64))\n",
    "written": "def run(x, y):\n    copy[(1,)](x, y, 64, BLOCK=64)\n",
    "returned in a branch": "def run(x, flag):\n    if flag:\n        return launch(x)\n    return None\n",
    "on an object": "def run(x, layer):\n    layer.y = launch(x)\n",
    "in a list": "def run(x, found):\n    found.append(launch(x))\n",
}


@pytest.mark.parametrize("source", EFFECT.values(), ids=EFFECT)
def test_a_call_that_somebody_sees(source):
    assert "copy" in steps_of(source)[0]


ON_HOST = {
    "device": "    c = torch.zeros(4, device='cpu')\n    n = c.sum().item()\n",
    "torch.device": "    c = torch.zeros(4, device=torch.device('cpu'))\n    n = int(c.max())\n",
    "pinned": "    c = torch.empty(4, pin_memory=True)\n    n = c.tolist()\n",
    "no device": "    n = torch.tensor([1, 2, 3]).cumsum(0).tolist()\n",
    "nothing in it": "    c = torch.tensor([[]], device=x.device)\n",
    "number or tensor": "    n = int(ratio * x.shape[0])\n",
    "another vendor": "    torch.npu.synchronize()\n",
}


@pytest.mark.parametrize("body", ON_HOST.values(), ids=ON_HOST)
def test_what_is_on_the_host_waits_for_nobody(body):
    assert "sync" not in steps_of(f"def run(x, ratio):\n{body}    return launch(x)\n")[0]


def test_a_copy_to_the_host_waits_once():
    source = "def run(x):\n    c = x.cpu()\n    a = c.max().item()\n    b = c[0].item()\n    return launch(x)\n"
    assert steps_of(source)[0] == ["sync", "copy"]


def test_back_on_the_device():
    source = "def run(x):\n    c = torch.tensor([1, 2]).to(x.device)\n    n = c.sum().item()\n    return launch(x)\n"
    assert steps_of(source)[0] == ["sum", "sync", "copy"]


def test_an_example_in_the_module_is_no_caller():
    source = (
        "def run(x):\n    return launch(x)\n\ndef example():\n    return run(torch.randn(64))\n\nresult = example()\n"
    )
    assert steps_of(source)[0] == ["copy"]


def test_what_a_graph_captures_is_replayed():
    source = """
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            launch(x.exp())
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = launch(x)
        self.graph.replay()
        return self.y
"""
    assert steps_of(source, "Layer.forward") == (["copy"], ["exp", "copy", "copy"])


@pytest.mark.parametrize(
    ("head", "end", "once"),
    [
        ("@pytest.mark.gpu\n", "checked(x, y)", True),
        ("", "assert torch.allclose(x, y)", True),
        ("", "torch.testing.assert_close(x, y)", True),
        ("", "checked(x, y)", False),
        ("", "assert y.is_contiguous()", False),
        ("@pytest.mark.gpu\n", "return y", False),
    ],
)
def test_what_asserts_that_results_agree_runs_once(head: str, end: str, once: bool) -> None:
    """Its data may come from code that is not followed; no program calls it again and again, whatever its name is."""
    for name in ("test_run", "run"):
        source = f"import pytest\n\n{head}def {name}(device):\n    x = made(device)\n    y = launch(x)\n    {end}\n"
        assert (steps_of(source, name)[0] == []) == once


def test_what_stands_behind_the_return_of_a_kept_value_under_a_lock():
    source = """
def prepared(w):
    with LOCK:
        cache = loaded()
        if not afresh() and w in cache:
            return cache[w]
    v = w.exp()
    with LOCK:
        cache = loaded()
        cache[w] = v
    return v
"""
    for text, once in ((source, True), (source.replace("cache[w] = v", "cache = v"), False)):
        module = parse_module(HEAD + text, "a.py")
        (function,) = (f for f in module.of(cst.FunctionDef) if f.name.value == "prepared")
        assert any(isinstance(n, cst.Call) for s in run_once(function, module) for n in walk(s)) == once


TESTED = """
def run(x):
    return launch(x)

def _check():
    x = torch.randn(64)
    torch.testing.assert_close(run(x), x)
"""


@pytest.mark.parametrize(
    ("more", "path", "every"),
    [
        pytest.param("", "a.py", ["copy"], id="what a module's own test calls is what the module is for"),
        pytest.param("", "test_a.py", [], id="a file of tests is for its tests"),
        pytest.param("\ndef product(x):\n    return launch(x)\n", "a.py", [], id="a helper of tests beside a product"),
    ],
)
def test_functions_that_tests_alone_call(more, path, every):
    workloads = Program(parse_module(HEAD + TESTED + more, path)).workloads()
    workload = next(w for w in workloads if w.entry == "run")
    assert [step.kernel.name for step, _ in workload.walk() if isinstance(step, Launch)] == every
    assert len(workload.first_call().launches()) == 1
