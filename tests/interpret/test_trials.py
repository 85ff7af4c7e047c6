"""What tests, benchmarks and scripts give the functions that they try."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kernlint.interpret.callers import call_sites
from kernlint.interpret.host.device import HostFacts
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.interpret.reading.launching import may_launch
from kernlint.syntax.tree import parse_module
from kernlint.workload import dtype as dt

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * 2, mask=offs < n)

def launch(x):
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""
LAYERS = """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return launch(x)
    @staticmethod
    def backward(ctx, dy):
        return launch_backward(dy)

def launch_backward(dy):
    dx = torch.empty_like(dy)
    scale_kernel[(triton.cdiv(dy.numel(), 1024),)](dy, dx, dy.numel(), BLOCK=1024)
    return dx

scale = Scale.apply
"""
OPERATOR = """
_SPACE = "mine"

@torch.library.custom_op(f"{_SPACE}::scaled", mutates_args=())
def _scaled(x: torch.Tensor) -> torch.Tensor:
    return launch(x)

@_scaled.register_fake
def _(x):
    return torch.empty_like(x)

def scale(x):
    return torch.ops.mine.scaled(x)
"""
LIBRARY = """
lib = torch.library.Library("mine", "FRAGMENT")
lib.define("scaled(Tensor x) -> Tensor")

@torch.library.impl(lib, "scaled", "Meta")
def _(x):
    return torch.empty_like(x, dtype=torch.int8)

@torch.library.impl(lib, "scaled", "CUDA")
def scaled_cuda(x):
    return launch(x)

def scale(x):
    return torch.ops.mine.scaled.default(x)
"""


def arguments(folder: Path, module: str, caller: str, *functions: str) -> list[dict[str, object]]:
    """What ``caller``, a test beside ``pkg/scaling.py``, gives each of ``functions``."""
    for name, text in {
        "pyproject.toml": "",
        "pkg/__init__.py": "from .scaling import *\n",
        "pkg/scaling.py": KERNEL + module,
        "tests/test_scale.py": "import pytest, torch\nfrom pkg.scaling import scale\n" + textwrap.dedent(caller),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    path = folder / "pkg/scaling.py"
    read = parse_module(path.read_text(), str(path))
    return [dict(site.arguments) for site in call_sites(read, functions, may_launch(read), HostFacts())]


@pytest.mark.parametrize(
    "caller",
    [
        "@pytest.mark.parametrize('n, d', [pytest.param(3, 5, id='small')])\ndef test(n, d):\n    scale(torch.ones(n, d))",
        "@pytest.mark.parametrize('n', [pytest.param(3)])\ndef test(n):\n    scale(torch.ones(n, 5))",
        "@pytest.fixture\ndef x():\n    return torch.ones(3, 5)\ndef test(x):\n    scale(x)",
        "@pytest.fixture(params=[1, 3])\ndef n(request):\n    yield request.param\n"
        "@pytest.fixture\ndef x(n):\n    return torch.ones(n, 5)\ndef test(x):\n    scale(x)",
        "class TestScale:\n    def setup_method(self):\n        self.n = 3\n    def test(self):\n        scale(torch.ones(self.n, 5))",
        "from absl.testing import parameterized\nclass TestScale:\n    @parameterized.parameters((1, 2), (3, 5))\n"
        "    def test(self, n, d):\n        scale(torch.ones(n, d))",
        "import argparse\ndef main():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--n', '-n', type=int, default=3)\n"
        "    parser.add_argument('--row-size', type=int, default=5)\n    args = parser.parse_args()\n"
        "    scale(torch.ones(args.n, args.row_size))\nmain()",
        "from pkg import scaling\ndef test():\n    scaling.scale(torch.ones(3, 5))",
    ],
)
def test_ways_to_say_what_is_tried(tmp_path, caller):
    found = arguments(tmp_path, "def scale(x):\n    return launch(x)\n", caller, "scale")
    assert found[0] == {"x": (dt.FLOAT32, (3, 5))}


@pytest.mark.parametrize(
    ("option", "shape"),
    [
        ("'--n', type=int, default='3'", (3, 5)),
        ("'--n', type=lambda text: 8, default='3'", None),
        ("'--n', action=[1], default=3", (3, 5)),
        ("'--n', dest=['n'], default=3", None),
        ("'--n', type=int, default='three'", None),
    ],
)
def test_options_of_a_script(tmp_path, option, shape):
    caller = f"""
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument({option})
    scale(torch.ones(parser.parse_args().n, 5))
    """
    found = arguments(tmp_path, "def scale(x):\n    return launch(x)\n", caller, "scale")
    assert found == [{"x": (dt.FLOAT32, shape)}]


def test_a_command_line_that_is_given_sets_options(tmp_path):
    caller = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument('--n', type=int, default=3)
    scale(torch.ones(parser.parse_args(['--n', '7']).n, 5))
    """
    found = arguments(tmp_path, "def scale(x):\n    return launch(x)\n", caller, "scale")
    assert found == [{"x": (dt.FLOAT32, None)}]


