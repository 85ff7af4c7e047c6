"""Operand upcasts taken out of dots, wherever the casts stand."""

import pytest
from support.fixes import LOADS, STORE, changed, fixed, gemm, refusal

from kernlint.request import Request

INT8 = [
    pytest.param(
        LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))",
        STORE,
        ["acc += tl.dot(x, y)", "tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float32))"],
        id="inline method",
    ),
    pytest.param(
        LOADS + "acc = tl.dot(tl.cast(x, tl.float16), tl.cast(y, dtype=tl.float16), acc)",
        STORE,
        [
            "acc = tl.dot(x, y, acc, out_dtype=tl.int32)",
            "tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float32))",
        ],
        id="inline function, accumulator passed",
    ),
    pytest.param(
        LOADS + "xf = x.to(tl.float32)\nyf = y.to(tl.float32)\nacc = acc + tl.dot(xf, yf, allow_tf32=True)",
        STORE,
        ["acc = acc + tl.dot(x, y)", "tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float32))"],
        id="names of their own",
    ),
    pytest.param(
        LOADS + "xf, yf = x.to(tl.float32), y.to(tl.float32)\nacc += tl.dot(xf, yf)",
        STORE,
        ["xf, yf = x, y", "tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float32))"],
        id="two in one statement",
    ),
    pytest.param(
        LOADS + "x = x.to(tl.float32)\ny = y.to(tl.float32)\nacc += tl.dot(x, y)",
        STORE,
        ["tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float32))"],
        id="the same names again",
    ),
    pytest.param(
        LOADS.replace("[None, :])\n", "[None, :]).to(tl.float32)\n").replace("K)\n", "K).to(tl.float32)\n")
        + "acc += tl.dot(x, y, out_dtype=tl.float32)",
        STORE,
        [
            "x = tl.load(a + m[:, None] * K + (start + k)[None, :])",
            "y = tl.load(b + (start + k)[:, None] + n[None, :] * K)",
            "acc += tl.dot(x, y, out_dtype=tl.int32)",
            "tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float32))",
        ],
        id="behind the load, out_dtype",
    ),
    pytest.param(
        LOADS + "x16 = x.to(tl.float16)\nx32 = x16.to(tl.float32)\nacc += tl.dot(x32, y.to(tl.float32))",
        STORE,
        ["acc += tl.dot(x, y)", "tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float32))"],
        id="two casts in a row",
    ),
    pytest.param(
        LOADS.replace("(start + k)[:, None] + n[None, :] * K", "n[:, None] * K + (start + k)[None, :]")
        + "acc += tl.dot(x.to(tl.float32), tl.trans(y).to(tl.float32))",
        STORE,
        ["acc += tl.dot(x, tl.trans(y))", "tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float32))"],
        id="behind a transpose",
    ),
    pytest.param(
        LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))",
        "scale = tl.load(s)\nacc = acc * scale\nacc = tl.maximum(acc, 0.0)\n" + STORE,
        ["acc += tl.dot(x, y)", "acc = acc.to(tl.float32) * scale"],
        id="epilogue that rebinds the sum",
    ),
    pytest.param(
        LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))",
        "out = acc * tl.sigmoid(acc)\ntl.store(c + m[:, None] * BN + n[None, :], out)",
        ["acc += tl.dot(x, y)", "acc = acc.to(tl.float32)"],
        id="epilogue that reads the sum twice",
    ),
    pytest.param(
        LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))",
        "acc *= tl.load(s)\n" + STORE,
        ["acc += tl.dot(x, y)", "acc = acc.to(tl.float32)"],
        id="epilogue in place",
    ),
    pytest.param(
        LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))",
        "tl.store(c + m[:, None] * BN + n[None, :], acc.to(tl.float32))",
        ["acc += tl.dot(x, y)"],
        id="epilogue that casts already",
    ),
]


@pytest.mark.parametrize(("loop", "epilogue", "expected"), INT8)
def test_int8_dot(loop: str, epilogue: str, expected: list[str]) -> None:
    result = fixed(gemm(loop, epilogue), "KL101", unsafe=False)
    _, came = changed(result)
    assert came == ["acc = tl.zeros((BM, BN), tl.int32)", *expected]
    (applied,) = result.applied
    assert (applied.effects.applicability, applied.effects.numerics) == ("safe", "exact")


def test_a_sum_that_goes_on_in_floating_point_takes_the_dot_as_float() -> None:
    loop = LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32)) * tl.load(s + start)"
    _, came = changed(fixed(gemm(loop), "KL101"))
    assert came == ["acc += tl.dot(x, y).to(tl.float32) * tl.load(s + start)"]


def test_a_sum_that_is_rescaled_takes_no_integer_accumulator() -> None:
    loop = LOADS + "acc = acc * 0.5\nacc = tl.dot(x.to(tl.float32), y.to(tl.float32), acc)"
    _, came = changed(fixed(gemm(loop), "KL101"))
    assert came == ["acc = acc + tl.dot(x, y).to(tl.float32)"]


