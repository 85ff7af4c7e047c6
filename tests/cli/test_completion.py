"""What shells are told may come next."""

import os
import shutil
import subprocess
import sys

import click
import pytest
from support import warm

from kernlint.cli.main import cli


def run(*arguments, **more):
    """The status, output and complaints of the command."""
    done = warm.run([*warm.KERNLINT, *arguments], **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def complete(*words):
    """The words that may come in place of the last of ``words``, with their kinds."""
    environment = {
        **os.environ,
        "_KERNLINT_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("kernlint", *words)),
        "COMP_CWORD": str(len(words)),
    }
    status, words, errors = run(env=environment)
    assert (status, errors) == (0, "")
    return [tuple(line.split(",", 1)) for line in words.splitlines()]


def test_commands_come_first_and_files_where_there_is_none():
    assert complete("che") == [("plain", "check")]
    assert complete("kernels/k") == [("file", "kernels/k")]
    assert {"batch", "completion", "rules", "verify"} <= {word for _, word in complete("")}


def test_options_of_the_command_without_a_name():
    assert {"--device", "--version"} <= {word for _, word in complete("--")}


@pytest.mark.parametrize(
    ("words", "among"),
    [
        (("k.py", "--device", "h100"), "h100-sxm"),
        (("check", "--device", "l"), "list"),
        (("batch", "--device", "l"), "list"),
        (("report", "--device", "l"), "list"),
        (("schema", "v"), "verdict"),
        (("check", "--select", "KL10"), "KL101"),
        (("check", "--select", "KL103,KL10"), "KL103,KL101"),
        (("fix", "k.py", "--rule", "half"), "half-upcast-before-dot"),
        (("rule", "KL9"), "KL901"),
        (("completion", "z"), "zsh"),
    ],
)
def test_values(words, among):
    assert among in {word for _, word in complete(*words)}


@pytest.mark.parametrize(("words"), [("explain", "k"), ("check", "k"), ("k.py", "--reference", "k"), ("report", "k")])
def test_files(words):
    assert ("file", "k") in complete(*words)


def test_folders():
    assert complete("check", "--cache-dir", "k") == [("dir", "k")]


def test_each_option_for_a_file_completes_files():
    context = click.Context(cli)
    commands = [cli.get_command(context, name) for name in cli.list_commands(context)]
    options = [option for command in commands for option in command.params if option.metavar in ("FILE", "DIR")]
    assert len(options) > len(commands)
    assert [option.name for option in options if not isinstance(option.type, click.Path)] == []


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_scripts_are_valid(shell, tmp_path):
    status, text, _ = run("completion", shell)
    assert status == 0 and "_KERNLINT_COMPLETE" in text
    program = shutil.which(shell)
    if program is not None:
        script = tmp_path / "script"
        script.write_text(text)
        subprocess.run([program, "-n", str(script)], check=True)


#: A shell is given a line to complete, and prints what came of it.
_TYPED = {
    "bash": """
        eval "$(kernlint completion bash)"
        COMP_WORDS=(kernlint exp) COMP_CWORD=1
        _kernlint_completion kernlint exp kernlint
        echo "${COMPREPLY[@]}"
    """,
    "fish": "kernlint completion fish | source; complete -C 'kernlint exp'",
    "zsh": """
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell 'autoload -Uz compinit && compinit -u -D; eval "$(kernlint completion zsh)"; echo REA""DY'
        zpty -r -m shell shown '*READY*'
        zpty -w -n shell $'kernlint exp\t'
        zpty -r -m shell shown '*kernlint explain*' && echo explain
    """,
}


@pytest.mark.parametrize("shell", sorted(_TYPED))
def test_a_shell_completes(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    program = tmp_path / "kernlint"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kernlint "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([shell, "-c", _TYPED[shell]], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout.split()[0], done.stderr) == ("explain", "")


def test_another_shell_is_refused():
    status, text, errors = run("completion", "csh")
    assert (status, text) == (2, "")
    assert "'csh' is not one of" in errors