@pytest.mark.parametrize(
    ("decorator", "takes", "shape"),
    [
        ("parameterized.named_parameters(('small', 1, 2), ('large', 3, 5))", "n, d", (3, 5)),
        ("parameterized.named_parameters([('small', 1, 2), ('large', 3, 5)])", "n, d", (3, 5)),
        ("parameterized.named_parameters(dict(testcase_name='one', n=3, d=5))", "n, d", (3, 5)),
        ("parameterized.named_parameters(('one', 3))", "n, d=5", (3, 5)),
        ("parameterized.parameters((1,), (3,))", "n, d=5", (3, 5)),
        ("parameterized.parameters(1, 3)", "n, d=5", (3, 5)),
        ("parameterized.parameters([(1, 2), (3, 5)])", "n, d", (3, 5)),
        ("parameterized.parameters(*[(1, 2), (3, 5)])", "n, d", (3, 5)),
        ("parameterized.parameters([1, 2], [3, 5])", "n, d", (3, 5)),
        ("parameterized.parameters({'n': 3, 'd': 5})", "n, d", (3, 5)),
        ("parameterized.parameters(unknown_case())", "n, d=5", None),
        ("parameterized.expand([(3, 5)])", "n, d", (3, 5)),
        ("parameterized.expand([[3], [3]])", "n, d=5", (3, 5)),
        ("pytest.mark.parametrize(['n'], [(128,), (3,)])", "n, d=5", (3, 5)),
        ("pytest.mark.parametrize(['n'], [pytest.param(3)])", "n, d=5", (3, 5)),
        ("pytest.mark.parametrize('n,', [3])", "n, d=5", (3, 5)),
        ("pytest.mark.parametrize('shape', [(3, 5)])", "shape, n=3, d=5", (3, 5)),
        ("pytest.mark.parametrize('n', [4], indirect=True)", "n, d=5", None),
        ("parameterized.parameters()", "n=3, d=5", (3, 5)),
        ("parameterized.named_parameters(7)", "n=3, d=5", (3, 5)),
    ],
)
def test_sets_of_values_as_their_decorators_take_them(tmp_path, decorator, takes, shape):
    caller = (
        "from absl.testing import parameterized\nfrom nowhere import unknown_case\n"
        f"class TestScale:\n    @{decorator}\n    def test(self, {takes}):\n        scale(torch.ones(n, d))"
    )
    found = arguments(tmp_path, "def scale(x):\n    return launch(x)\n", caller, "scale")
    assert found[0] == {"x": (dt.FLOAT32, shape)}


@pytest.mark.parametrize("odd", ["pick = lambda self: 1", "__init__ = lambda self: None", "setUp = lambda self, n: n"])
def test_lambdas_of_a_class_are_no_tests(tmp_path, odd):
    caller = f"class TestScale:\n    {odd}\n    def test(self):\n        scale(torch.ones(3, 5))"
    found = arguments(tmp_path, "def scale(x):\n    return launch(x)\n", caller, "scale")
    assert found == [{"x": (dt.FLOAT32, (3, 5))}]


