"""What is run from a tag of the repository: the pre-commit hooks and the GitHub action."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.repository import commit, git

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of the work tree as it is, with the tag v0."""
    folder = tmp_path_factory.mktemp("release")
    for name in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        top = name.split("/")[0]
        if (top in ("kernlint", "rules", "schema") or "/" not in name) and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    commit(folder, "release")
    git(folder, "tag", "v0")
    return folder
