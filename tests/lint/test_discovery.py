"""Which files are checked: folders, globs, ignores, links, what cannot be read."""

import os
import shutil
import subprocess
import sys

import pytest

from kernlint.errors import SourceError, UsageError
from kernlint.lint.config import Configurations, Overrides
from kernlint.lint.discovery import find_files
from kernlint.lint.reading import MAX_BYTES, concerns_us, read_bytes
from kernlint.syntax import source

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="links and permissions of POSIX")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(*names, **texts):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts.get("text", ""))
        return tmp_path

    return make


def names(*paths, overrides=None, isolated=True):
    found = find_files(paths or ["."], Configurations(overrides, isolated=isolated))
    return [target.shown for target in found.targets]


def test_folders_in_order_and_only_what_can_hold_python(tree):
    tree("b.py", "a/z.py", "a/n.ipynb", "a/r.md", "a/x.txt", "a/s.pyc", "c/d/e.py")
    assert sorted(names()) == ["a/n.ipynb", "a/r.md", "a/z.py", "b.py", "c/d/e.py"]
    assert names() == names()


def test_the_usual_folders_are_left_out(tree):
    tree(".venv/a.py", "__pycache__/a.py", "x/node_modules/a.py", "x/site-packages/a.py", ".git/a.py", "k.py")
    assert names() == ["k.py"]


def test_but_not_when_they_are_what_is_asked_for(tree):
    tree("x/site-packages/p/a.py")
    assert names("x/site-packages") == ["x/site-packages/p/a.py"]


def test_an_ignored_folder_is_searched_when_named(tree):
    root = tree("gen/a.py", "gen/b_test.py", "k.py")
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("gen/\n*_test.py\n")
    assert names() == ["k.py"]
    assert names("gen") == ["gen/a.py"]


def test_a_named_file_is_taken_whatever_it_is_called(tree):
    tree("a.txt", "build/b.py")
    assert names("a.txt", "build/b.py") == ["a.txt", "build/b.py"]


def test_each_file_once(tree):
    tree("a/b.py")
    assert names("a", "a/b.py", "./a/../a/b.py", ".") == ["a/b.py"]


def test_globs(tree):
    tree("a/k1.py", "a/k2.py", "a/b/k3.py", "a/t.py")
    assert names("a/k*.py") == ["a/k1.py", "a/k2.py"]
    assert names("**/k*.py") == ["a/b/k3.py", "a/k1.py", "a/k2.py"]
    with pytest.raises(UsageError, match="as a pattern it matches none"):
        names("zebra*.py")


@pytest.mark.skipif(sys.platform == "win32", reason="no such names")
def test_a_file_with_the_name_of_a_glob(tree):
    tree("a[1].py", "a1.py")
    assert names("a[1].py") == ["a[1].py"]


@pytest.mark.parametrize("path", ["none.py", "none/", "", "a\0b"])
def test_what_is_not_there_is_an_error(tree, path):
    tree()
    with pytest.raises(UsageError):
        names(path)


# -- ignores ----------------------------------------------------------------------------------------------------------


def test_gitignore_of_every_level(tree):
    root = tree("a.py", "gen/b.py", "sub/c.py", "sub/keep.py", "sub/deep/d_gen.py", "sub/deep/d.py", "top.py")
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("gen/\n*_gen.py\n/top.py\n# a comment\n\nsub/c.py\n")
    (root / "sub" / ".gitignore").write_text("!c.py\nkeep.py\n")
    assert sorted(names()) == ["a.py", "sub/c.py", "sub/deep/d.py"]
    assert sorted(names("sub")) == ["sub/c.py", "sub/deep/d.py"]
    assert len(names(overrides=Overrides(respect_gitignore=False))) == 7


