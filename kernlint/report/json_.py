"""The verdict as the JSON text that goes to standard output."""

from __future__ import annotations

import json

from kernlint.verdict.model import Verdict


def render(verdict: Verdict, details: bool = True) -> str:
    """One JSON object, indented, with a line end; ASCII only, so that no terminal or pipe can garble it."""
    return json.dumps(verdict.to_json(details), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
