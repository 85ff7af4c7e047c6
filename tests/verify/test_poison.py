"""Memory that was not initialised is recognised, whatever its type and fill."""

from __future__ import annotations

import pytest
from support.late import Late, needs

pytestmark = needs("torch")
torch, modes = Late("torch"), Late("kernlint.verify.child.modes")

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


@pytest.fixture
def dtype(request):
    return getattr(torch, request.param)


@pytest.mark.parametrize("fill", [0x5A, 0xA5], ids=hex)
@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "bool"], indirect=True)
def test_what_is_not_written_is_told_from_what_is(dtype, fill):
    with modes.Poison(fill) as poison:
        made = torch.empty(4, dtype=dtype)
    assert poison.unwritten(made).all()
    made[1] = 0 if dtype is not torch.bool or fill & 1 else 1
    assert poison.unwritten(made).tolist() == [True, False, True, True]