def test_lambdas_of_a_class_are_no_entries():
    scale = "class Scale:\n    pick = lambda self: 1\n    def __call__(self, x):\n        return launch(x)\n"
    workloads = Program(parse_module(KERNEL + scale, "k.py"), None, Question()).workloads()
    assert "Scale.__call__" in [workload.entry for workload in workloads]
    model = "class Scale:\n    forward = lambda self, x: launch(x)\n"
    (workload,) = Program(parse_module(KERNEL + model, "k.py"), None, Question(entry="Scale.forward")).workloads()
    assert len(workload.launches()) == 1


def test_a_lambda_is_no_kernel():
    text = "import triton\nk = triton.jit(lambda x: 1)\ndef run(x):\n    k[(1,)](x)\n    return launch(x)\n"
    (workload,) = Program(parse_module(KERNEL + text, "k.py"), None, Question(entry="run")).workloads()
    assert [launch.kernel.name for launch in workload.launches()] == ["scale_kernel"]


def test_fixtures_of_a_conftest(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/conftest.py").write_text(
        "import pytest, torch\n@pytest.fixture\ndef x():\n    return torch.ones(3, 5).half()\n"
    )
    found = arguments(tmp_path, "def scale(x):\n    return launch(x)\n", "def test(x):\n    scale(x)", "scale")
    assert found == [{"x": (dt.FLOAT16, (3, 5))}]


def test_a_fixture_that_asks_for_itself(tmp_path):
    caller = "@pytest.fixture\ndef x(x):\n    return x\ndef test(x):\n    scale(x)"
    assert arguments(tmp_path, "def scale(x):\n    return launch(x)\n", caller, "scale") == []


@pytest.mark.parametrize("module", [LAYERS, OPERATOR, LIBRARY])
def test_helpers_get_what_comes_through_what_is_called(tmp_path, module):
    caller = "def test():\n    y = scale(torch.ones(3, 5).bfloat16())\n    assert scale(y).dtype == torch.bfloat16"
    assert arguments(tmp_path, module, caller, "launch") == [{"x": (dt.BFLOAT16, (3, 5))}]


def test_backward_passes_follow_their_forward_passes(tmp_path):
    caller = "def test():\n    scale(torch.ones(3, 5, requires_grad=True)).sum().backward()"
    assert arguments(tmp_path, LAYERS, caller, "launch_backward") == [{"dy": (dt.FLOAT32, (3, 5))}]


def test_functions_of_the_same_name_elsewhere_are_no_callers(tmp_path):
    caller = "def softmax(x):\n    return torch.softmax(x, -1)\ndef test():\n    softmax(torch.ones(3, 5))"
    assert arguments(tmp_path, "def softmax(x):\n    return launch(x)\n", caller, "softmax") == []


def test_hooks_of_configurations_set_the_blocks_of_descriptors():
    source = """
    import torch, triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor

    def set_blocks(nargs):
        nargs["a"].block_shape = [nargs["B"], 64]

    @triton.autotune([triton.Config({"B": 32}, pre_hook=set_blocks)], key=[])
    @triton.jit
    def k(a, y, B: tl.constexpr):
        tile = a.load([tl.program_id(0) * B, 0])
        tl.store(y + tl.arange(0, B), tl.sum(tile, 1))

    def rows(x: torch.Tensor):
        y = torch.empty(x.shape[0], device=x.device)
        k[(x.shape[0] // 32,)](TensorDescriptor.from_tensor(tensor=x, block_shape=[1, 1]), y)
        return y
    """
    (workload,) = Program(parse_module(textwrap.dedent(source), "k.py"), None, Question()).workloads()
    (load,) = workload.launches()[0].kernel.loads()
    assert load.shape == (32, 64) and load.base == "a" and workload.inputs[0].shape is not None
