"""``kernlint rule`` and ``kernlint rules``: what kernlint looks for."""

from __future__ import annotations

import click


@click.command()
@click.argument("rule", metavar="CODE|NAME")
def rule(rule: str) -> None:
    """Print the documentation of one rule, as Markdown."""
    from kernlint.lint.diagnostics import DIAGNOSTICS
    from kernlint.rules.docs import to_markdown
    from kernlint.rules.registry import find_rule

    for diagnostic in DIAGNOSTICS:
        if rule.strip().lower() in (diagnostic.code.lower(), diagnostic.name):
            click.echo(diagnostic.to_markdown(), nl=False)
            return
    click.echo(to_markdown(find_rule(rule)), nl=False)


@click.command()
def rules() -> None:
    """List all rules: code, name, severity and what each is about."""
    from kernlint.lint.selection import catalogue

    width = max(len(entry.name) for entry in catalogue())
    for entry in catalogue():
        click.echo(f"{entry.code}  {entry.name:<{width}}  {entry.severity:<7}  {entry.summary}")
