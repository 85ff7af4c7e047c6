"""``kernlint rule`` and ``kernlint rules``: what kernlint looks for."""

from __future__ import annotations

import sys

import click

from kernlint.cli.completion import complete_rule
from kernlint.cli.streams import encodable, look_of


@click.command()
@click.argument("rule", metavar="CODE|NAME", shell_complete=complete_rule)
def rule(rule: str) -> None:
    """Print the page of one rule, as Markdown."""
    from kernlint.lint.diagnostics import DIAGNOSTICS
    from kernlint.rules.docs import to_markdown
    from kernlint.rules.registry import find_rule

    wanted = rule.strip().lower()
    known = next((one for one in DIAGNOSTICS if wanted in (one.code.lower(), one.name)), None)
    page = known.to_markdown() if known is not None else to_markdown(find_rule(rule))
    click.echo(encodable(look_of(sys.stdout).prose(page), sys.stdout), nl=False)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with categories, options and links.")
def rules(as_json: bool) -> None:
    """List all rules.

    One line each: code, name, severity and what it is about.
    """
    from kernlint.links import rule_url
    from kernlint.lint.selection import catalogue
    from kernlint.report.grid import Grid, paint

    if as_json:
        import json

        found = [
            {
                "code": entry.code,
                "name": entry.name,
                "category": entry.category,
                "severity": entry.severity,
                "default": entry.default,
                "summary": entry.summary,
                "options": [{"name": name, "default": value, "least": least} for name, value, least in entry.options],
                "url": rule_url(entry.code),
            }
            for entry in catalogue()
        ]
        click.echo(json.dumps(found, indent=2))
        return
    rows = tuple((entry.code, entry.name, entry.severity, entry.summary) for entry in catalogue())
    grid = Grid(("",) * 4, rows, numeric=frozenset(), notes=True, whole=frozenset({0, 1, 2}))
    lines = paint(grid, look_of(sys.stdout))
    click.echo(encodable("\n".join(lines), sys.stdout))
