"""KL222: a list of configurations that all lose to a tile that is not in it, and the list with it."""

import textwrap

import pytest
from support.findings import run_rule
from support.fixes import fixed, refusal

from kernlint.rules.registry import find_rule

BAD = textwrap.dedent(find_rule("KL222").bad)
FIRST = 'triton.Config({"BM": 16, "BN": 32, "BK": 32}, num_warps=1, num_stages=2),'
LAST = 'triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=2, num_stages=2),'
LIST = BAD[BAD.index("configs=[") + 8 : BAD.index('],\n    key=["N", "K"]') + 1]
GRID = '(4096 // meta["BM"], 4096 // meta["BN"])'
assert all(text in BAD for text in (FIRST, LAST, LIST, GRID, "range(0, K, BK)"))

NAMED = BAD.replace(f"configs={LIST}", "configs=TILES").replace(
    "@triton.autotune", f"TILES = {LIST}\n\n@triton.autotune", 1
)
COMPUTED = BAD.replace(
    LIST,
    '[triton.Config({"BM": m, "BN": n, "BK": 32}, num_warps=w) for m in (16, 32) for n in (16, 32) for w in (1, 2)]',
)
MADE = BAD.replace(f"configs={LIST}", "configs=tiles()").replace(
    "@triton.autotune", f"def tiles():\n    return {LIST}\n\n@triton.autotune", 1
)
GROUPED = BAD.replace('"BK": 32}', '"BK": 32, "G": 8}').replace(
    "BK: tl.constexpr)", "BK: tl.constexpr, G: tl.constexpr)"
)

ALIAS = (
    BAD.replace("import triton\n", "import triton as t\n")
    .replace("triton.Config", "t.Config")
    .replace("@triton.", "@t.")
)
EXTENT = BAD.replace(', "BK": 32}', "}").replace("c, 4096, 4096)", "c, 4096, 4096, BK=32)")
IEEE = BAD.replace("torch.float16", "torch.float32").replace("y, acc)", 'y, acc, input_precision="ieee")')
WRAPPED = BAD.replace(
    "(a + m[:, None] * K + (start + k)[None, :])",
    "(a + (m % N)[:, None] * K + (start + k)[None, :], mask=(m % N)[:, None] < N)",
)
GUESS = BAD.replace("range(0, K, BK)", "range(0, tl.load(a).to(tl.int32) * tl.load(a + 1).to(tl.int32), BK)")
NO_PROGRAM = WRAPPED.replace(GRID, '(-4096 // meta["BM"], 4096 // meta["BN"])')
COMMENTS = BAD.replace(f"{FIRST}\n        {LAST}\n", f"{FIRST}  # one warp\n        {LAST[:-1]}  # two\n")


