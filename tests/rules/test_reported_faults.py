"""Inputs that people reported, with the right answer to each (``fixtures/reported``): false errors that are to stay away, and
faults that are to be found."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.model import Finding
from kernlint.lint.settings import FileSettings
from kernlint.rules.registry import all_rules
from kernlint.syntax.tree import parse_module
from tests.support.values import HEADER, findings

REPORTED = Path(__file__).parents[2] / "fixtures" / "reported"
DEFAULT = frozenset(rule.code for rule in all_rules() if rule.default)


def checked(name: str, reference: str | None = None, **settings: str) -> list[Finding]:
    path = REPORTED / name
    given = None if reference is None else (reference, (REPORTED / reference).read_bytes())
    job = Job(str(path), path.read_bytes(), FileSettings(DEFAULT, **settings), given, False)  # type: ignore[arg-type]
    return list(check_file(job).findings)


def levels(found: list[Finding]) -> dict[str, str]:
    return {finding.code: finding.severity for finding in found}


@pytest.mark.parametrize(
    ("name", "false"),
    [
        ("faults/p1_while_unknown.py", {"KL715", "KL751"}),
        ("faults/p2_zeros_autotuned_grid.py", {"KL302"}),
        ("faults/p3_gate_slots.py", {"KL759"}),
        ("faults/p4_pointers_walk_back.py", {"KL741"}),
        ("faults/p5_seed_int.py", {"KL782"}),
        ("faults/p7_while_loop_mlp.py", {"KL729", "KL793"}),
        ("cases/14-partial-block-absmax/bad.py", {"KL747"}),
        ("cases/14-partial-block-absmax/good.py", {"KL737", "KL747"}),
    ],
)
def test_what_is_no_fault(name: str, false: set[str]) -> None:
    assert not false & levels(checked(name)).keys()


def test_a_model_behind_a_loop_over_its_layers_depends_on_its_input() -> None:
    found = checked("faults/p7_while_loop_mlp.py", "faults/p7_while_loop_mlp_reference.py")
    assert "KL793" not in levels(found)


def test_tiles_loaded_under_a_run_time_condition_are_not_buffered() -> None:
    kernel, reference = "faults/p8_shared_memory_overestimated.py", "faults/p8_shared_memory_overestimated_reference.py"
    found = checked(kernel, reference, device="rtx-4090", target_triton="3.3")
    assert "KL207" not in levels(found)


def test_a_launch_that_is_tried_is_no_error() -> None:
    assert levels(checked("faults/p6_launch_in_try.py"))["KL709"] != "error"


@pytest.mark.parametrize(
    ("name", "code", "settings"),
    [
        ("faults/m1_dtype_call.py", "KL729", {}),
        ("faults/m2_multiple_of_rank.py", "KL708", {}),
        ("faults/m3_config_attribute.py", "KL795", {}),
        ("faults/m4_cache_modifier.py", "KL801", {"target_triton": "3.3"}),
        ("faults/m5_autotune_called_on_kernel.py", "KL795", {}),
        ("faults/m6_shared_memory_all_configs.py", "KL207", {"device": "rtx-4090"}),
        ("cases/16-group-scale-per-tile/bad.py", "KL797", {}),
        ("cases/18-conv-grad-lost-update/bad.py", "KL758", {}),
        ("cases/20-floor-grid-tail/bad.py", "KL747", {}),
        ("cases/24-branch-type/bad.py", "KL711", {}),
        ("cases/26-block-offset-missing/bad.py", "KL796", {}),
    ],
)
def test_what_is_an_error(name: str, code: str, settings: dict[str, str]) -> None:
    assert levels(checked(name, **settings)).get(code) == "error"


def test_what_may_go_wrong() -> None:
    assert levels(checked("cases/22-pointer-overshoot/bad.py")).get("KL798") == "warning"


def test_undefined_lanes_that_the_sizes_in_view_leave_out() -> None:
    """The maximum is of magnitudes: it takes another compiler to see the fault, which somebody reported of one."""
    assert levels(checked("cases/14-partial-block-absmax/bad.py")).get("KL737") == "warning"


def test_undefined_lanes_that_open_sizes_may_leave_out_and_zero_does_not_harm() -> None:
    source = (REPORTED / "cases/14-partial-block-absmax/bad.py").read_text()
    source = source.replace("assert w.shape == (ROWS, COLS) and w.dtype == torch.bfloat16 and w.is_contiguous()", "")
    job = Job("k.py", source.encode(), FileSettings(DEFAULT), None, False)
    assert levels(list(check_file(job).findings)).get("KL737") == "info"


@pytest.mark.parametrize("name", sorted(path.parent.name for path in REPORTED.glob("cases/*/good.py")))
def test_the_mended_version_has_no_error(name: str) -> None:
    assert not [f for f in checked(f"cases/{name}/good.py") if f.severity == "error"]


def test_a_modifier_that_the_newest_release_takes() -> None:
    assert "KL801" not in levels(checked("faults/m4_cache_modifier.py"))


def test_a_list_nested_beyond_measure_ends() -> None:
    assert levels(checked("faults/t1_nested_list_repr.py")) == {}


def test_slots_whose_distance_is_a_product_of_open_sizes() -> None:
    source = """
    @triton.jit
    def k(part, g, s_gate, s_row, BLK: tl.constexpr, PAD: tl.constexpr):
        r = tl.arange(0, PAD)
        m = (r < BLK)[:, None] & (r < BLK)[None, :]
        v = tl.load(g + r[:, None] * BLK + r[None, :], mask=m, other=0.0)
        first = part + r[:, None] * s_row + r[None, :]
        second = part + s_gate + r[:, None] * s_row + r[None, :]
        tl.store(first, tl.load(first, mask=m) + v, mask=m)
        tl.store(second, tl.load(second, mask=m) + v, mask=m)

    def run(g, w):
        n, b, _ = w.shape
        part = torch.zeros((3, n, b, b), device=g.device, dtype=g.dtype)
        k[(1,)](part, g, part.stride(0), part.stride(2), BLK=b, PAD=triton.next_power_of_2(b))
        return part
    """
    assert findings("KL759", source) == []


def test_an_attribute_of_an_object_out_of_view_is_no_flag() -> None:
    source = """
    from elsewhere import Settings

    @triton.jit
    def k(x, flags, y):
        i = tl.program_id(0)
        if flags is not None:
            tl.store(y + i, tl.load(x + i) * tl.load(flags + i))

    def run(x, settings: Settings):
        y = torch.empty_like(x)
        flags = settings.top_k == 1
        k[(x.shape[0],)](x, flags, y)
        return y
    """
    assert findings("KL729", source) == []


def test_squared_differences_in_a_tile_of_open_extents() -> None:
    source = """
    @triton.jit
    def nearest(p, c, o, K, D: tl.constexpr, N: tl.constexpr, M: tl.constexpr):
        i, j = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, M)
        d = tl.zeros((N, M), dtype=tl.float32)
        for dim in tl.static_range(D):
            a = tl.load(p + i * D + dim).to(tl.float32)
            b = tl.load(c + j * D + dim, mask=j < K, other=0.0).to(tl.float32)
            diff = a[:, None] - b[None, :]
            d += diff * diff
        tl.store(o + i, tl.argmin(d, axis=1))

    def run(p, c):
        o = torch.empty(p.shape[0], device=p.device, dtype=torch.int64)
        block = max(triton.next_power_of_2(c.shape[0]), 16)
        nearest[(triton.cdiv(p.shape[0], 64),)](p, c, o, c.shape[0], D=p.shape[1], N=max(16, 2048 // block), M=block)
        return o
    """
    assert findings("KL511", source) == []


@pytest.mark.parametrize(
    ("loop", "after"),
    [
        ("while p < n:\n            p *= 2", None),  # one round says nothing of the number
        ("for _ in range(n):\n            p += 3", "3*n + 1"),
        ("for _ in range(n):\n            p *= 2", None),
    ],
)
def test_numbers_after_a_loop_of_unknown_length(loop: str, after: str | None) -> None:
    source = f"""
    @triton.jit
    def k(x, p):
        tl.store(x + p, 0.0)

    def run(x, n: int):
        p = 1
        {loop}
        k[(1,)](x, p)
        return x
    """
    module = parse_module(HEADER + textwrap.dedent(source), "example.py")
    (workload,) = Program(module, None, Question()).workloads()
    told = workload.launches()[0].arguments.get("p")
    assert (None if told is None else str(told)) == after


def test_quotients_of_exponentials() -> None:
    kernel = """
    @triton.jit
    def k(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, {value}, mask=i < n)
    """
    wrong = [
        "(tl.exp(2 * v) - 1) / (tl.exp(2 * v) + 1)",
        "v * (tl.exp(v) / (1 + tl.exp(v)))",
        "tl.exp(v) / tl.sum(tl.exp(v))",
    ]
    right = [
        "1 / (1 + tl.exp(-v))",
        "tl.exp(v - tl.max(v)) / tl.sum(tl.exp(v - tl.max(v)))",
        "tl.exp(tl.minimum(v, 20.0)) / (1 + tl.exp(tl.minimum(v, 20.0)))",
        "tl.where(v > 80, 1.0, tl.exp(v) / (1 + tl.exp(v)))",
    ]
    assert [bool(findings("KL786", kernel.format(value=value))) for value in wrong] == [True] * len(wrong)
    assert [bool(findings("KL786", kernel.format(value=value))) for value in right] == [False] * len(right)


def codes_of(source: str, path: str = "k.py") -> set[str]:
    job = Job(path, (HEADER + textwrap.dedent(source)).encode(), FileSettings(DEFAULT), None, False)
    return {finding.code for finding in check_file(job).findings}


def test_what_a_test_expects_to_be_refused() -> None:
    source = """
    import pytest

    @triton.jit
    def k(x, values):
        tl.store(x, tl.float32(values))

    def run(x):
        {manager}:
            k[(1,)](x, 1)
        return x
    """
    assert "KL729" in codes_of(source.format(manager="with torch.no_grad()"))
    assert "KL729" not in codes_of(source.format(manager="with pytest.raises(triton.TritonError)"))


def test_an_argument_whose_elements_are_assigned_may_be_a_tuple() -> None:
    source = """
    @triton.jit
    def more(values):
        for i in tl.static_range(len(values)):
            values[i] = values[i] + 1
        return values

    @triton.jit
    def k(x, values):
        more(values)
        tl.store(x, 0.0)

    def run(x, values):
        k[(1,)](x, values)
    """
    assert "KL709" not in codes_of(source)


def test_a_fork_of_triton_ships_its_own_modules(tmp_path: Path) -> None:
    source = """
    from triton.tools.experimental_descriptor import create

    @triton.jit
    def k(x):
        tl.store(x, 0.0)
    """
    path = tmp_path / "k.py"
    path.write_text(HEADER + textwrap.dedent(source))
    tools = tmp_path / "python" / "triton" / "tools"
    tools.mkdir(parents=True)
    assert "KL803" in codes_of(source, str(path))
    (tools / "experimental_descriptor.py").write_text("")
    assert "KL803" not in codes_of(source, str(path))
