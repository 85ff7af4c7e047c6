"""Answers where types or sizes are open: what they rest on, how they flip, and what they never do."""

from __future__ import annotations

import re
import textwrap
from functools import cache

import jsonschema
import pytest

from kernlint.analysis import Analysis, analysis
from kernlint.interpret import docstrings
from kernlint.interpret.plausible_sizes import _role
from kernlint.records import replace
from kernlint.request import Request
from kernlint.schema import load
from kernlint.workload import TorchOp

STREAM = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def {kernel}(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n)
        tl.store(y_ptr + offs, {value}, mask=offs < n)

    def apply(x{annotation}):
        {check}
        y = torch.empty_like(x)
        n = x.numel()
        {kernel}[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
        return y
"""

UPCAST = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        rm = tl.program_id(0) * BM + tl.arange(0, BM)
        rn = tl.program_id(1) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0)
            b = tl.load(b_ptr + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0)
            acc += tl.dot(a.to(tl.float32), b.to(tl.float32))
        tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))

    def matmul(a, b):
        M, K = a.shape
        N, _ = b.shape
        c = torch.empty((M, N), device=a.device, dtype=torch.float32)
        kernel[(triton.cdiv(M, 64), triton.cdiv(N, 64))](a, b, c, M, N, K, BM=64, BN=64, BK=32)
        return c
"""


@cache
def ask(source: str, *assumptions: str, performance: str | None = None) -> Analysis:
    return analysis(Request(textwrap.dedent(source), assumptions=tuple(assumptions), performance=performance))


def stream(kernel: str = "copy", value: str = "x * 2", annotation: str = "", check: str = "pass") -> Analysis:
    return ask(STREAM.format(kernel=kernel, value=value, annotation=annotation, check=check))


def types(found: Analysis) -> dict[str, tuple[object, str]]:
    return {fact.name: (fact.value, fact.source) for fact in found.verdict.details.scenarios[0].facts}


def test_an_open_call_is_answered_by_its_first_scenario():
    found = stream()
    details = found.verdict.details
    assert details.certainty == "assumed" and [s.name for s in details.scenarios[:3]] == ["medium", "decode", "large"]
    assert details.estimate.gpu.before_us == pytest.approx(details.scenarios[0].before_us, abs=0.01)
    assert types(found)["x"] == ("float32", "usual")
    assert "`x` float32 (nothing in view tells it)" in found.verdict.reason and "x.numel=" in found.verdict.reason
    assert "--assume 'apply.x:float32' --assume 'x.numel=4194304'" in found.verdict.reason
    jsonschema.validate(found.verdict.to_json(), load("verdict"))


def test_the_reason_says_how_the_answer_flips():
    reason = ask(UPCAST).verdict.reason
    assert "if `a` and `b` int8" in reason and "at decode sizes" in reason


def test_sizes_at_which_nothing_runs_or_that_change_nothing_are_no_scenario():
    whole = UPCAST.replace("triton.cdiv(M, 64)", "M // 64")
    names = [scenario.name for scenario in ask(whole).verdict.details.scenarios]
    assert names[0] == "medium" and "large" in names and "decode" not in names
    given = ask(UPCAST, "a:float16[4096,4096]").verdict.details.scenarios
    assert [scenario.name for scenario in given[:2]] == ["medium", "large"]


def test_a_call_that_runs_nothing_is_told_as_wrong():
    verdict = ask(UPCAST.replace("triton.cdiv(M, 64)", "M // 64"), "a:float16[16,4096]", "b:float16[4096,4096]").verdict
    assert not verdict.worth_optimizing and "Correct first" in verdict.reason and "KL794" in verdict.reason


def test_a_yes_always_says_what_it_gains():
    found = ask(UPCAST)
    assert found.verdict.worth_optimizing and found.verdict.expected_speedup
    assert found.verdict.expected_speedup == found.verdict.details.scenarios[0].speedup


def test_what_is_assumed_makes_no_finding_above_info_and_no_fix():
    details = ask(UPCAST).verdict.details
    rule = details.rule
    assert rule is not None
    chosen = next(finding for finding in details.findings if finding.rule == rule)
    assert chosen.severity == "info"
    assert details.fix is not None and not details.fix.automatic and "assumed" in (details.fix.reason or "")


def test_given_facts_leave_nothing_assumed():
    details = ask(UPCAST, "a:int8[4096,4096]", "b:int8[4096,4096]").verdict.details
    assert details.certainty == "proven" and details.scenarios == ()
    assert details.rule is not None and details.rule.code == "KL101"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"value": "tl.exp(x)"}, ("float32", "legality"), id="tl.exp takes float32 alone"),
        pytest.param({"kernel": "copy_fp8"}, ("float8_e4m3fn", "name"), id="the kernel's name"),
        pytest.param({"check": '"""x: half, any shape."""'}, ("float16", "docstring"), id="docstring"),
        pytest.param({"check": "pass  # x: bf16"}, ("bfloat16", "comment"), id="comment"),
        pytest.param(
            {"check": "assert x.dtype in (torch.bfloat16, torch.float16)"}, ("bfloat16", "check"), id="one of two"
        ),
        pytest.param(
            {"check": "if x.dtype not in [torch.bfloat16, torch.float16]: raise TypeError"},
            ("bfloat16", "check"),
            id="guard",
        ),
        pytest.param(
            {"check": "assert x.dtype == torch.int8 or x.dtype == torch.float16"}, ("int8", "check"), id="either"
        ),
    ],
)  # fmt: skip
def test_types_come_from_evidence(options, expected):
    assert types(stream(**options))["x"] == expected