def tile(m: int, n: int, warps: int) -> str:
    return f'triton.Config({{"BM": {m}, "BN": {n}, "BK": 64}}, num_warps={warps}, num_stages=3),'


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(BAD, id="list in the decorator"),
        pytest.param(NAMED, id="list with a name"),
        pytest.param(COMPUTED, id="comprehension"),
        pytest.param(MADE, id="function of known length"),
        pytest.param(GROUPED, id="a parameter beside the tile"),
        pytest.param(BAD.replace("BM", "ROWS").replace("BK", "DEPTH"), id="other names"),
        pytest.param(BAD.replace("matmul[grid](a, b, c, 4096, 4096)", "matmul[grid](c=c, b=b, a=a, K=4096, N=4096)"), id="keywords"),
        pytest.param(ALIAS, id="alias"),
        pytest.param(BAD.replace(LAST, ""), id="one configuration"),
        pytest.param(WRAPPED, id="rows that wrap around"),
    ],
)  # fmt: skip
def test_every_configuration_loses(source: str) -> None:
    found = run_rule("KL222", source)
    assert found.only().symbol == "matmul"
    launch = found.after().launches()[0]
    assert len(launch.alternatives) > len(found.contexts[0].workload.launches()[0].alternatives)
    assert all(one.autotuned for one in launch.alternatives)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(BAD.replace(LAST, tile(128, 128, 8)), id="a good one"),
        pytest.param(BAD.replace(LAST, tile(256, 128, 8)), id="one near the best"),
        pytest.param(BAD.replace('key=["N", "K"],', 'key=["N", "K"], prune_configs_by={"early_config_prune": keep},'), id="pruned"),
        pytest.param(BAD.replace(LIST, "load_tiles()"), id="function that is not followed"),
        pytest.param(BAD.replace(LIST, f"{LIST} + more_tiles()"), id="list of unknown length"),
        pytest.param(BAD.replace("num_warps=1, num_stages=2", "num_warps=1, num_stages=2, pre_hook=prepare"), id="hook"),
        pytest.param(BAD.replace(GRID, "(256, 256)"), id="grid written out"),
        pytest.param(BAD.replace(GRID, '(4096 // meta["BM"], 128)'), id="columns of a constant"),
        pytest.param(BAD.replace("4096", "4000").replace('"BM": 16', '"BM": 32'), id="tiles that would leave rows out"),
        pytest.param(BAD.replace("4096", "64"), id="a small product"),
        pytest.param(IEEE, id="on the FMA units"),
        pytest.param(EXTENT, id="an extent set at the launch"),
        pytest.param(NO_PROGRAM, id="a grid of no program"),
        pytest.param(GUESS, id="a loop that may run any number of times"),
        pytest.param(BAD.replace("acc = tl.dot(x, y, acc)", "acc = tl.dot(x, y, acc)\n        acc = tl.dot(x, x, acc)"), id="two products"),
    ],
)  # fmt: skip
def test_a_list_that_is_left_alone(source: str) -> None:
    assert not run_rule("KL222", source)


def test_the_list_ends_with_the_new_ones() -> None:
    result = fixed(BAD, "KL222", unsafe=False)
    assert FIRST in result.after and LAST in result.after
    lines = result.after.splitlines()
    added = lines[lines.index(f"        {LAST}") + 1]
    assert added.startswith('        triton.Config({"BM": ') and added.endswith("),")
    assert not run_rule("KL222", result.after)


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        pytest.param(NAMED, "TILES = [", id="list with a name"),
        pytest.param(GROUPED, '"G": 8}, num_warps=8', id="a parameter beside the tile"),
        pytest.param(COMMENTS, "num_stages=2),  # two\n", id="no comma at the end"),
        pytest.param(BAD.replace(LIST, f"[{FIRST} {LAST[:-1]}]"), "num_stages=2), triton.Config(", id="on one line"),
    ],
)  # fmt: skip
def test_ways_to_write_the_list(source: str, kept: str) -> None:
    result = fixed(source, "KL222", unsafe=False)
    assert kept in result.after
    compile(result.after, "kernel.py", "exec")
    assert not run_rule("KL222", result.after)


@pytest.mark.parametrize(
    ("source", "present"),
    [
        pytest.param(COMPUTED, "    *[", id="comprehension"),
        pytest.param(MADE, "    *", id="function"),
        pytest.param(NAMED + "\nOTHERS = list(TILES)\n", "    *TILES,\n", id="shared list"),
        pytest.param(NAMED.replace("configs=TILES", "configs=TILES if tl else []"), "    *(TILES if tl else []),\n", id="condition"),
    ],
)  # fmt: skip
def test_what_comes_from_elsewhere_is_spread(source: str, present: str) -> None:
    result = fixed(source, "KL222", unsafe=False)
    compile(result.after, "kernel.py", "exec")
    assert present in result.after and "\n        triton.Config({" in result.after
    assert "OTHERS = list(TILES)" in result.after or "OTHERS" not in source
    assert not run_rule("KL222", result.after)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param(BAD + "\nother = matmul\n", "more places", id="launched elsewhere"),
    ],
)
def test_lists_that_are_not_rewritten(source: str, reason: str) -> None:
    assert reason in refusal(source, "KL222")
