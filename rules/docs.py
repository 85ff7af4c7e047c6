"""A rule's documentation as Markdown, with the same headings for every rule."""

from __future__ import annotations

from inspect import cleandoc

from kernlint.rules.base import Rule


def to_markdown(rule: type[Rule] | Rule) -> str:
    """The page of ``rule``: what ``kernlint rule CODE`` prints and the documentation holds."""
    why = "Why it is wrong" if rule.category == "correctness" else "Why it is slow"
    if rule.category == "portability":
        why = "Why it matters"
    sections = [
        ("What it does", cleandoc(rule.what_it_does)),
        (why, cleandoc(rule.why)),
        ("Example", _code(rule.example or rule.bad)),
        ("Use instead", _code(rule.use_instead or rule.good)),
        ("When it does not apply", cleandoc(rule.when_not)),
        ("Fix safety", cleandoc(rule.fix_safety)),
        ("Evidence", cleandoc(rule.evidence)),
        ("Options", "\n".join(f"- `{o.name}` (default {o.default:g}): {o.meaning}" for o in rule.options)),
        ("References", "\n".join(f"- {reference}" for reference in rule.references)),
    ]
    head = [
        f"# {rule.name} ({rule.code})",
        cleandoc(rule.summary),
        f"Category {rule.category}, severity {rule.severity}, {'on' if rule.default else 'off'} by default.",
    ]
    body = [f"## {title}\n\n{text}" for title, text in sections if text]
    return "\n\n".join([*head, *body]) + "\n"


def _code(source: str) -> str:
    return f"```python\n{cleandoc(source)}\n```"
