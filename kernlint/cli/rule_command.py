"""``kernlint rule`` and ``kernlint rules``: what kernlint looks for."""

from __future__ import annotations

import click


@click.command()
@click.argument("rule", metavar="CODE|NAME")
def rule(rule: str) -> None:
    """Print the documentation of one rule, as Markdown."""
    from kernlint.rules.docs import to_markdown
    from kernlint.rules.registry import find_rule

    click.echo(to_markdown(find_rule(rule)), nl=False)


@click.command()
def rules() -> None:
    """List all rules: code, name, severity and what each is about."""
    from kernlint.rules.registry import all_rules

    known = all_rules()
    width = max((len(rule.name) for rule in known), default=0)
    for rule in known:
        summary = " ".join(rule.summary.split())
        click.echo(f"{rule.code}  {rule.name:<{width}}  {rule.severity:<7}  {summary}")
