"""Launches that raise whenever they are reached: what they give is not what the kernel or the launcher takes.

    TRITON_INTERPRET=1 python launches_that_raise.py

Which launches of which repository these stand for, `docs/found-in-the-wild.md` says.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


tuned = triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])(copy)
x, y = torch.ones(100), torch.zeros(100)
calls = {
    "the grid is a number": lambda: copy[triton.cdiv(100, 64)](x, y, 100, BLOCK=64),
    "no parameter has this name": lambda: copy[(2,)](x, y, n=100, TILE=64),
    "a constexpr is not given": lambda: copy[(2,)](x, y, 100),
    "an argument more": lambda: copy[(2,)](x, x, y, 100, BLOCK=64),
    "what the tuner sets": lambda: tuned[(2,)](x, y, 100, BLOCK=64),
    "no grid": lambda: copy(x, y, 100, 64),
}
for name, call in calls.items():
    try:
        call()
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error)[:90]}")
    else:
        raise AssertionError(name)
copy[(2,)](x, y, 100, BLOCK=64)
assert torch.equal(x, y)
