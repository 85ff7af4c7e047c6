"""Fixes of wrong and unportable code: what they write, what they leave alone, and that the result computes what it should."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from support.mends import came, mended, program, refusal, unchanged
from support.rewriting import assert_same_results, needs_interpreter

from kernlint.fix import fix_source
from kernlint.lint.check_file import check_file
from kernlint.lint.fixing import apply_fixes
from kernlint.lint.job import Job
from kernlint.lint.run import Outcome
from kernlint.lint.settings import FileSettings
from kernlint.request import Request
from kernlint.rules.base import NOT_ABOUT_SPEED, Rule
from kernlint.rules.registry import all_rules

SOUND = [rule for rule in all_rules() if rule.category in NOT_ABOUT_SPEED]
#: Rules without an automatic fix, and those whose own example is one that the fix refuses.
WITHOUT = {
    *("KL701", "KL702", "KL703", "KL704", "KL705", "KL707", "KL708", "KL709", "KL711", "KL712", "KL714", "KL727", "KL728"),
    *("KL717", "KL718", "KL729", "KL739", "KL740", "KL741", "KL742", "KL743", "KL745"),
    *("KL748", "KL749", "KL750", "KL751", "KL754", "KL755", "KL756", "KL757", "KL758", "KL759"),
    *("KL760", "KL762", "KL763", "KL764", "KL770", "KL774", "KL775", "KL776", "KL779", "KL781", "KL783", "KL785", "KL790"),
    *("KL765", "KL766", "KL767", "KL768", "KL769"),
    *("KL786", "KL787", "KL791", "KL792", "KL793", "KL794", "KL795", "KL796", "KL797", "KL798"),
    *("KL803", "KL805", "KL806", "KL807"),
}  # fmt: skip
FIXABLE = [rule for rule in SOUND if rule.code not in WITHOUT]


def found(source: str, device: str) -> Counter[str]:
    """How often each rule about wrong or unportable code finds something."""
    codes = frozenset(rule.code for rule in SOUND)
    result = check_file(Job("k.py", source.encode(), FileSettings(codes, device=device)))
    return Counter(finding.code for finding in result.findings)


@pytest.mark.parametrize("rule", FIXABLE, ids=lambda rule: rule.code)
def test_the_finding_goes_and_no_other_comes(rule: Rule) -> None:
    source = textwrap.dedent(rule.bad)
    result = fix_source(Request(source, path="k.py", device=rule.example_device), rules=[rule.code], unsafe=True)
    assert result.applied and not result.refused, result.refused
    before, after = found(source, rule.example_device), found(result.after, rule.example_device)
    assert not after[rule.code]
    assert not after - before, "the fix brings another finding"


@pytest.mark.parametrize("rule", FIXABLE, ids=lambda rule: rule.code)
def test_check_fixes_the_same_and_leaves_other_bytes_alone(rule: Rule) -> None:
    text = "\ufeff# höher\n" + textwrap.dedent(rule.bad) + "\n# the end\t\n"
    data = text.replace("\n", "\r\n").encode()
    settings = FileSettings(frozenset({rule.code}), device=rule.example_device)

    def check(contents: dict[str, bytes]) -> Outcome:
        return Outcome(check_file(Job("k.py", contents.get("k.py", data), settings, fixes=True)).findings, {})

    outcome, fixes = apply_fixes(check, lambda outcome: outcome, lambda _: data, unsafe=True)  # type: ignore[arg-type]
    assert not [f for f in outcome.findings if f.code == rule.code]
    after = fixes.changed["k.py"]
    assert b"\n" not in after.replace(b"\r\n", b"") and after.startswith(b"\xef\xbb\xbf# h\xc3\xb6her\r\n")
    assert after.endswith(b"# the end\t\r\n")
    gone = set(data.splitlines()) - set(after.splitlines())
    assert len(gone) <= 4, gone


@pytest.mark.parametrize("rule", [rule for rule in SOUND if rule.code in WITHOUT], ids=lambda rule: rule.code)
def test_a_rule_without_a_fix_says_why(rule: Rule) -> None:
    assert rule.code == "KL755" or rule.fix_safety.strip().startswith("No automatic fix")
    source = textwrap.dedent(rule.bad)
    assert (
        fix_source(Request(source, path="k.py", device=rule.example_device), rules=[rule.code], unsafe=True).after
        == source
    )


# -- masks and masked values --------------------------------------------------------------------------------------------

ROW = """
@triton.jit
def reduce(source, target, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    {body}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], device=x.device)
        reduce[(x.shape[0],)](target=out, source=x, width=x.shape[1], BLOCK=128)
        return out

def get_inputs():
    return [-1.0 - torch.rand(4, 100)]
