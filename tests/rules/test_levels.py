"""How loudly a finding is said: what speaks against it lowers it, whatever rule it is of."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kernlint.lint.check_file import Job, check_file
from kernlint.lint.settings import FileSettings
from tests.support.values import HEADER

HALVED = """
    @triton.jit
    def halve(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i) * 0.5)

    def run(x):
        y = torch.empty_like(x)
        halve[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
"""


def levels(folder: Path, source: str, code: str, **others: str) -> list[str]:
    """The levels of the findings of rule ``code`` in ``source``, a module of a package in ``folder`` beside ``others``."""
    (folder / "pyproject.toml").write_text("[project]\nname = 'p'\n")
    (folder / "p").mkdir(exist_ok=True)
    for name, text in {"__init__": "", "kernels": HEADER + textwrap.dedent(source), **others}.items():
        file = folder / "p" / f"{name}.py"
        file.write_text(textwrap.dedent(text))
    path = folder / "p" / "kernels.py"
    return told(str(path), path.read_bytes(), code)


def alone(code: str, source: str) -> list[str]:
    """The levels of the findings of rule ``code`` in ``source``, a file that is no part of a project."""
    return told("kernels.py", (HEADER + textwrap.dedent(source)).encode(), code)


def told(path: str, data: bytes, code: str) -> list[str]:
    found = check_file(Job(path, data, FileSettings(frozenset({code})))).findings
    return [finding.severity for finding in found if finding.code == code]


CALL = "import torch\nfrom p.kernels import run\nrun(torch.randn({size}, device='cuda'))\n"


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param({}, "info", id="nobody calls it"),
        pytest.param({"use": CALL.format(size="4, 64")}, "info", id="whole tiles"),
        pytest.param({"use": CALL.format(size="3, 63")}, "warning", id="a partial tile"),
    ],
)
def test_sizes_that_a_call_of_the_project_has(tmp_path: Path, calls: dict[str, str], expected: str) -> None:
    assert set(levels(tmp_path, HALVED, "KL736", **calls)) == {expected}


@pytest.mark.parametrize(("size", "level"), [("math.prod(x.shape[:-1])", "warning"), ("x.shape[0]", "info")])
def test_a_batch_of_one_is_no_whole_tile_whoever_calls(tmp_path: Path, size: str, level: str) -> None:
    source = "import math\n" + textwrap.dedent(HALVED).replace("x.numel()", "n").replace(
        "empty_like(x)", "empty(n)"
    ).replace("    y =", f"    n = {size}\n    y =")
    assert set(levels(tmp_path, source, "KL736")) == {level}


def test_a_kernel_that_masks_the_index_elsewhere_expects_any_size(tmp_path: Path) -> None:
    assert levels(tmp_path, HALVED.replace("tl.load(x + i)", "tl.load(x + i, mask=i < n)"), "KL736") == ["warning"]


def test_a_file_alone_has_no_calls_to_ask() -> None:
    assert alone("KL736", HALVED) == ["warning"]


REFUSED = """
    @triton.jit
    def fill(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, 48), 0.0)

    def run(x):
        fill[(1,)](x, B=48)
"""


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        pytest.param({}, "error", id="Triton's own"),
        pytest.param(
            {"__init__": "from . import ops", "ops": "import torch_npu"}, "info", id="what the package imports"
        ),
        pytest.param(
            {"__init__": "from .ops import f", "ops": "import torch_npu\ndef f(): 0"}, "info", id="name of it"
        ),
        pytest.param(
            {"__init__": "def f():\n    from . import ops", "ops": "import torch_npu"}, "error", id="on demand"
        ),
    ],
)
def test_another_compiler(tmp_path: Path, package: dict[str, str], expected: str) -> None:
    assert levels(tmp_path, REFUSED, "KL705", **package) == [expected]


CAUGHT = "try:\n            fill[(1,)](x, B=48)\n        except Exception:\n            pass"


def test_what_the_program_catches() -> None:
    caught = REFUSED.replace("fill[(1,)](x, B=48)", CAUGHT)
    assert alone("KL705", caught) == ["warning"]
    assert alone("KL705", caught.replace("pass", "raise")) == ["error"]


def test_kernels_that_nothing_launches(tmp_path: Path) -> None:
    kernel = REFUSED[: REFUSED.index("    def run")]
    assert alone("KL705", kernel) == ["warning"]
    assert levels(tmp_path, kernel, "KL705") == ["info"]


FILLED = """
    @triton.jit
    def write_zeros(out, rows, kind, M):
        tl.store(out + rows * M + tl.arange(0, M), tl.zeros((M,), dtype=kind))
