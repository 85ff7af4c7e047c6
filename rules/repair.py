"""Changes that mend wrong code: they are about what a program computes, not about how long it takes."""

from __future__ import annotations

from kernlint.records import dataclass
from kernlint.rules.finding import Change, Context
from kernlint.workload import Workload


@dataclass(frozen=True)
class Repair:
    """Base of the transforms that mend wrong code. To the cost model the program does the same work before and after;
    subclasses say where the code is wrong, and a codemod of :mod:`kernlint.rewrite` makes the edits."""

    def __call__(self, workload: Workload) -> Workload:
        return workload


def mending(context: Context, repair: Repair | None, wrong: str, method: str, plan: str = "") -> Change:
    """The change that ``repair`` makes (None: a person): ``wrong`` says what is the matter, ``method`` what to write, ``plan`` the
    steps where there is more than one."""
    variant = None if repair is None else context.variant.then(transform=repair)
    return Change(variant, f"{wrong.rstrip('.')}.", method, plan or method, priced=False)