def test_a_type_that_a_check_fixes_is_no_assumption():
    found = stream(check="torch._check(x.dtype == torch.float16)")
    assert "x" not in types(found)


def test_a_call_that_waits_for_a_value_is_answered_too():
    found = stream(check="if x.sum().item() > 0: pass")
    assert found.verdict.details is not None and found.judgement.certainty == "assumed"


def test_columns_that_all_programs_update_are_summed_up_first():
    found = ask("""
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def columns(x_ptr, s_ptr, stride, N, BLOCK: tl.constexpr):
            cols = tl.arange(0, BLOCK)
            x = tl.load(x_ptr + tl.program_id(0) * stride + cols, mask=cols < N, other=0.0)
            tl.store(x_ptr + tl.program_id(0) * stride + cols, x * 2, mask=cols < N)
            tl.atomic_add(s_ptr + cols, x, mask=cols < N)

        def column_sums(x):
            M, N = x.shape
            assert x.dtype == torch.float32
            s = torch.zeros(N, device=x.device, dtype=torch.float32)
            columns[(M,)](x, s, x.stride(0), N, BLOCK=triton.next_power_of_2(N))
            return s
    """)
    headroom = found.judgement.headroom
    assert found.verdict.worth_optimizing and headroom is not None and headroom.achievable_us < headroom.now_us / 2


def test_strides_of_tensors_of_unknown_rank_are_those_of_dense_ones():
    found = ask(UPCAST.replace("N, _ = b.shape", "N = b.shape[0]").replace("rn[None, :] * K + rk", "rn[None, :] * S + rk")
                .replace("M, N, K, BM: tl", "M, N, K, S, BM: tl").replace("M, N, K, BM=64", "M, N, K, b.stride(0), BM=64"))  # fmt: skip
    dense = ask(UPCAST)
    times = [one.judgement.before.total_us("gpu") for one in (found, dense)]
    assert None not in times and 0.8 < times[0] / times[1] < 1.25  # type: ignore[operator]


GATED = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def gated(x_ptr, g_ptr, y_ptr, N, sx, sg, BLOCK: tl.constexpr):
        row, cols = tl.program_id(0), tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * sx + cols, mask=cols < N)
        tl.store(y_ptr + row * sx + cols, x * tl.load(g_ptr + {offset}, mask=cols < N), mask=cols < N)

    def gate(x, g):
        y = torch.empty_like(x)
        gated[(x.shape[0],)](x, g, y, x.shape[1], x.stride(0), g.stride(0), BLOCK=4096)
        return y
