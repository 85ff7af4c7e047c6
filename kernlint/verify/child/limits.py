"""Limits that the child sets itself before it runs any code of others; none can be raised again."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG = 1


def apply(settings: Mapping[str, Any]) -> None:
    """Die with the parent; no core dump; the given bounds on address space, file size and processor time."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        import resource
    except ImportError:  # Windows has none
        return
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: settings.get("file_bytes"),
        resource.RLIMIT_CPU: settings.get("processor_s"),
        resource.RLIMIT_AS: settings.get("address_space_bytes"),
    }
    for limit, value in wanted.items():
        if value is None:
            continue
        _, hard = resource.getrlimit(limit)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with suppress(OSError, ValueError):  # macOS refuses some
            resource.setrlimit(limit, (bound, bound))
