"""Which modules another vendor's fork of Triton compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.interpret.vendor import other_vendor, package_files
from kernlint.syntax.tree import parse_module

TL = "import triton.language as tl\n"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import torch_npu\n", id="extension of torch"),
        pytest.param("import torch\nimport torch_mlu.utils as u\n", id="part of one"),
        pytest.param("from triton.language.extra.cann import extension\n", id="extension of tl"),
        pytest.param("from triton.language.extra import deeplink\n", id="name of an extension"),
        pytest.param("from triton.backends.enflame.driver import Driver\n", id="back end"),
        pytest.param("import torch\nx = torch.empty(4, device='npu:0')\n", id="device"),
        pytest.param(TL + "def f(x):\n    return tl.extract_slice(x, (0,), (8,), (1,))\n", id="function of a fork"),
        pytest.param(TL + "def f(x):\n    return tl.extra.mlu.libdevice.fast_tanh(x)\n", id="attribute of tl"),
    ],
)
def test_for_another_vendor(source: str) -> None:
    assert other_vendor(parse_module(source, "k.py"))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import torch\nimport triton\nfrom triton.language.extra import libdevice\n", id="Triton's own"),
        pytest.param("from triton.language.extra.hip import libdevice\n", id="AMD"),
        pytest.param("from triton.backends.compiler import GPUTarget\n", id="compiler"),
        pytest.param("try:\n    import torch_npu\nexcept ImportError:\n    torch_npu = None\n", id="guarded import"),
        pytest.param("if NPU:\n    import torch_npu\n", id="import under a condition"),
        pytest.param("def f():\n    import torch_npu\n", id="import in a function"),
        pytest.param("# for the npu\nVENDOR = 'ascend'\n", id="words"),
        pytest.param("x = torch.empty(4, device='cuda')\ny = torch.empty(4, device='npu')\n", id="two devices"),
        pytest.param("x = torch.empty(4, device=device)\n", id="any device"),
        pytest.param(TL + "def f(x):\n    return tl.extra.cuda.libdevice.rsqrt(x)\n", id="attribute of NVIDIA's"),
        pytest.param(TL + "def f(x, NPU):\n    if NPU:\n        tl.compile_hint(x, 'a')\n", id="under a condition"),
        pytest.param(TL + "def f(x):\n    return tl.exract_slice(x)\n", id="a name that nobody has"),
        pytest.param("import tools as tl\ndef f(x):\n    return tl.get_element(x, 0)\n", id="another module"),
    ],
)
def test_for_triton_itself(source: str) -> None:
    assert not other_vendor(parse_module(source, "k.py"))


def module_in(folder: Path, registration: str) -> str:
    """The path of an empty module in package ``backend/ops``, of which ``backend`` registers itself so."""
    (folder / "backend" / "ops").mkdir(parents=True)
    (folder / "backend" / "__init__.py").write_text(registration)
    path = folder / "backend" / "ops" / "add.py"
    path.write_text("import triton\n")
    return str(path)


@pytest.mark.parametrize(
    ("registration", "foreign"),
    [
        ('register(Info(name="x", devices=("npu",)))\n', True),
        ('info = Info(vendor_name="xcore", device_name="cuda")\n', True),
        ('info = Info(vendor_name="nvidia", device_name="cuda")\n', False),
        ('register(Info(name="x", devices=("npu", "cuda")))\n', False),
        ('info = Info(device_name=name)\n', False),
        ('VENDOR = "ascend"\n', False),
        ('if probe():\n    register(devices="npu")\n', False),
        ("info = Info(vendor_name=\n", False),
        ("import os\nimport torch_npu\n", True),
        ("try:\n    import torch_npu\nexcept ImportError:\n    pass\n", False),
        ("def fits(x):\n    if x is None or x.device.type != 'npu':\n        return False\n    return True\n", True),
        ("def fits(x):\n    if x.device.type != 'npu':\n        x = x.cpu()\n    return True\n", False),
        ("def fits(x):\n    if x.device.type == 'npu':\n        return False\n    return True\n", False),
        ("def fits(x):\n    if x.device.type != 'npu' and x.device.type != 'cuda':\n        raise ValueError\n", False),
    ],
)  # fmt: skip
def test_registered_package(tmp_path: Path, registration: str, foreign: bool) -> None:
    path = module_in(tmp_path, registration)
    assert bool(other_vendor(parse_module("import triton\n", path))) is foreign


PARTS = """
def on_npu():
    from .ops.add import add
    return add

def on_gpu():
    from .{other} import add
    return add