"""


@pytest.mark.parametrize(("offset", "step"), [("row * sg + cols", 4096), ("cols * sg", 1), ("row * sg", 1)])
def test_what_is_stepped_through_without_a_stride_is_an_axis_of_its_own(offset, step):
    launch = ask(GATED.format(offset=offset)).judgement.workload.first_call().launches()[0]
    assert launch.arguments["sg"] == step


def test_times_behind_loaded_addresses_are_not_decided():
    found = ask("""
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def double(table, n, BLOCK: tl.constexpr):
            x_ptr = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float16))
            for start in range(0, n, BLOCK):
                offs = start + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + offs, mask=offs < n)
                tl.store(x_ptr + offs, tl.dot(x[:, None], x[None, :]).to(tl.float16), mask=offs < n)

        def apply(xs):
            table = torch.tensor([x.data_ptr() for x in xs], dtype=torch.int64, device="cuda")
            for x in xs:
                assert x.numel() == 1048576
            double[(len(xs),)](table, 1048576, BLOCK=64)
    """)
    (launch,) = found.judgement.workload.launches()
    assert [str(operand.dtype) for dot in launch.kernel.dots() for operand in (dot.a, dot.b)] == ["float16"] * 2
    assert not found.verdict.worth_optimizing and found.judgement.certainty == "unknown"
    assert found.verdict.reason.startswith("Not decided: what `double` reads and writes lies behind addresses")


#: A kernel on loaded addresses, in a grid that data decide.
ADDRESSES = """
    import torch, triton
    import triton.language as tl

    @triton.jit
    def double(table, lengths, BLOCK: tl.constexpr):
        x_ptr = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float16))
        offs = tl.arange(0, BLOCK)
        m = offs < tl.load(lengths + tl.program_id(0))
        tl.store(x_ptr + offs, 2 * tl.load(x_ptr + offs, mask=m), mask=m)

    def apply(xs):
        table = torch.tensor([x.data_ptr() for x in xs], dtype=torch.int64, device="cuda")
        lengths = torch.tensor([x.numel() for x in xs], dtype=torch.int32, device="cuda")
        double[(sum(triton.cdiv(x.numel(), 1024) for x in xs),)](table, lengths, BLOCK=1024)
"""


def test_what_is_asked_of_loaded_addresses_decides():
    reason = ask(ADDRESSES).verdict.reason
    assert reason.startswith("Not decided: what `double` reads and writes lies behind addresses")
    assert "--perf as a file with lines such as `double: 120 us`, together with --assume " in reason
    facts = re.findall(r"--assume '([^']*)'", reason)
    told = ask(ADDRESSES, *facts, performance="double: 120 us").verdict
    assert facts and not told.reason.startswith("Not decided")


def test_nothing_to_go_by_is_not_decided():
    source = STREAM.format(kernel="copy", value="x", annotation="", check="from elsewhere import grid_of").replace(
        "(triton.cdiv(n, 1024),)", "(grid_of(x),)"
    )
    verdict = ask(source).verdict
    assert verdict.details.certainty == "unknown" and not verdict.worth_optimizing
    assert (
        verdict.reason.startswith("Not decided:")
        and "--assume 'apply.x:float16' --assume 'grid[0]=1024'" in verdict.reason
    )


def test_what_bounds_a_loop_holds_integers():
    found = ask("""
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def sums(x_ptr, w_ptr, y_ptr, N, BLOCK: tl.constexpr):
            group, cols = tl.program_id(0), tl.arange(0, BLOCK)
            acc = tl.zeros((BLOCK,), dtype=tl.float32)
            for row in range(tl.load(w_ptr + group), tl.load(w_ptr + group + 1)):
                acc += tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)
            tl.store(y_ptr + group * N + cols, acc, mask=cols < N)

        def apply(x, w):
            y = torch.empty(w.numel() - 1, x.shape[1], device=x.device)
            sums[(w.numel() - 1,)](x, w, y, x.shape[1], BLOCK=4096)
            return y
    """)
    facts = {fact.name: (fact.value, fact.source) for fact in found.verdict.details.scenarios[0].facts}
    assert facts["w"] == ("int32", "use") and facts["x"][0] == "float32" and "w.shape[1]" not in facts


def test_loops_between_loaded_bounds_are_listed():
    source = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def segment_sum(x_ptr, ptr, y_ptr, D, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        cols = tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK,), dtype=tl.float32)
        for i in range(tl.load(ptr + row), tl.load(ptr + row + 1)):
            acc += tl.load(x_ptr + i * D + cols, mask=cols < D, other=0.0)
        tl.store(y_ptr + row * D + cols, acc, mask=cols < D)

    def sums(x, offsets, n):
        y = torch.empty((n, 128), device=x.device, dtype=torch.float32)
        segment_sum[(n,)](x, offsets, y, 128, BLOCK=128)
        return y
    """
    found = ask(source, "x:float32[65536,128]", "offsets:int32[4097]", "n=4096")
    details = found.verdict.details
    assert details.certainty == "assumed"
    assert [fact.source for fact in details.scenarios[0].facts] == ["guess"]
    assert any("the loop at line 11 runs 16 in the mean" in text for text in details.estimate.assumptions)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("a: (M, K) int8, b: (K, N) fp16", "a", "int8"),
        ("a: (M, K) int8, b: (K, N) fp16", "b", "float16"),
        ("q, k, v: [B, H, N, D] bf16", "q", "bfloat16"),
        ("a is big. b is int8", "a", None),
        ("aa: int8", "a", None),
        ("a: integer weights", "a", None),
    ],
)  # fmt: skip
def test_types_in_prose_belong_to_the_name_before_them(text, name, expected):
    told = map(docstrings.first_type, docstrings._beside(name, text, ["a", "b", "q", "k", "v"]))
    found = next((dtype for dtype in told if dtype is not None), None)
    assert (None if found is None else str(found)) == expected


