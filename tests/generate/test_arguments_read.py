"""A torch function with an argument that nobody looks at is not the one that is written."""

from __future__ import annotations

import pytest

from kernlint.generate.calls.writer import Writer
from kernlint.generate.values import CannotGenerate
from kernlint.workload import Call, Storage, Tensor
from kernlint.workload import dtype as dt

OUT = Tensor("out", dt.FLOAT32, (4,), (1,), Storage(1, "input"))


def writer(function: str, *args: object, **kwargs: object) -> Writer:
    return Writer(lambda _: pytest.fail("no view is asked for"), {}, OUT, Call(function, args, kwargs))


@pytest.mark.parametrize(
    ("made", "unread"),
    [
        (writer("f", OUT), "argument 1"),
        (writer("f", OUT, 2), "argument 2"),
        (writer("f", OUT, 0), "argument 2"),
        (writer("f", OUT, factor=1.0), "`factor`"),
        (writer("f", OUT, None, False, factor=None), ""),
        (writer("f", OUT, inplace=True, dtype=dt.FLOAT32), ""),
        (writer("zeros_", OUT, 7), ""),
    ],
)
def test_what_nobody_looked_at(made: Writer, unread: str) -> None:
    if unread != "argument 1":
        made.argument(0, "input")
    if not unread:
        made.refuse_unread()
        return
    with pytest.raises(CannotGenerate, match=unread):
        made.refuse_unread()


def test_what_somebody_looked_at() -> None:
    made = writer("f", OUT, 2, 3, 4, factor=1.0, other=2)
    made.argument(0, "input")
    assert made.args[1:3] == (2, 3)
    assert [*made.args][3] == 4
    assert dict(made.kwargs) == {"factor": 1.0, "other": 2}
    made.refuse_unread()