def test_other_uses_of_the_value_keep_the_cast() -> None:
    loop = LOADS.replace("[None, :])\n", "[None, :]).to(tl.float32)\n", 1) + (
        "acc += tl.dot(x, y.to(tl.float32))\ntl.store(s + m, tl.sum(x, axis=1))"
    )
    _, came = changed(fixed(gemm(loop), "KL101"))
    assert "tl.store(s + m, tl.sum(x.to(tl.float32), axis=1))" in came
    assert "acc += tl.dot(x, y)" in came


def test_other_uses_of_a_widened_name_keep_it() -> None:
    loop = LOADS + "xf = x.to(tl.float32)\nacc += tl.dot(xf, y.to(tl.float32))\ntl.store(s + m, tl.sum(xf, axis=1))"
    gone, came = changed(fixed(gemm(loop), "KL101"))
    assert "xf = x.to(tl.float32)" not in gone
    assert "acc += tl.dot(x, y)" in came


HELPER = """
@triton.jit
def wide(p):
    '''A tile, cast to fp32.'''
    return tl.load(p).to(tl.float32)
"""


def test_a_cast_in_a_helper() -> None:
    loop = """
    x = wide(a + m[:, None] * K + (start + k)[None, :])
    y = wide(b + (start + k)[:, None] + n[None, :] * K)
    acc += tl.dot(x, y)
    """
    gone, came = changed(fixed(gemm(loop, dtype="float16", helpers=HELPER), "KL103", unsafe=False))
    # The narrow tiles leave room for twice the K.
    assert came == ["'''A tile.'''", "return tl.load(p)", "kernel[(1,)](a, b, c, s, 4096, BM=64, BN=64, BK=128)"]
    assert gone[:2] == ["'''A tile, cast to fp32.'''", "return tl.load(p).to(tl.float32)"]


def test_a_helper_that_others_call_leaves_them_the_cast() -> None:
    loop = """
    x = wide(a + m[:, None] * K + (start + k)[None, :])
    y = wide(b + (start + k)[:, None] + n[None, :] * K)
    acc += tl.dot(x, y)
    """
    epilogue = "acc += wide(a + m)[:, None]\n" + STORE
    _, came = changed(fixed(gemm(loop, epilogue, dtype="float16", helpers=HELPER), "KL103"))
    assert "acc += wide(a + m).to(tl.float32)[:, None]" in came


def test_a_value_of_several_paths_is_left_alone() -> None:
    loop = """
    x = tl.load(a + m[:, None] * K + (start + k)[None, :]).to(tl.float32)
    y = tl.load(b + (start + k)[:, None] + n[None, :] * K).to(tl.float32)
    for i in range(2):
        acc += tl.dot(x, y)
        if i > 0:
            x = x + 1.0
    """
    source = gemm(loop)
    from kernlint.fix import fix_source

    result = fix_source(Request(source, path="kernel.py"), rules=["KL101"], unsafe=True)
    assert result.after == source


def test_an_alias_of_the_language_and_a_bare_import() -> None:
    source = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))")
    source = source.replace("import triton.language as tl", "from triton import language as L").replace("tl.", "L.")
    _, came = changed(fixed(source, "KL101"))
    assert came[0] == "acc = L.zeros((BM, BN), L.int32)"


def test_comments_that_speak_of_the_cast_go_and_others_stay() -> None:
    loop = LOADS + (
        "# tensor cores want floating point operands\n"
        "xf = x.to(tl.float32)  # upcast\n"
        "# the second operand\n"
        "yf = y.to(tl.float32)\n"
        "# one K-step\n"
        "acc += tl.dot(xf, yf)  # accumulate in fp32\n"
    )
    result = fixed(gemm(loop), "KL101", unsafe=False)
    assert "floating point operands" not in result.after and "upcast" not in result.after
    assert "# the second operand" in result.after and "# one K-step" in result.after
    assert "acc += tl.dot(x, y)  # accumulate in int32" in result.after


def test_a_comment_inside_what_goes_makes_the_fix_unsafe() -> None:
    loop = LOADS + "acc += tl.dot(x.to(\n    tl.float32  # see issue 12\n), y.to(tl.float32))"
    source = gemm(loop)
    assert "comment at line 14 would be lost" in refusal(source, "KL101", unsafe=False)
    assert "issue 12" not in fixed(source, "KL101", unsafe=True).after


def test_fp8_is_unsafe_and_half_only_reordered() -> None:
    loop = LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))"
    assert "fp8" in refusal(gemm(loop, dtype="float8_e4m3fn"), "KL102", unsafe=False)
    (applied,) = fixed(gemm(loop, dtype="bfloat16"), "KL103", unsafe=False).applied
    assert applied.effects.numerics == "reordered"


