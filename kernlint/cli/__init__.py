"""The command line: a thin layer over :func:`kernlint.analyze`."""

from kernlint.cli.main import command, main

__all__ = ["command", "main"]