"""
USER = "from p.kernels import write_zeros\n\n@triton.jit\ndef k(out, M: tl.constexpr):\n    write_zeros"


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"b": USER + "(out, 0, tl.float32, M)\n"}, {"info"}),
        ({"b": USER + "[(1,)](out, 0, tl.float32, M)\n"}, {"warning"}),
        ({"b": USER + "(out, 0, tl.float32, M)\n\ndef run(x):\n    write_zeros[(4,)](x, 1, 2, 3)\n"}, {"warning"}),
    ],
)
def test_what_kernels_of_other_files_call_is_given_what_they_know(
    tmp_path: Path, user: dict[str, str], expected: set[str]
) -> None:
    assert set(levels(tmp_path, FILLED, "KL706", **user)) == expected


SCALED = """
    SCALE = 0.5

    @triton.jit
    def scaled(v):
        return v * SCALE
"""
CALLER = """
    import torch, triton
    import triton.language as tl
    from p.kernels import scaled

    @triton.jit
    def k(x, KIND: tl.constexpr, B: tl.constexpr):
        i = tl.arange(0, B)
        v = tl.load(x + i)
        if KIND == "scaled":
            v = scaled(v)
        elif KIND == "none":
            v = -v
        tl.store(x + i, v)

    def run(x, kind):
        {check}
        k[(1,)](x, KIND={kind}, B=64)
