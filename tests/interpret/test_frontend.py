"""The front end on types: what it refuses of a kernel, and what it lets pass."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.interpret.api import Target, find_target, parse_version
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.syntax.tree import parse_module
from kernlint.workload import Fault

HEAD = "import torch\nimport triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"


def faults(body: str, call: str = "", version: str = "3.9", dtype: str = "float32", head: str = "") -> list[Fault]:
    """What is refused of ``kernel(x, y, n, B)`` with this body, launched with ``B=64`` on [16, 64] tensors."""
    source = f"""{HEAD}{head}
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
{textwrap.indent(textwrap.dedent(body).strip(), "    ")}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        {call or "kernel[(16,)](x, y, x.numel(), B=64)"}
        return y

def get_inputs():
    return [torch.zeros(16, 64, dtype=torch.{dtype})]
"""
    major, minor = parse_version(version)
    program = Program(parse_module(source, "k.py"), None, Question(target=Target((major, minor))))
    launches = [launch for workload in program.workloads() for launch in workload.launches()]
    assert launches
    return [f for launch in launches for f in (*launch.faults, *launch.kernel.faults) if f.certain]


def kinds(*args: str, **kwargs: str) -> set[str]:
    return {f.kind for f in faults(*args, **kwargs)} - {"lost-literal"}


HELPER = "\n@triton.jit\ndef largest(a, b):\n    return tl.maximum(a, b)\n"

LOAD = "i = tl.arange(0, B)\nv = tl.load(x + i)\n"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(LOAD + "tl.store(y + i, tl.tanh(v))", "missing-name", id="name of no release"),
        pytest.param(LOAD + "tl.store(y + i, tl.math.tanh(v))", "removed-name", id="moved to libdevice"),
        pytest.param("i = tl.arange(0, n)\ntl.store(y + i, 0.0)", "runtime-shape", id="run-time bound"),
        pytest.param("h = B // 2\ni = tl.arange(0, h)\ntl.store(y + i, 0.0)", "runtime-shape", id="assigned constant"),
        pytest.param("i = tl.arange(0, B + 32)\ntl.store(y + i, 0.0)", "not-power-of-two", id="96 elements"),
        pytest.param("v = tl.zeros((B * B, B * B), tl.float32)", "too-large", id="too many elements"),
        pytest.param(LOAD + "tl.store(y, v)", "block-through-scalar", id="block through one pointer"),
        pytest.param(LOAD + "w = tl.load(x + i, other=0.0)", "other-without-mask", id="other without mask"),
        pytest.param(LOAD + "w = v + tl.arange(0, 32)", "shape-mismatch", id="extents differ"),
        pytest.param(LOAD + "w = v.to(tl.int16, None, True)", "operand-type", id="bitcast by position"),
        pytest.param(LOAD + "s = tl.sum(tl.sum(v, axis=0), axis=0)", "tensor-rank", id="sum of one value"),
        pytest.param(LOAD + "tl.store(y, v[0])", "tensor-index", id="element read"),
        pytest.param(LOAD + "v[0] = 1.0", "tensor-index", id="element written"),
        pytest.param(
            "s = 0\nfor k in range(n):\n    s += tl.load(x + k)\ntl.store(y, s)", "loop-carried-type", id="seed"
        ),
        pytest.param("for k in range(n):\n    v = tl.load(x + k)\ntl.store(y, v)", "branch-undefined", id="loop local"),
        pytest.param("if n > 3:\n    v = tl.load(x)\ntl.store(y, v)", "branch-undefined", id="one branch"),
        pytest.param("v = tl.load(x) if n > 3 else 0\ntl.store(y, v)", "branch-type", id="ternary of two types"),
        pytest.param(LOAD + "if v > 0:\n    v = v * 2", "block-condition", id="block decides"),
        pytest.param(LOAD + "w = v ** 2", "power", id="power"),
        pytest.param(LOAD + "w = v.to(torch.float16)", "host-dtype", id="torch type"),
        pytest.param(LOAD + "w = sum(v)", "host-function", id="built-in"),
        pytest.param(LOAD + "w = v.astype(tl.float16)", "missing-attribute", id="numpy habit"),
        pytest.param(LOAD + "w = v & 1", "operand-type", id="bits of a float"),
        pytest.param(LOAD + "w = x * 2", "pointer-arithmetic", id="product with a pointer"),
        pytest.param("p = tl.program_id(3)", "program-axis", id="fourth axis"),
        pytest.param("for k in range(n):\n    if k > 3:\n        break", "unsupported-syntax", id="break"),
        pytest.param("f = lambda a: a", "unsupported-syntax", id="lambda"),
        pytest.param("while True:\n    n += 1", "constant-while", id="while on a constant"),
        pytest.param(LOAD + "w = tl.sum(v, dim=0)", "bad-call", id="unknown keyword"),
        pytest.param(LOAD + "w = tl.full((B,), 0.0)", "bad-call", id="missing argument"),
        pytest.param(LOAD + "w = tl.dot(v, v)", "dot-shape", id="dot of one dimension"),
        pytest.param(LOAD + "b = v.to(tl.int32, bitcast=True) & 0xFFFF0000", "literal-range", id="mask too wide"),
        pytest.param(LOAD + "w = tl.join(v, tl.arange(0, 32))", "shape-mismatch", id="join"),
        pytest.param(LOAD + "w, u = tl.broadcast(v, tl.arange(0, 32))", "shape-mismatch", id="broadcast"),
        pytest.param(LOAD + "w = tl.ravel(tl.join(v, v)) + v", "shape-mismatch", id="ravel"),
        pytest.param(LOAD + "w = tl.expand_dims(input=v, axis=3)", "tensor-rank", id="axis by name"),
        pytest.param(LOAD + "w = tl.fma(x=v, y=tl.arange(0, 32), z=v)", "shape-mismatch", id="factors by name"),
        pytest.param(LOAD + "w = tl.reduce(v, 1, largest)", "tensor-rank", id="reduction by a helper"),
        pytest.param("d = tl.make_tensor_descriptor(x, [n, n], [n, 2], [B, B])", "descriptor", id="last stride"),
        pytest.param("d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [B, 2])", "descriptor", id="short row"),
        pytest.param(
            "d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [B, B])\nw = d.load([0, 0]) + tl.arange(0, 32)",
            "shape-mismatch",
            id="block of a descriptor",
        ),
    ],
)
def test_refused(body: str, kind: str) -> None:
    assert kind in kinds(body, head=HELPER)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param("tl.store(y, v)\nv = tl.load(x)", "line 9 is the first to assign it", id="further down"),
        pytest.param("for k in range(n):\n    tl.store(y, v)\n    v = 1.0", "line 10 is the first to", id="in a loop"),
        pytest.param("s += tl.load(x)\ntl.store(y, s)", "line 8 is the first to assign it", id="no start"),
        pytest.param("s = s + tl.load(x)", "line 8 is the first to assign it", id="of itself"),
        pytest.param("if n > 3:\n    v = 1.0\ntl.store(y, v)\nv = 2.0", "only a loop, or a branch", id="branch"),
        pytest.param("for k in range(n):\n    v = 1.0\ntl.store(y, v)", "only a loop, or a branch", id="loop"),
    ],
)
def test_why_a_name_is_not_defined(body: str, why: str) -> None:
    (fault,) = [one for one in faults(body) if one.kind == "branch-undefined"]
    assert why in fault.text


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("h: tl.constexpr = B // 2\ni = tl.arange(0, h)\ntl.store(y + i, 0.0)", id="constexpr local"),
        pytest.param(LOAD + "tl.store(y + i, libdevice.tanh(v))", id="libdevice"),
        pytest.param(LOAD + "tl.store(y + i, tl.sum(v))", id="one value into a block"),
        pytest.param(LOAD + "tl.store(y + i[:, None] * B + i[None, :], v[:, None] + v[None, :])", id="new axes"),
        pytest.param("s = 0.0\nfor k in range(n):\n    s += tl.load(x + k)\ntl.store(y, s)", id="float seed"),
        pytest.param("v = 0.0\nif n > 3:\n    v = tl.load(x)\ntl.store(y, v)", id="defined before the branch"),
        pytest.param("if B > 3:\n    v = tl.load(x)\nelse:\n    v = 0\ntl.store(y, v)", id="one arm is compiled"),
        pytest.param("if B > 128:\n    v = tl.tanh(x)", id="arm that is not compiled"),
        pytest.param("for k in tl.static_range(3):\n    i = tl.arange(0, B)\ntl.store(y + i, 0.0)", id="unrolled loop"),
        pytest.param(LOAD + "m = (i < n) & (v > 0)\ntl.store(y + i, v, mask=m)", id="bit operators on booleans"),
        pytest.param(LOAD + "tl.store(y + i, v * 2 + 1e-8)", id="literals take the type"),
        pytest.param(LOAD + "tl.store(y + i, tl.reduce(v, 0, largest) + v)", id="reduction by a helper"),
        pytest.param(LOAD + "tl.store(y + tl.arange(0, 2 * B), tl.interleave(v, v))", id="interleave"),
        pytest.param(LOAD + "tl.store(y + tl.arange(0, 2 * B), tl.cat(v, v))", id="cat"),
        pytest.param(
            "d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [B, B])\nw = d.load([0, 0]) + tl.arange(0, B)",
            id="block of a descriptor",
        ),
        pytest.param("s = tl.zeros((B, B), tl.float32)\nfor k in range(n):\n    s += tl.dot(s, s)", id="accumulator"),
        pytest.param(LOAD + "tl.store(y + i, tl.where(i < n, v, float('-inf')))", id="float of a string"),
        pytest.param("p = tl.program_id(0)\nif p > 3:\n    return\ntl.store(y + p, 0.0)", id="early return"),
        pytest.param("k = 0\nwhile k < n:\n    k += 1\ntl.store(y, k)", id="while"),
        pytest.param(
            LOAD + "w = v[:, None] * tl.arange(0, 32)[None, :]\ntl.store(y, tl.sum(tl.sum(w - tl.sum(w, 1, True))))",
            id="kept dimensions by position",
        ),
    ],
)
def test_accepted(body: str) -> None:
    assert not kinds(body, head=HELPER)


def test_releases_differ() -> None:
    chain = "i = tl.arange(0, B)\ntl.store(y + i, 0.0, mask=0 <= i < n)"
    assert "unsupported-syntax" in kinds(chain, version="3.8")
    assert not kinds(chain, version="3.9")
    block = "p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))\ntl.store(y + tl.arange(0, B), tl.load(p))"
    assert "removed-name" in kinds(block, version="3.9")
    assert "removed-name" not in kinds(block, version="3.3")
    logical = "if n > 1 and n < 5 and n != 3:\n    tl.store(y, 0.0)"
    assert "unsupported-syntax" in kinds(logical, version="3.3")
    assert not kinds(logical, version="3.4")


def test_least_dot_depends_on_the_release() -> None:
    body = """
        m, k = tl.arange(0, 8), tl.arange(0, 16)
        a = tl.load(x + m[:, None] * 16 + k[None, :])
        b = tl.load(x + k[:, None] * 8 + m[None, :])
        tl.store(y + m[:, None] * 8 + m[None, :], tl.dot(a, b))
        """
    assert "dot-least" in kinds(body, version="3.3", dtype="float16")
    assert not kinds(body, version="3.9", dtype="float16")


def test_types_come_from_the_host() -> None:
    body = LOAD + "tl.store(y + i, tl.exp(v))"
    assert not kinds(body)
    assert "math-type" in kinds(body, dtype="bfloat16")
    assert not kinds(LOAD + "tl.store(y + i, tl.exp(v.to(tl.float32)))", dtype="bfloat16")


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        pytest.param("kernel[(16,)](x, y, 64)", "launch-missing", id="missing"),
        pytest.param("kernel[(16,)](x, y, 64, 64, B=64)", "launch-duplicate", id="twice"),
        pytest.param("kernel[(16,)](x, y, 64, B=64, C=3)", "launch-unexpected", id="unknown"),
        pytest.param("kernel[(16,)](x, y, 1, 2, 3, B=64)", "launch-unexpected", id="too many"),
        pytest.param("kernel[16](x, y, 64, B=64)", "bad-grid", id="grid is a number"),
        pytest.param("kernel[(x.numel() / 64,)](x, y, 64, B=64)", "bad-grid", id="grid holds a float"),
    ],
)
def test_launch_is_refused(call: str, kind: str) -> None:
    assert kind in kinds("tl.store(y, 0.0)", call=call)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param("kernel[(16,)](x, y, 64, B=64, num_warps=8, num_stages=2)", id="options"),
        pytest.param("kernel[(16,)](*(x, y), n=64, B=64)", id="star"),
        pytest.param("kernel[lambda meta: (16,)](x, y, 64, B=64)", id="grid function"),
    ],
)
def test_launch_is_accepted(call: str) -> None:
    assert not kinds("tl.store(y, 0.0)", call=call)


def test_autotuned_parameter_given_again() -> None:
    head = "@triton.autotune(configs=[triton.Config({'B': 64}), triton.Config({'B': 32})], key=['n'])"
    assert "launch-duplicate" in kinds("tl.store(y, 0.0)", head=head)
    assert not kinds("tl.store(y, 0.0)", call="kernel[(16,)](x, y, 64)", head=head)
    assert "launch-duplicate" in kinds("tl.store(y, 0.0)", call="kernel[(16,)](x, y, 64, num_warps=8)", head=head)


def test_globals() -> None:
    body = LOAD + "tl.store(y + i, v * SCALE)"
    assert "plain-global" in kinds(body, head="SCALE = 2.0\n")
    assert "plain-global" in kinds(body, head="SCALE: tl.constexpr = 2.0\n")
    assert not kinds(body, head="SCALE = tl.constexpr(2.0)\n")


@pytest.mark.parametrize(
    ("given", "is_plain"),
    [
        pytest.param("SCALE = tl.constexpr(3.0)", False, id="a constexpr"),
        pytest.param("SCALE = made()", False, id="not known"),
        pytest.param("SCALE, other = made()", False, id="one of several"),
        pytest.param("SCALE = 3.0", True, id="a number"),
    ],
)
def test_global_that_a_function_sets(given: str, is_plain: bool) -> None:
    head = f"from other import made\nSCALE = 2.0\n\ndef prepare():\n    global SCALE\n    {given}\n"
    assert ("plain-global" in kinds(LOAD + "tl.store(y + i, v * SCALE)", head=head)) == is_plain
    local = head.replace("    global SCALE\n", "")
    assert "plain-global" in kinds(LOAD + "tl.store(y + i, v * SCALE)", head=local)


def test_helpers_are_followed() -> None:
    helper = "@triton.jit\ndef double(v):\n    return v * {}\n\n"
    body = LOAD + "tl.store(y + i, double(v))"
    assert not kinds(body, head=helper.format("2"))
    assert "missing-name" in kinds(body, head=helper.format("tl.two"))
    assert "recursion" in kinds(body, head=helper.format("double(v)"))
    assert "host-function" in kinds(body, head=helper.format("2").replace("@triton.jit\n", ""))


def test_specialised_argument() -> None:
    body = "i = tl.arange(0, B)\ntl.store(y + i * n.to(tl.int64), 0.0)"
    assert "specialised-scalar" in kinds(body, call="kernel[(16,)](x, y, x.stride(1), B=64)")
    assert not kinds(body, call="kernel[(16,)](x, y, x.stride(0), B=64)")


@pytest.mark.parametrize(("annotation", "refused"), [("", True), (": tl.int64", False)])
def test_annotated_keyword_argument_is_not_specialised(annotation: str, refused: bool) -> None:
    head = f"@triton.jit\ndef other(y, *, n{annotation}):\n    tl.store(y + n.to(tl.int64), 0.0)\n\n"
    found = kinds("tl.store(y, 0.0)", call="other[(16,)](y, n=1)", head=head)
    assert ("specialised-scalar" in found) is refused


@pytest.mark.parametrize(
    ("annotation", "refused"),
    [
        ("", True),
        (": tl.uint16", False),
        (": 'u16'", False),
        (": tl.int32", True),
        (": int", True),
        (": tl.uint17", True),
    ],
)
def test_an_annotation_tells_the_type_of_a_number(annotation: str, refused: bool) -> None:
    """`(v >> 1) ^ n` is of 16 bits where `n` is: both branches leave `v` what it was."""
    body = "v = tl.program_id(0).to(tl.uint16)\nif v & 1:\n    v = (v >> 1) ^ n\ntl.store(y, v)"
    head = f"@triton.jit\ndef other(y, n{annotation}):\n{textwrap.indent(body, '    ')}\n\n"
    assert ("branch-type" in kinds("tl.store(y, 0.0)", call="other[(16,)](y, 0x8408)", head=head)) is refused


def test_targets() -> None:
    assert find_target(None, "nvidia", "90").version == (3, 9)
    assert find_target("3.3.1", "nvidia", "90").version == (3, 3)
    assert find_target("2.1", "nvidia", "90").version == (3, 2)
    assert find_target("4.0", "nvidia", "90").version == (3, 9)


def test_extensions_of_back_ends_are_names() -> None:
    assert not kinds(LOAD + "tl.extra.cuda.gdc_wait()\ntl.store(y + i, v)")
    assert not kinds(LOAD + "tl.store(y + i, tl.extra.vendor.f(v))")
    assert "missing-name" in kinds(LOAD + "tl.store(y + i, tl.extract(v))")
    assert not kinds(LOAD + "tl.store(y + i, tl.extract(v))", head="from vendor import extract\ntl.extract = extract\n")


def test_argument_that_may_be_one_is_not_certain_to_fail() -> None:
    body = "i = tl.arange(0, B)\ntl.store(y + i, tl.load(x + i * n.to(tl.int64)))"
    assert "specialised-scalar" not in kinds(body, call="kernel[(16,)](x, y, len(x.unknown), B=64)")
    assert "specialised-scalar" not in kinds(body, call="kernel[(16,)](x, y, 2, B=64)")
    assert "specialised-scalar" in kinds(body, call="kernel[(16,)](x, y, 1, B=64)")


@pytest.mark.parametrize("annotation", ['"UNROLLED"', "'each_of_them'"])
def test_template_is_not_what_gets_compiled(annotation: str) -> None:
    body = f"acc: {annotation}\n" + LOAD + "tl.store(y + i, v[0])"
    assert not kinds(body)


@pytest.mark.parametrize("annotation", ['"tl.tensor"', '"fp32"', "tl.tensor"])
def test_annotated_with_a_type_is_no_template(annotation: str) -> None:
    assert "tensor-index" in kinds(LOAD + f"w: {annotation} = v\ntl.store(y + i, w[0])")


def test_launch_of_an_unpacked_list_is_not_counted() -> None:
    call = """more = []
        for _ in range(2):
            more.extend([y, x.numel(), 64])
        kernel[(16,)](x, *more)"""
    assert not {k for k in kinds(LOAD + "tl.store(y + i, v)", call=call) if k.startswith("launch")}


def test_option_of_another_vendor_is_no_parameter() -> None:
    call = "kernel[(16,)](x, y, x.numel(), B=64, matrix_instr_nonkdim=16)"
    assert "launch-unexpected" not in kinds(LOAD + "tl.store(y + i, v)", call=call)
    assert "launch-unexpected" in kinds(
        LOAD + "tl.store(y + i, v)", call=call.replace("matrix_instr_nonkdim", "option")
    )


@pytest.mark.parametrize(
    ("name", "parameter", "since"),
    [
        pytest.param("triton.language.make_block_ptr", "", "3.9", id="gone in the newest"),
        pytest.param("triton.language.math.tanh", "", None, id="in none of the releases"),
        pytest.param("triton.language.load", "", None, id="still there"),
        pytest.param("triton.language.anything", "", None, id="never there"),
    ],
)
def test_release_that_took_a_name_away(name: str, parameter: str, since: str | None) -> None:
    assert Target(named=False).gone_since(name, parameter) == since


def test_name_that_the_module_assigns_is_not_that_of_python() -> None:
    body = LOAD + "tl.store(y + i, pow(v, 2.0))"
    head = "from helpers import find\n\nif find:\n    pow = find('pow')\n"
    assert "host-function" in kinds(body)
    assert "host-function" not in kinds(body, head=head)


def test_argument_that_may_be_a_tuple_stays_one_after_a_branch() -> None:
    body = LOAD + "if tl.program_id(0) == 0:\n    v = v + 1.0\ntl.store(y + i, v + n[0])"
    assert "tensor-index" not in kinds(body, call="kernel[(16,)](x, y, x.unknown, B=64)")


def test_raise_behind_an_unknown_condition_is_none() -> None:
    body = LOAD + "if B > 64:\n    raise ValueError\ntl.store(y + i, v)"
    assert "unsupported-syntax" not in kinds(body)
    assert "unsupported-syntax" in kinds(LOAD + "raise ValueError")


STARRED = "def strides(x):\n    return x.unknown\n\ndef part(x, a, b, c):\n    return kernel[(16,)](x, a, c, B=64)\n"


@pytest.mark.parametrize(
    "call",
    [
        pytest.param("kernel[(16,)](x, *(y, *x.unknown), B=64)", id="starred in a tuple"),
        pytest.param("part(x, *strides(x), c=1)", id="bound by a helper"),
        pytest.param("part(x, y, *strides(x))", id="the rest of a helper's"),
    ],
)
def test_what_a_starred_list_of_unknown_length_reaches_is_not_counted(call: str) -> None:
    assert not {k for k in kinds(LOAD + "tl.store(y + i, v)", call=call, head=STARRED) if k.startswith("launch")}


def test_difference_that_a_choice_discards_is_none() -> None:
    body = "i = tl.arange(0, B)\ne = tl.load(x + i) & 3\nw = tl.exp2((e - 1).to(tl.float32)) * 0.5\n{}"
    assert "unsigned-wrap" in kinds(body.format("tl.store(y + i, w)"), dtype="uint8")
    assert "unsigned-wrap" in kinds(body.format("tl.store(y + i, tl.where(i == 0, 0.0, w))"), dtype="uint8")
    assert "unsigned-wrap" not in kinds(body.format("tl.store(y + i, tl.where(e == 0, 0.0, w))"), dtype="uint8")
    renamed = body.replace("e ", "code ").replace("(e ", "(code ")
    assert "unsigned-wrap" not in kinds(renamed.format("tl.store(y + i, tl.where(0 == code, 0.0, w))"), dtype="uint8")


def test_sum_of_booleans_is_unsigned() -> None:
    body = (
        LOAD + "if tl.program_id(0) == 0:\n    c = tl.full((), 0, tl.{})\nelse:\n    c = tl.sum(v > 0)\ntl.store(y, c)"
    )
    assert "branch-type" in kinds(body.format("int32"))
    assert "branch-type" not in kinds(body.format("uint32"))


def test_assigned_argument_is_a_run_time_value() -> None:
    body = "m = n\ni = tl.arange(0, B)\ntl.store(y + i * m.to(tl.int64), 0.0)"
    assert not kinds(body, call="kernel[(16,)](x, y, 1, B=64)")


def test_global_that_may_be_a_constexpr_is_one() -> None:
    body = LOAD + "tl.store(y + i, v * SCALE)"
    assert not kinds(body, head="from other import HAS\nSCALE = tl.constexpr(2.0) if HAS else 2.0\n")
    assert "plain-global" in kinds(body, head="from other import HAS\nSCALE = 3.0 if HAS else 2.0\n")


def test_heuristics_that_are_not_followed_may_set_any_parameter() -> None:
    call = "kernel[(16,)](x, y, x.numel())"
    assert not kinds("tl.store(y, 0.0)", call=call, head="import ours\n@triton.heuristics(ours.config('k'))")
    assert "launch-missing" in kinds("tl.store(y, 0.0)", call=call, head="@triton.heuristics({'C': lambda args: 1})")


def test_jit_functions_of_a_library_can_be_called() -> None:
    body = LOAD + "tl.store(y + i, helpers.isnan(v))"
    assert not kinds(body, head="from torch._inductor.runtime.triton_helpers import libdevice as helpers\n")
    assert "host-function" in kinds(body.replace("helpers", "torch"))


VERSIONED = "@triton.jit\ndef log(v):\n    return tl.{}(v)\n"


@pytest.mark.parametrize(
    ("guard", "fails"),
    [
        pytest.param('version.parse(triton.__version__) >= version.parse("3.0.0")', False, id="packaging"),
        pytest.param('Version(triton.__version__).release[:2] < (3, 0)', True, id="release"),
        pytest.param('tuple(int(p) for p in triton.__version__.split(".")[:2]) >= (3, 1)', False, id="by hand"),
        pytest.param('hasattr(tl, "log")', False, id="hasattr"),
        pytest.param('hasattr(tl.math, "nothing")', True, id="hasattr of nothing"),
        pytest.param('getattr(tl, "nothing", None) is None', False, id="getattr"),
        pytest.param('int(triton.__version__[0]) < 3', True, id="first digit"),
    ],
)  # fmt: skip
def test_version_tests_decide_what_is_compiled(guard: str, fails: bool) -> None:
    good, bad = (textwrap.indent(VERSIONED.format(name), "    ") for name in ("log", "math.nothing"))
    head = f"from packaging import version\nfrom packaging.version import Version\nif {guard}:\n{good}else:\n{bad}\n"
    assert bool(kinds(LOAD + "tl.store(y + i, log(v))", head=head)) is fails


def test_import_of_what_the_release_lacks_is_caught() -> None:
    good, bad = (textwrap.indent(VERSIONED.format(name), "    ") for name in ("log", "nothing"))
    head = f"try:\n    from triton.language import {{}}\n{good}except ImportError:\n{bad}\n"
    body = LOAD + "tl.store(y + i, log(v))"
    assert not kinds(body, head=head.format("exp2"))
    assert "missing-name" in kinds(body, head=head.format("nowhere"))


def test_definition_under_a_condition_that_nobody_knows_is_not_certain() -> None:
    good, bad = (textwrap.indent(VERSIONED.format(name), "    ") for name in ("log", "nothing"))
    head = f"from ours import OLD\nif OLD:\n{good}else:\n{bad}\n"
    assert not kinds(LOAD + "tl.store(y + i, log(v))", head=head)


FLAGS = """
@triton.jit
def kernel(x, y, A: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, 64)
    if A:
        v = tl.load(x + i)
    elif C:
        v = tl.load(x + i) + 1.0
    tl.store(y + i, v)

