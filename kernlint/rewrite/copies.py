"""Copies that a launcher makes on every call: the kernel reads the original through its strides."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.rewrite.effects import Rewriting
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite
from kernlint.workload import Span


def read_in_place(site: Site, spans: Iterable[Span]) -> Rewriting:
    """The calls at ``spans`` gone, with what they copied passed on in their place."""
    raise CannotRewrite("the copy cannot be taken out automatically yet")