@pytest.mark.parametrize(
    ("symbol", "names", "rank", "role"),
    [
        ("x.shape[0]", ["M"], 2, "rows"),
        ("x.shape[1]", ["K"], 2, "features"),
        ("x.shape[1]", ["vocab_size"], 2, "classes"),
        ("q.shape[1]", ["H"], 4, "heads"),
        ("x.shape[1]", ["C"], 4, "channels"),
        ("x.shape[2]", ["H"], 4, "pixels"),
        ("x.numel", [], 0, "elements"),
        ("grid[0]", [], 0, None),
        ("frobnication", [], 0, None),
    ],
)  # fmt: skip
def test_roles_of_sizes(symbol, names, rank, role):
    assert _role(symbol, names, {"x": rank, "q": rank}) == role


LISTED = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def double(x, y, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at, mask=at < n).to(tl.float32) * 2, mask=at < n)

    def each({parameters}):
        outs = []
        for {target} in {items}:
            assert x.dtype in (torch.float16, torch.bfloat16)
            rows, columns = x.shape
            y = torch.empty_like(x)
            double[(triton.cdiv(rows * columns, 1024),)](x, y, rows * columns, BLOCK=1024)
            outs.append(y)
        return outs
"""
DEMO = """
    if __name__ == "__main__":
        sizes = [(2, 3), (4, 5)]
        each([(torch.randn(m, n, device="cuda", dtype=torch.bfloat16), 1.0) for m, n in sizes])
