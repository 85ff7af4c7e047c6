"""Questions for a worker that take as long as nobody minds."""

import os
import time

from kernlint import work


def busy(seconds: float) -> int:
    """Work that can be given up; the process that has done it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        work.spend(1)
    return os.getpid()
