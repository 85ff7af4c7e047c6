"""Where kernlint is on the web, said here alone: what has to repeat it (``pyproject.toml``, the site's and the editor extension's
settings) is compared with it by a test."""

from __future__ import annotations

#: The repository, from which the action and the pre-commit hooks run.
REPOSITORY = "https://github.com/kernlint/kernlint"

#: The documentation site (`tools/build_docs.py`).
DOCS = "https://kernlint.github.io/kernlint/"


def rule_url(code: str) -> str:
    """The page of a rule or diagnostic."""
    return f"{DOCS}rules/{code}/"