"""


@pytest.mark.parametrize(
    ("parameters", "target", "items", "name"),
    [
        ("pairs", "x, s", "pairs", "pairs[][0]"),
        ("pairs", "i, (x, s)", "enumerate(pairs)", "pairs[][0]"),
        ("pairs: list[tuple[torch.Tensor, float]]", "x, s", "pairs", "pairs[][0]"),
        ("xs", "x", "xs", "xs[]"),
        ("xs: 'Sequence[Tensor]'", "x", "xs", "xs[]"),
        ("xs, ss", "x, s", "zip(xs, ss)", "xs[]"),
        ("xs", "x", "[xs[i] for i in range(len(xs))]", "xs[]"),
    ],
)
def test_items_of_a_list_have_names_that_facts_can_be_given_of(parameters, target, items, name):
    source = LISTED.format(parameters=parameters, target=target, items=items)
    found = ask(source)
    listed = name.partition("[")[0]
    assert found.judgement.certainty == "assumed" and types(found)[name] == ("float16", "check")
    sizes = {fact.name: fact.value for fact in found.verdict.details.scenarios[0].facts}
    assert sizes[f"len({listed})"] == 8 and sizes[f"{name}.shape[0]"] == 4096
    # What would decide it can be typed as it stands.
    given = re.findall(r"--assume '([^']*)'", found.verdict.reason)
    assert f"each.{name}:float16[4096,4096]" in given and f"len({listed})=8" in given
    told = ask(source, *given)
    assert told.judgement.certainty == "proven" and told.judgement.before.total_us("gpu") == pytest.approx(
        found.judgement.before.total_us("gpu")
    )


def test_a_demonstration_tells_types_and_its_small_sizes_stand_beside_ordinary_ones():
    found = ask(LISTED.format(parameters="pairs", target="x, s", items="pairs") + DEMO)
    scenarios = found.verdict.details.scenarios
    assert types(found)["pairs[][0]"] == ("bfloat16", "call")
    assert [one.name for one in scenarios[:3]] == ["medium", "decode", "large"]
    assert scenarios[-1].name.startswith("call at") and scenarios[-1].before_us < scenarios[0].before_us
    (fact,) = scenarios[-1].facts
    assert fact.value == "[[bfloat16[2,3], 1.0], [bfloat16[4,5], 1.0]]" and "a demonstration" in fact.evidence


def test_a_demonstration_of_ordinary_size_comes_first():
    found = ask(
        LISTED.format(parameters="pairs", target="x, s", items="pairs") + DEMO.replace("(2, 3)", "(4096, 4096)")
    )
    assert found.verdict.details.scenarios[0].name.startswith("call at")
    assert [one.name for one in found.verdict.details.scenarios[1:4]] == ["medium", "decode", "large"]


@pytest.mark.parametrize("elements", ["x.reshape(-1, x.shape[-1])", "x.view(-1, x.size(-1))", "x.flatten(0, -2)"])
def test_a_tensor_of_unknown_rank_is_taken_to_have_as_many_axes_as_are_asked_for(elements):
    found = ask(LISTED.format(parameters="x", target="x", items=f"({elements},)"))
    sizes = {fact.name: fact.value for fact in found.verdict.details.scenarios[0].facts}
    assert (sizes["x.shape[0]"], sizes["x.shape[1]"]) == (4096, 4096)


def test_what_is_wrong_at_assumed_sizes_alone_is_not_said_to_be_wrong():
    source = STREAM.format(kernel="copy", value="x", annotation="", check="pass").replace("x.numel()", "65 * 1024")
    found = ask(source.replace("(triton.cdiv(n, 1024),)", "(len(x),)"))
    assert found.judgement.certainty == "assumed" and not found.judgement.errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[batch, heads, dim] fp16", ("batch", "heads", "dim")),
        ("int8 (M, K), row-major", ("M", "K")),
        (": [num_blocks x 16 x heads]", ("num_blocks", "16", "heads")),
        ("tensor (contiguous)", ()),
        ("f(x)", ()),
    ],
)
def test_axes_that_are_written(text, expected):
    assert docstrings.axes(text) == expected


def test_what_axes_are_called_in_a_comment_tells_their_sizes():
    source = LISTED.format(parameters="x", target="x", items="(x,)")
    told = source.replace("def each(x):", "def each(x):  # x: [tokens, vocab]")
    sizes = {fact.name: fact.value for fact in ask(told).verdict.details.scenarios[0].facts}
    assert (sizes["x.shape[0]"], sizes["x.shape[1]"]) == (4096, 32768)


@pytest.mark.parametrize("renamed", [("matmul(a, b)", "i8_mm(a, b)"), ("matmul(a, b)", "matmul(a, b, scale_a)")])
def test_what_is_quantised_by_its_name_or_has_scales_is_int8(renamed):
    found = ask(UPCAST.replace(*renamed))
    assert types(found)["a"] == types(found)["b"] == ("int8", "use")
    assert any("float16" in str(fact.value) for one in found.verdict.details.scenarios[1:] for fact in one.facts)


def test_a_weight_has_as_many_rows_as_the_activation_has_columns():
    decode = ask(UPCAST.replace("N, _ = b.shape", "_, N = b.shape")).verdict.details.scenarios[1]
    sizes = {fact.name: fact.value for fact in decode.facts}
    assert sizes["a.shape[0]"] == 16 and sizes["b.shape[0]"] == sizes["a.shape[1]"] == 4096


@pytest.mark.parametrize(
    "check",
    [
        "ok = x.dtype == torch.bfloat16\n        assert ok",
        "good = x.dtype == torch.bfloat16 and x.is_contiguous()\n        if not good:\n            raise TypeError",
        "bad = x.dtype != torch.bfloat16\n        if bad:\n            raise TypeError",
        "a = x.dtype == torch.bfloat16\n        b = x.dim() == 1\n        assert a and b",
    ],
)
def test_a_check_that_is_kept_in_a_name_is_a_fact(check):
    found = stream(check=check)
    assert "x" not in types(found) and [str(t.dtype) for t in found.judgement.workload.inputs] == ["bfloat16"]


@pytest.mark.parametrize(
    "check",
    [
        "ok = x.dtype == torch.bfloat16\n        ok = True\n        assert ok",
        "ok = x.dtype == torch.bfloat16\n        x = x.half()\n        assert ok",
    ],
)
def test_a_name_that_stands_for_something_else_by_then_is_none(check):
    assert "x" in types(stream(check=check))


RECORD = """
    from typing import NamedTuple
    from dataclasses import dataclass

    @dataclass
    class Config:
        block: int = 1024
        scale: float = 2.0

    class Given(NamedTuple):
        x: torch.Tensor
        s: torch.Tensor

    class Doubled:
        def __init__(self, config: Config):
            self.config = config

        def __call__(self, given: Given):
            x, s = given
            *lead, columns = given.x.shape
            rows = x.numel() // columns
            y = torch.empty(rows, columns, dtype=x.dtype)
            double[(triton.cdiv(rows * columns, self.config.block),)](x, y, rows * columns, BLOCK=self.config.block)
            return y
