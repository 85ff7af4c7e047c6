"""What machine this is: asked in a child too, since importing torch costs seconds and can fail in its own ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernlint.verify.child.reporter import Reporter, describe


def main(job: Mapping[str, Any], results: str) -> None:
    reporter = Reporter(results)
    try:
        import torch
        import triton

        there = torch.cuda.is_available()
        found: dict[str, Any] = {"torch": torch.__version__, "triton": triton.__version__, "gpu": there}
        if there:
            properties = torch.cuda.get_device_properties(0)
            found |= {
                "name": properties.name,
                "memory_bytes": properties.total_memory,
                "vendor": "amd" if getattr(torch.version, "hip", None) else "nvidia",
                "capability": list(torch.cuda.get_device_capability(0)),
            }
        reporter.event("machine", **found)
    except Exception as error:
        reporter.event("failed", step="probe", error=describe(error))
    reporter.event("end")
