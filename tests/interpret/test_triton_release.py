"""The release of Triton that a project asks for is the one that its kernels are held against."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.interpret.api import NEWEST, Target, parse_version, supported
from kernlint.interpret.triton_release import fork_asked_for, pinned
from kernlint.interpret.vendor import other_vendor
from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.settings import FileSettings
from kernlint.syntax.tree import parse_module

OLDEST = parse_version(supported()[0])


def module_in(project: Path) -> Path:
    folder = project / "package" / "ops"
    folder.mkdir(parents=True)
    path = folder / "kernels.py"
    path.write_text("import triton.ops\nimport triton\n\n@triton.jit\ndef k(x):\n    pass\n")
    return path


@pytest.mark.parametrize(
    ("file", "line", "version"),
    [
        ("requirements.txt", "triton==3.4.0", (3, 4)),
        ("requirements-dev.txt", "triton ~= 3.4.1  # for torch 2.6", (3, 4)),
        ("requirements.txt", "triton>=3.0,<3.4; sys_platform == 'linux'", (3, 3)),
        ("pyproject.toml", 'dependencies = [\n    "triton>=3.0,<=3.3",\n]', (3, 3)),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntriton = "3.4.0"', (3, 4)),
        ("setup.py", 'setup(install_requires=[\n    "triton<3.5",\n])', (3, 4)),
        ("package.dist-info/METADATA", "Name: package\nRequires-Dist: triton (==3.3.*)", (3, 3)),
        ("requirements.txt", "triton", NEWEST),
        ("requirements.txt", "triton>=2.1", NEWEST),
        ("requirements.txt", "tritonclient==2.1\n# triton==2.0\nmy-triton==2.0", NEWEST),
        ("pyproject.toml", 'triton = "^3.1"', NEWEST),
        ("requirements.txt", "triton==>=<\x00\ntriton==99999999999999999999.0", OLDEST),
        ("requirements.txt", "triton==2.0.0.dev20221103", OLDEST),
        ("notes.txt", "triton==3.4", NEWEST),
        ("requirements/triton.txt", "triton==3.4", (3, 4)),
        ("README.md", "We use PyTorch 2.7.1 and\n`pip install triton==3.3.0`.", (3, 3)),
        ("README.md", "Needs Triton 3.0 or newer, torch 2.1+ and CUDA 12. triton 2.1 ms, torch 3.2x", NEWEST),
        ("README.md", "Triton 1.7 TFLOPS and torch 2.1 GB/s", NEWEST),
        ("environment.yml", "dependencies:\n  - pytorch=2.7.1\n", (3, 3)),
        ("envs/environment_cu126.yaml", "dependencies:\n  - pytorch=2.7.1\n", (3, 3)),
        ("envs/tests.yml", "dependencies:\n  - pytorch=2.4.0\n", OLDEST),
        ("records/tests.yml", "dependencies:\n  - pytorch=2.4.0\n", NEWEST),
        ("requirements.txt", "torch==2.7.1  # CUDA 12.8", (3, 3)),
        ("requirements.txt", "torch>=2.1,<2.9", (3, 4)),
        ("requirements.txt", "torch==2.7.1\ntriton>=3.0", (3, 3)),
        ("pyproject.toml", 'dependencies = [\n    "torch~=2.7.0",\n]', (3, 3)),
        ("requirements.txt", "torch>=2.1", NEWEST),
        ("requirements.txt", "torch==1.13.1\ntorchvision==0.18", OLDEST),
        ("requirements.txt", "torch>=1.13\ntorchvision==0.18", NEWEST),
        ("requirements.txt", '# "triton==3.4"\ntorchtriton==3.4\n"my-triton==3.4"', NEWEST),
        ("dev-requirements.txt", "triton==3.4.0", (3, 4)),
        ("setup.py", 'setup(install_requires=["numpy", "triton<3.5"])', (3, 4)),
        ("environment.yml", "dependencies:\n  - pytorch::pytorch=1.12.*\n", OLDEST),
        ("Dockerfile", "FROM pytorch/pytorch:2.7.1-cuda12.6-cudnn9-devel", (3, 3)),
        ("Dockerfile.dev", "RUN pip install a==1.0 triton==2.0.0.dev20221202 b==2.1", OLDEST),
        ("Dockerfile", "FROM nvidia/cuda:12.4.1-devel\nRUN pip install torch triton", NEWEST),
        ("README.md", "pip install torch==2.7.0+cu126 torchvision", (3, 3)),
        ("uv.lock", '[[package]]\nname = "triton"\nversion = "3.4.0"\n', (3, 4)),
        ("poetry.lock", '[[package]]\nname = "torch"\nversion = "2.7.1"\n', (3, 3)),
        ("Cargo.lock", '[[package]]\nname = "triton-vm"\nversion = "0.4.0"\n', NEWEST),
        ("requirements.txt", "torch==2.3.0+cu121", OLDEST),
        ("requirements-cuda.txt", "torch == 2.3.0", OLDEST),
    ],
)
def test_the_newest_release_that_the_project_allows(
    tmp_path: Path, file: str, line: str, version: tuple[int, int]
) -> None:
    path = module_in(tmp_path)
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(line + "\n")
    found = pinned(str(path), path.read_text(), Target(named=False))
    assert found.version == version
    assert bool(found.asked) == (version == OLDEST)


@pytest.mark.parametrize(
    ("files", "version"),
    [
        pytest.param(
            {"requirements/a.txt": ">=2.1", "requirements/b.txt": "==3.4"}, (3, 4), id="one of several needs it"
        ),
        pytest.param({"requirements/a.txt": ">=3.3", "requirements/b.txt": ">=3.0"}, NEWEST, id="each takes any"),
        pytest.param({"requirements.txt": ">=3.3", "README.md": "==3.4"}, NEWEST, id="prose beside a requirement"),
    ],
)
def test_the_strictest_of_files_of_a_kind_counts(
    tmp_path: Path, files: dict[str, str], version: tuple[int, int]
) -> None:
    path = module_in(tmp_path)
    for name, clause in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"triton{clause}\n")
    assert pinned(str(path), path.read_text(), Target(named=False)).version == version


@pytest.mark.parametrize(("top", "version"), [("setup.py", (3, 4)), ("notes.txt", NEWEST)])
def test_images_in_folders_of_the_project(tmp_path: Path, top: str, version: tuple[int, int]) -> None:
    path = module_in(tmp_path)
    (tmp_path / top).write_text("")
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "Dockerfile").write_text("RUN pip install triton==3.4.0 torchvision\n")
    assert pinned(str(path), path.read_text(), Target(named=False)).version == version


def test_the_nearest_file_counts_and_none_above_the_project(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("triton==3.3.0\n")
    project = tmp_path / "project"
    path = module_in(project)
    assert pinned(str(path), path.read_text(), Target(named=False)).version == (3, 3)
    (project / "pyproject.toml").write_text("")
    assert pinned(str(path), path.read_text(), Target(named=False)).version == NEWEST
    (project / "package" / "requirements.txt").write_text("triton==3.4.0\n")
    assert pinned(str(path), path.read_text(), Target(named=False)).version == (3, 4)


@pytest.mark.parametrize(
    ("head", "files", "asked"),
    [
        ('"""Attention.\nTested with triton==2.0.0.dev20221202.\n"""', {}, "triton==2.0"),
        ("# Copyright\n# Developed on Triton 2.1.0\n", {"requirements.txt": "torch>=1.12"}, "triton==2.1"),
        ('"""Tested with triton==2.0.0."""', {"requirements.txt": "torch>=2.4"}, ""),
        ('"""Tested with triton==2.0.0."""', {"requirements.txt": "triton>=3.0"}, ""),
        ('"""Tested with triton==2.0.0 and triton==3.4.0."""', {}, ""),
        ('"""Not tested with triton==2.0.0; fails with triton==2.1."""', {}, ""),
        ('"""Tested with torch==2.0.0; Triton 2.0 has a new back end."""', {}, ""),
        ("import os\n# Tested with triton==2.0.0\n", {}, ""),
        ('"""' + "#" * 9999 + "\nTested with triton==2.0.0", {}, ""),
    ],
)
def test_what_the_module_itself_was_tested_with(tmp_path: Path, head: str, files: dict[str, str], asked: str) -> None:
    path = module_in(tmp_path)
    path.write_text(f"{head}\n{path.read_text()}")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert pinned(str(path), path.read_text(), Target(named=False)).asked == asked
    found = check_file(Job(str(path), path.read_bytes(), FileSettings(frozenset({"KL803"})))).findings
    assert all((asked in str(one.evidence)) == (one.severity == "info") for one in found if asked)


