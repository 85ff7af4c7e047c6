"""KL203 as a rewrite: K shared between programs, their partial sums added by a second kernel."""

from pathlib import Path

import pytest
from support.codemods import relative_error, rewritten

from kernlint.rewrite.text import CannotRewrite

SOURCE = """
B, N, K = 16, 1024, 16384

@triton.jit
def skinny(x, w, bias, y, B, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    rows = tl.arange(0, BM)
    columns = pid * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    {before}
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    {loop}
    {after}

class ModelNew(torch.nn.Module):
    def forward(self, x, w, bias):
        y = torch.empty(B, N, device=x.device, dtype=torch.{out})
        {launch}
        return y

def get_inputs():
    half = dict(dtype=torch.float16)
    return [torch.randn(B, K, **half), torch.randn(N, K, **half) / K**0.5, torch.randn(N, **half)]
"""
POINTERS = """x_ptrs = x + rows[:, None] * K + k[None, :]
    w_ptrs = w + columns[None, :] * K + k[:, None]"""
STEPS = """for step in range(0, tl.cdiv(K, BK)):
        a = tl.load(x_ptrs, mask=(rows[:, None] < B) & (k[None, :] < K - step * BK), other=0.0)
        b = tl.load(w_ptrs, mask=(columns[None, :] < N) & (k[:, None] < K - step * BK), other=0.0)
        acc = tl.dot(a, b, acc)
        x_ptrs += BK
        w_ptrs += BK"""
STARTS = """for start in range(0, K, BK):
        inside = start + k < K
        a = tl.load(x + rows[:, None] * K + (start + k)[None, :], mask=(rows[:, None] < B) & inside[None, :], other=0.0)
        b = tl.load(w + columns[None, :] * K + (start + k)[:, None], mask=(columns[None, :] < N) & inside[:, None], other=0.0)
        acc += tl.dot(a, b)"""
EPILOGUE = """# bias and activation
    acc += tl.load(bias + columns, mask=columns < N, other=0.0)[None, :].to(tl.float32)
    out = acc * tl.sigmoid(acc)
    y_ptrs = y + rows[:, None] * N + columns[None, :]
    y_mask = (rows[:, None] < B) & (columns[None, :] < N)
    tl.store(y_ptrs, out.to(tl.float16), mask=y_mask)"""
PLAIN = "tl.store(y + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < B) & (columns[None, :] < N))"
LAUNCH = """BN = 128
        skinny[(triton.cdiv(N, BN),)](x, w, bias, y, B, N, K, BM=16, BN=BN, BK=64)"""


def source(
    before: str = POINTERS, loop: str = STEPS, after: str = EPILOGUE, launch: str = LAUNCH, out: str = "float16"
) -> str:
    return SOURCE.format(before=before, loop=loop, after=after, launch=launch, out=out)


CASES = {
    "pointers that move": source(),
    "offsets from the loop variable": source("pass", STARTS),
    "no epilogue": source(after=PLAIN, out="float32"),
    "pointers moved by assignment": source(loop=STEPS.replace("x_ptrs += BK", "x_ptrs = x_ptrs + BK")),
    "grid as a function": source(
        launch="grid = lambda META: (triton.cdiv(N, META['BN']),)\n"
        "        skinny[grid](x, w, bias, y, B, N, K, BM=16, BN=128, BK=64, num_warps=4)"
    ),
    "keywords": source(
        launch="grid = (triton.cdiv(N, 128),)\n"
        "        skinny[grid](x=x, w=w, bias=bias, y=y, B=B, N=N, K=K, BM=16, BN=128, BK=64, num_stages=3)"
    ),
    "address before the epilogue": source(
        after="y_ptrs = y + rows[:, None] * N + columns[None, :]\n    y_mask = (rows[:, None] < B) & (columns[None, :] < N)\n"
        "    out = tl.maximum(acc, 0.0)\n    tl.store(y_ptrs, out.to(tl.float16), mask=y_mask)"
    ),
    "the type of the output": source(after=EPILOGUE.replace("tl.float16", "y.dtype.element_ty")),
    "its type in a statement": source(
        after=EPILOGUE.replace("tl.sigmoid(acc)", "tl.sigmoid(acc)\n    out = out.to(y.dtype.element_ty)").replace(
            "out.to(tl.float16)", "out"
        )
    ),
    "early return": source(f"if pid * BN >= N:\n        return\n    {POINTERS}"),
}


