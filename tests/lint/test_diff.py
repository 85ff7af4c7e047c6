"""Findings on changed lines only, with a real git."""

import shutil
import subprocess

import pytest
from support.lint import DOT, KERNEL, check

from kernlint.errors import UsageError
from kernlint.lint.diff import changed_lines, repository_root

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], check=True, capture_output=True, cwd=tmp_path)

    git("init", "-q", "-b", "main")
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "ü b.py").write_text(KERNEL)
    git("add", ".")
    git("commit", "-qm", "one")
    return git


def touched(path, source=None, base="main"):
    return len(changed_lines(base).select(check(source or KERNEL, path)))


def test_an_unchanged_file_has_none(repository):
    assert touched("k.py") == 0


def test_a_change_elsewhere_has_none(repository, tmp_path):
    changed = KERNEL + "\n\nx = 1\n"
    (tmp_path / "k.py").write_text(changed)
    assert touched("k.py", changed) == 0


@pytest.mark.parametrize("name", ["k.py", "ü b.py"])
def test_a_change_of_the_line_has_one(repository, tmp_path, name):
    changed = "# moved\n" + KERNEL.replace(DOT, DOT + "  # changed")
    (tmp_path / name).write_text(changed)
    assert touched(name, changed) == 1


def test_untracked_files_count_whole(repository, tmp_path):
    (tmp_path / "new.py").write_text(KERNEL)
    assert touched("new.py") == 1


def test_files_that_git_knows_nothing_of_count_whole(repository, tmp_path, tmp_path_factory):
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    (tmp_path / "ignored.py").write_text(KERNEL)
    outside = tmp_path_factory.mktemp("outside") / "k.py"
    outside.write_text(KERNEL)
    assert touched("ignored.py") == touched(str(outside)) == 1


@pytest.mark.parametrize("committed", [False, True])
def test_the_files_of_a_submodule(repository, tmp_path, committed, monkeypatch):
    repository("clone", "-q", ".", "m")
    repository("-C", "m", "checkout", "-qb", "own")
    repository("-c", "advice.addEmbeddedRepo=false", "add", "m")
    repository("commit", "-qm", "two")
    assert touched("m/k.py") == 0
    changed = KERNEL.replace(DOT, DOT + "  # changed")
    (tmp_path / "m" / "k.py").write_text(changed)
    if committed:
        repository("-C", "m", "commit", "-qam", "three")
        repository("add", "m")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))  # as in a hook
    assert touched("m/k.py", changed, base="HEAD") == 1
    assert touched("m/ü b.py", base="HEAD") == 0
    assert touched("m/k.py", changed, base="HEAD~1") == touched("m/ü b.py", base="HEAD~1") == 1


def test_commits_of_the_branch_count_and_those_of_the_base_do_not(repository, tmp_path):
    repository("checkout", "-qb", "branch")
    changed = KERNEL.replace(DOT, DOT + "  # changed")
    (tmp_path / "k.py").write_text(changed)
    repository("commit", "-qam", "two")
    repository("checkout", "-q", "main")
    (tmp_path / "ü b.py").write_text(KERNEL.replace(DOT, DOT + "  # on main"))
    repository("commit", "-qam", "three")
    repository("checkout", "-q", "branch")
    assert touched("k.py", changed) == 1
    assert touched("ü b.py") == 0


def test_from_a_folder_inside_the_repository(repository, tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "new.py").write_text(KERNEL)
    monkeypatch.chdir(tmp_path / "sub")
    assert touched("new.py") == 1
    assert repository_root(str(tmp_path / "sub")) == str(tmp_path)


@pytest.mark.parametrize("base", ["nowhere", "--output=x", "", "HEAD:k.py"])
def test_what_is_no_commit_is_refused(repository, base):
    with pytest.raises(UsageError, match="not a commit"):
        changed_lines(base)


@pytest.mark.parametrize("setting", ["diff.noprefix", "diff.mnemonicPrefix", "diff.relative", "diff.external"])
def test_the_configuration_of_git_changes_nothing(repository, tmp_path, monkeypatch, setting):
    repository("config", setting, "false" if setting == "diff.external" else "true")
    repository("config", "diff.interHunkContext", "100")
    changed = KERNEL.replace(DOT, DOT + "  # changed")
    (tmp_path / "k.py").write_text(f"x = 1\n{changed}x = 1\n")
    (tmp_path / "ü b.py").write_text(f"x = 1\n{KERNEL}x = 1\n")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert touched("../k.py", f"x = 1\n{changed}x = 1\n") == 1
    assert touched("../ü b.py", f"x = 1\n{KERNEL}x = 1\n") == 0


def test_an_added_line_that_looks_like_the_head_of_a_file(repository, tmp_path):
    (tmp_path / "notes.txt").write_text("--- a/k.py\n++ b/ü b.py\n@@ -1 +1,99 @@\n")
    repository("add", "notes.txt")
    changed = KERNEL.replace(DOT, DOT + "  # changed")
    (tmp_path / "k.py").write_text(changed)
    assert touched("k.py", changed) == 1
    assert touched("ü b.py") == 0


@pytest.mark.parametrize("name", ["k.py", "ü b.py"])
def test_a_file_whose_lines_git_is_not_to_show_counts_whole(repository, tmp_path, name):
    (tmp_path / ".gitattributes").write_text("*.py -diff\n")
    assert touched(name) == 0
    (tmp_path / name).write_text(KERNEL + "\n\nx = 1\n")
    assert touched(name) == 1


def test_a_shallow_clone_compares_with_the_commit_itself(repository, tmp_path, monkeypatch):
    repository("commit", "--allow-empty", "-qm", "two")
    repository("clone", "-q", "--depth=1", f"file://{tmp_path}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    changed = KERNEL.replace(DOT, DOT + "  # changed")
    (tmp_path / "shallow" / "k.py").write_text(changed)
    assert touched("k.py", changed, base="HEAD") == 1
    assert touched("ü b.py", base="HEAD") == 0
    with pytest.raises(UsageError, match="not a commit of this shallow clone; fetch it first"):
        changed_lines("HEAD~1")


def test_outside_of_a_repository_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match="--diff-base: git: not a git repository"):
        changed_lines("main")


def test_a_renamed_file_keeps_its_unchanged_lines(repository, tmp_path):
    repository("mv", "k.py", "moved.py")
    assert touched("moved.py") == 0
    changed = KERNEL.replace(DOT, DOT + "  # faster")
    (tmp_path / "moved.py").write_text(changed)
    assert touched("moved.py", changed) == 1
