"""Kernels that take a tensor for contiguous are given its strides."""

from __future__ import annotations

from collections.abc import Sequence

from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.workload import Workload


def pass_strides(site: Site, after: Workload, wrong: Sequence[tuple[int, str]]) -> list[TextEdit]:
    """Edits that let the kernels of the launches in ``wrong`` address those parameters through strides."""
    index, name = wrong[0]
    kernel = site.workload.launches()[index].kernel.name
    raise CannotRewrite(f"`{kernel}` takes `{name}` for contiguous")