"""


def test_fields_of_an_object_that_is_given_have_names_and_defaults():
    source = LISTED.split("    def each")[0] + RECORD
    found = ask(source)
    sizes = {fact.name: fact.value for fact in found.verdict.details.scenarios[0].facts}
    assert (sizes["given.x.shape[0]"], sizes["given.x.shape[1]"]) == (4096, 4096)
    assert found.judgement.workload.launches()[0].constexprs == {"BLOCK": 1024}
    told = ask(source, *re.findall(r"--assume '([^']*)'", found.verdict.reason))
    assert told.judgement.certainty == "proven"


def test_what_finfo_says_of_a_type_is_known():
    found = ask(STREAM.format(kernel="copy", value="x / n", annotation="", check="assert x.dtype == torch.float32")
                .replace("(x, y, n,", "(x, y, torch.finfo(torch.float8_e4m3fn).max,"))  # fmt: skip
    assert found.judgement.workload.launches()[0].arguments["n"] == 448.0


LAYER = """
    import torch
    import triton
    import triton.language as tl

    _PLAIN: tl.constexpr = tl.constexpr(0)
    _HALF: tl.constexpr = tl.constexpr(3)

    @triton.jit
    def rows(x_ptr, y_ptr, n, WAY: tl.constexpr, BLOCK: tl.constexpr):
        at = tl.program_id(0) * n + tl.arange(0, BLOCK)
        mask = tl.arange(0, BLOCK) < n
        x = tl.load(x_ptr + at, mask=mask)
        if WAY == _HALF:
            x = x * 0.5
        tl.store(y_ptr + at, x * 2, mask=mask)

    def run(x, way, block):
        if x.shape[1] > block:
            raise ValueError("too wide")
        y = torch.zeros_like(x)
        rows[(x.shape[0],)](x, y, x.shape[1], way, block)
        return y
"""
CALLER = """
    class Rows(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return run(x, 3, triton.next_power_of_2(x.shape[1]))
"""


def test_a_helper_is_answered_by_the_autograd_function_that_calls_it():
    found = ask(LAYER + CALLER)
    assert found.judgement.workload.entry == "Rows.forward" and found.verdict.details.certainty == "assumed"
    assert not any(fact.source == "guess" for fact in found.verdict.details.scenarios[0].facts)


def test_no_yes_rests_on_a_tile_that_nothing_tells():
    found = ask(LAYER)
    assert not found.verdict.worth_optimizing and found.verdict.details.certainty == "unknown"
    assert "Not decided" in found.verdict.reason and "nothing tells `BLOCK` of `rows`" in found.verdict.reason
    assert "`WAY`" not in found.verdict.reason and "--assume NAME=VALUE" in found.verdict.reason


def test_a_way_that_is_only_compared_is_one_of_those_that_the_kernel_has():
    found = ask(LAYER, "run.block=4096")
    (fact,) = [fact for fact in found.verdict.details.scenarios[0].facts if fact.source == "guess"]
    assert (fact.name, fact.value) == ("rows.WAY", "3") and found.verdict.details.certainty == "assumed"


WHOLE_AXIS = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def scores(q_ptr, k_ptr, s_ptr, n, D: tl.constexpr, BK: tl.constexpr):
        rows, cols = tl.program_id(0) * 64 + tl.arange(0, 64), tl.program_id(1) * 64 + tl.arange(0, 64)
        acc = tl.zeros((64, 64), tl.float32)
        for start in range(0, D, BK):
            d = start + tl.arange(0, BK)
            q = tl.load(q_ptr + tl.program_id(2) * n * D + rows[:, None] * D + d[None, :])
            k = tl.load(k_ptr + tl.program_id(2) * n * D + cols[None, :] * D + d[:, None])
            acc = tl.dot(q, k, acc)
        tl.store(s_ptr + tl.program_id(2) * n * n + rows[:, None] * n + cols[None, :], acc)

    def attend(q, k):
        H, N, D = q.shape
        s = torch.empty((H, N, N), device=q.device)
        scores[(N // 64, N // 64, H)](q, k, s, N, D, {BK})
        return s
"""


@pytest.mark.parametrize(("tile", "size"), [("D", 128), ("64", 4096)])
def test_an_axis_that_a_tile_of_a_product_holds_whole_is_as_long_as_that_of_a_head(tile, size):
    found = ask(WHOLE_AXIS.replace("{BK}", tile))
    facts = {fact.name: fact.value for fact in found.verdict.details.scenarios[0].facts}
    assert facts["q.shape[2]"] == size
    assert "shared memory" not in found.verdict.reason


def test_the_sizes_of_tensors_that_are_constants_are_plausible_ones():
    found = ask("""
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def heads(q_ptr, k_ptr, rows, kv_heads: tl.constexpr, dim: tl.constexpr, tile: tl.constexpr):
            at = tl.program_id(0) * kv_heads * dim + tl.arange(0, tile)
            mask = tl.arange(0, tile) < kv_heads * dim
            tl.store(q_ptr + at, tl.load(k_ptr + at, mask=mask), mask=mask)

        def spread(q, k):
            batch, length, q_heads, dim = q.shape
            kv_heads = k.shape[2]
            tile = triton.next_power_of_2(kv_heads * dim)
            heads[(batch * length,)](q, k, batch * length, kv_heads, dim, tile)
    """)
    facts = {fact.name: fact for fact in found.verdict.details.scenarios[0].facts}
    assert facts["k.shape[2]"].source == "ladder" and not any(fact.source == "guess" for fact in facts.values())


def test_the_next_power_of_two_by_the_bits_of_a_size_is_followed():
    found = ask(
        LAYER.replace(
            "def run(x, way, block):", "def run(x):\n        way, block = 3, 1 << (x.shape[1] - 1).bit_length()"
        )
    )
    assert found.verdict.details.certainty == "assumed"
    assert not any(fact.source == "guess" for fact in found.verdict.details.scenarios[0].facts)


def test_nothing_is_decided_about_memory_that_was_not_followed():
    source = STREAM.format(kernel="copy", value="x", annotation="", check="from elsewhere import other").replace(
        "copy[(triton.cdiv(n, 1024),)](x,", "copy[(1024,)](other(x),"
    )
    verdict = ask(source, "x:fp16[1048576]").verdict
    assert verdict.details.certainty == "unknown" and not verdict.worth_optimizing
    assert verdict.reason.startswith("Not decided: what `copy` gets as `x_ptr` was not followed")


def test_numbers_that_only_reach_a_kernel_as_numbers_are_no_tensors():
    source = (
        STREAM.format(kernel="copy", value="x * n", annotation=", step", check="n = 0.9 ** step / 2")
        .replace("        n = x.numel()\n", "")
        .replace("offs < n", "offs < 4096")
        .replace("triton.cdiv(n, 1024)", "triton.cdiv(x.numel(), 1024)")
    )
    found = ask(source, "x:fp16[4096]")
    assert [step.name for step in found.reading.workloads[0].all_steps if hasattr(step, "kind")] == ["empty_like"]
    assert found.verdict.details.certainty == "proven"


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ("N, num_heads, head_dim", (4096, 32, 128)),
        ("batch, num_heads, head_dim", (4, 32, 128)),
        ("num_seqs, num_heads, head_dim", (64, 32, 128)),
        ("B, V", (4096, 32768)),
        ("B, T, C", (4, 2048, 256)),
    ],
)
def test_plausible_sizes_of_what_axes_are_called(axes, expected):
    source = STREAM.format(kernel="copy", value="x", annotation="", check=f"{axes} = x.shape")
    facts = {f.name: f.value for f in ask(source).verdict.details.scenarios[0].facts if f.source == "ladder"}
    assert tuple(facts[f"x.shape[{axis}]"] for axis in range(len(expected))) == expected