def test_the_repositorys_own_excludes(tree):
    root = tree("a.py", "b.py")
    (root / ".git" / "info").mkdir(parents=True)
    (root / ".git" / "info" / "exclude").write_text("b.py\n")
    assert names() == ["a.py"]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_excludes_of_a_worktree_are_those_of_its_repository(tree, monkeypatch):
    root = tree("main/a.py", "main/b.py")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(root / "main")]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["worktree", "add", "-q", "../tree"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    (root / "main" / ".git" / "info").mkdir(exist_ok=True)
    (root / "main" / ".git" / "info" / "exclude").write_text("b.py\n")
    assert names("tree") == ["tree/a.py"]


@pytest.mark.parametrize("setting", [None, ".gitconfig", ".config/git/config"])
def test_the_excludes_of_the_user(tree, monkeypatch, setting):
    root = tree("r/a.py", "r/b.py", "r/keep.py", "r/.git/config")
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv("USERPROFILE", str(root))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (root / ".config" / "git").mkdir(parents=True)
    if setting is not None:
        (root / setting).write_text("[core]\n\teditor = x\n\texcludesFile = ~/mine # all\n")
    (root / ("mine" if setting else ".config/git/ignore")).write_text("b.py\nkeep.py\n")
    (root / "r" / ".gitignore").write_text("!keep.py\n")
    assert names("r") == ["r/a.py", "r/keep.py"]


@pytest.mark.parametrize("before", ["!\n", "\\\n", "./a.py\n", "[z-a]*\n", "[[:alpha:]]y\n", "\N{BYTE ORDER MARK}"])
def test_what_is_no_pattern_is_skipped(tree, before, recwarn):
    root = tree("a.py", "b.py")
    (root / ".gitignore").write_text(f"{before}b.py\n", encoding="utf-8")
    assert names() == ["a.py"]
    assert not recwarn


def test_what_is_above_the_repository_does_not_count(tree):
    root = tree("r/a.py")
    (root / ".gitignore").write_text("*.py\n")
    (root / "r" / ".git").mkdir()
    assert names("r") == ["r/a.py"]


def test_excludes_of_the_configuration_and_the_command_line(tree):
    root = tree("old/a.py", "new/a.py", "new/b.py")
    (root / "kernlint.toml").write_text("extend-exclude = ['/old']\n")
    assert names(isolated=False) == ["new/a.py", "new/b.py"]
    assert names(isolated=False, overrides=Overrides(extend_exclude=("b.py",))) == ["new/a.py"]


def test_include_by_name_and_by_path(tree):
    root = tree("a.py", "k/a.py", "k/deep/b.pyw", "k/deep/c.py", "x/k/a.py")
    (root / "kernlint.toml").write_text("include = ['*.pyw', 'k/**/c.py', '/x/k/*.py']\n")
    assert names(isolated=False) == ["k/deep/b.pyw", "k/deep/c.py", "x/k/a.py"]
    assert names("k/deep", isolated=False) == ["k/deep/b.pyw", "k/deep/c.py"]


def test_force_exclude(tree):
    root = tree("old/a.py", "new/a.py", "ignored/x.py")
    (root / "kernlint.toml").write_text("exclude = ['old']\n")
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("ignored/\n")
    named = ("old/a.py", "new/a.py", "ignored/x.py")
    assert names(*named, isolated=False) == list(named)
    assert names(*named, isolated=False, overrides=Overrides(force_exclude=True)) == ["new/a.py"]


# -- hostile trees ----------------------------------------------------------------------------------------------------


@needs_posix
def test_cyclic_links_end(tree):
    root = tree("a/k.py")
    (root / "a" / "loop").symlink_to(root)
    (root / "a" / "self.py").symlink_to("self.py")
    (root / "a" / "gone.py").symlink_to("nowhere.py")
    (root / "a" / "link.py").symlink_to("k.py")
    assert names() == ["a/k.py"]


@needs_posix
def test_a_file_with_links_to_it_is_checked_once(tree, tmp_path_factory):
    root = tree("d/k.py", "e/other.py")
    outside = tmp_path_factory.mktemp("outside") / "x.py"
    outside.write_text("")
    (root / "a.py").symlink_to("d/k.py")
    (root / "link").symlink_to("d")
    for name in ("b.py", "c.py"):
        (root / name).symlink_to(outside)
    assert names() == ["b.py", "d/k.py", "e/other.py"]
    assert names("link", "d") == names("d", "link") == ["d/k.py"]
    assert names("a.py", "d") == names("a.py", "d/k.py") == ["d/k.py"]
    assert names("a.py", "a.py") == ["a.py"]
    assert names("link", "link/k.py") == ["link/k.py"]


@needs_posix
def test_a_folder_that_is_a_link_is_searched_when_named(tree):
    root = tree("a/k.py")
    (root / "link").symlink_to("a")
    assert names("link") == ["link/k.py"]
    assert names() == ["a/k.py"]


@needs_posix
def test_a_folder_that_cannot_be_read_is_a_finding(tree, monkeypatch):
    tree("a/k.py", "b/k.py")
    scandir = os.scandir

    def refuse(path):
        if os.path.basename(path) == "a":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find_files(["."], Configurations(isolated=True))
    assert [target.shown for target in found.targets] == ["b/k.py"]
    (finding,) = found.findings
    assert (finding.code, finding.file) == ("KL903", "a")


@needs_posix
def test_special_files_are_not_waited_for(tree):
    root = tree()
    for name in ("pipe.py", ".gitignore", "kernlint.toml"):
        os.mkfifo(root / name)
    assert names(isolated=False) == []
    with pytest.raises(SourceError, match="is a named pipe, not a file"):
        read_bytes(str(root / "pipe.py"))


def test_folders_nested_deeper_than_python_recurses(tree):
    root = tree()
    depth = 300  # names of one letter: more would break the limit of the whole path
    deep = root.joinpath(*["d"] * depth)
    deep.mkdir(parents=True)
    (deep / "k.py").write_text("")
    assert len(names()) == 1


def test_large_and_changing_files_are_refused(tree, monkeypatch):
    root = tree("k.py", text="x = 1\n")
    path = str(root / "k.py")
    assert MAX_BYTES == source.MAX_BYTES
    fstat = os.fstat
    calls = []

    def grow(handle):
        calls.append(handle)
        with open(path, "a") as file:
            file.write("y\n")
        return fstat(handle)

    monkeypatch.setattr(os, "fstat", grow)
    with pytest.raises(SourceError, match="changes while it is being read"):
        read_bytes(path)
    assert len(calls) == 9
    monkeypatch.undo()
    assert read_bytes(path).startswith(b"x = 1\n")
    monkeypatch.setattr("kernlint.lint.reading.MAX_BYTES", 5)
    with pytest.raises(SourceError, match="larger than"):
        read_bytes(path)


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"import triton\n@triton.jit\n", True),
        (b"from vllm.triton_utils import tl, triton\n@triton.jit", True),
        (b"# kernlint: ignore[KL101]\n", True),
        (b"import torch\n@torch.jit.script\n", False),
        (b"import triton as t\n@t . jit\n", True),
        (b"from triton import (\n    jit as j)\n@j", True),
        (b"import triton.runtime as r\nf = r.jit.JITFunction(g)\n", True),
        (b'{"source": "from triton import *\\njit(f)"}', True),
        (b"import triton\nfrom kernels.jit.utils import cache\nfrom jit_kernels import f\n", False),
        (b"import triton\n", False),
        (b"", False),
    ],
)
def test_the_prefilter(data, answer):
    assert concerns_us(data) is answer
