"""Judge, rewrite, judge again: an agent loop on `kernlint mcp`.

    python examples/agent_loop.py kernel.py --reference model.py -o better.py

A version is kept only where the judge predicts that it is faster and sees nothing newly wrong in it; the loop stops when the
headroom is below 1.2x, when nobody has a better version, or after so many rounds. What it ends with is a prediction: prove it on
the device (`kernlint verify kernel.py --fixed better.py`).

Without `--rewrite` the judge's own automatic fixes are the rewrites, so that the loop runs without any model. `--rewrite COMMAND`
runs yours in their stead: it reads one JSON object from standard input (`source`, `reference`, the `verdict`, the `feedback` on
its last version) and writes the whole new source to standard output.

Needs `pip install 'kernlint[mcp]'`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

#: Below this nothing is left that would pay.
ENOUGH = 1.2


async def ask(judge: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool of the judge returns. Raises ``RuntimeError`` with what it says where it has no answer."""
    given = {name: value for name, value in arguments.items() if value is not None}
    result = await judge.call_tool(tool, given)
    if result.is_error:
        raise RuntimeError(result.content[0].text)
    return result.structured_content


async def rewritten(judge: Client, command: str | None, source: str, feedback: str, task: dict[str, Any]) -> str:
    """The next version to judge: from ``command``, else from the judge's own fixes."""
    if command is None:
        return (await ask(judge, "fix_source", source=source, **task))["source"]
    verdict = await ask(judge, "analyze", source=source, **task)
    question = {"source": source, "reference": task["reference"], "verdict": verdict, "feedback": feedback}
    done = await asyncio.to_thread(
        subprocess.run, shlex.split(command), input=json.dumps(question), capture_output=True, text=True, check=True
    )
    return done.stdout


async def improve(judge: Client, source: str, task: dict[str, Any], command: str | None, rounds: int) -> str:
    """The best version of ``source`` that was found."""
    left = (await ask(judge, "headroom", source=source, **task))["ratio"]
    print(f"start: {said(left)} possible", file=sys.stderr)
    feedback, refused = "", 0
    for number in range(1, rounds + 1):
        if left is None or left < ENOUGH or refused == 3:
            break
        try:
            candidate = await rewritten(judge, command, source, feedback, task)
            if candidate == source:
                print(f"round {number}: nobody knows a better version", file=sys.stderr)
                break
            compared = await ask(judge, "compare", before=source, after=candidate, **task)
        except RuntimeError as error:  # such as a version that does not parse: that is what the next one is to mend
            feedback, refused = str(error), refused + 1
            print(f"round {number}: refused: {feedback}", file=sys.stderr)
            continue
        feedback = f"{compared['answer']}: {compared['reason']}"
        print(f"round {number}: {feedback}", file=sys.stderr)
        if compared["answer"] != "faster":
            refused += 1
            continue
        source, left, refused = candidate, compared["headroom_after"], 0
        print(f"round {number}: kept; {said(left)} possible", file=sys.stderr)
    return source


def said(ratio: float | None) -> str:
    return "an unknown speedup" if ratio is None else f"{ratio:g}x"


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--reference", type=Path, help="the PyTorch code that it replaces")
    parser.add_argument("--device", help="the GPU that times are predicted for")
    parser.add_argument("--rewrite", metavar="COMMAND", help="what writes the next version")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("-o", "--output", type=Path, help="where to write the result; else to standard output")
    given = parser.parse_args()
    reference = None if given.reference is None else given.reference.read_text()
    server = StdioServerParameters(command=sys.executable, args=["-m", "kernlint", "mcp"])
    async with Client(server) as judge:
        task = {"reference": reference, "device": given.device}
        try:
            best = await improve(judge, given.kernel.read_text(), task, given.rewrite, given.rounds)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 2
    if given.output is not None:
        given.output.write_text(best)
    else:
        sys.stdout.write(best)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
