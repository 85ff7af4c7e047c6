"""The loop of docs/mcp.md, run as it stands there."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

from support.late import needs

pytestmark = needs("mcp", "mcp")

ROOT = Path(__file__).parents[2]
PAIR = ROOT / "fixtures" / "pairs" / "softmax-three-kernels"


def loop(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "examples" / "agent_loop.py", *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, timeout=300)


def test_it_ends_when_nothing_is_left_that_would_pay(tmp_path):
    better = tmp_path / "better.py"
    pair = PAIR.parent / "gemm-int8-upcast-copy"  # whose fix is safe
    done = loop(pair / "before.py", "--reference", pair / "reference.py", "-o", better, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    start, *rounds = done.stderr.splitlines()
    assert start.startswith("start: ")
    assert "faster: " in rounds[0]
    assert "kept; 1" in rounds[-1]
    assert better.read_text() != (pair / "before.py").read_text()


def test_a_model_is_told_what_was_wrong_with_its_last_version(tmp_path):
    (tmp_path / "model.py").write_text(
        "import json, pathlib, sys\n"
        "asked = json.load(sys.stdin)\n"
        "log = pathlib.Path('asked.jsonl')\n"
        "number = len(log.read_text().splitlines()) if log.exists() else 0\n"
        "log.open('a').write(json.dumps([asked['verdict']['worth_optimizing'], asked['feedback']]) + '\\n')\n"
        f"after = pathlib.Path({str(PAIR / 'after.py')!r}).read_text()\n"
        "print(['def f(:', asked['source'] + '\\n\\n', after][number])\n"
    )
    command = shlex.join([sys.executable, "model.py"])
    done = loop(PAIR / "before.py", "--reference", PAIR / "reference.py", "--rewrite", command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (PAIR / "after.py").read_text().strip()
    asked = [json.loads(line) for line in (tmp_path / "asked.jsonl").read_text().splitlines()]
    assert [worth for worth, _ in asked] == ["yes"] * 3
    assert asked[0][1] == ""
    assert "syntax error" in asked[1][1]
    assert asked[2][1].startswith("unclear: ")


def test_what_has_no_answer_ends_it_in_one_line(tmp_path):
    (tmp_path / "k.py").write_text("x = 1\n")
    done = loop("k.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