"""


@pytest.mark.parametrize(
    ("check", "kind", "expected"),
    [
        pytest.param("pass", "kind", "warning", id="callers may ask for it"),
        pytest.param("assert kind in ['none', 'scaled']", "kind", "warning", id="it is among what they may ask for"),
        pytest.param("assert kind in ['none', 'other']", "kind", "info", id="it is not"),
        pytest.param("pass", "'none'", "info", id="another is asked for"),
        pytest.param("pass", "CHOSEN", "info", id="who knows"),
    ],
)
def test_what_kernels_of_other_files_have_compiled(tmp_path: Path, check: str, kind: str, expected: str) -> None:
    assert levels(tmp_path, SCALED, "KL720", user=CALLER.format(check=check, kind=kind)) == [expected]
    launched_by_nobody = CALLER.partition("    def run")[0]
    assert levels(tmp_path, SCALED, "KL720", user=launched_by_nobody) == ["info"]


ROUNDED = """
    from p.ops import triton as ops

    @triton.jit
    def rounded(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, ops.to_int8(tl.load(x + i, mask=i < n)), mask=i < n)

    def run(x):
        y = torch.empty_like(x, dtype=torch.int8)
        rounded[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
"""


@pytest.mark.parametrize("package", ["p.ops", ".ops"])
def test_a_module_of_the_package_that_is_called_like_triton(tmp_path: Path, package: str) -> None:
    (tmp_path / "p" / "ops").mkdir(parents=True)
    (tmp_path / "p" / "ops" / "__init__.py").write_text("")
    (tmp_path / "p" / "ops" / "triton.py").write_text("def to_int8(x): return x\n")
    assert levels(tmp_path, ROUNDED.replace("p.ops", package), "KL701") == []


def test_what_is_no_kernels_is_not_asked_who_launches_it(tmp_path: Path) -> None:
    source = "import triton.ops\n" + textwrap.dedent(REFUSED)
    assert alone("KL803", source) == ["error"]
    assert levels(tmp_path, source, "KL803", user="import p.kernels\n") == ["error"]


@pytest.mark.parametrize(
    ("importer", "expected"),
    [
        pytest.param(
            "try:\n    from p import kernels\nexcept ImportError:\n    kernels = None\n", "warning", id="caught"
        ),
        pytest.param("try:\n    from .kernels import run\nexcept (OSError, Exception):\n    0\n", "warning", id="any"),
        pytest.param(
            "try:\n    import p.kernels\nexcept ImportError as e:\n    raise OSError('broken') from e\n",
            "error",
            id="told otherwise",
        ),
        pytest.param(
            "try:\n    import p.kernels\nexcept ImportError:\n    if 1:\n        raise\n", "warning", id="may be"
        ),
        pytest.param("try:\n    import p.kernels\nexcept ValueError:\n    0\n", "error", id="another failure"),
        pytest.param("try:\n    0\nexcept ImportError:\n    import p.kernels\n", "error", id="in the handler"),
        pytest.param("from p import kernels\n", "error", id="as it is"),
        pytest.param("x = 1\n", "info", id="by nobody"),
    ],
)
def test_a_module_that_its_importers_can_do_without(tmp_path: Path, importer: str, expected: str) -> None:
    source = "import triton.ops\n" + textwrap.dedent(REFUSED)
    assert levels(tmp_path, source, "KL803", user=importer) == [expected]
    assert levels(tmp_path, source, "KL803", user=importer, other="import p.kernels\n") == ["error"]


def test_names_of_a_package_out_of_view_that_calls_something_triton() -> None:
    assert alone("KL701", ROUNDED) == []
    assert alone("KL701", ROUNDED.replace("from p.ops import triton as ops", "from p.ops import tl as ops")) == []
    assert alone("KL701", ROUNDED.replace("from p.ops import triton as ops", "import triton.language as ops")) == [
        "error"
    ]


SYNCED = """
    @triton.jit
    def fill(x, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(x + i, 1.0, mask=i < n)

    def run(a: torch.Tensor, b: torch.Tensor):
        x = torch.empty(4096, device="cuda")
        fill[(64,)](x, 4096, B=64)
        torch.cuda.synchronize()
        return torch.add(x, 1.0)
"""


@pytest.mark.parametrize(
    ("file", "expected"),
    [("fill.py", ["warning"]), ("test_fill.py", ["info"]), ("fill_test.py", ["info"]), ("test_perf.py", ["warning"])],
)
def test_nobody_waits_for_the_speed_of_a_test(file: str, expected: list[str]) -> None:
    assert told(file, (HEADER + textwrap.dedent(SYNCED)).encode(), "KL602") == expected


NUMBERS = """
    @triton.jit
    def fill(x, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(x + i, 1.0, mask=i < n)

    def run(x, rank, ranks):
        fill[(64,)](x, 4096, B=64)
        source = (rank + 1) % ranks
        expected = source * 100 + 42
        assert x.item() == expected
"""


def test_arithmetic_on_what_may_be_a_number() -> None:
    assert alone("KL404", NUMBERS) == []
    assert alone("KL602", NUMBERS) == []
    given = NUMBERS.replace("assert x.item() == expected", "return torch.add(expected, source)")
    assert alone("KL404", given) != []


SWITCHED = """
    @triton.jit
    def scale(x, n, B: tl.constexpr, SLOPES: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        y = tl.load(x + i, mask=i < n)
        if SLOPES:
            y *= slope
        tl.store(x + i, y, mask=i < n)

    def run(x):
        scale[(triton.cdiv(x.numel(), 64),)](x, x.numel(), B=64, SLOPES={switch})
"""


@pytest.mark.parametrize(("switch", "expected"), [("False", "info"), ("True", "error"), ("x.ndim > 1", "error")])
def test_a_name_that_is_missing_where_nothing_is_compiled(switch: str, expected: str) -> None:
    assert alone("KL702", SWITCHED.format(switch=switch)) == [expected]


@pytest.mark.parametrize(
    ("run", "expected"),
    [("run(x, slopes=False)", "error"), ("_run(x, slopes=False)", "info"), ("run(x, slopes: bool = True)", "error")],
)
def test_a_switch_is_what_callers_make_it(run: str, expected: str) -> None:
    """Whatever it is where nobody says otherwise."""
    source = SWITCHED.format(switch="slopes").replace("run(x)", run)
    assert alone("KL702", source) == [expected]
    in_order = source.replace("x.numel(), B=64, SLOPES=slopes", "x.numel(), 64, slopes")
    assert in_order != source and alone("KL702", in_order) == [expected]


def test_a_condition_in_a_kernel_that_nobody_is_seen_to_launch() -> None:
    kernel = SWITCHED.partition("    def run")[0]
    assert alone("KL702", kernel) == ["error"]
    helper = kernel.replace("SLOPES: tl.constexpr)", "SLOPES: tl.constexpr = False)") + HELPED
    assert alone("KL702", helper) == ["error"]


HELPED = """
    @triton.jit
    def twice(x, n, B: tl.constexpr, BOTH: tl.constexpr):
        scale(x, n, B, SLOPES=BOTH)

    def both(x):
        twice[(triton.cdiv(x.numel(), 64),)](x, x.numel(), B=64, BOTH=x.ndim > 1)
"""


def test_a_name_that_is_missing_where_a_script_never_gets() -> None:
    script = (
        '    if __name__ == "__main__":\n        timed = {}\n        if timed:\n            run(torch.ones(missing))\n'
    )
    assert alone("KL702", HALVED + script.format("True")) == ["error"]
    assert alone("KL702", HALVED + script.format("False")) == []


def test_what_a_test_computes_it_checks_itself(tmp_path: Path) -> None:
    called = HEADER + textwrap.dedent(HALVED) + "run(torch.ones(63))\n"
    for name, expected in (("test_halves.py", ["info"]), ("halves.py", ["warning"])):
        (tmp_path / name).write_text(called)
        assert told(str(tmp_path / name), called.encode(), "KL736") == expected


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [("interpreted", "info"), ("counted", "error"), ("elsewhere.traced", "info")],
)
def test_a_decorator_that_may_run_the_kernel_otherwise(tmp_path: Path, decorator: str, expected: str) -> None:
    ours = "import functools\n{}\ndef interpreted(kernel):\n    return kernel\ncounted = interpreted\n"
    knows = "from triton.runtime.interpreter import InterpretedFunction"
    module = ours.format(knows if decorator == "interpreted" else "")
    head = "from p.tracing import interpreted, counted\nimport elsewhere\n"
    source = head + textwrap.dedent(REFUSED).replace("@triton.jit", f"@{decorator}\n@triton.jit")
    assert levels(tmp_path, source, "KL705", tracing=module) == [expected]


ALTERNATIVES = """
    from torch.utils._triton import has_triton

    if has_triton():
        @triton.jit
        def double(a):
            return a + a
    else:
        def double(*args):
            raise RuntimeError("needs Triton")

    @triton.jit
    def fill(x, B: tl.constexpr):
        LARGEST: tl.constexpr = torch.finfo(torch.float32).max
        i = tl.arange(0, B)
        tl.store(x + i, {value})

    def run(x):
        fill[(1,)](x, B=64)
"""


def test_a_function_that_stands_in_for_a_kernel_where_triton_is_missing() -> None:
    assert alone("KL719", ALTERNATIVES.format(value="double(i) + LARGEST")) == []
    assert alone("KL719", ALTERNATIVES.format(value="torch.sqrt(i)")) == ["error"]


AXIS_OF_A_NUMBER = """
    @triton.jit
    def fill(x, B: tl.constexpr):
        row = tl.program_id(0)
        tl.store(x + row[:, None] * B + tl.arange(0, B)[None, :], 0.0)

    def run(x):
        fill[(4,)](x, B=64)
"""


def test_what_only_the_newest_release_refuses(tmp_path: Path) -> None:
    assert alone("KL708", AXIS_OF_A_NUMBER) == ["info"]
    (tmp_path / "requirements.txt").write_text("triton==3.6.0\n")
    assert levels(tmp_path, AXIS_OF_A_NUMBER, "KL708") == []


TUNED_ANEW = """
    CONFIGS = [triton.Config({{"B": 64}}), triton.Config({{"B": 128}})]

    def run(x, configs):
        @triton.autotune(configs={configs}, key=["n"])
        @triton.jit
        def fill(x, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(x + i, 0.0, mask=i < n)
        fill[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, x.numel())

    def main():
        run(torch.ones(64, device="cuda"), CONFIGS)
"""


@pytest.mark.parametrize(("configs", "expected"), [("CONFIGS", "error"), ("configs", "info")])
def test_a_kernel_that_is_made_of_what_a_call_gives(configs: str, expected: str) -> None:
    assert set(alone("KL603", TUNED_ANEW.format(configs=configs))) == {expected}


def test_a_name_that_another_file_has_too_mentions_no_kernel(tmp_path: Path) -> None:
    helper = "\n@triton.jit\ndef shown(x):\n    tl.device_print(str(x))\n"
    other = "import triton\nimport triton.language as tl\n# kernels.py has one, too\n" + helper
    assert levels(tmp_path, helper, "KL719", other=other) == ["info"]
    assert levels(tmp_path, helper, "KL719", other="from p.kernels import shown\n") == ["warning"]


TEMPLATE = """
    def made(width):
        @triton.jit
        def fill(x, B: tl.constexpr):
            BODY
            tl.store(x + tl.arange(0, B), 0.0){comment}

        {rewritten}
        return fill
"""


@pytest.mark.parametrize(
    ("rewritten", "comment", "expected"),
    [
        ("pass", "", "error"),
        ("fill.src = fill.src.replace('BODY', '...')", "", "info"),
        ("fill._unsafe_update_src(fill.src.replace('BODY', '...'))", "", "info"),
    ],
)
def test_a_kernel_whose_source_is_a_template(rewritten: str, comment: str, expected: str) -> None:
    assert alone("KL702", TEMPLATE.format(rewritten=rewritten, comment=comment)) == [expected]


GENERATED = """
    # [[[cog
    # cog.outl("from elsewhere import scaled" if SCALED else "")
    # ]]]
    {first}# [[[end]]]

    @triton.jit
    def fill(x, n, B: tl.constexpr):
        i = tl.arange(0, B)
        # [[[cog cog.outl("v = scaled(i)") ]]]
        {second}# [[[end]]]
        tl.store(x + i, v, mask=i < n)

    def run(x):
        fill[(1,)](x, x.numel(), B=missing)
"""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", ["info", "info"]),
        ("\n    ", "\n        ", ["info", "info"]),
        ("from elsewhere import scaled\n    ", "v = scaled(i)\n        ", ["error"]),
        ("", "v = scaled(i)\n        ", ["error", "error"]),
    ],
    ids=["the input", "blank lines", "the output", "output of one block"],
)
def test_names_that_a_code_generator_may_write(first: str, second: str, expected: list[str]) -> None:
    assert alone("KL702", GENERATED.format(first=first, second=second)) == expected


@pytest.mark.parametrize("marks", ["# [[[cog", "# [[[end]]]", "# ]]]\n# [[[end]]]", "# [[[end]]]\n# ]]]\n# [[[cog"])
def test_marks_of_a_code_generator_that_make_no_block(marks: str) -> None:
    assert alone("KL702", f"{marks}\n{textwrap.dedent(TEMPLATE).format(rewritten='pass', comment='')}") == ["error"]


def test_a_comment_for_other_linters_says_that_a_name_is_meant() -> None:
    body = TEMPLATE.format(rewritten="pass", comment="")
    assert alone("KL702", body.replace("BODY", "BODY  # noqa: F821")) == ["info"]
    assert alone("KL702", body.replace("BODY", "BODY  # noqa: E501")) == ["error"]


@pytest.mark.parametrize(
    ("use", "expected"),
    [("@profile", "info"), ("@profiles", "error"), ("print(profile)", "error"), ("@profile()", "error")],
)
def test_what_the_runner_of_a_profiler_defines(use: str, expected: str) -> None:
    assert alone("KL702", HALVED + f"\n    {use}\n    def again(x):\n        return run(x)\n") == [expected]


def test_an_argument_of_unknown_type_may_be_a_tuple() -> None:
    kernel = "\n@triton.jit\ndef fill(x, shape):\n    {body}\n    tl.store(x, rows + columns)\n"
    assert alone("KL704", kernel.format(body="rows, columns = shape")) == []
    assert alone("KL704", kernel.format(body="rows, columns = tl.program_id(0)")) == ["warning"]


PRODUCT = """
    @triton.jit
    def product(a, b, c, B: tl.constexpr):
        i = tl.arange(0, B)
        at = i[:, None] * B + i[None, :]
        tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at).to(tl.float16)))

    def run(a: torch.{kind}, b: torch.IntTensor):
        c = torch.empty((64, 64), dtype=torch.float16, device=a.device)
        product[(1,)](a, b, c, B=64)
        return c
"""


@pytest.mark.parametrize(("kind", "expected"), [("FloatTensor", []), ("DoubleTensor", ["error"])])
def test_a_tensor_of_floats_may_be_one_of_halves(kind: str, expected: list[str]) -> None:
    assert alone("KL715", PRODUCT.format(kind=kind)) == expected


@pytest.mark.parametrize(
    ("extra", "expected"),
    [("", ["info"]), ("hip", ["info"]), ("cuda", ["error"])],
)
def test_tiles_that_one_vendor_refuses_are_refused_where_the_vendor_is_told(extra: str, expected: list[str]) -> None:
    imported = f"\nfrom triton.language.extra.{extra} import libdevice\n" if extra else ""
    source = textwrap.dedent(PRODUCT.format(kind="HalfTensor")).replace("[(1,)](a, b, c, B=64)", "[(1,)](a, b, c, B=8)")
    assert alone("KL715", imported + source) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("not HAS_FP8 or not is_cuda()", []),
        ("x and (not HAS_FP8 or not is_cuda())", []),
        ("HAS_FP8 and is_cuda()", []),
        ("HAS_FP8 or is_cuda()", ["error"]),
        ("not HAS_FP8 and is_cuda()", ["error"]),
        ("x or is_cuda()", ["error"]),
    ],
)
def test_a_name_that_another_operand_keeps_from_being_asked_for(condition: str, expected: list[str]) -> None:
    script = f"    HAS_FP8 = False\n    for x in (False, True):\n        if {condition}:\n            pass\n"
    assert alone("KL702", HALVED + script) == expected


SCRIPT = """
    @triton.jit
    def copied(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    def run(a):
        b, m, n = a.shape
        y = torch.empty_like(a)
        copied[(triton.cdiv(a.numel(), 64),)](a, y, a.numel(), B=64)
        return y

    def main():
        run(torch.randn(2, 3, 4, device="cuda"))
        {end}
        run(torch.randn(3, 4, device="cuda"))
"""


@pytest.mark.parametrize(("end", "expected"), [("pass", ["error"]), ("exit()", []), ("import sys; sys.exit(0)", [])])
def test_what_stands_behind_the_end_of_a_script(end: str, expected: list[str]) -> None:
    assert alone("KL795", SCRIPT.format(end=end)) == expected


FRAGMENT = """\
\'\'\'The source of a kernel, for a prompt.\'\'\'
@triton.jit
def halve(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 0.5, mask=i < n)
"""


@pytest.mark.parametrize(
    ("head", "user", "expected"),
    [
        pytest.param("", "print(open('p/kernels.py').read())", "info", id="read as text"),
        pytest.param("", "from kernels import this", "info", id="another module of the name"),
        pytest.param("", "import p.kernels", "error", id="imported"),
        pytest.param("", "from p import kernels", "error", id="imported from its package"),
        pytest.param("", "def use():\n    from .kernels import halve", "error", id="imported from within"),
        pytest.param("", "from .kernels import *", "error", id="all imported"),
        pytest.param("import torch\n", "print(1)", "error", id="with another import"),
    ],
)
def test_a_file_that_is_no_module(tmp_path: Path, head: str, user: str, expected: str) -> None:
    levels(tmp_path, "", "KL702", user=user)
    path = tmp_path / "p" / "kernels.py"
    path.write_text(head + FRAGMENT)
    assert set(told(str(path), path.read_bytes(), "KL702")) == {expected}


CHAINED = """
    from elsewhere import record

    @triton.jit
    def norm(x, y, N, B: tl.constexpr):
        row = tl.program_id(0)
        i = tl.arange(0, B)
        v = tl.load(x + row * N + i, mask=i < N, other=0.0)
        tl.store(y + row * N + i, v * tl.rsqrt(tl.sum(v * v, 0) / N + 1e-6), mask=i < N)

    def rms_norm(x):
        y = torch.empty_like(x)
        norm[(x.shape[0],)](x, y, x.shape[1], B=4096)
        return y

    def use(x):
        assert x.shape == (8192, 4096) and x.dtype == torch.float32
        y = rms_norm(x)
        record(y)
        {first}
        {then}
"""
FIRST = "z = x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)"


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        pytest.param(FIRST, "return z.sin() + y", "warning", id="work"),
        pytest.param(FIRST, "print((z - y).abs().max().item())", "info", id="printed difference"),
        pytest.param(FIRST, "print(torch.allclose(z, y))", "info", id="printed agreement"),
        pytest.param(FIRST, "far = torch.norm(z - y)\n        print(f'{far}')", "info", id="behind a name"),
        pytest.param(
            FIRST, "far = (z - y).abs().max()\n        if far > 1:\n            raise ValueError", "info", id="raises"
        ),
        pytest.param(FIRST, "assert (z - y).abs().max() < 1e-3", "info", id="asserted"),
        pytest.param(FIRST, "return torch.allclose(z, y)", "info", id="answered"),
        pytest.param(FIRST, "print(z.abs().sum())\n        return z", "warning", id="no difference"),
        pytest.param(
            FIRST, "far = (z - y).abs().max()\n        print(far)\n        return far.sin()", "warning", id="used on"
        ),
        pytest.param(
            "x = (x * 2.0).requires_grad_()\n        " + FIRST, "return z.sin() + y", "info", id="a leaf between"
        ),
        pytest.param(
            FIRST + "\n        z.sum().backward()", "return z.sin() + y", "info", id="a backward pass between"
        ),
    ],
)
def test_torch_calls_that_are_there_to_be_computed_one_by_one(first: str, then: str, expected: str) -> None:
    assert set(alone("KL404", CHAINED.format(first=first, then=then))) == {expected}


@pytest.mark.parametrize(
    ("then", "expected"),
    [("return (y - x.exp()).abs()", ["warning"]), ("print((y - x.exp()).abs().max())", ["info"])],
)
def test_an_elementwise_chain_that_is_the_difference_from_a_reference(then: str, expected: list[str]) -> None:
    assert alone("KL401", CHAINED.format(first="", then=then)) == expected


RECORD = """
    @triton.jit
    def task(info: {kind}, B: tl.constexpr):
        i = info.start * B + tl.arange(0, B)
        tl.store(info.pointer(0) + i, tl.load(info.pointer(1) + i))
"""


@pytest.mark.parametrize(
    ("kind", "imported", "expected"),
    [
        pytest.param("Info", "from p.infos import Info\n", set(), id="a class of another file"),
        pytest.param("Info", "class Info: ...\n", set(), id="one of the file"),
        pytest.param("tl.tensor", "", {"info"}, id="a tensor"),
        pytest.param("Info", "Info = tl.tensor\n", {"info"}, id="another name of one"),
    ],
)
def test_a_parameter_with_a_class_of_the_project_is_no_tensor(
    tmp_path: Path, kind: str, imported: str, expected: set[str]
) -> None:
    source = f"\n{imported}{textwrap.dedent(RECORD).format(kind=kind)}"
    assert set(levels(tmp_path, source, "KL729", infos="class Info: ...\n")) == expected


CELLS = """
    @triton.jit
    def double(x, y, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i) * 2)

    x, y = torch.randn(128, device="cuda"), torch.empty(128, device="cuda")

    def run():
        double[(8,)](x, y, B=16)
    {first}
    x, y = torch.randn(32, device="cuda"), torch.empty(32, device="cuda")
    {second}
"""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param("run()", "print(x)", [], id="called before the variables are others"),
        pytest.param("run()", "run()", ["error"], id="called again after it"),
        pytest.param("pass", "run()", ["error"], id="called after it alone"),
    ],
)
def test_what_a_variable_was_when_a_function_was_called(first: str, second: str, expected: list[str]) -> None:
    assert alone("KL735", CELLS.format(first=first, second=second)) == expected