@pytest.mark.parametrize(
    ("inner", "asked"), [("triton", "triton==2.2"), ("triton>=3.0", ""), ("triton==2.1", "triton==2.1")]
)
def test_a_project_in_a_folder_of_a_repository(tmp_path: Path, inner: str, asked: str) -> None:
    path = module_in(tmp_path / "vendored")
    (tmp_path / ".git").mkdir()
    (tmp_path / "README.md").write_text("pip install triton==2.2.0\n")
    (tmp_path / "vendored" / "setup.py").write_text(f'setup(install_requires=["{inner}"])')
    assert pinned(str(path), path.read_text(), Target(named=False)).asked == asked
    (tmp_path / ".git").rmdir()
    assert pinned(str(path), path.read_text(), Target(named=False)).asked == (asked if inner == "triton==2.1" else "")


@pytest.mark.parametrize(
    ("asked", "expected"), [("", ["error"]), ("triton>=2.0", ["error"]), ("triton==2.0.0", ["info"])]
)
def test_what_an_old_release_still_has(tmp_path: Path, asked: str, expected: list[str]) -> None:
    path = module_in(tmp_path)
    (tmp_path / "requirements.txt").write_text(asked)
    for settings, levels in (
        (FileSettings(frozenset({"KL803"})), expected),
        (FileSettings(frozenset({"KL803"}), target_triton="3.9"), ["error"]),
    ):
        assert [f.severity for f in check_file(Job(str(path), path.read_bytes(), settings)).findings] == levels


