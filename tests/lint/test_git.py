"""What a planted repository names is not started: each setting by a program that would leave a file."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.lint import DOT, KERNEL, check

from kernlint.errors import UsageError
from kernlint.lint import git as git_module
from kernlint.lint.diff import changed_lines

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
    pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts here"),
]

CHANGED = KERNEL.replace(DOT, DOT + "  # changed")


class Repository:
    """A repository in which one file has changed, and a program that leaves a trace."""

    def __init__(self, top: Path, traces: Path) -> None:
        self.top = top
        self.trace = traces / "ran"
        self.program = traces / "program"
        self.program.write_text(f"#!/bin/sh\necho ran >> {shlex.quote(str(self.trace))}\nexit 1\n")
        self.program.chmod(0o755)
        self.git("init", "-q", "-b", "main")
        (top / "k.py").write_text(KERNEL)
        (top / "same.py").write_text(KERNEL)
        self.git("add", ".")
        self.git("commit", "-qm", "one")
        (top / "k.py").write_text(CHANGED)
        # As it was, but to be read again: a filter would be asked for what to compare.
        os.utime(top / "same.py", (1, 1))

    def git(self, *arguments: str, check: bool = True) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
        done = subprocess.run(
            ["git", *who, *arguments],
            check=check,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.top,
            timeout=60,
        )
        return done.stdout.strip()

    def configure(self, **settings: str) -> None:
        for name, value in settings.items():
            self.git("config", name.replace("__", "."), value)

    def attribute(self, line: str) -> None:
        (self.top / ".git" / "info").mkdir(exist_ok=True)
        (self.top / ".git" / "info" / "attributes").write_text(line + "\n")

    def hook(self, name: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.program, folder / name)


@pytest.fixture
def planted(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.chdir(tmp_path)
    return Repository(tmp_path, tmp_path_factory.mktemp("traces"))


def touched(name="k.py", source=CHANGED, base="HEAD"):
    return len(changed_lines(base).select(check(source, name)))


def fsmonitor(planted):
    planted.configure(core__fsmonitor=str(planted.program))


def hooks_path(planted):
    planted.hook("post-index-change", planted.program.parent / "hooks")
    planted.configure(core__hooksPath=str(planted.program.parent / "hooks"))


def hooks(planted):
    planted.hook("post-index-change", planted.top / ".git" / "hooks")


def filter_clean(planted):
    planted.configure(filter__x__clean=str(planted.program))
    planted.attribute("*.py filter=x")


def filter_process(planted):
    planted.configure(filter__x__process=str(planted.program), filter__x__required="true")
    planted.attribute("*.py filter=x")


def filter_in_the_work_tree(planted):
    planted.configure(filter__x__clean=str(planted.program), filter__x__smudge=str(planted.program))
    (planted.top / ".gitattributes").write_text("*.py filter=x\n")


def attributes_file(planted):
    planted.configure(filter__x__clean=str(planted.program), core__attributesFile=".attributes")
    (planted.top / ".attributes").write_text("*.py filter=x\n")


def external(planted):
    planted.configure(diff__external=str(planted.program))


def driver(planted):
    planted.configure(diff__x__command=str(planted.program))
    planted.attribute("*.py diff=x")


def textconv(planted):
    planted.configure(diff__x__textconv=str(planted.program), diff__x__cachetextconv="true")
    planted.attribute("*.py diff=x")


def included(planted):
    (planted.top / "settings").write_text(f"[core]\n\tfsmonitor = {planted.program}\n")
    planted.configure(include__path="../settings")


def included_where(planted):
    (planted.top / "settings").write_text(f"[core]\n\tfsmonitor = {planted.program}\n")
    planted.git("config", f"includeIf.gitdir:{planted.top}/.path", "../settings")


def of_one_work_tree(planted):
    planted.configure(extensions__worktreeConfig="true")
    planted.git("config", "--worktree", "core.fsmonitor", str(planted.program))


def pointed_to(planted):
    """`.git` is a file that names the repository."""
    planted.configure(core__fsmonitor=str(planted.program))
    planted.git("config", "core.worktree", str(planted.top))
    shutil.move(planted.top / ".git", planted.program.parent / "elsewhere")
    (planted.top / ".git").write_text(f"gitdir: {planted.program.parent / 'elsewhere'}\n")


def promised(planted):
    """An object is missing, and the configuration says who has it."""
    blob = planted.git("rev-parse", "HEAD:k.py")
    planted.configure(
        core__repositoryFormatVersion="1",
        extensions__partialClone="origin",
        remote__origin__promisor="true",
        remote__origin__url=f"ext::{planted.program}",
        protocol__ext__allow="always",
    )
    (planted.top / ".git" / "objects" / blob[:2] / blob[2:]).unlink()


def promised_by_a_command(planted):
    promised(planted)
    planted.configure(remote__origin__url=f"file://{planted.top}", remote__origin__uploadpack=str(planted.program))


def promised_by_a_host(planted):
    promised(planted)
    planted.configure(remote__origin__url="ssh://localhost/x", core__sshCommand=str(planted.program))


@pytest.mark.parametrize(
    "plant",
    [
        fsmonitor,
        hooks_path,
        hooks,
        filter_clean,
        filter_process,
        filter_in_the_work_tree,
        attributes_file,
        external,
        driver,
        textconv,
        included,
        included_where,
        of_one_work_tree,
        pointed_to,
        promised,
        promised_by_a_command,
        promised_by_a_host,
    ],
    ids=lambda plant: plant.__name__,
)
def test_what_git_would_start_is_not_started(planted, plant):
    plant(planted)
    if not plant.__name__.startswith("promised"):
        assert touched() == 1
        assert touched("same.py", KERNEL) == 0
    else:
        with pytest.raises(UsageError, match=r"--diff-base: git: .*; this clone is partial"):
            changed_lines("HEAD")
    assert not planted.trace.exists()
    for command in (["diff", "HEAD"], ["status"]):
        planted.git(*command, check=False)
    assert planted.trace.exists(), "the trap does not work, so this test shows nothing"


def test_a_filter_changes_nothing_that_counts(planted):
    """The file is as it was committed, whatever a filter would make of it."""
    planted.configure(filter__x__clean="tr a-z A-Z")
    planted.attribute("*.py filter=x")
    assert touched("same.py", KERNEL) == 0


@pytest.mark.parametrize("inner", ["fsmonitor", "filter", "external", "hooks"])
def test_the_configuration_of_a_submodule(planted, inner):
    planted.git("clone", "-q", ".", "m")
    planted.git("-c", "advice.addEmbeddedRepo=false", "add", "m")
    planted.git("config", "-f", ".gitmodules", "submodule.m.path", "m")
    planted.git("config", "-f", ".gitmodules", "submodule.m.url", "./m")
    planted.git("config", "-f", ".gitmodules", "submodule.m.update", f"!{planted.program}")
    planted.git("commit", "-qam", "two")
    planted.configure(submodule__recurse="true", diff__submodule="diff", diff__ignoreSubmodules="none")
    planted.configure(submodule__m__update=f"!{planted.program}", submodule__m__active="true")
    (planted.top / "m" / "k.py").write_text(CHANGED)
    os.utime(planted.top / "m" / "same.py", (1, 1))
    module = planted.top / "m" / ".git"
    if inner == "fsmonitor":
        planted.git("-C", "m", "config", "core.fsmonitor", str(planted.program))
    elif inner == "filter":
        planted.git("-C", "m", "config", "filter.x.clean", str(planted.program))
        (module / "info" / "attributes").write_text("*.py filter=x\n")
    elif inner == "external":
        planted.git("-C", "m", "config", "diff.external", str(planted.program))
    else:
        planted.hook("post-index-change", module / "hooks")
    assert touched("m/k.py") == 1
    assert touched("m/same.py", KERNEL) == 0
    assert not planted.trace.exists()
    for command in (["diff", "HEAD"], ["status"]):
        planted.git(*command, check=False)
    for command in (["diff", "HEAD"], ["status"]):
        planted.git("-C", "m", *command, check=False)
    assert planted.trace.exists(), "the trap does not work, so this test shows nothing"


def test_two_submodules_and_one_that_leads_round(planted):
    for name in ("m", "n"):
        planted.git("clone", "-q", ".", name)
        planted.git("-c", "advice.addEmbeddedRepo=false", "add", name)
    planted.git("commit", "-qm", "two")
    # What the index calls a submodule is a link to the top, where the same index is.
    shutil.rmtree(planted.top / "n")
    (planted.top / "n").symlink_to(".")
    (planted.top / "m" / "k.py").write_text(CHANGED)
    assert touched("m/k.py") == 1
    planted.git("clone", "-q", "m", "o")
    planted.git("-c", "advice.addEmbeddedRepo=false", "add", "o")
    planted.git("commit", "-qm", "three")
    (planted.top / "o" / "k.py").write_text(CHANGED)
    assert touched("m/k.py") == touched("o/k.py") == 1


def test_no_other_setting_starts_anything(planted):
    program = str(planted.program)
    names = """core.pager pager.diff pager.config pager.rev-parse core.editor core.sshCommand core.askPass core.gitProxy
        core.alternateRefsCommand credential.helper gpg.program gpg.ssh.program diff.tool difftool.x.cmd interactive.diffFilter
        merge.x.driver mergetool.x.cmd sequence.editor uploadpack.packObjectsHook remote.origin.uploadpack remote.origin.vcs
        trailer.x.command trailer.x.cmd hook.x.command browser.x.cmd man.x.cmd web.browser sendemail.toCmd
        submodule.alternateErrorStrategy init.templateDir core.preloadIndex protocol.allow"""
    for name in names.split():
        planted.git("config", name, program, check=False)
    planted.configure(hook__x__event="post-index-change", diff__orderFile="k.py", diff__external=program)
    for name in ("diff", "rev-parse", "ls-files", "merge-base", "config"):
        planted.git("config", f"alias.{name}", f"!{program}")
    planted.git("config", "--unset", "core.preloadIndex", check=False)
    assert touched() == 1
    assert not planted.trace.exists()


@pytest.mark.parametrize(
    "name", ["GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND"]
)
def test_programs_that_the_environment_names(planted, monkeypatch, name):
    monkeypatch.setenv(name, str(planted.program))
    assert touched() == 1
    assert not planted.trace.exists()


def test_nothing_is_written(planted):
    index = planted.top / ".git" / "index"
    before = (index.read_bytes(), sorted(os.listdir(planted.top / ".git")))
    assert touched() == 1
    assert (index.read_bytes(), sorted(os.listdir(planted.top / ".git"))) == before


def test_a_git_in_the_working_folder_is_not_ours(planted, monkeypatch):
    shutil.copy(planted.program, planted.top / "git")
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", os.environ["PATH"]]))
    assert touched() == 1
    assert not planted.trace.exists()
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(UsageError, match="--diff-base needs git, which is not installed"):
        changed_lines("HEAD")
    assert not planted.trace.exists()


def test_a_work_tree_elsewhere(planted, tmp_path_factory):
    """Git's own idea of where the files are holds; what is there is compared, and starts nothing either."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "k.py").write_text(CHANGED)
    (elsewhere / ".gitattributes").write_text("*.py filter=x\n")
    planted.configure(core__worktree=str(elsewhere), filter__x__clean=str(planted.program))
    assert touched(str(elsewhere / "k.py")) == 1
    assert not planted.trace.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
