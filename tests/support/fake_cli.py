"""The command line with an analysis that does what the source says: ``raise``, ``crash``, ``hang``, or a verdict.

It is run as a program, in place of ``kernlint``, to test how the command behaves whatever becomes of the analysis.
"""

import os
import signal
import sys
import time
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import verdicts

from kernlint import sandbox
from kernlint.cli import command, worker
from kernlint.errors import AnalysisError
from kernlint.request import Request

FAKE_TIMEOUT_S = float(os.environ.get("FAKE_TIMEOUT_S", "2"))


def answer(request: Request) -> Any:
    word = request.source.split()[0]
    if word == "raise":
        raise AnalysisError(f"{request.path}: no kernel in this file")
    if word == "crash":
        signal.raise_signal(signal.SIGSEGV)  # of this thread, as a parser that crashes
    if word == "exit":
        os._exit(7)
    if word == "hang":
        Path(request.path).with_suffix(".hangs").touch()
        time.sleep(600)
    if word == "memory":
        return bytearray(sandbox.MEMORY_BYTES)
    if word == "recursion":
        return answer(request)
    if word == "bug":
        raise ValueError("two\nlines")
    if word == "options":
        raise AnalysisError(repr({one.name: getattr(request, one.name) for one in fields(request)}))
    return verdicts.no() if word == "no" else verdicts.yes()


if __name__ == "__main__":
    fake = ModuleType("kernlint.analysis")
    fake.answer = answer  # type: ignore[attr-defined]
    sys.modules["kernlint.analysis"] = fake
    worker.TIMEOUT_S = FAKE_TIMEOUT_S
    command()