SAVED = (
    STREAM.format(kernel="double", value="x * 2", annotation="", check="pass").replace("def apply(", "def _apply(")
    + """
    class _Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, label):
            y = _apply(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, dy):
            (y,) = ctx.saved_tensors
            return _apply(_apply(y)), None

    def scaled(x, label=None):
        return _Double.apply(x, label)
"""
)
BENCHMARK = """
    def test():
        x = torch.randn(7, 8, requires_grad=True)
        scaled(x).backward(torch.randn(7, 8))

    if __name__ == "__main__":
        x = torch.randn(4096, 8192, device="cuda", dtype=torch.bfloat16)
        print(triton.testing.do_bench(lambda: scaled(x)))
"""


def test_what_a_forward_pass_has_saved_has_the_type_that_its_argument_is_assumed_to_have():
    found = analysis(Request(textwrap.dedent(SAVED), entry="_Double.backward"))
    facts = types(found)
    assert facts["x"][0] == facts["dy"][0] and found.verdict.details.certainty == "assumed"
    assert not found.judgement.before.missing and "Not decided" not in found.verdict.reason


def test_what_a_backward_pass_asks_for_can_be_given():
    request = Request(textwrap.dedent(SAVED), entry="_Double.backward")
    asked = re.findall("--assume '([^']+)'", analysis(request).verdict.reason)
    given = analysis(replace(request, assumptions=tuple(asked))).verdict
    assert asked and given.details.certainty == "proven"


