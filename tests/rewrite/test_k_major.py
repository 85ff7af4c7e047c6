"""A weight that is stored the other way round once, so that its kernel reads it along K."""

import textwrap

from support.fixes import changed, fixed, refusal

from kernlint.request import Request
from kernlint.rules.registry import find_rule

#: The rule's example with the weight passed as it is: [K, N], contiguous along N.
SOURCE = (
    textwrap.dedent(find_rule("KL305").bad)
    .replace("b = w.t().contiguous()", "b = w")
    .replace("w.shape[0]", "w.shape[1]")
)
VALUE = "torch.zeros(1024, 1024, dtype=torch.int8)"


def test_the_first_value_is_laid_out_by_columns() -> None:
    result = fixed(SOURCE, "KL305", unsafe=False)
    gone, came = changed(result)
    assert gone == [f"self.w = torch.nn.Parameter({VALUE}, requires_grad=False)"]
    assert came == [
        "# Contiguous along its first axis, as the tensor cores read it.",
        f"self.w = torch.nn.Parameter({VALUE}.t().contiguous().t(), requires_grad=False)",
    ]
    assert result.applied[0].effects.numerics == "exact"


def test_an_expression_is_put_in_parentheses() -> None:
    source = SOURCE.replace(f"Parameter({VALUE},", f"Parameter(3 * {VALUE},")
    assert f"Parameter((3 * {VALUE}).t().contiguous().t()," in fixed(source, "KL305").after


def test_a_kernel_that_takes_no_strides() -> None:
    source = SOURCE.replace("[:, None] * sbk + n[None, :] * sbn", "[:, None] * N + n[None, :]")
    assert refusal(source, "KL305")


def test_a_weight_that_is_made_otherwise() -> None:
    source = SOURCE.replace(f"self.w = torch.nn.Parameter({VALUE}, requires_grad=False)",
                            f'self.register_parameter("w", torch.nn.Parameter({VALUE}, requires_grad=False))')  # fmt: skip
    from kernlint.fix import fix_source

    assert fix_source(Request(source, path="k.py"), rules=["KL305"]).after == source
