"""What a reader of the thirteenth drawing found wrong or debatable: each kind of it, and what is like it and stays what it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.findings import run_rule

from kernlint.lint.check_file import Job, check_file
from kernlint.lint.settings import FileSettings
from tests.rules.test_eighth_drawing import told
from tests.support.mends import mended, refusal
from tests.support.values import HEADER

BITS = """
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, {value}, mask=i < n)

def run(x):
    assert x.dtype == torch.int32
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y

def get_inputs():
    return [torch.arange(1000, dtype=torch.int32)]
"""


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("(v & 0xFF000000) >> 24", id="shifted right"),
        pytest.param("(v ^ 0x85EBCA6B) // 3", id="divided"),
        pytest.param("((v & 0xFF000000) > 0).to(tl.int32)", id="compared"),
        pytest.param("(v & 0xFFFF0000).to(tl.float32).to(tl.int32)", id="made a float"),
    ],
)
def test_a_literal_whose_sign_matters_is_not_made_negative(value: str) -> None:
    source = BITS.format(value=value)
    assert "sign" in refusal(source, "KL722", unsafe=True)
    assert ".to(tl.uint32)" in told("KL722", source)[0].advice


@pytest.mark.parametrize(
    "value", ["(v & 0xFFFF0000).to(tl.float32, bitcast=True).to(tl.int32)", "v & 0xFFFF0000", "v | 0x80000000"]
)
def test_a_literal_whose_bits_are_read_becomes_signed(value: str) -> None:
    assert "-0x" in mended(BITS.format(value=value), "KL722").after


TIMED = """
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

def run(x):
    y, n = torch.empty_like(x), x.numel()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    best, best_ms = 512, 1e9
    for block in (512, 1024):
        start.record()
        double[(triton.cdiv(n, block),)](x, y, n, BLOCK=block)
        end.record()
        end.synchronize()
        ms = start.elapsed_time(end)
        times.append(ms)
        CHOICE
    average = sum(times) / len(times)
    print("average", average)
    double[(triton.cdiv(n, best),)](x, y, n, BLOCK=best)
    return y, average
"""


def test_a_call_that_returns_its_times_measures() -> None:
    assert not run_rule("KL604", TIMED.replace("CHOICE", "pass"))


@pytest.mark.parametrize(
    "choice",
    [
        pytest.param("if ms < best_ms: best, best_ms = block, ms", id="compared"),
        pytest.param("best = block if ms < 1.0 else best", id="chosen"),
    ],
)
def test_a_call_that_chooses_by_its_times_tunes(choice: str) -> None:
    assert run_rule("KL604", TIMED.replace("CHOICE", choice))


GLOBAL = """
TABLE = {table}

@triton.jit
def kernel(x, y, n, KEY: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * {read}, mask=i < n)

def run(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), KEY=1, BLOCK=1024)
    return y
"""


@pytest.mark.parametrize(
    ("table", "read", "advice"),
    [
        ("{1: 2.0}", "TABLE[KEY]", "on the host"),
        ("[1.0, 2.0]", "TABLE[KEY]", "on the host"),
        ("2.0", "TABLE", "tl.constexpr("),
    ],
)
def test_what_a_kernel_reads_is_mended_by_its_type(table: str, read: str, advice: str) -> None:
    (finding,) = told("KL720", GLOBAL.format(table=table, read=read))
    assert finding.severity == "error"
    assert advice in finding.advice


BLOCKS = """
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (tl.program_id(0) * BLOCK,), (BLOCK,), (0,))
    q = tl.make_block_ptr(y, (n,), (1,), (tl.program_id(0) * BLOCK,), (BLOCK,), (0,))
    tl.store(q, tl.load(p{how}))

def run(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.shape[0], 64),)](x, y, x.shape[0], BLOCK=64)
    return y
"""


def levels_at_3_5(path: Path, code: str) -> list[str]:
    job = Job(str(path), path.read_bytes(), FileSettings(frozenset({code}), target_triton="3.5"))
    return [one.severity for one in check_file(job).findings]


@pytest.mark.parametrize(
    ("how", "refused", "tail"),
    [(", mask=tl.arange(0, BLOCK) < n", ["error"], "info"), (", boundary_check=(0,)", [], "warning")],
)
def test_a_kernel_that_does_not_compile_has_no_tail(tmp_path: Path, how: str, refused: list[str], tail: str) -> None:
    (tmp_path / "a.py").write_text(HEADER + BLOCKS.format(how=how))
    assert levels_at_3_5(tmp_path / "a.py", "KL707") == refused
    assert levels_at_3_5(tmp_path / "a.py", "KL736") == [tail]


SUM = """
@triton.jit
def total(x, o, n, B: tl.constexpr):
    c = tl.arange(0, B)
    tl.store(o, tl.sum(tl.load(x + c, mask=c < n, other=0.0), axis=0))

def run(x):
    assert x.dtype == torch.float16
    o = torch.empty(1, device=x.device, dtype=torch.float32)
    total[(1,)](x, o, x.numel(), B=1024)
    return o
"""


def test_a_sum_that_another_compiler_may_widen() -> None:
    assert [one.severity for one in told("KL778", SUM)] == ["warning"]
    assert [one.severity for one in told("KL778", f"import torch_npu\n{SUM}")] == ["info"]