"""


def row(*lines: str) -> str:
    return ROW.format(body="\n    ".join(lines))


@pytest.mark.parametrize(
    ("reduction", "other"),
    [
        ("tl.sum(v, 0)", "0.0"),
        ("tl.max(v, axis=0)", 'float("-inf")'),
        ("tl.min(v, axis=0)", 'float("inf")'),
        ("tl.sum(tl.exp(v - tl.max(v, 0)), 0)", 'float("-inf")'),
    ],
)
@pytest.mark.parametrize("given", ["", ", other=1.0"])
def test_other_is_the_identity_of_what_is_computed(reduction: str, other: str, given: str) -> None:
    source = row(
        f"v = tl.load(source + row * width + lane, mask=lane < width{given})", f"tl.store(target + row, {reduction})"
    )
    (line,) = came(mended(source, "KL737", "KL738", unsafe=True))
    assert line == f"v = tl.load(source + row * width + lane, mask=lane < width, other={other})"


def test_no_other_suits_both() -> None:
    load = "v = tl.load(source + row * width + lane, mask=lane < width, other=2.0)"
    assert "no one value" in refusal(row(load, "tl.store(target + row, tl.sum(v, 0) / tl.max(v, 0))"), "KL738")


VARIANCE = [
    "inside = lane < width",
    "v = tl.load(source + row * width + lane, mask=inside).to(tl.float32)",
    "d = v - tl.sum(v, 0) / width",
    "tl.store(target + row, tl.sum(d * d, 0) / width)",
]


def test_the_difference_from_a_mean_is_masked_again() -> None:
    assert came(mended(row(*VARIANCE), "KL737", "KL738", unsafe=True)) == [
        "v = tl.load(source + row * width + lane, mask=inside, other=0.0).to(tl.float32)",
        "d = tl.where(inside, v - tl.sum(v, 0) / width, 0.0)",
    ]
    changed = row(*VARIANCE[:2], "inside = lane < 2", *VARIANCE[2:])
    assert "no one value" in refusal(changed.replace("mask=inside)", "mask=inside, other=0.0)"), "KL738")


@pytest.mark.slow
@needs_interpreter
def test_a_mended_variance_is_that_of_the_row(tmp_path: Path) -> None:
    after = mended(row(*VARIANCE), "KL737", "KL738", unsafe=True).after
    right = row(
        "v = tl.load(source + row * width + lane, mask=lane < width, other=0.0)",
        "mean = tl.sum(v, 0) / width",
        "square = tl.sum(v * v, 0) / width - mean * mean",
        "tl.store(target + row, square)",
    )
    assert_same_results(tmp_path, program(right), after, tolerance=1e-5, header=False)


@pytest.mark.parametrize(
    ("combine", "reduce", "other"),
    [
        ("minimum(best, v)", "min", 'float("inf")'),
        # Infinity would win over what the lane holds from the tiles before.
        ("maximum(best, v)", "min", ""),
    ],
)
def test_lanes_keep_what_earlier_iterations_left_in_them(combine: str, reduce: str, other: str) -> None:
    source = f"""
    @triton.jit
    def k(x, o, n, B: tl.constexpr):
        best = tl.full((B,), 0, tl.float32)
        c = tl.arange(0, B)
        for s in range(0, n, B):
            v = tl.load(x + s + c, mask=s + c < n)
            best = tl.{combine}
        tl.store(o, tl.{reduce}(best, 0))
    """
    if other:
        assert came(mended(source, "KL737")) == [f"v = tl.load(x + s + c, mask=s + c < n, other={other})"]
    else:
        assert "no one value" in refusal(source, "KL737")


COPY = """
@triton.jit
def copy(source, target, count, B: tl.constexpr):
    {lines}

def run(x, y, count: int):
    copy[(triton.cdiv(count, 64),)](source=x, target=y, count=count, B=64)
