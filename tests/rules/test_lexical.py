"""Rules on the source alone: kernels called from Python, tuners, imports."""

from __future__ import annotations

import pytest

from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.settings import FileSettings

HEAD = "import torch\nimport triton\nimport triton.language as tl\nfrom triton import jit\n"
KERNEL = "@triton.jit\ndef kernel(x, n, B: tl.constexpr):\n    tl.store(x + tl.arange(0, B), 0.0)\n"


def found(source: str, code: str, version: str | None = None) -> list[str]:
    settings = FileSettings(frozenset({code, "KL903"}), target_triton=version)
    return [f.message for f in check_file(Job("k.py", source.encode(), settings)).findings]


@pytest.mark.parametrize(
    ("code", "rest"),
    [
        pytest.param("KL712", "def f(x):\n    kernel(x, 1, B=2)\n", id="called"),
        pytest.param(
            "KL712", "class M:\n    def forward(self, x):\n        return kernel(x, 1, B=2)\n", id="from a method"
        ),
        pytest.param("KL712", "def k2(x): ...\ndef f(x):\n    k2[(1,)](x)\n", id="launched plain function"),
        pytest.param("KL714", "@triton.autotune(configs=[], key=[])\ndef f(x): ...\n", id="no jit"),
        pytest.param("KL714", "@triton.jit\n@triton.autotune(configs=[], key=[])\ndef f(x): ...\n", id="wrong order"),
        pytest.param("KL714", "@triton.autotune(configs=[], key=['m'])\n@triton.jit\ndef f(x): ...\n", id="key"),
        pytest.param("KL714", "@triton.autotune(configs=[])\n@triton.jit\ndef f(x): ...\n", id="no key"),
        pytest.param(
            "KL714", "@triton.autotune(configs=[], key=[], tune=1)\n@triton.jit\ndef f(x): ...\n", id="keyword"
        ),
        pytest.param("KL714", "@triton.autotune([{'B': 64}], key=[])\n@triton.jit\ndef f(x): ...\n", id="dict"),
        pytest.param(
            "KL714",
            "SPACE = [dict(B=b) for b in (1, 2)]\n@triton.autotune(SPACE, [])\n@jit\ndef f(x): ...\n",
            id="made dicts",
        ),
        pytest.param("KL712", "def f(x):\n    i = tl.program_id(0)\n    kernel(x, i, B=2)\n", id="kernel without jit"),
        pytest.param("KL803", "import triton.ops\n", id="removed package"),
        pytest.param("KL803", "from triton.language import libdevice\n", id="removed name"),
        pytest.param("KL702", "def f(x):\n    return math.pi\n", id="undefined"),
    ],
)
def test_hit(code: str, rest: str) -> None:
    assert found(HEAD + KERNEL + rest, code)


@pytest.mark.parametrize(
    ("code", "rest"),
    [
        pytest.param("KL712", "def f(x):\n    kernel[(1,)](x, 1, B=2)\n", id="launched"),
        pytest.param("KL712", "@jit\ndef k2(x):\n    kernel(x, 1, B=2)\n", id="from a kernel"),
        pytest.param("KL712", "def k2(x):\n    kernel(x, 1, B=2)\nk2 = triton.jit(k2)\n", id="compiled by a call"),
        pytest.param("KL712", "def f(kernel, x):\n    kernel(x)\n", id="parameter of that name"),
        pytest.param("KL712", "def k2(x): ...\nk2 = jit(k2)\ndef f(x):\n    k2[(1,)](x)\n", id="jit by a call"),
        pytest.param("KL712", "@decorate\ndef k2(x):\n    kernel(x, 1, B=2)\n", id="unknown decorator"),
        pytest.param("KL714", "@triton.autotune(configs=[], key=['x'])\n@triton.jit\ndef f(x): ...\n", id="well tuned"),
        pytest.param("KL714", "@triton.autotune(configs=[], key=[])\n@mine.jit\ndef f(x): ...\n", id="another jit"),
        pytest.param(
            "KL714",
            "@triton.autotune([triton.Config({'B': 64})], key=[])\n@triton.jit\ndef f(x): ...\n",
            id="configuration",
        ),
        pytest.param(
            "KL714", "@triton.autotune(make({'B': 64}), key=[])\n@triton.jit\ndef f(x): ...\n", id="made elsewhere"
        ),
        pytest.param(
            "KL712", "@pointwise(1)\n@jit\ndef k2(x): ...\ndef f(x):\n    k2(x)\n", id="a decorator that launches"
        ),
        pytest.param("KL714", "@triton.autotune(**options)\n@triton.jit\ndef f(x): ...\n", id="options elsewhere"),
        pytest.param("KL803", "try:\n    import triton.ops\nexcept ImportError:\n    pass\n", id="guarded"),
        pytest.param("KL803", "def f():\n    import triton.ops\n", id="in a function"),
        pytest.param("KL803", "from triton.language.extra import libdevice\n", id="libdevice today"),
        pytest.param(
            "KL803", "from triton.runtime.jit import JITFunction\nimport triton.testing\n", id="public modules"
        ),
    ],
)
def test_no_op(code: str, rest: str) -> None:
    assert not found(HEAD + KERNEL + rest, code)


