"""Bytes to trees: reading, guarding, parsing, positions, names; nothing here knows what a kernel does."""

import kernlint.syntax.lean  # noqa: F401 - before anything else imports LibCST
from kernlint.syntax.dialect import dialect, has_kernel, is_triton_jit
from kernlint.syntax.guard import check_depth
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.source import SourceText, decode_source, read_source
from kernlint.syntax.task import Task, read_task
from kernlint.syntax.tree import Module, deep_recursion, parse_module
from kernlint.syntax.walk import walk

__all__ = [
    "Module", "SourceText", "Task", "check_depth", "decode_source", "deep_recursion", "dialect", "dotted_name",
    "has_kernel", "is_triton_jit", "origin_of", "parse_module", "read_source", "read_task", "walk",
]  # fmt: skip
