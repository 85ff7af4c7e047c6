"""Copies, casts and fills around a launch: the kernel reads and writes the originals."""

import textwrap

import pytest
from support.fixes import changed, fixed, refusal

from kernlint.fix import fix_source
from kernlint.request import Request
from kernlint.rules.registry import find_rule

CAST = textwrap.dedent(find_rule("KL301").bad)
K_MAJOR = textwrap.dedent(find_rule("KL305").bad)

#: A kernel over rows that takes its input for contiguous.
ROWS = """
import torch
import triton
import triton.language as tl

B, T, H, D = 2, 512, 16, 128

@triton.jit
def double(X, Y, n, D: tl.constexpr, ROWS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    {offsets}
    x = tl.load({pointer}, mask=(r < n)[:, None], other=0.0)
    tl.store(Y + r[:, None] * D + d[None, :], x * 2, mask=(r < n)[:, None])

class ModelNew(torch.nn.Module):
    def forward(self, q):
        {copy}
        y = torch.empty_like(x)
        n = B * H * T
        double[(triton.cdiv(n, 32),)](x, y, n, D=D, ROWS=32)
        return y

def get_inputs():
    return [torch.randn(B, T, H, D, dtype=torch.float16)]
"""


def rows(offsets: str = "offs = r[:, None] * D + d[None, :]", pointer: str = "X + offs",
         copy: str = "x = q.transpose(1, 2).contiguous()") -> str:  # fmt: skip
    return ROWS.format(offsets=offsets, pointer=pointer, copy=copy)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(rows(), id="offsets with a name"),
        pytest.param(rows("pass", "X + r[:, None] * D + d[None, :]"), id="inline"),
        pytest.param(rows("base = X + r[:, None] * D", "base + d[None, :]"), id="pointer to rows"),
        pytest.param(rows(copy="t = q.transpose(1, 2)\n        x = t.contiguous()"), id="a view with a name"),
    ],
)
def test_a_kernel_that_takes_its_input_for_contiguous(source: str) -> None:
    """It cannot read the original as it stands; written anew it does, where that is agreed to."""
    assert "only fits its present layout" in refusal(source, "KL301")
    made = fix_source(Request(source, path="k.py"), unsafe=True)
    (applied,) = made.applied
    assert (applied.code, applied.anew, applied.effects.applicability) == ("KL301", True, "unsafe")
    assert ".transpose(1, 2).contiguous()" not in made.after


