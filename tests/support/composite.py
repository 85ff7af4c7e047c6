"""Composite actions of GitHub, run step by step as a runner does."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

#: What a step that uses another action is given: that action's inputs, and the environment, which it may change.
Used = Callable[[dict[str, str], dict[str, str]], None]

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


def run(
    action: Path, inputs: Mapping[str, str], workspace: Path, environment: Mapping[str, str], uses: Mapping[str, Used]
) -> tuple[int, str]:
    """The status and output of the action in the folder ``action``; ``uses`` are the actions that it may use, by owner and name."""
    told = yaml.safe_load((action / "action.yml").read_text(encoding="utf-8"))
    assert inputs.keys() <= told["inputs"].keys()
    known = {f"inputs.{name}": inputs.get(name, one.get("default", "")) for name, one in told["inputs"].items()}
    env = {**environment, "GITHUB_ACTION_PATH": str(action), "GITHUB_WORKSPACE": str(workspace)}
    outputs, printed = workspace.with_name("outputs"), ""
    for step in told["runs"]["steps"]:
        if not _holds(step.get("if"), known):
            continue
        if "uses" in step:
            uses[step["uses"].partition("@")[0]](_filled(step.get("with", {}), known), env)
            continue
        outputs.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=workspace,
            env={**env, **_filled(step.get("env", {}), known), "GITHUB_OUTPUT": str(outputs)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        printed += done.stdout
        if done.returncode:
            return done.returncode, printed
        lines = (line.split("=", 1) for line in outputs.read_text().splitlines())
        known.update({f"steps.{step.get('id')}.outputs.{name}": value for name, value in lines})
    return 0, printed


def _filled(texts: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    """``texts`` with what their expressions stand for."""
    return {key: _EXPRESSION.sub(lambda found: known[found[1]], str(text)) for key, text in texts.items()}


def _holds(condition: str | None, known: Mapping[str, str]) -> bool:
    if condition is None:
        return True
    left, equal, right = condition.partition(" == ")
    assert equal, f"{condition} is more than this runner knows"
    return known[left] == right.strip("'")