def test_what_benchmarks_call_is_asked_about_beside_its_private_autograd_function():
    found = ask(SAVED + BENCHMARK)
    assert {workload.entry for workload in found.reading.workloads} == {"scaled", "_Double.backward"}
    assert found.judgement.workload.entry == "_Double.backward"  # the longer of the two
    assert types(found)["x"] == ("bfloat16[4096,8192]", "call")


HELD = (
    STREAM.format(kernel="scale", value="x * 2", annotation=", block, dtype", check="pass")
    .replace("torch.empty_like(x)", "torch.empty(x.shape, dtype=dtype)")
    .replace("BLOCK=1024", "BLOCK=block")
    .replace("(n, 1024)", "(n, block)")
    + """
    class Layer(torch.nn.Module):
        def __init__(self, block, dtype=None):
            super().__init__()
            self.block, self.dtype = block, dtype
            self.register_buffer("table", torch.outer(torch.arange(8.0), torch.ones(block)).cos())

        def forward(self, x):
            return apply(x, self.block, self.dtype)

    if __name__ == "__main__":
        layer, other = Layer(512, dtype=torch.float16), Layer(64)
        x = torch.randn(4096, 8192, device="cuda", dtype=torch.bfloat16)
        print(triton.testing.do_bench(lambda: layer(x)))
"""
)


def test_calls_of_a_layer_tell_what_it_was_made_with():
    found = analysis(Request(textwrap.dedent(HELD), entry="Layer"))
    told = types(found)
    assert told["x"] == ("bfloat16[4096,8192]", "call")
    assert told["block"] == (512, "call") and told["dtype"] == ("float16", "call")
    assert "`block` 512" in found.verdict.reason
    (launch,) = found.judgement.workload.launches()
    assert launch.constexprs["BLOCK"] == 512 and str(launch.arguments["y_ptr"].dtype) == "float16"


DERIVED = (
    STREAM.format(kernel="scale", value="x * 2", annotation=", weight", check="pass")
    + """
    class Norm(torch.nn.GroupNorm):
        def forward(self, x):
            return apply(x.contiguous(), self.weight) if self.num_groups > 8 else x

    if __name__ == "__main__":
        norm = Norm(32, 320).to("cuda", torch.float16)
        x = torch.randn(4, 320, 64, 64, device="cuda", dtype=torch.half).to(memory_format=torch.channels_last)
        print(triton.testing.do_bench(lambda: norm(x)))
"""
)


def test_calls_of_a_layer_of_torch_tell_what_it_was_made_with_and_how_its_input_lies():
    found = ask(DERIVED)
    told = types(found)
    assert told["num_groups"] == (32, "call") and told["dtype"] == ("float16", "call")
    assert told["x"] == ("float16[4,320,64,64] with strides (1310720, 1, 20480, 320)", "call")
    dense = ask(DERIVED.replace(".to(memory_format=torch.channels_last)", ""))
    assert types(dense)["x"] == ("float16[4,320,64,64]", "call")
    copies = [
        sum(step.name == "contiguous" for step in one.judgement.workload.all_steps if isinstance(step, TorchOp))
        for one in (found, dense)
    ]
    assert copies[0] > copies[1]


def test_open_settings_of_a_layer_of_torch_have_names():
    found = analysis(
        Request(textwrap.dedent(DERIVED).partition("if __name__")[0], entry="Norm", assumptions=("Norm.num_groups=32",))
    )
    assert found.judgement.workload.entry == "Norm.forward"


STREAMED = STREAM.format(kernel="copy", value="x", annotation="", check="pass").replace("apply", "copied")
SWEEP = """
    def test_copied():
        for n in (3, 5):
            copied(torch.randn(n, device="cuda"))

    if __name__ == "__main__":
        test_copied()
        for n in (7, 1 << 20, 1 << 22, 1 << 24, 1 << 28):
            x = torch.randn(n, device="cuda", dtype=torch.bfloat16)
            print(triton.testing.do_bench(lambda: copied(x)))
"""


def test_of_a_sweep_the_middle_answers_and_the_ends_stand_beside_it():
    found = ask(STREAMED + SWEEP)
    given = [fact.value for one in found.verdict.details.scenarios for fact in one.facts if fact.name == "x"]
    assert given == [f"bfloat16[{1 << n}]" for n in (22, 28, 20)]
    for other in given[1:]:
        assert f"with `x` {other}" in found.verdict.reason
    alone = SWEEP.replace("(7, 1 << 20, 1 << 22, 1 << 24, 1 << 28)", "(7, 9, 12)")
    few = [
        fact.value for one in ask(STREAMED + alone).verdict.details.scenarios for fact in one.facts if fact.name == "x"
    ]
    assert few == ["bfloat16[9]", "bfloat16[12]", "bfloat16[7]"]
