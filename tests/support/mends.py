"""What a fix makes of kernels written in a few lines."""

from __future__ import annotations

import textwrap

from support.rewriting import HEADER

from kernlint.fix import Fixed, fix_source
from kernlint.request import Request


def mended(source: str, *rules: str, unsafe: bool = False, **asked: object) -> Fixed:
    """``source`` (with the imports above it) with what ``rules`` find mended; fails where something was not, or where a
    second run would change more."""
    result = fix_source(Request(program(source), path="k.py", **asked), rules=rules, unsafe=unsafe)  # type: ignore[arg-type]
    assert not result.refused, result.refused
    assert result.applied
    again = fix_source(Request(result.after, path="k.py", **asked), rules=rules, unsafe=unsafe)  # type: ignore[arg-type]
    assert again.after == result.after and not again.refused, again.refused
    return result


def refusal(source: str, rule: str, unsafe: bool = True, **asked: object) -> str:
    """Why what ``rule`` finds in ``source`` is not mended."""
    result = fix_source(Request(program(source), path="k.py", **asked), rules=[rule], unsafe=unsafe)  # type: ignore[arg-type]
    assert not result.applied and result.after == result.before
    (reason,) = {refused.reason for refused in result.refused}
    return reason


def unchanged(source: str, *rules: str, **asked: object) -> bool:
    """Whether ``rules`` have nothing to say of ``source``."""
    result = fix_source(Request(program(source), path="k.py", **asked), rules=rules, unsafe=True)  # type: ignore[arg-type]
    return result.after == result.before and not result.refused


def program(source: str) -> str:
    return HEADER + textwrap.dedent(source).lstrip("\n")


def came(result: Fixed) -> list[str]:
    """The lines that the fix brought, without indentation."""
    lines = result.diff.splitlines()[2:]
    return [line[1:].strip() for line in lines if line.startswith("+")]
