"""What rules said of repositories of a ninth drawing, and should not have: each kind of it, and what is like it and is told."""

from __future__ import annotations

import pytest

from tests.rules.test_eighth_drawing import told

PRINTING = """
    import os
    {before}

    def show(what):
        print(what)

    @triton.jit
    def copy(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        show(i)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    def run(x):
        {inside}
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
"""
INTERPRETED = 'os.environ["TRITON_INTERPRET"] = "1"'


@pytest.mark.parametrize(
    ("before", "inside", "level"),
    [
        (INTERPRETED, "", "info"),
        ('os.environ["TRITON_INTERPRET"] = "0"', "", "error"),
        (f"if not torch.cuda.is_available():\n        {INTERPRETED}", "", "error"),
        ("", INTERPRETED, "error"),
        ("# " + INTERPRETED, "", "error"),
    ],
)
def test_an_interpreter_runs_a_kernel_as_python(before: str, inside: str, level: str) -> None:
    assert [one.severity for one in told("KL719", PRINTING.format(before=before, inside=inside))] == [level]


def test_an_interpreter_has_no_other_names_than_the_compiler() -> None:
    source = PRINTING.format(before=INTERPRETED, inside="").replace("show(i)", "i = tl.unknown(i)")
    assert [one.severity for one in told("KL701", source)] == ["error"]
