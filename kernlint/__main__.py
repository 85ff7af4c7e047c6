"""``python -m kernlint``."""

from kernlint.cli import command

command()
