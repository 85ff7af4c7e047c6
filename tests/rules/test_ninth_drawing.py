"""What rules said of repositories of a ninth drawing, and should not have: each kind of it, and what is like it and is told."""

from __future__ import annotations

import textwrap

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
        (f'{INTERPRETED}\n    os.environ["TRITON_INTERPRET"] = "0"', "", "error"),
        (f'os.environ["TRITON_INTERPRET"] = "0"\n    {INTERPRETED}', "", "info"),
        (f"if not torch.cuda.is_available():\n        {INTERPRETED}", "", "error"),
        ("", INTERPRETED, "error"),
        ("# " + INTERPRETED, "", "error"),
    ],
)
def test_an_interpreter_runs_a_kernel_as_python(before: str, inside: str, level: str) -> None:
    assert [one.severity for one in told("KL719", PRINTING.format(before=before, inside=inside))] == [level]


def test_a_kernel_made_before_the_interpreter_is_switched_on_is_compiled() -> None:
    source = PRINTING.format(before="", inside="") + f"\n    {INTERPRETED}\n"
    assert [one.severity for one in told("KL719", source)] == ["error"]


@pytest.mark.parametrize(
    ("wrapper", "level"),
    [
        ("from viz import trace", "info"),
        ("from torch.library import wrap_triton as trace", "warning"),  # no launch is followed
        ("def trace(kernel):\n        return kernel", "error"),
    ],
)
def test_what_another_package_launches_may_run_as_python(wrapper: str, level: str) -> None:
    source = PRINTING.format(before=wrapper, inside="").replace("copy[(triton", "trace(copy)[(triton")
    assert [one.severity for one in told("KL719", source)] == [level]


def test_an_interpreter_has_no_other_names_than_the_compiler() -> None:
    source = PRINTING.format(before=INTERPRETED, inside="").replace("show(i)", "i = tl.unknown(i)")
    assert [one.severity for one in told("KL701", source)] == ["error"]


SUMMED = """
    @triton.jit
    def total(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))

    @triton.jit
    def other(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    def zero(*args, **kwargs):
        args[1].zero_()

    {hook}

    def run(x):
        y = torch.empty(1, device=x.device)
        total[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
"""


@pytest.mark.parametrize(
    ("hook", "levels"),
    [("", ["error"]), ("total.add_pre_run_hook(zero)", []), ("other.add_pre_run_hook(zero)", ["error"])],
)
def test_a_hook_that_each_launch_runs_may_clear_what_it_adds_to(hook: str, levels: list[str]) -> None:
    assert [one.severity for one in told("KL761", SUMMED.format(hook=hook))] == levels


MADE = """
    def run({given}):
        @triton.jit
        def copy(x, y, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
        {first}
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
"""


@pytest.mark.parametrize(
    ("given", "first", "level"),
    [
        ("x", "", "error"),
        ("z", "x = z + 1", "error"),
        ("n", 'x = torch.rand(n, device="cuda")', "info"),
        ("", 'x = torch.rand(1000, device="cuda")', "info"),
    ],
)
def test_what_is_given_no_tensor_may_run_once(given: str, first: str, level: str) -> None:
    assert [one.severity for one in told("KL603", MADE.format(given=given, first=first))] == [level]


@pytest.mark.parametrize(
    ("calls", "level"),
    [
        ("print(run(torch.rand(100, device='cuda')))", "info"),
        ("for n in range(9):\n    run(torch.rand(n, device='cuda'))", "error"),
        ("run(torch.rand(100, device='cuda'))\nrun(torch.rand(200, device='cuda'))", "error"),
        ("run(torch.rand(100, device='cuda'))\nSTEPS = [run]", "error"),
        ("def main():\n    run(torch.rand(100, device='cuda'))", "error"),
        ("if __name__ == '__main__':\n    run(torch.rand(100, device='cuda'))", "error"),  # others may import the file
        ("", "error"),
    ],
)
def test_what_a_script_calls_once(calls: str, level: str) -> None:
    source = textwrap.dedent(MADE.format(given="x", first="")) + calls + "\n"
    assert [one.severity for one in told("KL603", source)] == [level]


CHOSEN = """
    @triton.jit
    def k(a, b, o, S, late: tl.constexpr, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        if S > 3:
            p = a
        else:
            if late:
                p = b
            else:
                p = a
        tl.store(o + i, tl.load(p + i))

    def run(o, b, S: int):
        a = torch.zeros(256, device="cuda")
        k[(4,)](a, b, o, S, late=False, B=64)
        k[(4,)](a, {last}, o, S, late=True, B=64)
"""


@pytest.mark.parametrize(("last", "count"), [("b", 0), ("5", 1), ("a + 4", 0)])
def test_what_code_that_is_left_out_or_a_choice_points_into_is_no_number(last: str, count: int) -> None:
    assert len(told("KL711", CHOSEN.format(last=last))) == count


DECIDED = """
    @triton.jit
    def k(x, o, SKIP: tl.constexpr):
        first = tl.program_id(0) == 0
        if not SKIP:
            z = tl.load(x)
        if {test}:
            tl.store(o, z)

    def run(x: torch.Tensor):
        o = torch.zeros(4, device="cuda")
        k[(4,)](x, o, SKIP={skip})
        return o
"""


@pytest.mark.parametrize(
    ("test", "skip", "count"),
    [
        ("first and not SKIP", True, 0),
        ("first and not SKIP", False, 0),
        ("not SKIP and first", True, 0),
        ("first or not SKIP", True, 1),
        ("first", True, 1),
    ],
)
def test_a_constant_decides_a_condition_wherever_it_stands(test: str, skip: bool, count: int) -> None:
    assert (
        len(told("KL711", DECIDED.format(test=test, skip=skip)) + told("KL702", DECIDED.format(test=test, skip=skip)))
        == count
    )
