"""A change to an autotuned program has to hold whichever configuration the tuner takes, not for the first one alone."""

from __future__ import annotations

import itertools
import textwrap

import pytest

from kernlint.analysis import read_program
from kernlint.cost.estimate import estimate
from kernlint.fix import fix_source
from kernlint.request import Request
from kernlint.rules.finding import Context
from kernlint.rules.registry import find_rule
from kernlint.verdict.candidate import Candidate
from kernlint.verdict.search import price

_BLOCK_SUMS = """
    import torch
    import triton
    import triton.language as tl

    @triton.autotune(configs=[triton.Config({{"BLOCK": b}}) for b in {blocks}], key=["n"])
    @triton.jit
    def block_sums(x, sums, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(sums + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0)))

    class ModelNew(torch.nn.Module):
        def forward(self, x):
            n = x.numel()
            sums = torch.zeros(triton.cdiv(n, 1024), device=x.device, dtype=torch.float32)
            block_sums[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, sums, n)
            return sums.sum()

    def get_inputs():
        return [torch.randn(1 << 24)]
"""

_SCALE = """
    import torch
    import triton
    import triton.language as tl

    @triton.autotune(configs=[{configs}], key=["n"])
    @triton.jit
    def scale(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    class ModelNew(torch.nn.Module):
        def forward(self, x):
            y = torch.zeros_like(x)
            scale[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
            return y

    def get_inputs():
        return [torch.randn(4096, 4096, dtype=torch.float16)]
"""

_UPCAST = """
    import torch
    import triton
    import triton.language as tl

    @triton.autotune(configs=[{configs}], key=[])
    @triton.jit
    def product(a, b, c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        n = tl.program_id(1) * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, 4096, BK):
            x = tl.load(a + m[:, None] * 4096 + (start + k)[None, :])
            y = tl.load(b + n[None, :] * 4096 + (start + k)[:, None])
            acc += tl.dot(x.to(tl.float32), y.to(tl.float32))
        tl.store(c + m[:, None] * 4096 + n[None, :], acc)

    class ModelNew(torch.nn.Module):
        def forward(self, a, b):
            assert a.dtype == b.dtype == torch.bfloat16
            c = torch.empty(4096, 4096, device=a.device, dtype=torch.float32)
            product[lambda meta: (4096 // meta["BM"], 4096 // meta["BN"])](a, b, c)
            return c

    def get_inputs():
        return [torch.randn(4096, 4096, dtype=torch.bfloat16), torch.randn(4096, 4096, dtype=torch.bfloat16)]
"""


def _candidates(source: str, code: str) -> list[Candidate]:
    reading = read_program(Request(textwrap.dedent(source)))
    gpu = reading.device
    return [
        candidate
        for workload in reading.workloads
        for candidate in price(
            Context(reading.program, workload, gpu, price=lambda w: estimate(w, gpu)), [find_rule(code)]
        )
    ]


@pytest.mark.parametrize("blocks", [[1024, 2048, 4096], [2048, 1024, 4096], [4096, 2048, 1024]])
@pytest.mark.parametrize("code", ["KL301", "KL302"])
def test_a_fill_stays_where_a_configuration_leaves_elements_out(code: str, blocks: list[int]) -> None:
    assert not _candidates(_BLOCK_SUMS.format(blocks=blocks), code)


@pytest.mark.parametrize("blocks", [[1024], [512, 1024], [256, 512, 1024]])
def test_a_fill_goes_where_every_configuration_writes_all(blocks: list[int]) -> None:
    """Those that write more than the buffer holds are another rule's matter, and none of these does with 1024 alone."""
    found = _candidates(_BLOCK_SUMS.format(blocks=blocks), "KL302")
    assert [candidate.attempt.automatic for candidate in found] == [True]


def test_a_fill_stays_where_not_all_configurations_are_known() -> None:
    known = 'triton.Config({"BLOCK": 256})'
    assert _candidates(_SCALE.format(configs=known), "KL302")
    assert not _candidates(_SCALE.format(configs=f"{known}, *more()"), "KL302")
    many = _SCALE.format(configs='*[triton.Config({"BLOCK": 32 * b}) for b in range(1, 200)]')
    assert not _candidates(many, "KL302")


def test_the_literal_of_one_configuration_is_not_the_tile_of_all() -> None:
    configs = [f'triton.Config({{"BM": 64, "BN": {n}, "BK": 32}}, num_warps=4)' for n in (64, 128)]
    made = set()
    for order in itertools.permutations(configs):
        result = fix_source(Request(textwrap.dedent(_UPCAST.format(configs=", ".join(order)))), rules=["KL103"])
        assert result.applied, result.refused
        assert '"BK": 64' not in result.after
        made.add(result.after.partition("@triton.jit")[2])
    assert len(made) == 1
