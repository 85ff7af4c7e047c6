"""The command line with an analysis that does what the source says: ``raise``, ``crash``, ``hang``, or a verdict.

It is run as a program, in place of ``kernlint``, to test how the command behaves whatever becomes of the analysis.
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import verdicts

from kernlint import sandbox
from kernlint.cli import command, worker
from kernlint.errors import AnalysisError

FAKE_TIMEOUT_S = float(os.environ.get("FAKE_TIMEOUT_S", "2"))


def analyze(source: str, **options: Any) -> Any:
    word = source.split()[0]
    if word == "raise":
        raise AnalysisError(f"{options['path']}: no kernel in this file")
    if word == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "exit":
        os._exit(7)
    if word == "hang":
        time.sleep(600)
    if word == "memory":
        return bytearray(sandbox.MEMORY_BYTES)
    if word == "recursion":
        return analyze(source, **options)
    if word == "bug":
        raise ValueError("two\nlines")
    if word == "options":
        raise AnalysisError(repr(sorted(options.items())))
    return verdicts.no() if word == "no" else verdicts.yes()


if __name__ == "__main__":
    fake = ModuleType("kernlint.analysis")
    fake.analyze = analyze  # type: ignore[attr-defined]
    sys.modules["kernlint.analysis"] = fake
    worker.TIMEOUT_S = FAKE_TIMEOUT_S
    command()
