"""The documentation site: its links, its navigation, and that pages show what commands print."""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import build_docs
import click
import doc_outputs
import pytest
from support import warm

from kernlint.cli.main import _COMMANDS, cli
from kernlint.links import DOCS, REPOSITORY, rule_url
from kernlint.lint.selection import catalogue
from kernlint.rules.registry import all_rules
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


#: A name that begins as those of our own files do, and neither an address nor a folder of somebody else's.
_OURS = re.compile(
    r"(?<![\w/.:@-])(?:benchmarks|calibration|docs|editors|evals|examples|fixtures|kernlint|rules|schema|tests|tools)/[\w./*<>@-]+"
)
_READMES = ("calibration", "calibration/h100", "evals", "editors/vscode", "fixtures/pairs")


def _texts(files):
    """The pages but the changelog, which tells of files as they were, and the READMEs of folders."""
    yield from ((page, text) for page, text in files.items() if isinstance(text, str) and page != "changelog.md")
    yield from ((name, (ROOT / name / "README.md").read_text(encoding="utf-8")) for name in _READMES)


def _missing(text):
    """What ``text`` calls a file or folder of ours and is none; a pattern has to match something, ``<name>`` stands for any.
    Links have a test of their own."""
    named = {
        name.rstrip("./") for name in _OURS.findall(re.sub(r"\]\([^)]*\)", "", text)) if not re.search("[<@]", name)
    }
    return {name for name in named if next(ROOT.glob(name), None) is None}


def test_files_that_are_named_are_there(files):
    assert {page: names for page, text in _texts(files) if (names := _missing(text))} == {}


def test_a_file_that_is_gone_is_noticed():
    text = "`docs/check.md`, `kernlint/gone.py`, https://a/docs/b.md, own/rules/c.py, tests/test_<x>.py"
    text += ", `kernlint/cost/data/*.json`, `rules/x*`"
    assert _missing(text) == {"kernlint/gone.py", "rules/x*"}


def _unknown_options(text):
    """Options that commands in ``text`` give to kernlint or to a script of ours that do not know them."""
    with click.Context(cli) as context:
        known = {
            name: {
                option
                for parameter in cli.get_command(context, name).params
                for option in (*parameter.opts, *parameter.secondary_opts)
            }
            for name in _COMMANDS
        }
    for line in re.findall(r"^(?:\$ |    )?((?:kernlint|python \w+/\S+\.py) .*)$", text, re.MULTILINE):
        words = re.split(r"\s#|[|<>]", line)[0].split()
        options = {word.partition("=")[0] for word in words if word.startswith("--")} - {"--help", "--version"}
        if words[0] == "python":
            script = (ROOT / words[1]).read_text(encoding="utf-8")
            yield from (f"{words[1]} {option}" for option in options if f'"{option}"' not in script)
        else:
            name = words[1] if words[1] in known else "verdict"
            yield from (f"kernlint {name} {option}" for option in options - known[name])


def test_options_that_are_shown_exist(files):
    assert {page: found for page, text in _texts(files) if (found := set(_unknown_options(text)))} == {}


def test_an_option_that_is_gone_is_noticed():
    text = "```\nkernlint check --selekt x\n$ kernlint k.py --set M=1 --rule=a  # --no\npython evals/spread.py --write --wrote\n```\n"
    assert set(_unknown_options(text)) == {
        "kernlint check --selekt",
        "kernlint verdict --rule",
        "evals/spread.py --wrote",
    }


def test_rules_that_are_silent_without_a_prediction_are_listed(files):
    listed = re.search(r"((?:KL\d+, )+KL\d+ and KL\d+) are silent where\s+nothing can be predicted", files["check.md"])
    assert listed is not None
    assert re.findall(r"KL\d+", listed[1]) == sorted(rule.code for rule in all_rules() if rule.silent_if_open)


def test_rules_whose_fix_is_written_anew_are_listed(files):
    row = next(line for line in files["fix.md"].splitlines() if "| the call written anew" in line)
    assert re.findall(r"KL\d+", row) == sorted(rule.code for rule in all_rules() if rule.operator == "generate")


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
        assert named == __version__ or named == "6", named  # of actions/checkout


def _warm(command, folder, errors):
    """What ``command`` prints, in a process that need not import kernlint anew; what it is piped into is for the shell."""
    first, *others = command.split(" | ", 1)
    name, *arguments = shlex.split(first)
    if name != "kernlint" or "2>&1" in arguments:
        return doc_outputs.in_shell(command, folder, errors)
    with tempfile.TemporaryFile() as said:
        warm.run([*warm.KERNLINT, *arguments], cwd=folder, stdout=said, stderr=said)
        said.seek(0)
        if others:
            return subprocess.run(["bash", "-c", others[0]], stdin=said, capture_output=True, check=True).stdout
        return said.read()


@pytest.mark.parametrize("page", doc_outputs.pages(), ids=lambda page: page.stem)
def test_pages_show_what_commands_print(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    assert doc_outputs.rewritten(text, tmp_path, without=("verify",), run=_warm) == text


@pytest.mark.parametrize(
    "page", "batch check editor explain fix headroom mcp performance-data report safety trace verdict verify".split()
)
def test_guides_show_what_comes_out_on_the_first_screen(files, page):
    first = "".join(files[f"{page}.md"].splitlines(keepends=True)[:25])
    assert re.search(r"^```(?:console\n\$ .*\n[^$`]|text\n)", first, re.MULTILINE)


def test_what_is_shown_of_a_proof_is_that_of_the_tutorial(files):
    shown = re.search(r"```text\n(\$ kernlint verify .*?)  \.\.\.\n```", files["verify.md"], re.DOTALL)
    assert shown is not None and shown[1] in files["tutorial.md"]


@pytest.mark.slow
def test_the_tutorial_ends_in_a_proof(tmp_path):
    pytest.importorskip("triton")
    page = ROOT / "docs" / "tutorial.md"
    text = doc_outputs.rewritten(page.read_text(encoding="utf-8"), tmp_path)
    assert re.search(r"correct: before and after agree with the reference at (\d+) of \1 sizes", text)


@pytest.mark.slow
def test_the_trace_that_is_shown_is_what_is_printed(files, tmp_path):
    pytest.importorskip("triton")
    doc_outputs.rewritten(files["trace.md"], tmp_path)  # which writes the files of the page
    command = [sys.executable, *warm.KERNLINT, "kernel.py", "--reference", "reference.py", "--trace", "--no-details"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "\n".join(told.splitlines()[:3]) in files["trace.md"]


def test_a_command_that_prints_something_else_is_noticed(tmp_path):
    text = "```console\n$ kernlint -V\nkernlint 0.0.0\n$ other command\nstays\n```\n"
    written = doc_outputs.rewritten(text, tmp_path)
    assert "kernlint 0.0.0" not in written
    assert written.endswith("$ other command\nstays\n```\n")
