"""Rules about what the compiler or the launcher refuses: the interpreter records it, a rule says what to think of it."""

from __future__ import annotations

from kernlint.rules.faults import FaultRule


class RefusalRule(FaultRule, abstract=True):
    """A rule about faults by which the program fails: a launch in view makes them errors."""

    refused = True
