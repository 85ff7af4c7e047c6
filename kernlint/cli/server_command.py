"""``kernlint server`` and ``kernlint mcp``: for editors and for agents."""

from __future__ import annotations

import os
import sys

import click

import kernlint
from kernlint.errors import UsageError
from kernlint.links import DOCS


@click.command(epilog=f"Settings for editors: {DOCS}editor/")
@click.option("--stdio", is_flag=True, help="Accepted and ignored: nothing else is spoken, but some editors pass it.")
def server(stdio: bool) -> None:
    """Serve an editor, as a language server.

    Speaks the Language Server Protocol over standard input and output. Needs pip install 'kernlint[lsp]'.
    """
    folder = _leave_working_folder()
    try:
        from kernlint.server import lsp
    except ModuleNotFoundError as error:
        raise _missing(error, "server", "lsp", ("pygls", "lsprotocol", "cattrs", "attrs")) from None
    lsp.run(folder)


@click.command(epilog=f"The tools, and a loop that calls them: {DOCS}mcp/")
def mcp() -> None:
    """Serve an agent, as an MCP server.

    Speaks the Model Context Protocol over standard input and output. Needs pip install 'kernlint[mcp]'.
    """
    _leave_working_folder()
    try:
        from kernlint.server import mcp
    except ModuleNotFoundError as error:
        raise _missing(error, "mcp", "mcp", ("mcp", "mcp_types", "anyio", "pydantic")) from None
    mcp.run()


def _leave_working_folder() -> str:
    """Go where nothing of the workspace can be imported, and say where we were.

    Python looks for modules in the working folder, under ``-m`` and in each process that ``multiprocessing`` starts: what lies in a
    workspace is to be read, and not run. The interpreter's folder holds what would be run anyway.
    """
    here, home = os.getcwd(), os.path.dirname(os.path.dirname(os.path.abspath(kernlint.__file__)))
    if here != home:  # else a checkout that is not installed, which finds itself there
        sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
        os.chdir(os.path.dirname(sys.executable) or os.sep)
    return here


def _missing(error: ModuleNotFoundError, command: str, extra: str, packages: tuple[str, ...]) -> Exception:
    """What to say where a package is missing that ``extra`` brings for ``command``; anything else is a bug."""
    if (error.name or "").partition(".")[0] not in packages:
        return error
    return UsageError(f"{command} needs {error.name}: pip install 'kernlint[{extra}]'")
