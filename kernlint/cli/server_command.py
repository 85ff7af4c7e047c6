"""``kernlint server`` and ``kernlint mcp``: for editors and for agents."""

from __future__ import annotations

import click

from kernlint.errors import UsageError


@click.command()
@click.option("--stdio", is_flag=True, help="Ignored: there is no other way; some editors say it anyway.")
def server(stdio: bool) -> None:
    """Serve an editor: the Language Server Protocol over standard input and output (docs/editor.md).

    Needs pip install 'kernlint[lsp]'.
    """
    try:
        from kernlint.server import lsp
    except ModuleNotFoundError as error:
        raise _missing(error, "lsp", ("pygls", "lsprotocol", "cattrs", "attrs")) from None
    lsp.run()


@click.command()
def mcp() -> None:
    """Serve an agent: the Model Context Protocol over standard input and output (docs/mcp.md).

    Needs pip install 'kernlint[mcp]'.
    """
    try:
        from kernlint.server import mcp
    except ModuleNotFoundError as error:
        raise _missing(error, "mcp", ("mcp", "mcp_types", "anyio", "pydantic")) from None
    mcp.run()


def _missing(error: ModuleNotFoundError, extra: str, packages: tuple[str, ...]) -> Exception:
    """What to say where a package is missing that ``extra`` brings; anything else is a bug."""
    if (error.name or "").partition(".")[0] not in packages:
        return error
    return UsageError(f"{error.name} is not installed; it comes with pip install 'kernlint[{extra}]'")
