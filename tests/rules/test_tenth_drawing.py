"""What rules said of repositories of a tenth drawing, and should not have: each kind of it, and what is like it and is told."""

from __future__ import annotations

import pytest

from tests.rules.test_eighth_drawing import told

LOOKED_UP = """
    POWERS = [2**i for i in range({largest})]

    def block_of(x: int) -> int:
        for p in POWERS:
            if {asked}:
                return {result}
        raise ValueError(x)

    @triton.jit
    def copy(x, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    def run(x):
        y = torch.empty_like(x)
        rows, columns = x.size()
        copy[(rows,)](x, y, columns, BLOCK=block_of(columns))
        return y
"""


@pytest.mark.parametrize(
    ("asked", "result", "expected"),
    [
        pytest.param("p >= x", "p", [], id="which of them is returned is open"),
        pytest.param("p >= x", "2**32", ["error", "error"], id="all ways give the same"),
        pytest.param("p >= 2**32", "p", ["error", "error"], id="it is known which"),
    ],
)
def test_what_is_looked_up_in_a_table(asked: str, result: str, expected: list[str]) -> None:
    source = LOOKED_UP.format(largest=33, asked=asked, result=result)
    assert [one.severity for one in told("KL705", source)] == expected


PRUNED = """
    def keep(configs, arguments, **more):
        for config in configs:
            yield triton.Config({{"BLOCK": config.kwargs["BLOCK"], "STEPS": 2}})

    @triton.autotune([{configurations}], key=["n"]{pruning})
    @triton.jit
    def copy(x, y, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
        for step in tl.static_range(STEPS):
            i = (tl.program_id(0) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    def run(x):
        y = torch.empty_like(x)
        copy[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"] * 2),)](x, y, x.numel())
        return y
"""
ONE = 'triton.Config({"BLOCK": 1024})'
TWO = ONE + ', triton.Config({"BLOCK": 2048})'
PRUNING = ', prune_configs_by={"early_config_prune": keep}'


@pytest.mark.parametrize(
    ("configurations", "pruning", "expected"),
    [
        pytest.param(TWO, PRUNING, [], id="what prunes may give others"),
        pytest.param(TWO, "", ["error"], id="nothing prunes"),
        pytest.param(ONE, PRUNING, ["error"], id="a single one is not pruned"),
    ],
)
def test_what_prunes_configurations_may_set_more(configurations: str, pruning: str, expected: list[str]) -> None:
    source = PRUNED.format(configurations=configurations, pruning=pruning)
    assert [one.severity for one in told("KL703", source)] == expected


MISSING = """
    def keep(configs, arguments, **more):
        for config in configs:
            kept = {kept}
            {then}
            yield triton.Config(kept, num_warps=config.num_warps)

    @triton.autotune([triton.Config({{"BLOCK": 1024}}), triton.Config({{"BLOCK": 2048}})], key=["n"],
                     prune_configs_by={{"early_config_prune": lambda a, b, **c: list({pruner}(a, b, **c))}})
    @triton.jit
    def copy(x, y, n, stride, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i * stride, tl.load(x + i, mask=i < n), mask=i < n)

    def run(x):
        y = torch.empty_like(x)
        copy[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
        return y
"""
BLOCK = '{"BLOCK": config.kwargs["BLOCK"]}'


@pytest.mark.parametrize(
    ("kept", "then", "pruner", "expected"),
    [
        pytest.param(BLOCK, "pass", "keep", ["error"], id="no text of the module names it"),
        pytest.param(BLOCK, "kept['stride'] = 1", "keep", [], id="set by its name"),
        pytest.param(BLOCK, "kept.update(more)", "keep", [], id="anything may be added"),
        pytest.param('{**config.kwargs, "BLOCK": 64}', "pass", "keep", [], id="spread"),
        pytest.param("dict(config.kwargs)", "pass", "keep", [], id="not written out"),
        pytest.param(BLOCK, "pass", "keep_elsewhere", [], id="not in view"),
    ],
)
def test_what_no_pruned_configuration_sets(kept: str, then: str, pruner: str, expected: list[str]) -> None:
    source = MISSING.format(kept=kept, then=then, pruner=pruner)
    assert [one.severity for one in told("KL703", source)] == expected
