"""The ``kernlint`` command: which subcommand is meant, and how every way to fail ends."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from kernlint.cli.streams import encodable
from kernlint.errors import KernlintError
from kernlint.version import __version__

#: Subcommand to the place of its ``click.Command``, imported only when it runs: `--help` and `--version` must not pay
#: for LibCST. ``verdict`` is what `kernlint PATH` means.
_COMMANDS = {
    "batch": "kernlint.cli.batch_command:batch",
    "calibrate": "kernlint.cli.calibrate_command:calibrate",
    "check": "kernlint.cli.check_command:check",
    "completion": "kernlint.cli.completion:completion",
    "verdict": "kernlint.cli.verdict_command:verdict",
    "devices": "kernlint.cli.devices_table:devices_command",
    "explain": "kernlint.cli.explain_command:explain",
    "fix": "kernlint.cli.fix_command:fix",
    "mcp": "kernlint.cli.server_command:mcp",
    "report": "kernlint.cli.report_command:report",
    "rule": "kernlint.cli.rule_command:rule",
    "rules": "kernlint.cli.rule_command:rules",
    "schema": "kernlint.cli.schema_command:schema",
    "server": "kernlint.cli.server_command:server",
    "verify": "kernlint.cli.verify_command:verify",
}

_DEFAULT = "verdict"
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

#: Objects made and not freed since the last look for garbage before there is another: what is imported stays anyway.
_GARBAGE = 100_000

_EXIT_ERROR = 2
_EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells count
_EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE
_EXIT_TERMINATED = 143  # 128 + SIGTERM


class _Commands(click.Group):
    """A group whose members are imported on use and whose default member needs no name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for name in _COMMANDS if name != _DEFAULT)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own_options = {"-V", "--version", *ctx.help_option_names}
        completed = ctx.resilient_parsing and not args  # a shell asks what may come first
        if not completed and (not args or args[0] not in {*_COMMANDS, *own_options}):
            if not ctx.resilient_parsing:
                _recognise(args)
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):  # of the command that needs no name
            command = self.get_command(ctx, _DEFAULT)
            assert command is not None
            return [*super().shell_complete(ctx, incomplete), *command.shell_complete(ctx, incomplete)]
        # Not both: bash drops the words where there are files too.
        return super().shell_complete(ctx, incomplete) or [CompletionItem(incomplete, type="file")]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        command = self.get_command(ctx, _DEFAULT)
        assert command is not None
        formatter.write_usage(ctx.command_path, "PATH [OPTIONS]")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix="       ")
        command.format_help_text(ctx, formatter)
        options = [one for one in (*command.get_params(ctx), *self.get_params(ctx)) if isinstance(one, click.Option)]
        records = {record[0]: record for option in options if (record := option.get_help_record(ctx))}
        with formatter.section("Options"):
            formatter.write_dl(list(records.values()))
        self.format_commands(ctx, formatter)


def _recognise(args: list[str]) -> None:
    """Complain of what looks like a misspelt command, before it is taken for a file that does not exist."""
    if not args or args[0].startswith("-") or os.path.lexists(args[0]):
        return
    from difflib import get_close_matches  # imported here: only a mistake needs it

    close = get_close_matches(args[0], sorted(set(_COMMANDS) - {_DEFAULT}), n=1)
    if close:
        raise click.UsageError(f"no command and no file {args[0]!r}; did you mean {close[0]}?")


@click.command(cls=_Commands, context_settings=_CONTEXT)
@click.version_option(__version__, "-V", "--version", prog_name="kernlint", message="%(prog)s %(version)s")
def cli() -> None:
    """A static analyser for Triton kernels."""


def command() -> NoReturn:
    """The program: :func:`main` in a process of its own, which neither looks for garbage among what it imports nor takes
    it apart at the end; either costs as much as a small file."""
    gc.set_threshold(_GARBAGE)
    _open_streams()
    # Like Ctrl-C: the children are to be ended and what is half written removed.
    signal.signal(signal.SIGTERM, _terminate)
    status = main()
    if os.environ.get("KERNLINT_DEBUG"):  # profilers and coverage want to be told of the end
        sys.exit(status)
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


def _open_streams() -> None:
    """Give the process standard streams where it was started without them: they lead nowhere then, as other programs have
    it, and no file that is opened later takes their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - until the end


def _terminate(number: int, frame: object) -> NoReturn:
    raise SystemExit(_EXIT_TERMINATED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; errors become one line on standard error, never a traceback."""
    try:
        # Not `cli.main`: it has its own ways to end on Ctrl-C and on a closed pipe.
        try:
            if arguments is None and (answered := _completed()) is not None:
                return answered
            with cli.make_context("kernlint", list(sys.argv[1:] if arguments is None else arguments)) as context:
                status = _invoked(context)
                _say(context.meta.get("kernlint.note"))
                return status
        finally:
            sys.stdout.flush()
    except click.exceptions.Exit as exit_:  # of --help and --version
        return exit_.exit_code
    except click.ClickException as error:
        return _fail(error.format_message())
    except KernlintError as error:
        return _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        return _EXIT_INTERRUPTED
    except SystemExit:
        return _EXIT_TERMINATED
    except BrokenPipeError:
        # Python flushes standard output once more at exit, and would complain about the same pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _EXIT_BROKEN_PIPE
    except OSError as error:
        return _fail(f"cannot write: {error.strerror or error}")
    except Exception as error:
        if os.environ.get("KERNLINT_DEBUG"):
            raise
        return _fail(
            f"internal error, please report it: {type(error).__name__}: {error} (KERNLINT_DEBUG=1 shows where)"
        )


def _invoked(context: click.Context) -> int:
    """The status with which the command ends."""
    try:
        cli.invoke(context)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    return 0


def _completed() -> int | None:
    """The status where a shell asks for completion, which it does through the environment."""
    if "_KERNLINT_COMPLETE" not in os.environ:
        return None
    from kernlint.cli.completion import answer_shell

    return answer_shell(cli)


def _say(note: str | None) -> None:
    if note:
        with suppress(OSError):
            print("kernlint: note: " + encodable(note, sys.stderr), file=sys.stderr)


def _fail(message: str) -> int:
    line = " ".join(message.split())
    with suppress(OSError):  # nobody to tell; the status does
        print("kernlint: error: " + encodable(line, sys.stderr), file=sys.stderr)
    return _EXIT_ERROR