@pytest.mark.parametrize(
    "other",
    [
        "def other(a, b, c):\n    kernel[(1,)](a, b, c, 1.0, 64, BM=16, BN=16, BK=16)\n",
        "run = kernel\n",
        "def first(a, b):\n    return launch(a, b, 1.0)\n\ndef second(a, b):\n    return launch(a.half(), b.half(), 1.0)\n",
        "@triton.jit\ndef twice(a, b, c):\n    kernel(a, b, c, 1.0, 64, 16, 16, 16)\n\ndef other(a, b, c):\n    twice[(1,)](a, b, c)\n",
    ],
)
def test_a_kernel_that_others_may_give_other_types(other: str) -> None:
    source = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))") + "\n\n" + other
    assert "was not followed" in refusal(source, "KL101", unsafe=False)
    assert fixed(source, "KL101").after != source


_PROGRAM = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))", dtype="float16")
_WRAPPED = (
    _PROGRAM.replace(" and s.dtype == torch.float32", "")
    + """
def wrap(a, b):
    return launch(a, b, 1.0)

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return wrap(a, b)

def get_inputs():
    return [torch.randn(64, 4096).half(), torch.randn(64, 4096).half()]
"""
)
_TWICE = _WRAPPED.replace("return wrap(a, b)", "return wrap(a, b) + wrap(b, a)")
_OTHER = "\ndef other(a, b):\n    return wrap(a.float(), b.float())\n"


_INIT = "    def __init__(self):\n        super(ModelNew, self).__init__()\n\n"


@pytest.mark.parametrize(
    "source",
    [
        _WRAPPED,
        _TWICE,
        _WRAPPED.replace("    def forward", _INIT + "    def forward") + "\ndef make():\n    return ModelNew()\n",
        _WRAPPED.replace("class", "run = wrap\n\nclass").replace("return wrap", "return run"),
    ],
)
def test_a_launch_whose_every_caller_was_followed(source: str) -> None:
    assert fixed(source, "KL103", unsafe=False).applied


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (_WRAPPED + _OTHER, "wrap"),
        (_TWICE + _OTHER, "wrap"),
        (_WRAPPED.replace("return wrap", "wrap(a, b)\n        return wrap") + _OTHER, "wrap"),
        (_TWICE + _OTHER.replace("wrap(a.float(), b.float())", "launch(a.float(), b.float(), 1.0)"), "launch"),
        (_WRAPPED + "\nrun = wrap\n" + _OTHER.replace("wrap", "run"), "wrap"),
        (_WRAPPED.replace("def get", "    def other(self, a):\n        return self.forward(a.float(), a)\n\ndef get"), "ModelNew"),
        (_WRAPPED.replace("return wrap(a, b)", "if a.is_sparse:\n            return wrap(b, a)\n        return wrap(a, b)"), "wrap"),
    ],
)  # fmt: skip
def test_callers_above_the_launcher_that_were_not_followed(source: str, name: str) -> None:
    assert f"what `{name}` is given" in refusal(source, "KL103", unsafe=False)


def test_a_kernel_that_others_only_name() -> None:
    source = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))") + '\n\n__all__ = ["kernel"]\n'
    assert fixed(source, "KL101", unsafe=False).applied


def test_a_long_k_of_unknown_length_is_unsafe() -> None:
    source = gemm(LOADS + "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))")
    source = source.replace("s, 4096, BM", "s, a.shape[1], BM")
    assert "K is not known" in refusal(source, "KL101", unsafe=False)


_PAIR = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(a, b, c, K, BM: tl.constexpr, BK: tl.constexpr):
    m, k = tl.arange(0, BM), tl.arange(0, BK)
    acc = tl.zeros((BM, BM), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :]).to(tl.float32)
        y = tl.load(b + (start + k)[:, None] + m[None, :] * K).to(tl.float32)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * BM + m[None, :], acc)

class ModelNew(torch.nn.Module):
    def forward(self, a, b, d):
        c = torch.empty(2, 64, 64, device=a.device)
        kernel[(1,)](a, b, c[0], 4096, BM=64, BK=64)
        kernel[(1,)](a, d, c[1], 4096, BM=64, BK=64)
        return c

def get_inputs():
    narrow = torch.ones(64, 4096, device="cuda", dtype=torch.{narrow})
    return [narrow, narrow, torch.ones(64, 4096, device="cuda", dtype=torch.{other})]
"""


@pytest.mark.parametrize(
    ("rule", "narrow", "other"),
    [
        ("KL103", "float16", "bfloat16"), ("KL103", "float16", "float32"), ("KL103", "bfloat16", "float16"),
        ("KL101", "int8", "uint8"), ("KL101", "int8", "float16"), ("KL102", "float8_e4m3fn", "float8_e5m2"),
    ],
)  # fmt: skip
def test_another_launch_has_operands_of_two_types(rule: str, narrow: str, other: str) -> None:
    assert "operands of different types" in refusal(_PAIR.format(narrow=narrow, other=other), rule)


def test_another_launch_has_operands_of_the_same_type() -> None:
    assert fixed(_PAIR.format(narrow="float16", other="float16"), "KL103").applied


def test_one_line_of_several_statements() -> None:
    loop = LOADS + "xf = x.to(tl.float32); yf = y.to(tl.float32); acc += tl.dot(xf, yf)"
    _, came = changed(fixed(gemm(loop), "KL101"))
    assert "acc += tl.dot(x, y)" in came