@pytest.mark.parametrize(
    ("source", "why"),
    [
        pytest.param(rows(copy="x = q.transpose(1, 2).contiguous()\n        assert x.is_contiguous()"), "is_contiguous", id="assert"),
        pytest.param(rows(copy="x = q.transpose(1, 2).contiguous().view(B * H, T, D)"), "view", id="view"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_in_place(source: str, why: str) -> None:
    import re

    assert re.search(why, refusal(source, "KL301"))


@pytest.mark.parametrize("names", ["B, T, H, D", "batch, steps, heads, width"])
def test_the_extent_of_a_row_is_not_mistaken_for_another_of_its_size(names: str) -> None:
    # T == D here: a row of T elements would only be right at these sizes.
    source = (
        rows()
        .replace("T, H, D = 2, 512", "T, H, D = 2, 128")
        .replace("D: tl.constexpr", "D: tl.constexpr, W: tl.constexpr")
    )
    source = source.replace("* D + d[None, :]\n    x =", "* W + d[None, :]\n    x =").replace(
        "D=D, ROWS", "D=D, W=T, ROWS"
    )
    # What a constant is called does not matter.
    b, t, h, d = names.split(", ")
    source = source.replace("B, T, H, D", names).replace("B * H * T", f"{b} * {h} * {t}")
    source = source.replace("D=D, W=T", f"D={d}, W={t}")
    assert "only fits its present layout" in refusal(source, "KL301")


def test_casts_move_into_the_kernel() -> None:
    assert "is put in order" in refusal(CAST, "KL301", unsafe=False)
    gone, came = changed(fixed(CAST, "KL301"))
    assert gone == [
        "tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)",
        "x = x.to(torch.float32)",
        "return y.to(torch.float16)",
    ]
    converted = "tl.store(y + i, tl.load(x + i, mask=i < n).to(tl.float32) * 2.0, mask=i < n)"
    assert came == [converted, "x = x.contiguous()", "return y"]


def test_the_output_is_allocated_in_its_final_type() -> None:
    source = CAST.replace("torch.empty_like(x)", "torch.empty(x.shape, device=x.device, dtype=torch.float32)")
    assert "y = torch.empty(x.shape, device=x.device, dtype=torch.float16)" in fixed(source, "KL301").after
    source = CAST.replace("        x = x.to", "        kind = x.dtype\n        x = x.to").replace(
        "y.to(torch.float16)", "y.to(kind)"
    )
    result = fixed(source, "KL301")
    # Nothing else asks for the type.
    assert "kind" not in result.after and "return y\n" in result.after


def test_a_cast_that_the_kernel_makes_itself_is_not_doubled() -> None:
    source = CAST.replace("tl.load(x + i, mask=i < n)", "tl.load(x + i, mask=i < n).to(tl.float32)")
    assert ".to(tl.float32).to(tl.float32)" not in fixed(source, "KL301").after


def test_atomics_keep_their_type() -> None:
    source = CAST.replace("tl.store(y + i,", "tl.atomic_add(y + i,").replace("empty_like", "zeros_like")
    from kernlint.fix import fix_source

    result = fix_source(Request(source, path="k.py"), rules=["KL301"], unsafe=True)
    assert "y.to(torch.float16)" in result.after


def test_a_transposed_weight_becomes_a_view() -> None:
    source = K_MAJOR.replace(
        "    b = w.t().contiguous()", "    # Transpose the weight for the kernel\n    b = w.t().contiguous()"
    )
    gone, came = changed(fixed(source, "KL305", unsafe=False))
    assert came == ["# A view of w, read through its strides", "b = w.t()"]
    assert gone == ["# Transpose the weight for the kernel", "b = w.t().contiguous()"]


def test_a_comment_keeps_what_is_still_true() -> None:
    source = K_MAJOR.replace("    b = w.t()", "    # B = W^T [K, N], contiguous so that loads coalesce\n    b = w.t()")
    assert "# B = W^T [K, N]: a view of w, read through its strides\n" in fixed(source, "KL305").after


def test_a_kernel_without_strides_cannot_take_a_transposed_view() -> None:
    source = K_MAJOR.replace("* sbk + n[None, :] * sbn", "* N + n[None, :]")
    from kernlint.fix import fix_source

    result = fix_source(Request(source, path="k.py"), rules=["KL301", "KL305"], unsafe=True)
    assert ".contiguous()" in result.after and "* N + n[None, :]" in result.after


_FLAT = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)
    tl.store(y_ptr + row * N + cols, x * 2, mask=cols < N)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        M, N = x.shape
        HOST
        y = torch.empty(M, N, device=x.device)
        double[(M,)](x, y, M, N, BLOCK=1024)
        return RESULT

def get_inputs():
    return [torch.randn(8192, 1024)]
"""


@pytest.mark.parametrize(
    ("host", "result", "why"),
    [
        ("x = x.clone()", "y", "does not lie in order"),
        ("x = x.t().contiguous().t().contiguous()", "y", "does not lie in order"),
        ("z = x; x = x.clone(); z.add_(1)", "y", "writes to what line"),
        ("z = x.t(); x = x.clone(); z[0] = 1", "y", "writes to what line"),
        ("pass", "y.half(), y", "is needed as it was too"),
        ("pass", "y.half(), y.t()", "is needed as it was too"),
        ("pass", "y.half(), y.sum()", "is needed as it was too"),
        ("pass", "y.bool()", "a store to booleans"),
    ],
)
def test_what_is_not_the_same_for_every_caller_is_not_done_without_asking(host: str, result: str, why: str) -> None:
    source = _FLAT.replace("HOST", host).replace("RESULT", result)
    made = fix_source(Request(source, "kernel.py", device="h100"), rules=["KL301"])
    assert not made.applied and any(why in one.reason for one in made.refused), made.refused


def test_a_result_that_is_converted_alone_is_stored_so() -> None:
    source = _FLAT.replace("HOST", "pass").replace("RESULT", "y.half()")
    made = fix_source(Request(source, "kernel.py", device="h100"), rules=["KL301"])
    assert [one.effects.applicability for one in made.applied] == ["safe"], made.refused
