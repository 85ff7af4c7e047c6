"""Builds the documentation site from docs/, the README, and what is generated: a page a rule, and the help of every command.

python tools/build_docs.py             stage the pages in build/docs and build the site in build/site (needs kernlint[docs])
python tools/build_docs.py --stage     stage them only

On the site, links that lead out of docs/ go to the repository, and those to the site itself (as tables of docs/ have them, for readers of
the repository) to its pages. A link, or a heading in a link, that is not there is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

import click

from kernlint.cli.main import cli
from kernlint.links import DOCS, REPOSITORY
from kernlint.lint.diagnostics import DIAGNOSTICS, Diagnostic
from kernlint.rules.docs import to_markdown
from kernlint.rules.registry import all_rules

ROOT = Path(__file__).parent.parent
STAGED = ROOT / "build" / "docs"

#: Files that are pages of the site though they lie elsewhere.
_BESIDE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}

#: A link, or a span of code, in which nothing is one.
_LINK = re.compile(r"`[^`]*`|(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

#: Columns of the help of commands: what the site's column of text has room for.
_WIDTH = 78


def staged() -> dict[str, str | bytes]:
    """Every file of the site's sources, by its path among them."""
    sources = {f"docs/{path.relative_to(ROOT / 'docs').as_posix()}": path for path in (ROOT / "docs").rglob("*.*")}
    pages = {source: source.removeprefix("docs/") for source in sources} | _BESIDE
    files: dict[str, str | bytes] = {}
    for source, page in pages.items():
        if page.endswith(".md"):
            files[page] = _linked((ROOT / source).read_text(encoding="utf-8"), source, page, pages)
        else:
            files[page] = (ROOT / source).read_bytes()
    for rule in (*all_rules(), *DIAGNOSTICS):
        files[f"rules/{rule.code}.md"] = rule.to_markdown() if isinstance(rule, Diagnostic) else to_markdown(rule)
    files["cli.md"] = _command_line()
    return files


def _linked(text: str, source: str, page: str, pages: dict[str, str]) -> str:
    """The text of ``source`` with the links that ``page`` needs; code is left alone."""

    def target(match: re.Match[str]) -> str:
        if match["target"] is None:
            return match[0]
        where, mark, heading = match["target"].partition("#")
        if match["target"].startswith(DOCS):
            where = re.sub(r"/$", ".md", where.removeprefix(DOCS))
            return f"[{match['text']}]({relpath(where, PurePosixPath(page).parent)}{mark}{heading})"
        if not where or re.match(r"[a-z]+:", where):
            return match[0]
        path = normpath(PurePosixPath(source).parent / where)
        if path in pages:
            return f"[{match['text']}]({relpath(pages[path], PurePosixPath(page).parent)}{mark}{heading})"
        if not (ROOT / path).exists():
            raise SystemExit(f"{source}: a link to {match['target']}, which is not there")
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"[{match['text']}]({REPOSITORY}/{kind}/main/{path}{mark}{heading})"

    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(target, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(target, text[end:])])


def _command_line() -> str:
    """The help of every command on one page."""
    parts = ["# Command line\n\nThe options of `kernlint PATH`, then each command, as `--help` prints them.\n"]
    with click.Context(cli, info_name="kernlint", max_content_width=_WIDTH) as context:
        parts.append(_help("kernlint PATH", cli, context))
        for name in cli.list_commands(context):
            command = cli.get_command(context, name)
            assert command is not None
            with click.Context(command, parent=context, info_name=name) as inner:
                parts.append(_help(f"kernlint {name}", command, inner))
    return "\n".join(parts)


def _help(title: str, command: click.Command, context: click.Context) -> str:
    context.terminal_width = _WIDTH
    return f"## `{title}`\n\n```text\n{command.get_help(context)}\n```\n"


def problems(files: dict[str, str | bytes]) -> Iterator[str]:
    """What is wrong with the links among ``files`` and with the navigation of the site."""
    anchors = {page: _headings(text) for page, text in files.items() if isinstance(text, str)}
    for page, text in files.items():
        if not isinstance(text, str):
            continue
        for link in _LINK.finditer(_FENCE.sub("", text)):
            where, _, heading = (link["target"] or "https:").partition("#")
            if re.match(r"[a-z]+:", where):
                continue
            path = normpath(PurePosixPath(page).parent / where) if where else page
            if path not in files:
                yield f"{page}: a link to {link['target']}, which is not there"
            elif heading and heading not in anchors.get(path, ()):
                yield f"{page}: a link to {link['target']}, which has no such heading"
    named = _navigation()
    yield from (f"mkdocs.yml: {page} is not there" for page in sorted(named - files.keys()))
    for page in sorted(anchors.keys() - named):
        if not page.startswith("rules/"):
            yield f"mkdocs.yml: {page} is not in the navigation"


def _navigation() -> set[str]:
    """The pages that mkdocs.yml names."""
    _, nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")
    return set(re.findall(r": ([\w./-]+\.md)$", nav, re.MULTILINE))


def _headings(text: str) -> set[str]:
    """The anchors of the headings, as GitHub and the site make them."""
    titles = re.findall(r"^#{1,6} (.+?)\s*$", _FENCE.sub("", text), re.MULTILINE)
    return {_slug(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)) for title in titles}


def _slug(title: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", unicodedata.normalize("NFC", title)).strip().lower()
    return kept.replace(" ", "-")


def main() -> int:
    files = staged()
    if found := list(problems(files)):
        print("\n".join(found), file=sys.stderr)
        return 1
    shutil.rmtree(STAGED, ignore_errors=True)
    for page, content in files.items():
        path = STAGED / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if "--stage" in sys.argv[1:]:
        return 0
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
