"""The documentation site: its links, its navigation, and that pages show what commands print."""

import json
import re
from pathlib import Path

import build_docs
import doc_outputs
import pytest

from kernlint.cli.main import _COMMANDS
from kernlint.links import DOCS, REPOSITORY, rule_url
from kernlint.lint.selection import catalogue
from kernlint.version import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def files():
    return build_docs.staged()


def test_every_link_leads_somewhere(files):
    assert list(build_docs.problems(files)) == []


def test_what_is_wrong_is_found(files):
    text = "# A\n\n[x](b.md) [y](check.md#no-such) [`z`](#gone) `[code](not-a-link.md)`\n\n```\n[f](fence.md)\n```\n"
    found = set(build_docs.problems({**files, "tutorial.md": text, "new.md": "# New\n"}))
    assert found >= {
        "tutorial.md: a link to b.md, which is not there",
        "tutorial.md: a link to check.md#no-such, which has no such heading",
        "tutorial.md: a link to #gone, which has no such heading",
        "mkdocs.yml: new.md is not in the navigation",
    }
    without = {page: text for page, text in files.items() if page != "ci.md"}
    assert "mkdocs.yml: ci.md is not there" in list(build_docs.problems(without))


def test_links_out_of_the_docs_go_to_the_repository():
    pages = {"docs/a.md": "a.md", "docs/dev/b.md": "dev/b.md", "README.md": "index.md"}
    page = build_docs._linked(f"[s](../action.yml) [r]({DOCS}rules/KL101/) [b](dev/b.md#x)", "docs/a.md", "a.md", pages)
    assert page == f"[s]({REPOSITORY}/blob/main/action.yml) [r](rules/KL101.md) [b](dev/b.md#x)"
    assert build_docs._linked("[a](../a.md)", "docs/dev/b.md", "dev/b.md", pages) == "[a](../a.md)"
    assert build_docs._linked("[a](docs/a.md)", "README.md", "index.md", pages) == "[a](a.md)"
    with pytest.raises(SystemExit, match="not there"):
        build_docs._linked("[s](../no-such-file)", "docs/a.md", "a.md", pages)


def test_each_rule_and_command_is_told_of(files):
    for entry in catalogue():
        assert files[f"rules/{entry.code}.md"].startswith(f"# {entry.name} ({entry.code})\n")
        assert rule_url(entry.code) == f"{DOCS}rules/{entry.code}/"
        assert f"[{entry.code}](rules/{entry.code}.md)" in files["rules.md"]
    for name in _COMMANDS.keys() - {"verdict"}:
        assert f"## `kernlint {name}`" in files["cli.md"]


def test_addresses_are_those_of_one_place():
    """Whoever publishes kernlint elsewhere changes kernlint/links.py and what this test then names."""
    places = ["pyproject.toml", "mkdocs.yml", "docs/ci.md", "editors/vscode/package.json"]
    for place in places:
        text = (ROOT / place).read_text(encoding="utf-8")
        for address in re.findall(r"https://[\w./-]*kernlint[\w./-]*", text):
            assert address.startswith((DOCS, REPOSITORY)), f"{place}: {address}"
    assert REPOSITORY.removeprefix("https://github.com/") + "@v" in (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    assert json.loads((ROOT / "editors/vscode/package.json").read_text())["repository"]["url"] == REPOSITORY


def test_the_version_is_that_of_one_place():
    assert json.loads((ROOT / "editors/vscode/package.json").read_text())["version"] == __version__
    for named in re.findall(r"(?:rev: |@)v([\d.]+)$", (ROOT / "docs/ci.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert named == __version__ or named == "4", named  # of actions/checkout


@pytest.mark.parametrize("page", doc_outputs.pages(), ids=lambda page: page.stem)
def test_pages_show_what_commands_print(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    assert doc_outputs.rewritten(text, tmp_path, without=("verify",)) == text


@pytest.mark.slow
def test_the_tutorial_ends_in_a_proof(tmp_path):
    pytest.importorskip("triton")
    page = ROOT / "docs" / "tutorial.md"
    text = doc_outputs.rewritten(page.read_text(encoding="utf-8"), tmp_path)
    assert "correct: before and after agree with the reference at 11 of 11 sizes" in text


def test_a_command_that_prints_something_else_is_noticed(tmp_path):
    text = f"{doc_outputs.MARK}\n\n```console\n$ kernlint -V\nkernlint 0.0.0\n$ other command\nstays\n```\n"
    written = doc_outputs.rewritten(text, tmp_path)
    assert "kernlint 0.0.0" not in written
    assert written.endswith("$ other command\nstays\n```\n")
