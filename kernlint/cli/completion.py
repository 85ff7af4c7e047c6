"""``kernlint completion SHELL``, and what shells then ask: which words may come next."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from kernlint.errors import UsageError

if TYPE_CHECKING:
    from kernlint.lint.selection import Entry

_PROGRAM = "kernlint"
#: The variable through which the script of a shell asks.
_ASKED = "_KERNLINT_COMPLETE"
_SHELLS = ("bash", "fish", "zsh")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS), metavar="SHELL")
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    With it SHELL (bash, fish or zsh) completes commands, options, rules and devices. For this session: eval "$(kernlint completion
    bash)", the same with zsh, or kernlint completion fish | source. For all sessions: put that line into ~/.bashrc or ~/.zshrc, or
    the script into ~/.config/fish/completions/kernlint.fish.
    """
    from kernlint.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None
    try:
        click.echo(found(cli, {}, _PROGRAM, _ASKED).source())
    except RuntimeError as error:  # too old a bash
        raise UsageError(str(error)) from None


def answer_shell(cli: click.Command) -> int | None:
    """Answer the question of a shell, where there is one; the status then."""
    instruction = os.environ.get(_ASKED)
    return None if not instruction else shell_complete(cli, {}, _PROGRAM, _ASKED, instruction)


def complete_device(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from kernlint.cost.device import devices

    found = [CompletionItem(device.id, help=device.name) for device in devices() if device.id.startswith(incomplete)]
    return [*found, *([CompletionItem("list")] if "list".startswith(incomplete) else [])]


def complete_folder(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Folders, of which the shell knows. ``click.Path(file_okay=False)`` would complete them too, but also refuse a file."""
    return [CompletionItem(incomplete, type="dir")]


def complete_rule(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes and names; of several behind commas the last."""
    from kernlint.lint.selection import catalogue

    before, comma, word = incomplete.rpartition(",")
    return [
        CompletionItem(before + comma + key, help=entry.summary)
        for entry in catalogue()
        for key in _keys(entry, word)
        if key.startswith(word)
    ]


def _keys(entry: Entry, word: str) -> tuple[str, ...]:
    """Names only where one is begun: codes alone are many."""
    return (entry.code, entry.name) if word[:1].islower() else (entry.code,)