registry.register(Kernel("add", factory=on_npu, hardware=Hardware(device_type="npu")))
registry.register(Kernel("add", factory=on_gpu, hardware=Hardware(device_type="gpu")))
"""


@pytest.mark.parametrize(("other", "foreign"), [("fast", True), ("ops.add", False)])
def test_the_part_of_a_package_that_a_registered_function_imports(tmp_path: Path, other: str, foreign: bool) -> None:
    path = module_in(tmp_path, PARTS.format(other=other))
    assert bool(other_vendor(parse_module("import triton\n", path))) is foreign


def test_packages_around_a_module(tmp_path: Path) -> None:
    path = module_in(tmp_path, "")
    assert package_files(path) == [tmp_path / "backend" / "__init__.py"]
    (tmp_path / "backend" / "ops" / "__init__.py").write_text("")
    assert [file.parent.name for file in package_files(path)] == ["ops", "backend"]
    assert package_files(str(tmp_path / "alone.py")) == []


@pytest.mark.parametrize(
    ("helpers", "foreign"),
    [
        ("import torch\n\ndef cores():\n    return torch.npu.current_device()\n", True),
        ("import torch_npu\n\ndef cores():\n    return 1\n", True),
        ("import torch\n\ndef cores():\n    return 1\n\ndef other():\n    return torch.npu.current_device()\n", False),
        (
            "import torch\n\ndef cores():\n    return torch.npu.count() if hasattr(torch, 'npu') else torch.cuda.count()\n",
            False,
        ),
        ("def cores(:\n", False),
    ],
)
@pytest.mark.parametrize("imported", ["from .helpers import cores", "from backend.ops.helpers import cores"])
def test_what_a_module_imports_of_its_project(tmp_path: Path, helpers: str, foreign: bool, imported: str) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    path = module_in(tmp_path, "")
    (tmp_path / "backend" / "ops" / "__init__.py").write_text("")
    (tmp_path / "backend" / "ops" / "helpers.py").write_text(helpers)
    source = f"import triton\n{imported}\n"
    Path(path).write_text(source)
    assert bool(other_vendor(parse_module(source, path))) is foreign
    guarded = f"import triton\ntry:\n    {imported}\nexcept ImportError:\n    pass\n"
    Path(path).write_text(guarded)
    assert not other_vendor(parse_module(guarded, path))


@pytest.mark.parametrize(
    ("files", "own"),
    [
        pytest.param({"triton.py": "def jit(function): return function\n"}, True, id="stand-in"),
        pytest.param(
            {"triton/__init__.py": "from .j import jit\n", "triton/j.py": "class jit: pass\n"}, True, id="fork"
        ),
        pytest.param({"triton.py": "import triton\n@triton.jit\ndef k(x): 0\n"}, False, id="kernels"),
        pytest.param({"triton.py": "from triton import jit\n@jit\ndef k(x): 0\n"}, False, id="kernels, by name"),
        pytest.param({"triton/__init__.py": "from .add import add\n"}, False, id="package of kernels"),
        pytest.param({"ops/triton.py": "def jit(function): return function\n"}, False, id="elsewhere"),
    ],
)
def test_a_module_of_the_project_in_the_place_of_triton(tmp_path: Path, files: dict[str, str], own: bool) -> None:
    for name, text in {**files, "add.py": "import triton\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert bool(other_vendor(parse_module("import triton\n", str(tmp_path / "add.py")))) is own


@pytest.mark.parametrize("folder", ["lib/python3.12/site-packages", "usr/lib/python3/dist-packages"])
def test_what_is_installed_stands_beside_triton_itself(tmp_path: Path, folder: str) -> None:
    installed = tmp_path / folder
    for name, text in {
        "triton/__init__.py": "def jit(f): return f\n",
        "ops/__init__.py": "",
        "ops/add.py": "import triton\n",
    }.items():
        (installed / name).parent.mkdir(parents=True, exist_ok=True)
        (installed / name).write_text(text)
    assert not other_vendor(parse_module("import triton\n", str(installed / "ops/add.py")))


def test_what_is_asked_about_is_the_text_and_not_the_file(tmp_path: Path) -> None:
    (tmp_path / "device.py").write_text("import torch_npu\n")
    path = tmp_path / "kernels.py"
    path.write_text("import triton\nfrom device import x\n")
    assert other_vendor(parse_module(path.read_text(), str(path)))
    assert not other_vendor(parse_module("import triton\n", str(path)))


@pytest.mark.parametrize(
    ("file", "other"),
    [
        ("kernels/camb/rope.py", True),
        ("kernels/_ascend/ops/rope.py", True),
        ("kernels/npu/rope.py", True),
        ("kernels/sort_ascend.py", False),
        ("kernels/camber/rope.py", False),
        ("kernels/xpu/rope.py", False),
        ("kernels/hip/rope.py", False),
        ("input/rope.py", False),
    ],
)
def test_what_the_folders_of_a_project_are_called(tmp_path: Path, file: str, other: bool) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("import triton\n")
    assert bool(other_vendor(parse_module(path.read_text(), str(path)))) == other


def test_a_folder_above_the_project_says_nothing(tmp_path: Path) -> None:
    project = tmp_path / "ascend" / "project"
    project.mkdir(parents=True)
    for name in ("pyproject.toml", "rope.py"):
        (project / name).write_text("")
    assert not other_vendor(parse_module("import triton\n", str(project / "rope.py")))