def test_key_is_refused_from_3_9_on_and_ignored_before() -> None:
    source = HEAD + "@triton.autotune(configs=[], key=['m'])\n@triton.jit\ndef f(x): ...\n"
    assert found(source, "KL714", "3.9")
    assert found(source, "KL714", "3.8")  # a warning: tests/rules/test_fourteenth_drawing.py


def test_kernel_without_launcher_is_a_warning() -> None:
    source = HEAD + "@triton.jit\ndef kernel(x):\n    tl.store(x + tl.program_id(0), tl.tanh(0.5))\n"
    settings = FileSettings(frozenset({"KL701"}))
    bare = check_file(Job("k.py", source.encode(), settings)).findings
    launched = check_file(Job("k.py", f"{source}\ndef f(x):\n    kernel[(1,)](x)\n".encode(), settings)).findings
    assert [f.severity for f in bare] == ["warning"]
    assert [f.severity for f in launched] == ["error"]


def test_device_decides_about_warps() -> None:
    source = HEAD + KERNEL + "def f(x):\n    kernel[(1,)](x, 1, B=64, num_warps=32)\n"
    for device, expected in (("h100-sxm", 0), ("mi300x", 1)):
        result = check_file(Job("k.py", source.encode(), FileSettings(frozenset({"KL805"}), device=device)))
        assert len(result.findings) == expected


def test_kernel_inside_a_function_is_not_the_function_of_its_name() -> None:
    source = HEAD + (
        "def build():\n    @triton.jit\n    def add(x):\n        tl.store(x, 1.0)\n    return add\n"
        "def add(x):\n    return build()[(1,)](x)\n"
        "def f(x):\n    return add(x)\n"
    )
    assert not found(source, "KL712")


def test_what_a_release_took_away_is_information_unless_one_is_named() -> None:
    gone = HEAD + (
        "@triton.jit\ndef kernel(x):\n    tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,))\n"
        "def f(x):\n    kernel[(1,)](x)\n"
    )

    def severities(source: str, release: str | None) -> list[str]:
        settings = FileSettings(frozenset({"KL801"}), target_triton=release)
        return [f.severity for f in check_file(Job("k.py", source.encode(), settings)).findings]

    assert severities(gone, None) == ["info"]
    assert severities(gone, "3.9") == ["error"]
    assert severities(gone, "3.8") == []
    never = gone.replace("tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,))", "tl.store(x, tl.math.tanh(0.5))")
    assert severities(never, None) == ["error"]


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_a_launch_in_a_helper_that_a_graph_captures(warm: bool) -> None:
    helper = "def start(x):\n    kernel[(1,)](x, 1, B=2)\n"
    capture = "def run(x):\n    WARM\n    g = torch.cuda.CUDAGraph()\n    with torch.cuda.graph(g):\n        start(x)\n"
    messages = found(HEAD + KERNEL + helper + capture.replace("WARM", "start(x)" if warm else "pass"), "KL756")
    assert len(messages) == (not warm)