"""


def copy(*lines: str) -> str:
    return COPY.format(lines="\n    ".join(lines))


def test_the_mask_of_a_twin_is_used_again() -> None:
    first = ["i = tl.program_id(0) * B + tl.arange(0, B)", "inside = i < count", "v = tl.load(source + i, inside)"]
    assert came(mended(copy(*first, "tl.store(target + i, v)"), "KL736")) == ["tl.store(target + i, v, mask=inside)"]
    # Its variable means something else by then: the size is written out.
    changed = copy(*first, "inside = i < 2", "tl.store(target + i, v)")
    assert came(mended(changed, "KL736")) == ["tl.store(target + i, v, mask=i < count)"]


def test_the_mask_is_made_of_the_size_that_the_tiles_are_counted_for() -> None:
    lines = [
        "i = tl.program_id(0) * B + tl.arange(0, B)",
        "p = source + i",
        "tl.store(target + i, tl.load(p), i < count)",
    ]
    assert came(mended(copy(*lines), "KL735")) == ["tl.store(target + i, tl.load(p, mask=i < count), i < count)"]


MASKED = copy("i = tl.program_id(0) * B + tl.arange(0, B)", "tl.store(target + i, tl.load(source + i))")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("def padded(x, y):\n    copy[(4,)](x, y, 0, B=64)\n", "what `copy` is given"),
        ("    copy[(4,)](x, y, 0, B=64)\n", "may pass something else than the size"),
    ],
)
def test_a_launch_beside_the_one_that_shows_the_size(more: str, reason: str) -> None:
    assert fix_source(Request(program(MASKED), path="k.py"), rules=["KL736"]).applied
    result = fix_source(Request(program(MASKED + more), path="k.py"), rules=["KL736"])
    assert not result.applied and result.refused[0].unsafe and reason in result.refused[0].reason


def test_another_file_that_launches_the_kernel(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(program(MASKED))
    (tmp_path / "other.py").write_text("from k import copy\ncopy[(4,)](x, y, 0, B=64)\n")
    result = fix_source(Request(program(MASKED), path=str(path)), rules=["KL736"])
    assert not result.applied and "other.py" in result.refused[0].reason


def test_two_axes() -> None:
    result = mended(
        """
        @triton.jit
        def k(x, o, sm, M, BM: tl.constexpr, BN: tl.constexpr):
            m = tl.program_id(0) * BM + tl.arange(0, BM)
            p = x + m[:, None] * sm + tl.arange(0, BN)[None, :]
            tl.store(o + m, tl.max(tl.load(p), axis=1), mask=m < M)

        def run(x, o, M: int):
            k[(triton.cdiv(M, 16),)](x, o, x.stride(0), M, BM=16, BN=64)
        """,
        "KL735",
    )
    assert 'tl.load(p, mask=m[:, None] < M, other=float("-inf"))' in came(result)[0]


def test_no_size_in_view() -> None:
    source = copy("i = tl.program_id(0) * B + tl.arange(0, B)", "tl.store(target + i, tl.load(source + i))")
    assert "no parameter holds the size" in refusal(source.replace("count=count", "count=7"), "KL736")


# -- types and conditions -----------------------------------------------------------------------------------------------

TYPED = """
{head}

@triton.jit
def kernel(x, y, n, {params}BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    {body}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x{output})
        kernel[(1,)](x, y, x.numel(), {arguments}BLOCK=1024)
        return y

def get_inputs():
    return [{inputs}]
