"""Memory that was not initialised is recognised, whatever its type and fill."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from kernlint.verify.child.modes import Poison  # noqa: E402

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@pytest.mark.parametrize("fill", [0x5A, 0xA5], ids=hex)
@pytest.mark.parametrize("dtype", [*INTEGERS, torch.float16, torch.float32, torch.bool], ids=str)
def test_what_is_not_written_is_told_from_what_is(dtype, fill):
    with Poison(fill) as poison:
        made = torch.empty(4, dtype=dtype)
    assert poison.unwritten(made).all()
    made[1] = 0 if dtype is not torch.bool or fill & 1 else 1
    assert poison.unwritten(made).tolist() == [True, False, True, True]
