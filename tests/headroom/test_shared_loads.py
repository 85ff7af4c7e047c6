"""What every program loads takes instructions in each of them: several results at a time share those."""

import textwrap

import pytest
from support.findings import HEADER

from kernlint.analysis import best_change, read_program
from kernlint.request import Request

#: The largest difference of each query to all points, ROWS queries a program.
FARTHEST = """
@triton.jit
def farthest(x, y, out, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    a, b = tl.load(x + row * 2), tl.load(x + row * 2 + 1)
    best = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        u, v = tl.load(y + i * 3), tl.load(y + i * 3 + 1)
        best = tl.maximum(best, tl.abs(a[:, None] - u[None, :]) + tl.abs(b[:, None] - v[None, :]))
    tl.store(out + row, tl.max(best, axis=1))

class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty(x.shape[0], device=x.device)
        farthest[(x.shape[0] // ROWS,)](x, y, out, y.shape[0], ROWS=ROWS, BLOCK=256, num_warps=4)
        return out

def get_inputs():
    return [torch.rand(16384, 2), torch.rand(4096, 3)]
"""


@pytest.mark.parametrize(("rows", "share"), [(1, 0.3), (16, 0.0)])
def test_loads_that_programs_have_in_common(rows: int, share: float) -> None:
    source = HEADER + textwrap.dedent(FARTHEST.replace("ROWS=ROWS", f"ROWS={rows}").replace("// ROWS", f"// {rows}"))
    headroom = best_change(read_program(Request(source, device="h200")), "gpu").headroom
    assert headroom is not None
    taken = sum(cause.alone_us for cause in headroom.causes if cause.name == "repeated reads") / headroom.now_us
    assert taken >= share if share else taken < 0.15
