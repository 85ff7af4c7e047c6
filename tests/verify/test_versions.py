"""What `verify` says where torch or Triton is missing, or not of a release that it knows."""

from __future__ import annotations

from importlib import metadata

import pytest

from kernlint.cli import main
from kernlint.errors import UsageError
from kernlint.verify import versions


def fake(monkeypatch: pytest.MonkeyPatch, **found: str) -> None:
    """Let only these distributions be installed."""

    def version(name: str) -> str:
        if name not in found:
            raise metadata.PackageNotFoundError(name)
        return found[name]

    monkeypatch.setattr(versions.metadata, "version", version)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param({}, "needs torch and triton: pip install 'kernlint[verify]'", id="neither"),
        pytest.param({"torch": "2.11.0"}, "needs triton: pip install", id="no triton"),
        pytest.param({"triton": "3.6.0"}, "needs torch: pip install", id="no torch"),
        pytest.param(
            {"torch": "2.11.0", "triton": "3.1.0"}, "works with Triton 3.2 to 3.9; 3.1.0 is installed", id="old"
        ),
        pytest.param({"torch": "2.11.0", "triton": "3.10.0"}, "3.10.0 is installed", id="new"),
        pytest.param({"torch": "2.11.0", "triton": "unknown"}, "unknown is installed", id="no number"),
    ],
)
def test_refusals(monkeypatch, found, words):
    fake(monkeypatch, **found)
    with pytest.raises(UsageError, match="verify") as error:
        versions.require()
    assert words in str(error.value)


@pytest.mark.parametrize("triton", ["3.2.0", "3.6.0", "3.9.0", "3.9.1+git1234"])
def test_known_releases(monkeypatch, triton):
    fake(monkeypatch, torch="2.11.0+cu130", triton=triton)
    assert versions.require() == ("2.11.0+cu130", triton)


def test_tritons_own_builds_for_torch_count(monkeypatch):
    fake(monkeypatch, torch="2.6.0", **{"pytorch-triton": "3.2.0+git"})
    assert versions.require()[1] == "3.2.0+git"


@pytest.mark.parametrize(
    ("numpy", "triton", "words"),
    [
        (None, "3.9.0", "needs numpy: pip install"),
        ("2.4.1", "3.6.0", "pip install 'numpy<2.4'"),
        ("3.0", "3.2.0", "numpy 3.0"),
    ],
)
def test_a_numpy_that_the_interpreter_does_not_work_with(monkeypatch, numpy, triton, words):
    fake(monkeypatch, **({} if numpy is None else {"numpy": numpy}))
    with pytest.raises(UsageError) as error:
        versions.require_numpy(triton)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("numpy", "triton"), [("2.3.5", "3.6.0"), ("2.4.1", "3.7.0"), ("1.26.4", "3.2.0"), ("dev", "3.6.0")]
)
def test_a_numpy_that_it_works_with(numpy, triton):
    versions.require_numpy(triton, numpy)


def test_the_command_says_what_to_install(monkeypatch, capsys):
    fake(monkeypatch)
    assert main(["verify", "kernel.py"]) == 2
    assert "pip install 'kernlint[verify]'" in capsys.readouterr().err