"""

HALF = "torch.linspace(0, 2, 1000, dtype=torch.float16)"


def typed(
    *body: str, inputs: str = HALF, head: str = "", params: str = "", arguments: str = "", output: str = ""
) -> str:
    return TYPED.format(
        body="\n    ".join(body), inputs=inputs, head=head, params=params, arguments=arguments, output=output
    )


WRONG_AND_RIGHT = [
    pytest.param(
        "KL716",
        [
            "tl.store(y + i, tl.exp(v), mask=i < n)",
        ],
        [
            "tl.store(y + i, tl.exp(v.to(tl.float32)), mask=i < n)",
        ],
        {},
        id="exp-of-half",
    ),
    pytest.param(
        "KL719",
        [
            "tl.store(y + i, (v - 1) ** 2, mask=i < n)",
        ],
        [
            "tl.store(y + i, (v - 1) * (v - 1), mask=i < n)",
        ],
        {},
        id="square",
    ),
    pytest.param(
        "KL719",
        [
            "tl.store(y + i, abs(v).to(torch.float32) / v ** 3, mask=i < n)",
        ],
        [
            "tl.store(y + i, tl.abs(v).to(tl.float32) / (v * v * v), mask=i < n)",
        ],
        {"inputs": HALF.replace("0, 2", "1, 2")},
        id="abs-dtype-cube",
    ),
    pytest.param(
        "KL722",
        [
            "tl.store(y + i, v & 0xFFFF0000, mask=i < n)",
        ],
        [
            "tl.store(y + i, v & -0x10000, mask=i < n)",
        ],
        {"inputs": "torch.arange(1000, dtype=torch.int32) * 99991"},
        id="mask-of-bits",
    ),
    pytest.param(
        "KL723",
        [
            "tl.store(y + i, ((v & 0xF) - 8).to(tl.float32), mask=i < n)",
        ],
        [
            "tl.store(y + i, ((v & 0xF).to(tl.int32) - 8).to(tl.float32), mask=i < n)",
        ],
        {
            "inputs": "torch.arange(256, dtype=torch.uint8)",
            "output": ", dtype=torch.float32",
        },
        id="zero-point",
    ),
    pytest.param(
        "KL723",
        [
            "d = v - 8",
            "tl.store(y + i, tl.cast(d, tl.float32), mask=i < n)",
        ],
        [
            "d = v.to(tl.int32) - 8",
            "tl.store(y + i, tl.cast(d, tl.float32), mask=i < n)",
        ],
        {
            "inputs": "torch.arange(256, dtype=torch.uint8)",
            "output": ", dtype=torch.float32",
        },
        id="zero-point-behind-a-name",
    ),
    pytest.param(
        "KL720",
        [
            "tl.store(y + i, v * SCALE, mask=i < n)",
        ],
        [
            "tl.store(y + i, v * 2.0, mask=i < n)",
        ],
        {"head": "SCALE: tl.constexpr = 2.0"},
        id="module-global",
    ),
    pytest.param(
        "KL721",
        [
            "tl.store(y + i * step.to(tl.int64), v, mask=i < n)",
        ],
        [
            "tl.store(y + i * tl.cast(step, tl.int64), v, mask=i < n)",
        ],
        {"params": "step, ", "arguments": "x.stride(0), "},
        id="stride-of-one",
    ),
    pytest.param(
        "KL744",
        [
            "m = i >= 3 & i < n",
            "tl.store(y + i, v, mask=i < n)",
            "tl.store(y + i, v + 1, mask=m)",
        ],
        [
            "m = (i >= 3) & (i < n)",
            "tl.store(y + i, v, mask=i < n)",
            "tl.store(y + i, v + 1, mask=m)",
        ],
        {},
        id="parentheses",
    ),
    pytest.param(
        "KL777",
        [
            "t = tl.zeros((BLOCK,), tl.float32)",
            "for s in range(2):",
            "    t += v * v",
            "tl.store(y + i, t, mask=i < n)",
        ],
        [
            "t = tl.zeros((BLOCK,), tl.float32)",
            "for s in range(2):",
            "    t += v.to(tl.float32) * v.to(tl.float32)",
            "tl.store(y + i, t, mask=i < n)",
        ],
        {},
        id="rounded-product",
    ),
    pytest.param(
        "KL778",
        [
            "tl.store(y + i, v - tl.sum(v, axis=0), mask=i < n)",
        ],
        [
            "tl.store(y + i, v - tl.sum(v.to(tl.float32), axis=0), mask=i < n)",
        ],
        {},
        id="sum-of-half",
    ),
    pytest.param(
        "KL780",
        [
            "tl.store(y + i, v / (v + 1e-8), mask=i < n)",
        ],
        [
            "tl.store(y + i, v / (v.to(tl.float32) + 1e-8), mask=i < n)",
        ],
        {"inputs": HALF.replace("0, 2", "1, 2")},
        id="tiny-literal",
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "right", "options"), WRONG_AND_RIGHT)
def test_written_as_a_person_would(rule: str, wrong: list[str], right: list[str], options: dict[str, str]) -> None:
    assert found(program(typed(*wrong, **options)), "h100-sxm")[rule], "nothing is wrong with it"
    after = mended(typed(*wrong, **options), rule, unsafe=True).after
    if rule == "KL720":
        assert "\nSCALE = tl.constexpr(2.0)\n" in after
    elif rule != "KL777":  # of two factors in half precision one is enough
        assert after == program(typed(*right, **options))


@pytest.mark.slow
@needs_interpreter
@pytest.mark.parametrize(("rule", "wrong", "right", "options"), WRONG_AND_RIGHT)
def test_computes_the_same_as_right_code(
    tmp_path: Path, rule: str, wrong: list[str], right: list[str], options: dict[str, str]
) -> None:
    after = mended(typed(*wrong, **options), rule, unsafe=True).after
    assert_same_results(tmp_path, program(typed(*right, **options)), after, header=False)


#: Compiles the kernel of a file for sm_90, as its ModelNew would launch it; no GPU is needed.
_COMPILE = """
import importlib.util, sys
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

