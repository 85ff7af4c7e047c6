"""The command line: a thin layer over :func:`kernlint.analyze`."""

from kernlint.cli.main import main

__all__ = ["main"]
