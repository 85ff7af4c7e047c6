"""Fills that nobody reads become allocations."""

import textwrap

import pytest
from support.fixes import changed, fixed

from kernlint.fix import fix_source
from kernlint.request import Request
from kernlint.rules.registry import find_rule

SOURCE = textwrap.dedent(find_rule("KL302").bad)
CALL = "torch.zeros_like(x)"
assert CALL in SOURCE


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("torch.zeros_like(x)", "torch.empty_like(x)", id="zeros_like"),
        pytest.param("torch.zeros(x.shape, device=x.device, dtype=x.dtype)",
                     "torch.empty(x.shape, device=x.device, dtype=x.dtype)", id="zeros"),
        pytest.param("torch.full((4096, 4096), 0.0, device=x.device, dtype=torch.float16)",
                     "torch.empty((4096, 4096), device=x.device, dtype=torch.float16)", id="full"),
        pytest.param("torch.full(size=(4096, 4096), fill_value=0.0, dtype=x.dtype)",
                     "torch.empty(size=(4096, 4096), dtype=x.dtype)", id="full by keyword"),
        pytest.param("torch.full_like(x, 1.0)", "torch.empty_like(x)", id="full_like"),
        pytest.param("x.new_zeros(4096, 4096)", "x.new_empty(4096, 4096)", id="new_zeros"),
        pytest.param("torch.ones_like(x)", "torch.empty_like(x)", id="ones_like"),
    ],
)  # fmt: skip
def test_forms(before: str, after: str) -> None:
    result = fixed(SOURCE.replace(CALL, before), "KL302", unsafe=True)
    assert changed(result) == ([f"y = {before}"], [f"y = {after}"])
    assert result.applied[0].effects.numerics == "exact"


def test_an_imported_name() -> None:
    source = SOURCE.replace("import torch\n", "import torch\nfrom torch import zeros_like\n", 1).replace(
        CALL, "zeros_like(x)"
    )
    assert changed(fixed(source, "KL302"))[1] == ["y = torch.empty_like(x)"]


def test_the_comment_that_speaks_of_it() -> None:
    source = SOURCE.replace(
        f"        y = {CALL}", f"        # zero-initialised output\n        y = {CALL}  # zero-fill"
    )
    assert changed(fixed(source, "KL302", unsafe=True))[1] == ["y = torch.empty_like(x)"]


@pytest.mark.parametrize("size", ["int(lens.max())", "lens.tolist()[0]"])
def test_what_numbers_in_a_tensor_say_is_written_another_call_may_leave(size: str) -> None:
    source = SOURCE.replace("def forward(self, x):", "def forward(self, x, lens):").replace("x.numel()", size)
    source = source.replace("dtype=torch.float16)]", "dtype=torch.float16), torch.tensor([4096 * 4096])]")
    assert size in source and "lens):" in source and "torch.tensor(" in source
    assert not fix_source(Request(source, path="kernel.py"), rules=["KL302"], unsafe=True).applied
