"""Sizes that are written as literals, and what becomes of them."""

from __future__ import annotations

import pytest

from kernlint.interpret.assume import parse_fact
from kernlint.syntax.sizes import lifted, varied_names
from kernlint.verify.child.loading import load
from kernlint.verify.shapes import assumed_sizes, resized

SOURCE = '''"""A file."""
from __future__ import annotations
import torch

WIDTH = 512

def get_inputs():
    rows, name = 4 * 1024, "x"
    low = torch.randint(-128, 127, (rows, 2048), dtype=torch.int8)
    return [torch.randn(16, 1 << 16, 2048), low, torch.full((32, 3), 64.0), torch.manual_seed(99)]

def get_init_inputs():
    return [2048, 0.5, 77, WIDTH, 4]
'''


def test_literals_become_constants():
    text, sizes = lifted(SOURCE)
    assert sizes == {
        "SIZE_32": 32,
        "SIZE_77": 77,
        "SIZE_2048": 2048,
        "SIZE_4096": 4096,
        "SIZE_65536": 65536,
        "SIZE_16": 16,
    }
    assert text.splitlines()[: len(SOURCE.splitlines())] != SOURCE.splitlines()
    assert len(text.splitlines()) == len(SOURCE.splitlines()) + len(sizes)
    assert "torch.randn(SIZE_16, SIZE_65536, SIZE_2048)" in text and "randint(-128, 127, (rows, SIZE_2048)" in text
    assert "return [SIZE_2048, 0.5, SIZE_77, WIDTH, 4]" in text and "manual_seed(99)" in text and "64.0" in text
    assert set(varied_names(text)) == {*sizes, "WIDTH"}


def test_the_constants_can_be_set(tmp_path):
    text, _ = lifted("def get_inputs():\n    return [1] * 0 or size()\ndef get_init_inputs():\n    return [2048, 96]\n")
    file = tmp_path / "reference.py"
    file.write_text(text)
    assert load(str(file), "lifted_before", {}).get_init_inputs() == [2048, 96]
    assert load(str(file), "lifted_after", {"SIZE_2048": 64}).get_init_inputs() == [64, 96]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def get_inputs(:",
        "def get_inputs():\n    return [torch.randn(3, 4)]\n",
        "def other():\n    return torch.randn(4096)\n",
        "def get_inputs():\n    return [torch.randn(1 << 900, 2 ** 99999, 8 // 0)]\n",
        "def get_inputs():\n    return [torch.tensor([1000, 2000])]\n",
    ],
)
def test_what_holds_no_sizes_stays_as_it_is(source):
    assert lifted(source) == (source, {})


def test_names_that_are_taken_are_not_taken_twice():
    text, sizes = lifted("SIZE_64 = 3\ndef get_inputs():\n    return [torch.randn(64)]  # \u00e9 64")
    assert sizes == {"SIZE_64_": 64}
    assert text.endswith("[torch.randn(SIZE_64_)]  # \u00e9 64\nSIZE_64_ = 64\n")


def test_facts_are_resized_where_extents_are_equal():
    facts = [parse_fact(text) for text in ("x:float16[4096,1024]", "w:float16[1024,8]", "n=1024", "m=7")]
    sizes = assumed_sizes(facts)
    assert sizes == {"SIZE_1024": 1024, "SIZE_4096": 4096}
    small = [resized(fact, {1024: 64, 4096: 33}) for fact in facts]
    assert [fact.shape for fact in small] == [(33, 64), (64, 8), None, None]
    assert [fact.value for fact in small] == [None, None, 64, 7]
