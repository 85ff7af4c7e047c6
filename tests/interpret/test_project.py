"""Facts from other files of a project: who calls a function, with what, and who launches a kernel."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kernlint.analysis import Analysis, analysis
from kernlint.errors import AnalysisError
from kernlint.interpret.callers import CallSite, call_sites, of_entry, sites_in
from kernlint.interpret.host.device import HostFacts
from kernlint.interpret.program import Program
from kernlint.interpret.project import is_imported, project_root
from kernlint.interpret.question import Question
from kernlint.request import Request
from kernlint.syntax.tree import parse_module
from kernlint.workload import dtype as dt

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale_kernel(x_ptr, y_ptr, n, s, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * s, mask=offs < n)
"""
WRAPPER = """
def scale(x, s=2.0):
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), s, BLOCK=1024)
    return y
"""
CALLER = """
import pytest
import torch
from pkg.ops import scale

def make(*shape):
    return torch.randn(shape, dtype=torch.bfloat16, device="cuda")

@pytest.mark.parametrize("M", [4, 512])
@pytest.mark.parametrize("N", [64, 2048])
def test_scale(M, N):
    assert scale(make(M, N), s=0.5).shape == (M, N)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "pyproject.toml": "",
        "pkg/__init__.py": "",
        "pkg/ops/__init__.py": "from .scaling import scale\n",
        "pkg/ops/scaling.py": KERNEL + WRAPPER,
        "tests/test_scale.py": CALLER,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def sites(project: Path, *functions: str) -> list[CallSite]:
    path = project / "pkg/ops/scaling.py"
    return call_sites(parse_module(path.read_text(), str(path)), functions or ("scale",), (), HostFacts())


def ask(path: Path, **options: object) -> Analysis:
    options = {"project": True, **options}
    return analysis(Request(path.read_text(), path=str(path), **options))  # type: ignore[arg-type]


def write(project: Path, name: str, text: str) -> None:
    (project / name).write_text(textwrap.dedent(text))


def test_parametrized_tests_behind_a_re_export(project):
    found = sites(project)
    assert [site.arguments for site in found] == [
        {"x": (dt.BFLOAT16, (512, 2048)), "s": 0.5},
        {"x": (dt.BFLOAT16, (4, 64)), "s": 0.5},
    ]
    assert found[0].line == 12 and found[0].path.endswith("test_scale.py")


@pytest.mark.parametrize(
    "text",
    [
        "import pkg.ops as ops, torch\ndef f():\n    ops.scale(torch.ones(3, 5))",
        "import torch\nfrom pkg.ops.scaling import scale as by\nif __name__ == '__main__':\n    by(torch.ones(3, 5))",
        "import torch\nfrom pkg import ops\nclass M(torch.nn.Module):\n    def __init__(self, n=5):\n        super().__init__()\n"
        "        self.w = torch.nn.Parameter(torch.ones(3, n))\n    def forward(self, x):\n        return ops.scale(self.w) + x",
    ],
)
def test_ways_to_call(project, text):
    (project / "tests/test_scale.py").unlink()
    (project / "use.py").write_text(text)
    assert [site.arguments["x"] for site in sites(project)] == [(dt.FLOAT32, (3, 5))]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nfrom pkg.api import twice\ndef test_twice():\n    twice(torch.ones(3, 5).half())",
        "import torch, pkg.api\ndef test_twice():\n    pkg.api.twice(torch.ones(3, 5).half())",
        "import torch\nimport pkg.api as api\nclass TestTwice:\n    def test_it(self):\n        api.Twice()(torch.ones(3, 5).half())",
        "import pytest, torch\nfrom pkg import api\n@pytest.mark.parametrize('name', ['twice'])\ndef test(name):\n"
        "    getattr(api, name)(torch.ones(3, 5).half())",
    ],
)
def test_calls_through_functions_and_layers_that_pass_on_what_they_are_given(project, text):
    (project / "tests/test_scale.py").unlink()
    write(project, "pkg/api.py", """
        import torch
        def twice(x):
            return _twice(x)
        def _twice(x):
            from .ops import scale
            return scale(x, 2.0)
        class Twice(torch.nn.Module):
            def forward(self, x):
                return twice(x)
    """)  # fmt: skip
    (project / "tests/test_api.py").write_text(text)
    (site,) = sites(project)
    assert site.arguments == {"x": (dt.FLOAT16, (3, 5)), "s": 2.0} and site.tried


def test_a_function_that_a_package_exports_under_another_name(project):
    write(project, "pkg/ops/__init__.py", "from .scaling import scale as _scale_by\n")
    write(project, "tests/test_scale.py", """
        import torch
        from pkg.ops import _scale_by
        def test_it():
            _scale_by(torch.ones(3, 5).half())
    """)  # fmt: skip
    assert [site.arguments for site in sites(project)] == [{"x": (dt.FLOAT16, (3, 5))}]


def test_a_layer_gives_what_it_holds_whatever_it_is_made_of(project):
    (project / "tests/test_scale.py").unlink()
    write(project, "pkg/layers.py", """
        import torch
        from .ops import scale
        class Packed(torch.nn.Module):
            def __init__(self, bits, group, size):
                super().__init__()
                if bits not in [4, 8]:
                    raise NotImplementedError
                kinds = {type(group), type(size)}
                assert size % group == 0
                self.register_buffer("packed", torch.zeros((size, size // (32 // bits)), dtype=torch.int32))
            @classmethod
            def of(cls, linear, bits, group):
                return cls(bits, group, linear.in_features)
            def forward(self, x):
                return scale(self.packed)
    """)  # fmt: skip
    assert {site.arguments["x"] for site in sites(project)} == {(dt.INT32, None)}


def test_helpers_of_modules_without_triton_are_followed(project):
    write(project, "pkg/checks.py", """
        import torch
        def checked(x):
            assert x.dtype in (torch.float16,)
            return x
        def blocks(n):
            return -(-n // 1024)
    """)  # fmt: skip
    write(project, "pkg/util.py", "from .checks import blocks, checked\n")
    write(project, "pkg/ops/scaling.py", KERNEL + textwrap.dedent("""
        from ..util import blocks, checked
        def scale(x, s=2.0):
            x = checked(x)
            y = torch.empty_like(x)
            scale_kernel[(blocks(x.numel()),)](x, y, x.numel(), s, BLOCK=1024)
            return y
    """))  # fmt: skip
    path = project / "pkg/ops/scaling.py"
    (workload,) = Program(parse_module(path.read_text(), str(path)), None, Question()).workloads()
    (launch,) = workload.launches()
    assert launch.arguments["x_ptr"].dtype == dt.FLOAT16 and not str(launch.grid[0]).startswith("grid")


def test_a_private_backward_pass_is_known_by_the_calls_of_what_applies_it(project):
    write(project, "pkg/ops/scaling.py", KERNEL + """
class _Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 2.0, BLOCK=1024)
        return y
    @staticmethod
    def backward(ctx, dy):
        dx = torch.empty_like(dy)
        scale_kernel[(triton.cdiv(dy.numel(), 1024),)](dy, dx, dy.numel(), 0.5, BLOCK=1024)
        return dx

def scale(x, s=2.0):
    return _Scale.apply(x)
""")  # fmt: skip
    path = project / "pkg/ops/scaling.py"
    program = Program(parse_module(path.read_text(), str(path)), None, Question())
    workloads = program.workloads()
    found = sites_in(program, workloads, True)
    assert [workload.entry for workload in workloads] == ["scale", "_Scale.backward"]
    behind = of_entry(found, "_Scale.backward", program)
    assert behind == of_entry(found, "scale", program) and {site.function for site in behind} == {"scale"}


@pytest.mark.parametrize(
    "text",
    [
        "from other.ops import scale\nimport torch\ndef f():\n    scale(torch.ones(3, 5))  # scaling",
        "import torch\ndef scale(x): ...\ndef f():\n    scale(torch.ones(3, 5))  # scaling",
        "from pkg.ops import scale\ndef f(x):\n    scale(x)",
        "from pkg.ops import scale\ndef f(:",
        "from pkg.ops import scale\ndef f():\n    while True: scale(f())",
    ],
)
def test_what_is_no_call_or_says_nothing(project, text):
    (project / "tests/test_scale.py").unlink()
    (project / "use.py").write_text(text)
    assert sites(project) == []


@pytest.mark.parametrize(
    "caller",
    [
        'if __name__ == "__main__":\n    print(scale(torch.ones(8, 4096, dtype=torch.int8)))',
        "x = torch.ones(8, 4096, dtype=torch.int8)\ny = scale(x)",
        "for n in (1, 8):\n    scale(torch.ones(n, 4096, dtype=torch.int8))",
        "def main(n=8):\n    def run():\n        scale(torch.ones(n, 4096, dtype=torch.int8))\n    run()",
        "def test_scale():\n    x = torch.ones(8, 4096, dtype=torch.int8)\n    assert scale(x).any()",
        '@triton.testing.perf_report(triton.testing.Benchmark(x_names=["N"], x_vals=[2 ** i for i in range(13)], args={"M": 8},'
        ' line_arg="by", line_vals=["torch", "triton"]))\ndef bench(M, N, by):\n    x = torch.ones(M, N, dtype=torch.int8)\n'
        '    if by == "torch":\n        return triton.testing.do_bench(lambda: x * 2)\n'
        "    return triton.testing.do_bench(lambda: scale(x))",
    ],
)
def test_what_a_file_does_as_a_script_gives_types_and_sizes(caller):
    module = parse_module(f"{KERNEL}{WRAPPER}\n{caller}\n", "k.py")
    found = [site.arguments["x"] for site in call_sites(module, ("scale", "main"), (), HostFacts(), project=False)]
    assert (dt.INT8, (8, 4096)) in found or (dt.INT8, (8, 2048)) in found


@pytest.mark.parametrize(
    "caller", ["def other(x):\n    return scale(x)", "scale", "class A:\n    def f(self):\n        scale(1)"]
)
def test_what_a_file_defines_for_others_gives_nothing(caller):
    module = parse_module(f"{KERNEL}{WRAPPER}\n{caller}\n", "k.py")
    assert call_sites(module, ("scale", "other"), (), HostFacts(), project=False) == []


def test_the_verdict_is_about_the_largest_call(project):
    details = ask(project / "pkg/ops/scaling.py").verdict.details
    assert details.certainty == "assumed"
    first, *others = details.scenarios
    assert [one.name for one in others[:3]] == ["medium", "decode", "large"] and others[3].before_us < first.before_us
    assert first.name.startswith("call at ") and first.name.endswith("test_scale.py:12")
    assert [(fact.name, fact.value, fact.source) for fact in first.facts] == [
        ("x", "bfloat16[512,2048]", "call"),
        ("s", "0.5", "call"),
    ]


def test_what_the_user_says_weighs_more(project):
    found = ask(project / "pkg/ops/scaling.py", assumptions=["x:int8[64,64]"]).verdict
    assert found.details.certainty == "proven" and not found.details.scenarios


def test_nobody_is_asked_without_a_project(project):
    path = project / "pkg/ops/scaling.py"
    alone = ask(path, project=False).verdict.details.scenarios
    assert {fact.source for scenario in alone for fact in scenario.facts} <= {"usual", "ladder", "alternative"}


def test_a_lonely_file_has_no_project(tmp_path):
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / "kernel.py"
    path.write_text(KERNEL + WRAPPER)
    assert project_root(str(path)) in (None, project_root(str(tmp_path / "a" / "kernel.py")))
    assert project_root(str(tmp_path / "none.py")) is None


def test_a_copy_of_a_project_is_one_without_its_history(tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    (copy / "kernels").mkdir(parents=True)
    path = copy / "kernels" / "scaling.py"
    path.write_text(KERNEL)
    for name in ("README.md", "kernels/README.md"):
        (copy / name).write_text("Kernels.\n")
    assert project_root(str(path)) == copy
    (tmp_path / ".gitignore").write_text("*\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert project_root(str(path)) == copy, "what stands at home belongs to no project"
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert project_root(str(path)) == copy, "however home is spelt"


def test_kernel_and_launcher_in_two_modules_are_one_program(project):
    write(project, "pkg/kernels.py", KERNEL)
    write(project, "pkg/launch.py", "import torch, triton\nfrom .kernels import scale_kernel\n" + WRAPPER)
    found = ask(project / "pkg/kernels.py")
    details = found.verdict.details
    assert details.kernel == "scale_kernel" and found.judgement.workload.entry == "scale"
    assert details.fix is None or not details.fix.automatic
    with pytest.raises(AnalysisError):
        ask(project / "pkg/kernels.py", project=False)
    launched = ask(project / "pkg/launch.py").verdict.details
    assert launched.kernel == "scale_kernel" and launched.scenarios[0].facts == details.scenarios[0].facts
    write(project, "pkg/nothing.py", "import torch\n\n\ndef f(x):\n    return x + 1\n")
    with pytest.raises(AnalysisError, match="no Triton kernel in it"):
        ask(project / "pkg/nothing.py")


def test_a_fixture_of_another_file_gives_what_it_tries(project):
    fixture = "import pytest\n\n@pytest.fixture(params=[8, 512])\ndef M(request):\n    return request.param\n"
    write(project, "tests/conftest.py", fixture)
    write(project, "tests/test_scale.py", CALLER.replace('@pytest.mark.parametrize("M", [4, 512])\n', ""))
    assert sites(project)[0].arguments["x"] == (dt.BFLOAT16, (512, 2048))


def test_a_pipe_in_the_project_is_not_waited_for(project):
    import os

    if not hasattr(os, "mkfifo"):
        return
    os.mkfifo(project / "tests" / "scaling_scale.py")
    assert len(sites(project)) == 2


def test_a_benchmark_that_tells_little_does_not_end_the_search(project):
    (project / "bench").mkdir()
    write(project, "bench/bench_scale.py", """
        import torch
        from pkg.ops import scale
        def main(x=None):
            scale(x, torch.ones(()))
        main()
    """)  # fmt: skip
    found = sites(project)
    assert (dt.BFLOAT16, (512, 2048)) in [site.arguments.get("x") for site in found]
    assert any(site.path.endswith("bench_scale.py") for site in found)


@pytest.mark.parametrize("check", ["assert x.dtype == torch.int8", "x = x.to(torch.int8)"])
def test_what_another_function_of_the_file_checks_or_casts_is_known_of_what_it_calls(project, check):
    write(project, "tests/test_scale.py", "from pkg.ops import scale\n")
    path = project / "pkg/ops/scaling.py"
    path.write_text(KERNEL + WRAPPER + f"\ndef scaled(x, s):\n    {check}\n    return scale(x, s)\n")
    (site,) = sites(project)
    assert site.types_of("x") == [dt.INT8] and site.tried


def test_a_function_of_the_file_that_tells_no_type_is_no_call(project):
    write(project, "tests/test_scale.py", "from pkg.ops import scale\n")
    path = project / "pkg/ops/scaling.py"
    path.write_text(KERNEL + WRAPPER + "\ndef scaled(x):\n    return scale(x, 3.0)\n")
    assert sites(project) == []


@pytest.mark.parametrize(
    "made", ["tuned = triton.autotune([triton.Config({})], key=['n'])(scale_kernel)", "tuned = scale_kernel"]
)
def test_a_kernel_launched_elsewhere_by_another_name(project, made):
    write(project, "pkg/ops/scaling.py", KERNEL + made + "\n")
    launched = WRAPPER.replace("scale_kernel[", "chosen[").replace(
        "    y = ", "    chosen = tuned if s else scale_kernel\n    y = "
    )
    write(
        project,
        "pkg/ops/launching.py",
        "import torch\nimport triton\nfrom .scaling import scale_kernel, tuned\n" + launched,
    )
    write(project, "pkg/ops/__init__.py", "from .launching import scale\n")
    assert ask(project / "pkg/ops/scaling.py").reading.workloads[0].entry == "scale"


@pytest.mark.parametrize(
    ("module", "statement", "imported"),
    [
        ("p/kernels/fast.py", "from p.kernels.fast import f", True),
        ("p/kernels/fast.py", "from p.kernels import slow, fast", True),
        ("p/kernels/fast.py", "from .kernels import fast", True),
        ("p/kernels/fast.py", "import p.kernels.fast as other", True),
        ("p/kernels/fast.py", "from p import kernels", False),
        ("p/kernels/fast.py", "from p.other import fast", False),
        ("p/kernels/__init__.py", "from p import kernels", True),
        ("p/kernels/__init__.py", "import p.kernels", True),
        ("p/kernels/__init__.py", "from . import kernels", True),
        ("p/kernels/__init__.py", "kernels = 'import'", False),
        ("p/__init__.py", "import p", True),
    ],
)
def test_what_is_imported(tmp_path: Path, module: str, statement: str, imported: bool) -> None:
    files = {"p/__init__.py": "", "p/kernels/__init__.py": "", "p/kernels/fast.py": "def f(): ...\n"}
    files |= {"p/other/__init__.py": "", "p/other/fast.py": "", "pyproject.toml": "[project]\nname = 'p'\n"}
    for name, text in (files | {"p/use.py": f"{statement}\n"}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = tmp_path / module
    assert is_imported(parse_module(path.read_text() or "x = 1\n", str(path))) == imported
