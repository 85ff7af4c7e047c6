"""Makes the change of a finding to a source text, and runs both versions in Triton's interpreter."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.findings import HEADER, run_rule

from kernlint.rewrite.effects import Effects
from kernlint.rewrite.settings import set_literals
from kernlint.rewrite.site import Site, rewriting_of
from kernlint.rewrite.text import apply_edits
from kernlint.rules.finding import Context, Finding

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Rewritten:
    """The source ``before`` and ``after`` a fix with its ``effects``; the device time ``promised`` and, by reading the
    changed source, ``found``, microseconds; ``left`` are the findings of the rule in the changed source."""

    before: str
    after: str
    effects: Effects
    promised: float | None
    found: float | None
    left: tuple[Finding, ...]

    @property
    def lines(self) -> list[str]:
        """The changed source's lines without their indentation."""
        return [line.strip() for line in self.after.splitlines()]

    def check(self, slack: float = 0.15) -> None:
        """The finding is gone and the changed source takes the promised time."""
        assert not self.left
        assert self.promised is not None
        assert self.found is not None
        assert abs(self.found / self.promised - 1) <= slack, (self.promised, self.found)


def rewritten(code: str, source: str, **sizes: int) -> Rewritten:
    """The change of the one finding of rule ``code`` in ``source`` (without imports) made. Raises ``CannotRewrite``."""
    found = run_rule(code, source, **sizes)
    return _made(code, source, found.only(), found.contexts[0], **sizes)


def _made(code: str, source: str, finding: Finding, context: Context, **sizes: int) -> Rewritten:
    assert finding.change is not None
    assert finding.change.variant is not None
    variant = finding.change.variant
    site = Site(context.program, context.workload)
    made = set_literals(site, variant.edits.literals)
    for transform in variant.transforms:
        made |= rewriting_of(site, transform)
    after = apply_edits(site.module.text, made.edits)
    again = run_rule(code, after.removeprefix(HEADER), **sizes)
    found = next(c for c in again.contexts if c.workload.entry == context.workload.entry)
    times = context.gpu_us(variant), found.gpu_us(found.variant)
    assert all(launch.kernel.complete for launch in found.workload.launches())
    return Rewritten(site.module.text, after, made.effects, *times, again.findings)


_RUN = """
import importlib.util, json, sys
import torch

torch.set_num_threads(1)

def poisoned(make):
    def made(*args, **kwargs):
        tensor = make(*args, **kwargs)
        return tensor.fill_(float("nan") if tensor.is_floating_point() else 77)
    return made

torch.empty, torch.empty_like = poisoned(torch.empty), poisoned(torch.empty_like)
worst = 0.0
for sizes in json.loads(sys.argv[3]):
    results = []
    for path in sys.argv[1:3]:
        spec = importlib.util.spec_from_file_location("m", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        vars(module).update(sizes)
        torch.manual_seed(0)
        results.append(module.ModelNew()(*module.get_inputs()))
    before, after = results
    assert before.dtype == after.dtype and before.shape == after.shape, (before.dtype, after.dtype)
    difference = (before.double() - after.double()).abs().max() / before.double().abs().max().clamp(min=1e-30)
    worst = max(worst, float(difference)) if difference == difference else float("inf")
print(worst)
"""


def relative_error(change: Rewritten, tmp_path: Path, *sizes: dict[str, int]) -> float:
    """The largest difference between what both versions compute at any of these sizes in the interpreter, over the largest
    result. Skips the test where torch or Triton are missing."""
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    paths = []
    for name, text in (("before.py", change.before), ("after.py", change.after)):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_RUN), *paths, json.dumps(sizes)],
        capture_output=True,
        text=True,
        timeout=300,
        env={"TRITON_INTERPRET": "1", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return float(done.stdout)