spec = importlib.util.spec_from_file_location("program", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
(x,) = module.get_inputs()
types = {torch.float16: "*fp16", torch.int8: "*i8", torch.uint8: "*u8", torch.int32: "*i32", torch.float32: "*fp32"}
y = "*fp32" if "dtype=torch.float32" in open(sys.argv[1]).read().split("empty_like")[1].split(")")[0] else types[x.dtype]
constants = {"BLOCK": 1024, **({"step": 1} if "step" in module.kernel.arg_names else {})}
signature = {n: "constexpr" if n in constants else {"x": types[x.dtype], "y": y}.get(n, "i32") for n in module.kernel.arg_names}
triton.compile(ASTSource(module.kernel, signature, constants), target=GPUTarget("cuda", 90, 32))
"""


@pytest.mark.slow
@needs_interpreter
@pytest.mark.parametrize(("rule", "wrong", "right", "options"), WRONG_AND_RIGHT)
def test_the_compiler_takes_it(
    tmp_path: Path, rule: str, wrong: list[str], right: list[str], options: dict[str, str]
) -> None:
    (tmp_path / "k.py").write_text(mended(typed(*wrong, **options), rule, unsafe=True).after)
    (tmp_path / "compile.py").write_text(_COMPILE)
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "compile.py"), str(tmp_path / "k.py")],
        env={**environment, "TRITON_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("rule", "body", "reason"),
    [
        ("KL719", ["tl.store(y + i, v ** 2.5, mask=i < n)"], "exponent is not 2 or 3"),
        ("KL719", ["tl.store(y + i, torch.softmax(v, 0), mask=i < n)"], "nothing that does what `torch.softmax`"),
        ("KL719", ["tl.store(y + i, tl.load(x + i) ** 2, mask=i < n)"], "made by a call"),
    ],
)
def test_refused(rule: str, body: list[str], reason: str) -> None:
    assert reason in refusal(typed(*body), rule)


@pytest.mark.parametrize(
    ("head", "reads"),
    [
        pytest.param("print(SCALE + 1)", True, id="module"),
        pytest.param("def scaled(x, by=SCALE):\n    return x * by", True, id="default"),
        pytest.param("def grow():\n    global SCALE\n    print(SCALE)", True, id="shared"),
        pytest.param("def scaled(x, SCALE):\n    return x * SCALE", False, id="parameter"),
        pytest.param("@triton.jit\ndef scaled(v):\n    return v * SCALE", False, id="another kernel"),
    ],
)
def test_a_global_that_host_code_reads_stays_plain(head: str, reads: bool) -> None:
    source = typed("tl.store(y + i, v * SCALE, mask=i < n)", head=f"SCALE = 2.0\n{head}")
    found = check_file(Job("k.py", program(source).encode(), FileSettings(frozenset({"KL720"})))).findings
    assert {"constant of their own, made by `tl.constexpr(SCALE)`" in one.advice for one in found} == {reads}
    if reads:
        assert "host code reads `SCALE` at line" in refusal(source, "KL720")
    else:
        assert "SCALE = tl.constexpr(2.0)" in mended(source, "KL720").after


def test_a_global_with_two_values_stays_plain() -> None:
    twice = typed("tl.store(y + i, v * SCALE, mask=i < n)", head="SCALE = 2.0\nSCALE = 3.0")
    assert "not assigned once" in refusal(twice, "KL720")


def test_a_comment_or_a_right_program_changes_nothing() -> None:
    right = typed(
        "# int32 overflow, no mask, other=0 feeds max", "tl.store(y + i, tl.exp(v.to(tl.float32)), mask=i < n)"
    )
    assert unchanged(right, *(rule.code for rule in FIXABLE if rule.default))


_OF_ELEMENTS = [
    ("KL716", "tl.store(y + i, tl.exp(v), mask=i < n)", HALF),
    ("KL722", "tl.store(y + i, v & 0xFFFF0000, mask=i < n)", "torch.arange(1000, dtype=torch.int32)"),
    ("KL723", "tl.store(y + i, (v - 8).to(tl.float32), mask=i < n)", "torch.arange(256, dtype=torch.uint8)"),
    ("KL710", "s = 0\n    for j in range(n):\n        s += tl.load(x + j)\n    tl.store(y, s)", "torch.rand(1000)"),
]


@pytest.mark.parametrize(("rule", "body", "inputs"), _OF_ELEMENTS)
def test_code_that_is_right_for_other_elements_is_not_changed_without_asking(rule: str, body: str, inputs: str) -> None:
    """Nothing but an assert in the launcher, or a cast in the kernel, says that these are all that it is given."""
    source = typed(body, inputs=inputs)
    assert "elements the code is right as it is" in refusal(source, rule, unsafe=False)
    assert mended(source, rule, unsafe=True)
    dtype = {"KL710": "float32", "KL716": "float16", "KL722": "int32", "KL723": "uint8"}[rule]
    only = source.replace("y = torch", f"assert x.dtype == torch.{dtype}\n        y = torch", 1)
    assert mended(only, rule)


def test_several_kinds_in_one_file_do_not_collide() -> None:
    source = typed(
        "s = 0",
        "for j in range(n):",
        "    s += tl.load(x + j).to(tl.float32)",
        "m = i >= 3 & i < n",
        "tl.store(y + i, tl.exp(v) * SCALE + s, mask=m)",
        head="SCALE = 2.0",
    )
    source = source.replace("y = torch", "assert x.dtype == torch.float16\n        y = torch", 1)
    result = mended(source, "KL710", "KL716", "KL720", "KL744")
    assert {one.code for one in result.applied} == {"KL710", "KL716", "KL720", "KL744"}
    assert came(result) == [
        "SCALE = tl.constexpr(2.0)", "s = 0.0", "m = (i >= 3) & (i < n)",
        "tl.store(y + i, tl.exp(v.to(tl.float32)) * SCALE + s, mask=m)",
    ]  # fmt: skip


# -- grids, tuners, buffers ---------------------------------------------------------------------------------------------

GRID = """
{decorator}
@triton.jit
def add_one(source, target, count, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(target + i, tl.load(source + i, mask=i < count, other=0.0) + 1.0, mask=i < count)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        {launch}
        return y

def get_inputs():
    return [torch.randn(1000)]
"""
TUNED = '@triton.autotune(configs=[triton.Config({"TILE": 16}), triton.Config({"TILE": 32})], key=["count"])'


@pytest.mark.parametrize(
    ("rule", "decorator", "launch", "lines"),
    [
        ("KL713", "", "grid = lambda meta: triton.cdiv(1000, meta['TILE'])\n        add_one[grid](x, y, 1000, TILE=64)",
         ["grid = lambda meta: (triton.cdiv(1000, meta['TILE']),)"]),
        ("KL713", "", "add_one[(x.numel() / 8,)](x, y, x.numel(), TILE=8)",
         ["add_one[(triton.cdiv(x.numel(), 8),)](x, y, x.numel(), TILE=8)"]),
        ("KL747", "", "add_one[(4,)](x, y, x.numel(), TILE=64)",
         ["add_one[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), TILE=64)"]),
        ("KL747", "", "add_one[(x.numel() // 64,)](source=x, count=x.numel(), target=y, TILE=64)",
         ["add_one[(triton.cdiv(x.numel(), 64),)](source=x, count=x.numel(), target=y, TILE=64)"]),
    ],
)  # fmt: skip
def test_grids(rule: str, decorator: str, launch: str, lines: list[str]) -> None:
    result = mended(GRID.format(decorator=decorator, launch=launch), rule, unsafe=True)
    assert came(result) == lines


def test_the_grid_of_a_tuned_kernel_follows_its_configuration() -> None:
    source = f"""
{TUNED}
@triton.jit
def add_one(source, target, count, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(target + i, tl.load(source + i, mask=i < count, other=0.0) + 1.0, mask=i < count)

def run(x, y):
    meta = x.numel()
    grid = (triton.cdiv(meta, 64),)
    add_one[grid](x, y, count=meta)
"""
    assert came(mended(source, "KL746", unsafe=True)) == ['grid = lambda META: (triton.cdiv(meta, META["TILE"]),)']
    again = source + "    add_one[grid](y, x, count=meta)\n"
    assert "read at several places" in refusal(again, "KL746")


@pytest.mark.slow
@needs_interpreter
def test_a_fixed_grid_reaches_every_element(tmp_path: Path) -> None:
    wrong = GRID.format(decorator="", launch="add_one[(4,)](x, y, x.numel(), TILE=64)")
    right = GRID.format(decorator="", launch="add_one[(16,)](x, y, x.numel(), TILE=64)")
    assert_same_results(tmp_path, program(right), mended(wrong, "KL747", unsafe=True).after, header=False)


def test_restore_value_and_key() -> None:
    source = """
    @triton.autotune(
        configs=[triton.Config({"B": 16}), triton.Config({"B": 32})],
        key=["n", "B"],
        restore_value=["other"],  # the first buffer
    )
    @triton.jit
    def halve(x, other, n, B: tl.constexpr):
        a = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(x + a, tl.load(x + a, mask=a < n, other=0.0) * 0.5, mask=a < n)
        tl.store(other + a, tl.load(other + a, mask=a < n, other=0.0) * 0.5, mask=a < n)

    def run(x, y):
        halve[lambda M: (triton.cdiv(x.numel(), M["B"]),)](x, y, x.numel())
    """
    result = mended(source, "KL752", "KL755")
    assert came(result) == ['key=["n"],', 'restore_value=["other", "x"],  # the first buffer']


def test_buffers_start_from_what_the_atomics_need() -> None:
    source = """
    @triton.jit
    def total(x, y, n, B: tl.constexpr):
        a = tl.program_id(0) * B + tl.arange(0, B)
        tl.atomic_OP(y, tl.load(x + a, mask=a < n, other=0.0))

    def run(x):
        assert x.dtype == torch.float32
        y = MAKE
        total[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), B=16)
        return y
    """
    made = source.replace("_OP(y,", "_add(y + a,")
    cases = {"torch.empty(x.numel(), device=x.device)": "y = torch.zeros(x.numel(), device=x.device)",
             "x.new_empty(x.shape)": "y = x.new_zeros(x.shape)",
             "torch.empty_like(x)": "y = torch.zeros_like(x)"}  # fmt: skip
    for make, line in cases.items():
        assert came(mended(made.replace("MAKE", make), "KL761")) == [line]
    largest = source.replace("_OP(y,", "_max(y + a,").replace("MAKE", "torch.empty_like(x)")
    assert came(mended(largest, "KL761")) == ['y = torch.full_like(x, float("-inf"))']
    conjunction = source.replace("_OP(y,", "_and(y + a,").replace("MAKE", "torch.empty_like(x)")
    assert "the author's to say" in refusal(conjunction, "KL761")


# -- host code and API --------------------------------------------------------------------------------------------------


def test_contiguous_only_for_what_is_read() -> None:
    source = """
    @triton.jit
    def row_sum(x, o, N, B: tl.constexpr):
        r, c = tl.program_id(0), tl.arange(0, B)
        v = tl.load(x + r * N + c, mask=c < N, other=0.0)
        tl.store(o + r, tl.sum(v, axis=0))
        STORE

    def run(values):
        rows, columns = values.shape
        o = torch.empty(rows, device=values.device)
        row_sum[(rows,)](o=o, x=values, N=columns, B=1024)
        return o
    """
    result = mended(source.replace("STORE", "pass"), "KL771")
    assert came(result) == ["values = values.contiguous()"]
    assert result.applied[0].effects.memory == "more"
    written = source.replace("STORE", "tl.store(x + r * N + c, v, mask=c < N)")
    assert "is written" in refusal(written, "KL771")


@pytest.mark.parametrize(
    "later", ["values.zero_()", "values[0] = 1", "other = values.view(-1)\n        other.zero_()", "values += 1"]
)
def test_the_tensor_of_the_caller_is_what_is_changed_later(later: str) -> None:
    source = """
    @triton.jit
    def row_sum(x, o, N, B: tl.constexpr):
        r, c = tl.program_id(0), tl.arange(0, B)
        tl.store(o + r, tl.sum(tl.load(x + r * N + c, mask=c < N, other=0.0), axis=0))

    def run(values):
        rows, columns = values.shape
        o = torch.empty(rows, device=values.device)
        row_sum[(rows,)](values, o, columns, B=1024)
        LATER
        return o
    """
    assert came(mended(source.replace("LATER", later), "KL771")) == [
        "row_sum[(rows,)](values.contiguous(), o, columns, B=1024)"
    ]
    assert came(mended(source.replace("LATER", "print(values.shape)"), "KL771")) == ["values = values.contiguous()"]


def test_a_launch_of_several_lines_moves_into_the_guard() -> None:
    result = mended(
        """
        @triton.jit
        def double(x, o, n, B: tl.constexpr):
            a = tl.arange(0, B)
            tl.store(o + a, tl.load(x + a, mask=a < n) * 2, mask=a < n)

        def run(x):
            o = torch.empty_like(x)
            double[(1,)](
                x, o,  # both on one device

                n=x.numel(), B=1024,
            )
            return o
        """,
        "KL773",
    )
    assert result.after.endswith(
        "    with torch.cuda.device_of(x):\n        double[(1,)](\n            x, o,  # both on one device\n\n"
        "            n=x.numel(), B=1024,\n        )\n    return o\n"
    )


GUARDED = """
@triton.jit
def double(x, o, n, B: tl.constexpr):
    a = tl.arange(0, B)
    tl.store(o + a, tl.load(x + a, mask=a < n) * 2, mask=a < n)

def run(x, n: int):
    o = torch.empty(n, device="cuda")
    {launch}
    return o
"""


def test_the_guard_takes_a_tensor_that_cannot_be_none() -> None:
    launch = GUARDED.format(launch="double[(1,)](x, o, n, B=1024)")
    assert came(mended(launch, "KL773"))[0] == "with torch.cuda.device_of(o):"
    asked = launch.replace("o = torch", "o = torch.empty(x.shape)\n    o = torch")
    assert came(mended(asked, "KL773"))[0] == "with torch.cuda.device_of(x):"
    given = launch.replace("(x, n: int)", "(x, o, n: int)").replace('    o = torch.empty(n, device="cuda")\n', "")
    assert "may be None" in refusal(given, "KL773", unsafe=False)


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        ("later = lambda: double[(1,)](x, o, n, B=1024)\n    later()", "made later"),
        ("torch = None\n    double[(1,)](x, o, n, B=1024)", "no import of torch.cuda"),
    ],
)
def test_no_guard(launch: str, reason: str) -> None:
    assert reason in refusal(GUARDED.format(launch=launch).replace("torch.empty(n", "x.new_empty(n"), "KL773")


def test_the_guard_indents_as_the_file_does() -> None:
    source = """
    @triton.jit
    def double(x, o, n, B: tl.constexpr):
    \ta = tl.arange(0, B)
    \ttl.store(o + a, tl.load(x + a, mask=a < n) * 2, mask=a < n)

    def run(x):
    \to = torch.empty_like(x)
    \tdouble[(1,)](x, o, x.numel(), B=1024)
    \treturn o
    """
    result = mended(source, "KL773")
    assert "\twith torch.cuda.device_of(x):\n\t\tdouble[(1,)]" in result.after


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        ("KL802", "tl.dot(p, q, allow_tf32=False)", 'tl.dot(p, q, input_precision="ieee")'),
        ("KL802", "tl.dot(p, q, allow_tf32=D)", 'tl.dot(p, q, input_precision="tf32" if D else "ieee")'),
        ("KL802", "tl.reshape(p, (32, 32), can_reorder=True)", "tl.reshape(p, (32, 32))"),
        ("KL801", "tl.dot(p, q, trans_b=True, trans_a=False)", "tl.dot(p, tl.trans(q))"),
        ("KL801", "tl.math.tanh(p)", "libdevice.tanh(p)"),
    ],
)
def test_api(rule: str, before: str, after: str) -> None:
    result = mended(tile(before), rule, unsafe=True)
    assert f"tl.store(o + t, {after})" in came(result)
    assert ("from triton.language.extra import libdevice" in came(result)) == ("libdevice" in after)


@pytest.mark.parametrize(
    ("rule", "value", "reason"),
    [
        ("KL802", "tl.dot(p, q, allow_tf32=D > 16)", "neither True nor False nor a constexpr"),
        ("KL801", "tl.load(tl.make_block_ptr(x, (32, 32), (32, 1), (0, 0), (32, 32), (1, 0)))", "takes the place of"),
    ],
)
def test_api_that_was_not_merely_renamed(rule: str, value: str, reason: str) -> None:
    assert reason in refusal(tile(value), rule)


def tile(value: str) -> str:
    return f"""
@triton.jit
def product(x, y, o, D: tl.constexpr):
    i = tl.arange(0, D)
    t = i[:, None] * D + i[None, :]
    p, q = tl.load(x + t), tl.load(y + t)
    tl.store(o + t, {value})

class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        o = torch.empty_like(x)
        product[(1,)](x, y, o, D=32)
        return o

def get_inputs():
    return [torch.randn(32, 32, dtype=torch.float32), torch.randn(32, 32, dtype=torch.float32)]
"""


# -- without a rule -----------------------------------------------------------------------------------------------------

WRONG_AND_SLOW = """
@triton.jit
def total(x, y, n, B: tl.constexpr):
    a = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y, tl.sum(tl.load(x + a, mask=a < n, other=0.0), axis=0))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(1, device=x.device)
        {launch}
        return y

def get_inputs():
    return [torch.randn(1 << 24, dtype=torch.float16)]
"""


def test_fix_mends_first_what_is_wrong() -> None:
    source = WRONG_AND_SLOW.format(launch="total[(triton.cdiv(x.numel(), 4096),)](x.float(), y, x.numel(), B=4096)")
    result = fix_source(Request(program(source), path="k.py"), unsafe=True)
    (line,) = result.applied[0].lines
    assert result.applied[0].code == "KL761" and "torch.empty(1" in program(source).splitlines()[line - 1]
    # And goes on to what the verdict then advises.
    assert len(result.applied) > 1 and result.applied[1].code not in {rule.code for rule in SOUND}
    again = fix_source(Request(result.after, path="k.py"))
    assert "KL761" not in {one.code for one in again.applied}


def test_fix_asks_before_it_mends_unsafely() -> None:
    source = """
    @triton.autotune(configs=[triton.Config({"B": 1024}), triton.Config({"B": 2048})], key=["n"], reset_to_zero=["y"])
    @triton.jit
    def total(x, y, n, B: tl.constexpr):
        a = tl.program_id(0) * B + tl.arange(0, B)
        tl.atomic_add(y, tl.sum(tl.load(x + a, mask=a < n, other=0.0), axis=0))

    def run(x, y):
        total[lambda M: (triton.cdiv(x.numel(), M["B"]),)](x, y, x.numel())
    """
    assert "KL753" not in {one.code for one in fix_source(Request(program(source), path="k.py")).applied}


SEEDED = """
@triton.jit
def noise(o, seed, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + c, tl.rand({seed}, c))

def run(n: int = 4096):
    o = torch.empty(n)
    {made}
    noise[(n // 1024,)](o, seed, B=1024)
    return o
"""
TENSOR = "seed = torch.randint(0, 1 << 30, (1,))"


@pytest.mark.parametrize(
    ("made", "more"),
    [
        ("seed = torch.zeros(1) if n > 5 else 3", ""),
        (TENSOR, "def again(o):\n    noise[(4,)](o, 7, B=1024)\n"),
    ],
)
def test_a_seed_that_may_be_a_number_elsewhere(made: str, more: str) -> None:
    assert fix_source(Request(program(SEEDED.format(made=TENSOR, seed="seed")), path="k.py"), rules=["KL782"]).applied
    source = SEEDED.format(made=made, seed="seed") + more
    result = fix_source(Request(program(source), path="k.py"), rules=["KL782"])
    assert not result.applied and result.refused[0].unsafe


def test_a_seed_that_is_computed_from_an_address() -> None:
    assert "not a parameter" in refusal(SEEDED.format(made=TENSOR, seed="seed + 1"), "KL782")


def test_a_sum_whose_start_is_read_as_an_integer() -> None:
    source = """
    @triton.jit
    def total(x, o, n, B: tl.constexpr):
        acc = 0
        {use}
        for k in range(0, n, B):
            acc += tl.sum(tl.load(x + k + tl.arange(0, B)).to(tl.float32))
        tl.store(o, acc)
    """
    assert mended(source.format(use="last = 3"), "KL710")
    assert "read as an integer" in refusal(source.format(use="last = 7 // (acc + 2)"), "KL710")