@pytest.mark.parametrize("case", CASES)
def test_k_is_shared(case: str) -> None:
    change = rewritten("KL203", CASES[case])
    change.check()
    assert (change.effects.numerics, change.effects.memory) == ("reordered", "more")
    assert "def skinny_reduce(" in change.after


def test_the_epilogue_moves_to_the_kernel_that_adds() -> None:
    change = rewritten("KL203", source())
    first, second = change.after.split("def skinny_reduce(")
    assert "bias" not in first.split("def skinny(")[1]
    assert "    # bias and activation\n" in second
    assert "tl.static_range(SPLIT_K)" in second
    assert "tl.dot" not in second
    assert "tl.store(y_ptrs, acc, mask=y_mask)" in first


def test_pointers_start_at_the_share_of_the_program() -> None:
    lines = rewritten("KL203", source()).lines
    assert "steps = tl.cdiv(tl.cdiv(K, BK), SPLIT_K)" in lines
    assert "first_step = tl.program_id(1) * steps" in lines
    assert "x_ptrs += first_step * BK" in lines
    assert "for step in range(first_step, tl.minimum(first_step + steps, tl.cdiv(K, BK))):" in lines


def test_the_parts_are_added_in_smaller_tiles() -> None:
    change = rewritten("KL203", source())
    assert "skinny_reduce[(triton.cdiv(N, 32),)](" in change.after
    assert "parts = torch.empty((SPLIT_K, *y.shape), device=y.device, dtype=torch.float32)" in change.lines


ONES = source().replace("tl.zeros((BM, BN), dtype=tl.float32)", "tl.full((BM, BN), 1.0, tl.float32)")
TRANSPOSED = source(
    launch=LAUNCH.replace("BN = 128", "y = torch.empty(N, B, dtype=torch.float16).t()\n        BN = 128")
)
REFUSED = {
    "accumulator with a start": (ONES, "start from zeros"),
    "rescaled in the loop": (source(loop=STEPS.replace("(a, b, acc)", "(a, b, acc * 0.5)")), "no plain sum"),
    "loop left early": (source(loop=STEPS + "\n        if step > 10:\n            break"), "left early"),
    "tile used behind": (source(after=EPILOGUE.replace("tl.sigmoid(acc)", "tl.sum(a)")), "used behind it"),
    "strided output": (TRANSPOSED, "contiguous"),
    "its type asked for before": (
        source(
            POINTERS + "\n    kind: tl.constexpr = y.dtype.element_ty", after=EPILOGUE.replace("tl.float16", "kind")
        ),
        "more than one",
    ),
    "two launches": (source() + "\nother = skinny\n", "more places"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_proven_is_left_alone(case: str) -> None:
    text, reason = REFUSED[case]
    with pytest.raises(CannotRewrite, match=reason):
        rewritten("KL203", text)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_parts_add_up(case: str, tmp_path: Path) -> None:
    sizes = {"B": 16, "N": 160, "K": 1088}, {"B": 1, "N": 1, "K": 1}, {"B": 3, "N": 130, "K": 2000}
    assert relative_error(rewritten("KL203", CASES[case]), tmp_path, *sizes) <= 2e-3


def test_an_autotuned_kernel_is_left_alone():
    launch = """grid = lambda META: (triton.cdiv(N, META['BN']),)
        skinny[grid](x, w, bias, y, B, N, K, BM=16)"""
    tuner = "@triton.autotune(configs=[triton.Config({'BN': 128, 'BK': 64}), triton.Config({'BN': 64, 'BK': 64})], key=['K'])"
    with pytest.raises(CannotRewrite, match="autotuned"):
        rewritten("KL203", source(launch=launch).replace("@triton.jit", f"{tuner}\n@triton.jit"))
