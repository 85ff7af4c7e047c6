"""Helpers imported from other modules of the same tree are followed; nothing else is read."""

from __future__ import annotations

from pathlib import Path

from kernlint.interpret.program import Program
from kernlint.syntax.source import read_source
from kernlint.syntax.task import read_task
from kernlint.workload import Compute, Workload

HELPERS = """
import triton
import triton.language as tl
SIZE = 64
exp = tl.exp
@triton.jit
def widen(v):
    return v.to(tl.float32)
def cdiv(a, b):
    return (a + b - 1) // b
"""

KERNEL = """
import torch, triton
import triton.language as tl
{imports}
@triton.jit
def k(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, exp(widen(tl.load(x + i, mask=i < n))), mask=i < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        k[(cdiv(x.numel(), SIZE),)](x, y, x.numel(), B=SIZE)
def get_inputs():
    return [torch.randn(1000, dtype=torch.float16)]
"""


def read(tmp_path: Path, imports: str, helpers: str = HELPERS) -> Workload:
    package = tmp_path / "pkg" / "ops"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package.parent / "helpers.py").write_text(helpers)
    (package / "kernel.py").write_text(KERNEL.format(imports=imports))
    (workload,) = Program(read_task(read_source(str(package / "kernel.py"))).kernel).workloads()
    return workload


def test_relative_and_absolute_imports(tmp_path: Path) -> None:
    imports = ("from ..helpers import SIZE, cdiv, exp, widen", "from pkg.helpers import SIZE, cdiv, exp, widen")
    for number, text in enumerate(imports):
        (launch,) = read(tmp_path / str(number), text).launches()
        assert launch.kernel.complete and launch.grid == (16,) and launch.constexprs["B"] == 64
        kinds = [node.kind for node, _ in launch.kernel.walk(Compute) if isinstance(node, Compute)]
        assert kinds == ["cast", "special"]


def test_broken_cyclic_and_missing_modules_are_unknown(tmp_path: Path) -> None:
    text = "from ..helpers import SIZE, cdiv, exp, widen"
    broken = read(tmp_path / "a", text, HELPERS + "def f(:\n")
    assert not broken.launches() or not broken.launches()[0].kernel.complete
    cyclic = read(tmp_path / "b", text, "from pkg.ops.kernel import k\n" + HELPERS)
    assert cyclic.launches()[0].kernel.complete
    read(tmp_path / "c", "from ..nowhere import SIZE, cdiv, exp, widen")


def test_settings_of_a_class_elsewhere_are_worked_out_where_one_is_asked_for(tmp_path: Path) -> None:
    settings = """
class Setting:
    def __init__(self, default):
        self.default = default
    def get(self):
        return self.default
class Settings:
    BLOCK = Setting(64)
    BROKEN = Setting(nowhere[0])
    OTHERS = Setting(BLOCK)
settings = Settings()
SIZE = settings.OTHERS.default.get()
"""
    text = "from ..helpers import SIZE, cdiv, exp, widen"
    (launch,) = read(tmp_path, text, HELPERS.replace("SIZE = 64", settings)).launches()
    assert launch.kernel.complete and launch.grid == (16,) and launch.constexprs["B"] == 64
