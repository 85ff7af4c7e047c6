"""The GitHub action, from a tag, on a pull request; the actions that it uses itself are stood in for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.lint import KERNEL
from support.repository import commit, git

composite = pytest.importorskip("support.composite", reason="no yaml", exc_type=ImportError)
pytestmark = pytest.mark.network  # the action installs kernlint

#: As docs/ci.md has it for pull requests.
SINCE_MAIN = "--diff-base origin/main"


@pytest.fixture(scope="module")
def action(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The action as a runner fetches it."""
    folder = tmp_path_factory.mktemp("actions")
    git(folder, "clone", "--quiet", "--depth", "1", "--branch", "v0", release.as_uri(), "kernlint")
    return folder / "kernlint"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh Python; the first run installs kernlint there."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / "bin"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A checkout, with its history, of a pull request that adds `new.py` to `old.py`; both cast int8 tiles."""
    upstream = tmp_path / "upstream"
    (upstream / "kernels").mkdir(parents=True)
    (upstream / "kernels" / "old.py").write_text(KERNEL)
    commit(upstream, "old")
    git(upstream, "switch", "--quiet", "--create", "request")
    (upstream / "kernels" / "new.py").write_text(KERNEL)
    commit(upstream, "new")
    git(tmp_path, "clone", "--quiet", "--branch", "request", upstream.as_uri(), "checkout")
    return tmp_path / "checkout"


def run(action: Path, python: Path, workspace: Path, **inputs: str) -> tuple[int, str, list[dict[str, str]]]:
    """Status, output, and what is uploaded, with the findings in it."""
    uploads: list[dict[str, str]] = []

    def set_up_python(given: dict[str, str], env: dict[str, str]) -> None:
        assert given.keys() == {"python-version"}
        env["PATH"] = f"{python}{os.pathsep}{env['PATH']}"

    def upload(given: dict[str, str], env: dict[str, str]) -> None:
        assert given.keys() == {"sarif_file", "category"}
        (one,) = json.loads((workspace / given["sarif_file"]).read_text())["runs"]
        places = [found["locations"][0]["physicalLocation"] for found in one["results"]]
        uploads.append(
            {found["ruleId"]: place["artifactLocation"]["uri"] for found, place in zip(one["results"], places)}
        )

    uses = {"actions/setup-python": set_up_python, "github/codeql-action/upload-sarif": upload}
    status, printed = composite.run(action, inputs, workspace, os.environ, uses)
    return status, printed, uploads


def test_a_pull_request_is_told_of_what_it_adds(action: Path, python: Path, workspace: Path) -> None:
    status, printed, uploads = run(action, python, workspace, paths="kernels", args=SINCE_MAIN)
    assert status == 1, printed
    (annotation,) = (line for line in printed.splitlines() if line.startswith("::"))
    assert ",file=kernels/new.py,line=15," in annotation
    assert uploads == [{"KL101": "kernels/new.py"}]


def test_what_is_uploaded_and_what_fails_is_asked_for(action: Path, python: Path, workspace: Path) -> None:
    args = f"{SINCE_MAIN} --fail-on error"
    status, printed, uploads = run(action, python, workspace, paths="kernels/**/*.py", args=args, upload="false")
    assert (status, uploads) == (0, []), printed
    assert ",file=kernels/new.py,line=15," in printed


def test_wrong_usage_is_no_finding(action: Path, python: Path, workspace: Path) -> None:
    status, printed, uploads = run(action, python, workspace, args="--no-such-option; touch hacked")
    assert (status, uploads) == (2, [])
    assert "No such option" in printed
    assert not (workspace / "hacked").exists()
