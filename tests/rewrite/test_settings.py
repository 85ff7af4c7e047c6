"""Tiles and launch options, wherever their numbers stand."""

import re
import textwrap

import pytest
from support.fixes import changed, fixed, refusal

from kernlint.rules.registry import find_rule

MATMUL = textwrap.dedent(find_rule("KL204").bad).lstrip("\n")
LAUNCH = "matmul[(8, 32)](a, b, c, 4096, 4096, BM=128, BN=128, BK=64, num_warps=8, num_stages=1)"
assert LAUNCH in MATMUL


def stages(launch: str, before: str = "", method: str = "") -> tuple[list[str], list[str]]:
    source = MATMUL.replace(LAUNCH, launch).replace("class ModelNew", f"{before}\nclass ModelNew")
    source = (
        source.replace("    def forward", f"{textwrap.indent(method, '    ')}\n    def forward") if method else source
    )
    gone, came = changed(fixed(source, "KL204", unsafe=False))
    # How many stages are best is the cost model's business.
    return gone, [re.sub(r"[234](?=\)$|\}$|$)", "N", line) for line in came]


def test_keyword() -> None:
    assert stages(LAUNCH)[1] == [LAUNCH.replace("num_stages=1", "num_stages=N")]


def test_constant_of_the_module() -> None:
    launch = LAUNCH.replace("num_stages=1", "num_stages=STAGES")
    assert stages(launch, "STAGES = 1\n") == (["STAGES = 1"], ["STAGES = N"])


def test_constant_that_others_read_stays() -> None:
    launch = LAUNCH.replace("num_stages=1", "num_stages=STAGES")
    assert stages(launch, "STAGES = 1\nOTHER = STAGES + 1\n") == ([launch], [launch.replace("STAGES", "N")])


def test_dictionary_of_options() -> None:
    launch = "matmul[(8, 32)](a, b, c, 4096, 4096, **self.LAUNCH)"
    method = "LAUNCH = dict(BM=128, BN=128, BK=64, num_warps=8, num_stages=1)"
    assert stages(launch, method=method) == ([method], [method.replace("num_stages=1", "num_stages=N")])


def test_literal_dictionary_of_options() -> None:
    launch = "matmul[(8, 32)](a, b, c, 4096, 4096, **OPTIONS)"
    options = 'OPTIONS = {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 1}'
    assert stages(launch, options + "\n")[1] == [options.replace('"num_stages": 1', '"num_stages": N')]


def test_two_dictionaries_are_ambiguous() -> None:
    launch = "matmul[(8, 32)](a, b, c, 4096, 4096, **OPTIONS)"
    options = 'OPTIONS = {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 1}\nOLD = {"num_stages": 1}\n'
    source = MATMUL.replace(LAUNCH, launch).replace("class ModelNew", f"{options}\nclass ModelNew")
    assert "dictionary" in refusal(source, "KL204")


def test_positional_tile_and_comment_behind_the_last_argument() -> None:
    source = textwrap.dedent(find_rule("KL201").bad)
    source = source.replace("BM=16, BN=16, BK=32)", "16, 16, 32,  # tile\n                     )")
    gone, came = changed(fixed(source, "KL201", unsafe=False))
    assert len(gone) == 1 and "# tile" in came[0] and "16" not in came[0].split("4096)")[-1].replace("128", "")


def test_tile_and_grid_stay_together() -> None:
    source = textwrap.dedent(find_rule("KL201").bad)
    source = source.replace("        grid = lambda", "        BM, BN = 16, 16\n        grid = lambda")
    source = source.replace('4096 // meta["BM"]', "4096 // BM").replace('4096 // meta["BN"]', "4096 // BN")
    source = source.replace("BM=16, BN=16", "BM=BM, BN=BN")
    result = fixed(source, "KL201", unsafe=False)
    assert re.search(r"BM, BN = (\d{2,3}), (\d{2,3})\n", result.after) and "BM, BN = 16, 16" not in result.after
    assert "BM=BM, BN=BN" in result.after


def test_a_block_of_a_streaming_kernel_is_exact() -> None:
    (applied,) = fixed(textwrap.dedent(find_rule("KL202").bad), "KL202", unsafe=False).applied
    assert applied.effects.numerics == "exact"


def test_a_k_tile_of_floats_is_reordered() -> None:
    (applied,) = fixed(textwrap.dedent(find_rule("KL201").bad), "KL201", unsafe=False).applied
    assert applied.effects.numerics == "reordered"


@pytest.mark.parametrize(
    ("given", "precision"),
    [
        pytest.param('input_precision="ieee"', 'input_precision="tf32"', id="keyword"),
        pytest.param("allow_tf32=False", 'input_precision="tf32"', id="old keyword"),
    ],
)
def test_precision(given: str, precision: str) -> None:
    source = textwrap.dedent(find_rule("KL104").bad).replace('input_precision="ieee"', given)
    result = fixed(source, "KL104")
    assert changed(result)[1] == [f"acc = tl.dot(x, y, acc, {precision})"]
    (applied,) = result.applied
    assert (applied.effects.applicability, applied.effects.numerics) == ("unsafe", "changed")
    assert "tf32" in refusal(source, "KL104", unsafe=False)


def test_one_configuration_of_a_tuner_is_fixed_too_but_by_hand():
    source = MATMUL.replace(
        "@triton.jit", "@triton.autotune([triton.Config({}, num_warps=8, num_stages=1)], key=[])\n@triton.jit"
    )
    source = source.replace("BK=64, num_warps=8, num_stages=1)", "BK=64)")
    assert "configurations of the tuner" in refusal(source, "KL204")
