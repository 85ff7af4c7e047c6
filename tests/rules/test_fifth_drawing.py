"""What rules said of packages of a fifth drawing, and should not have: each kind of it, and what is like it and is told."""

import pytest

from tests.support.values import severities

CASE = """
    import unittest

    @triton.jit
    def twice(x, o, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n, other=0.0) * 2, mask=i < n)

    class {name}({base}):
        def {method}(self):
            x = torch.ones(4096, device="cuda")
            o = torch.empty_like(x)
            for n in (4096, 2048):
                twice[(16,)](x, o, n, B=256)
                if o[0].item() != 2:
                    raise ValueError(n)
            return o
"""


@pytest.mark.parametrize(
    ("base", "expected"), [("unittest.TestCase", []), ("torch.nn.Module", ["warning"]), ("Base", [])]
)
def test_what_a_test_case_waits_for(base: str, expected: list[str]) -> None:
    own = "\n    class Base(unittest.TestCase):\n        pass\n"
    source = CASE.replace("    class {name}", f"{own}\n    class {{name}}" if base == "Base" else "    class {name}")
    assert severities("KL602", source.format(name="Twice", base=base, method="forward")) == expected


CHOSEN = """
    @triton.jit
    def copy(x, o, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)

    def plain(x, o):
        copy[(16,)](x, o, x.numel(), B=64)

    def blocked(x, o, block):
        copy[(16,)](x, o, x.numel(), B=64)

    def run(x, plan):
        o = torch.empty_like(x)
        if plan["kind"] == "plain":
            solve = plain
        else:
            solve = {other}
        if plan["kind"] == "plain":
            solve(x, o)
        else:
            solve(x, o, block=16)
        return o
"""


def test_a_function_that_one_condition_picks_with_its_arguments() -> None:
    assert severities("KL795", CHOSEN.format(other="blocked")) == []
    assert severities("KL795", CHOSEN.format(other="plain")) == ["warning"]
