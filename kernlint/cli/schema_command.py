"""``kernlint schema``: the JSON Schema of what kernlint prints."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from kernlint.schema import names

    return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


@click.command()
@click.argument("name", shell_complete=_complete)
def schema(name: str) -> None:
    """Print the JSON Schema of an output.

    NAME is batch, check, config, explain, mcp or verdict.
    """
    import json

    from kernlint.schema import load

    click.echo(json.dumps(load(name), indent=2))
