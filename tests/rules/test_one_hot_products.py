"""KL512: products with one-hot rows that a gather replaces; rows with another use or meaning are left alone."""

import pytest
from support.findings import run_rule

KERNEL = """
@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        w = tl.load(b + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)
        acc += tl.dot(x, w)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])
"""

LAUNCH = """
    c = torch.empty(T, table.shape[1], device=ids.device, dtype=table.dtype)
    grid = (triton.cdiv(T, 128), triton.cdiv(table.shape[1], 64))
    product[grid](rows, table, c, T, table.shape[1], table.shape[0], BM=128, BN=64, BK=64)
"""

SCATTER = """
    rows = torch.zeros(T, table.shape[0], device=ids.device, dtype=table.dtype)
    rows.scatter_(1, ids.unsqueeze(1), 1)
"""

ONE_HOT = """
    rows = torch.nn.functional.one_hot(ids, num_classes=table.shape[0]).half()
"""


def program(make: str, use: str = LAUNCH, result: str = "c", kernel: str = KERNEL) -> str:
    return f"""{kernel}
T, C, D = 32768, 2048, 256

def look_up(ids, table):{make}{use}    return {result}

class ModelNew(torch.nn.Module):
    def forward(self, ids, table):
        return look_up(ids, table)

def get_inputs():
    return [torch.randint(0, C, (T,)), torch.randn(C, D, dtype=torch.float16)]
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(SCATTER), id="zeros and scatter_"),
        pytest.param(program(SCATTER.replace("rows.scatter_(1,", "rows = rows.scatter(-1,")), id="scatter"),
        pytest.param(program(SCATTER.replace(", 1)\n", ", value=1.0)\n")), id="keyword"),
        pytest.param(program(ONE_HOT), id="one_hot"),
        pytest.param(program(ONE_HOT, "    c = rows @ table\n"), id="torch multiplies"),
        pytest.param(program(SCATTER).replace("rows", "encodings"), id="another name"),
        pytest.param(program(SCATTER, kernel=KERNEL.replace("range(0, K, BK)", "tl.range(0, K, BK, num_stages=2)")), id="tl.range"),
    ],
)  # fmt: skip
def test_one_hot_rows(source):
    found = run_rule("KL512", source)
    assert found.only().symbol == "look_up"
    assert found.promised() > 1.2


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(SCATTER, result="c, rows"), id="returned"),
        pytest.param(program(SCATTER, result="c, rows.mean(0)"), id="averaged too"),
        pytest.param(program(SCATTER.replace(", 1)\n", ", 2)\n")), id="twos"),
        pytest.param(program(SCATTER.replace(", 1)\n", ", ids.unsqueeze(1).half())\n")), id="values"),
        pytest.param(program(SCATTER.replace("scatter_(1", "scatter_(0")), id="along the rows"),
        pytest.param(program(SCATTER.replace("torch.zeros", "torch.empty")), id="not zeros"),
        pytest.param(program(SCATTER.replace("torch.zeros", "torch.ones")), id="ones"),
        pytest.param(program(SCATTER + "    rows.scatter_(1, ids.flip(0).unsqueeze(1), 1)\n"), id="two ones a row"),
        pytest.param(program(SCATTER + "    rows.mul_(0.9)\n"), id="smoothed"),
        pytest.param(program(SCATTER, kernel=KERNEL.replace("dot(x, w)", "dot(x * k[None, :].to(tl.float16), w)")), id="weighted rows"),
        pytest.param(program(SCATTER, kernel=KERNEL.replace("acc +=", "acc = acc * 0.9 +")), id="a sum that decays"),
        pytest.param(program(SCATTER, kernel=KERNEL.replace("range(0, K, BK)", "range(0, K // 2, BK)")), id="half of the classes"),
        pytest.param(program(SCATTER, kernel=KERNEL.replace("b + k[:, None]", "b + (k // 2)[:, None]")), id="other rows of the table"),
        pytest.param(program(SCATTER, "    c = table.t() @ rows.t()\n"), id="the right operand"),
        pytest.param(program("\n    rows = torch.rand(T, C, device=ids.device, dtype=torch.float16)\n"), id="any rows"),
    ],
)  # fmt: skip
def test_rows_that_are_more(source):
    assert not run_rule("KL512", source)