def run(x, y, a: bool, c: bool):
    kernel[(1,)](x, y, {}, C=c)
"""


@pytest.mark.parametrize(("a", "fails"), [("a", False), ("not a", False), ("a is True", False), ("False", False)])
def test_flags_that_are_only_presumed_false_prove_nothing(a: str, fails: bool) -> None:
    assert bool(_of_program(FLAGS.format(a))) is fails
    assert bool(_of_program(FLAGS.format("False").replace("C=c", "C=False"))) is True


def _of_program(source: str) -> list[Fault]:
    program = Program(parse_module(HEAD + source, "k.py"), None, Question(target=Target()))
    launches = [launch for workload in program.workloads() for launch in workload.launches()]
    assert launches
    return [f for launch in launches for f in launch.kernel.faults if f.certain]


def test_none_that_torch_takes_for_a_tensor_is_no_argument() -> None:
    source = (
        FLAGS.format("x is not None")
        .replace("a: bool, c: bool", "c=False")
        .replace("def run(x, y", "def run(y, x=None")
    )
    assert _of_program(source.replace("C=c", "C=False"))
    like = "    kernel[(1,)]"
    assert not _of_program(source.replace("C=c", "C=False").replace(like, "    z = torch.empty_like(x)\n" + like))


def test_helper_of_a_kernel_that_is_a_method_is_no_kernel() -> None:
    source = """
@triton.jit
def store(p, v):
    tl.store(p + tl.program_id(0), tl.sum(v, axis=0))

class Op:
    @staticmethod
    @triton.jit
    def kernel(x, o):
        store(o, tl.load(x + tl.arange(0, 64)))
"""
    program = Program(parse_module(HEAD + source, "k.py"), None, Question(target=Target()))
    assert [w.entry for w in program.bare_kernels()] == []
    assert [w.entry for w in Program(parse_module(HEAD + source.split("class")[0], "k.py")).bare_kernels()] == ["store"]


@pytest.mark.parametrize(
    "items", ["tuple(tl.constexpr(v) for v in (16, 64))", "(tl.constexpr(16), tl.constexpr(64))", "made()"]
)
def test_a_tuple_of_constants_may_be_a_shape(items: str) -> None:
    body = "i = tl.arange(0, B)\nv = tl.zeros(n, tl.float32)\nw = tl.zeros((n[0], n[1]), tl.float32)"
    assert not kinds(body, call=f"kernel[(16,)](x, y, {items}, B=64)")
