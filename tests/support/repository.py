"""Repositories that tests make."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def commit(folder: Path, message: str) -> None:
    """All that is in ``folder``, which becomes a repository where it is none."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