def test_the_repository_of_somebody_else(planted, monkeypatch):
    for folder, _, _ in os.walk(planted.top):
        os.chown(folder, 12345, 12345)
    with pytest.raises(UsageError, match="--diff-base: git: detected dubious ownership"):
        changed_lines("HEAD")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(planted.top))
    assert touched() == 1


# -- what must go on working ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("commit", [["commit", "-qm", "x"], ["commit", "-qam", "x"], ["commit", "-qm", "x", "k.py"]])
@pytest.mark.parametrize("place", [".", "linked"])
def test_in_a_hook(planted, place, commit):
    """Git has told the hook of the index that is about to be committed, which may be a passing one."""
    if place == "linked":
        planted.git("worktree", "add", "-q", "linked", "-b", "other")
        (planted.top / "linked" / "k.py").write_text(CHANGED)
    folder = planted.top / place
    (folder / "new.py").write_text(KERNEL)
    planted.git("-C", place, "add", "k.py", "new.py")
    code = (
        "from kernlint.lint.diff import changed_lines; c = changed_lines('HEAD'); "
        "print(sorted(c._ranges), sorted(c._tracked), file=open('../said', 'w'))"
    )
    said = folder.parent / "said"
    hook = planted.top / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(code)}\n")
    hook.chmod(0o755)
    planted.git("-C", place, *commit)
    # Of a commit of one file the index holds no other change, and then the new file is not tracked.
    new = [] if commit[-1] == "k.py" else ["new.py"]
    assert said.read_text() == f"{['k.py', *new]} {['k.py', *new, 'same.py']}\n"


