"""``kernlint schema``: the JSON Schema of what kernlint prints."""

from __future__ import annotations

import click


@click.command()
@click.argument("name")
def schema(name: str) -> None:
    """Print the JSON Schema called NAME: batch, check, config, explain, mcp or verdict."""
    import json

    from kernlint.schema import load

    click.echo(json.dumps(load(name), indent=2))