@pytest.mark.parametrize(
    ("text", "fork"),
    [
        ("torch==2.9.0\ntorch-npu==2.9.0\ntriton-ascend==3.2.0\n", "triton-ascend"),
        ("triton_ascend\n", "triton_ascend"),
        ("triton>=3.2\ntriton-ascend\n", ""),
        ("torch\ntriton-kernels\ntriton-model-analyzer==1.4\n", ""),
        ("# triton-ascend is not supported\n", ""),
        ("torch>=2.4\n", ""),
    ],
)
def test_a_fork_in_the_place_of_triton(tmp_path: Path, text: str, fork: str) -> None:
    path = module_in(tmp_path)
    (tmp_path / "requirements.txt").write_text(text)
    assert fork_asked_for(str(path)) == fork
    assert bool(other_vendor(parse_module(path.read_text(), str(path)))) == bool(fork)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        pytest.param(
            "https://github.com/someone/triton.git", "https://github.com/someone/triton", id="a fork, or Triton"
        ),
        pytest.param("git@github.com:someone/triton", "git@github.com:someone/triton", id="by ssh"),
        pytest.param("https://github.com/triton-inference-server/server.git", "", id="a server"),
        pytest.param("https://github.com/someone/triton-kernels.git", "", id="kernels"),
    ],
)
def test_a_triton_that_the_repository_builds(tmp_path: Path, url: str, asked: str) -> None:
    path = module_in(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitmodules").write_text(f'[submodule "a"]\n\tpath = 3rdparty/a\n\turl = {url}\n')
    (tmp_path / "requirements.txt").write_text("torch==2.9.0\n")
    assert pinned(str(path), path.read_text(), Target(named=False)).asked == asked