@pytest.mark.parametrize("crlf", ["true", "input"])
def test_the_ends_of_lines_are_compared_as_git_does(planted, crlf):
    planted.configure(core__autocrlf=crlf)
    for name, source in (("k.py", CHANGED), ("same.py", KERNEL)):
        (planted.top / name).write_text(source, newline="\r\n")
    assert touched() == 1
    assert touched("same.py", KERNEL) == 0


def test_a_split_index(planted):
    planted.git("update-index", "--split-index")
    assert touched() == 1
    assert touched("same.py", KERNEL) == 0


def test_hashes_of_256_bits(planted, tmp_path_factory, monkeypatch):
    top = tmp_path_factory.mktemp("long")
    monkeypatch.chdir(top)
    try:
        subprocess.run(["git", "init", "-q", "--object-format=sha256", str(top)], check=True, capture_output=True)
    except subprocess.CalledProcessError:
        pytest.skip("a git without them")
    (top / "k.py").write_text(KERNEL)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "add", "."], check=True, cwd=top)
    subprocess.run(["git", *who, "commit", "-qm", "x"], check=True, cwd=top)
    assert touched("k.py", KERNEL) == 0
    (top / "k.py").write_text(CHANGED)
    assert touched() == 1


def test_a_named_pipe_in_place_of_a_file(planted, monkeypatch):
    (planted.top / "k.py").unlink()
    os.mkfifo(planted.top / "k.py")
    monkeypatch.setattr(git_module, "_PATIENCE_S", 20)
    with pytest.raises(UsageError, match=r"--diff-base: git: k\.py: unsupported file type"):
        changed_lines("HEAD")


def test_git_is_not_waited_for_for_ever(planted, monkeypatch):
    os.mkfifo(planted.top / "settings")
    planted.configure(include__path="../settings")
    monkeypatch.setattr(git_module, "_PATIENCE_S", 1)
    with pytest.raises(UsageError, match="has not ended after 1 seconds"):
        changed_lines("HEAD")
