"""What rules said of packages of a fifth drawing, and should not have: each kind of it, and what is like it and is told."""

import textwrap

import pytest

from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.settings import FileSettings
from tests.support.values import HEADER, severities


def told(code: str, source: str) -> list[str]:
    """The levels of what is told of ``source`` by rule ``code``, as a user has it."""
    text = (HEADER + textwrap.dedent(source)).encode()
    return [found.severity for found in check_file(Job("a.py", text, FileSettings(frozenset({code})))).findings]


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


@pytest.mark.parametrize(("count", "expected"), [("tl.constexpr(64)", []), ("64", ["error"])])
def test_a_constant_that_only_the_launch_tells(count: str, expected: list[str]) -> None:
    source = f"""
    @triton.jit
    def fill(o, count):
        i = tl.program_id(0) * count + tl.arange(0, count)
        tl.store(o + i, 1.0)

    def run(o: torch.Tensor):
        fill[(4,)](o, {count})
    """
    assert told("KL706", source) == expected


@pytest.mark.parametrize(
    ("made", "expected"), [("bitcast=True", []), ("bitcast=False", ["warning"])], ids=["bits", "number"]
)
def test_neighbours_of_a_float_by_its_bits(made: str, expected: list[str]) -> None:
    source = f"""
    @triton.jit
    def below(x, o, B: tl.constexpr):
        i = tl.arange(0, B)
        bits = tl.load(x + i).to(tl.uint8)
        tl.store(o + i, tl.cast(bits - 1, tl.float8e4nv, {made}).to(tl.float32))

    def run(x: torch.Tensor, o: torch.Tensor):
        below[(1,)](x, o, B=64)
    """
    assert told("KL723", source) == expected


@pytest.mark.parametrize(("further", "expected"), [("", "info"), (', triton.Config({"B": 128})', "warning")])
def test_the_key_of_a_tuner_with_one_configuration(further: str, expected: str) -> None:
    source = f"""
    @triton.autotune(configs=[triton.Config({{"B": 64}}){further}], key=["B"])
    @triton.jit
    def ones(x, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(x + i, 1.0, mask=i < n)

    def run(x):
        ones[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, x.numel())
    """
    assert severities("KL755", source) == [expected]


@pytest.mark.parametrize(("size", "expected"), [("65536", []), ("65000", ["warning"])])
def test_a_mask_that_the_kernel_itself_makes_hold(size: str, expected: list[str]) -> None:
    source = f"""
    @triton.jit
    def relu(x, B: tl.constexpr):
        size = {size}
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(x + i, tl.maximum(tl.load(x + i, i < size), 0.0), None)
    """
    assert severities("KL736", source) == expected


@pytest.mark.parametrize(("what", "expected"), [("x.size(-1)", []), ("x.numel()", []), ("y.size(-1)", ["warning"])])
def test_rows_of_whole_tiles_make_a_whole_number_of_them(what: str, expected: list[str]) -> None:
    source = f"""
    @triton.jit
    def copy(x, o, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i))

    def run(x: torch.Tensor, y: torch.Tensor, size: int = 128):
        assert {what} % size == 0
        copy[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, B=size)
    """
    assert severities("KL735", source) == expected


HALVES = """
    @triton.jit
    def gated(x, WIDTH: tl.constexpr, B: tl.constexpr):
        i = tl.program_id(0) * 2 * WIDTH + tl.program_id(1) * B + tl.arange(0, B)
        tl.store(x + i, tl.load(x + i) * tl.load(x + i + {distance}))

    def run(x: torch.Tensor):
        width = x.shape[1] // 2
        gated[(x.shape[0], width // 256)](x, width, 256)
"""


@pytest.mark.parametrize(("distance", "expected"), [("WIDTH", []), ("64", ["error"])])
def test_a_distance_of_open_size(distance: str, expected: list[str]) -> None:
    assert severities("KL760", HALVES.format(distance=distance)) == expected


@pytest.mark.parametrize(("end", "expected"), [("register('copy', space, copy)", []), ("register('copy')", ["error"])])
def test_a_kernel_that_is_handed_to_a_registry(end: str, expected: list[str]) -> None:
    source = f"""
    from elsewhere import register, space

    @triton.jit
    def copy(x, o, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i))

    def run(x, o):
        copy[lambda meta: (x.numel() // meta["B"],)](x, o)

    {end}
    """
    assert told("KL703", source) == expected


def test_a_product_of_doubles_is_one() -> None:
    source = """
    @triton.jit
    def cube(x, o, B: tl.constexpr):
        i = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
        m = tl.load(x + i).to(tl.float64)
        tl.store(o + i, tl.dot(tl.dot(m, m), m))

    def run(x: torch.Tensor, o: torch.Tensor):
        cube[(1,)](x, o, B=32)
    """
    assert told("KL715", source) == []


@pytest.mark.parametrize(("restored", "expected"), [("['x']", []), ("[]", ["error"])])
def test_an_update_through_another_type(restored: str, expected: list[str]) -> None:
    source = f"""
    @triton.autotune(configs=[triton.Config({{"B": 64}}), triton.Config({{"B": 128}})], key=["n"], restore_value={restored})
    @triton.jit
    def add(x, n, B: tl.constexpr):
        bits = x.to(tl.pointer_type(tl.int64))
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(bits + i, tl.load(bits + i, mask=i < n) + 1, mask=i < n)

    def run(x):
        add[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, x.numel())
    """
    assert severities("KL752", source) == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [("kind == LOWER", []), ("(kind == LOWER).any()", ["warning"]), ("x[0] == LOWER", ["warning"])],
)
def test_a_number_that_a_condition_compares(test: str, expected: list[str]) -> None:
    source = f"""
    from elsewhere import LOWER

    @triton.jit
    def copy(x, o, n, UNIT: tl.constexpr, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n) * UNIT, mask=i < n)

    def run(x, o, kind):
        unit = 1 if {test} else 0
        for _ in range(4):
            copy[(4,)](x, o, 200, unit, B=64)
        return o
    """
    assert severities("KL602", source) == expected


@pytest.mark.parametrize(
    ("asserted", "expected"), [("K % (4 * B) == 0", []), ("K % B == 0", ["error"]), ("n == K", ["error"])]
)
def test_a_configuration_that_an_assertion_at_compile_time_refuses_never_runs(
    asserted: str, expected: list[str]
) -> None:
    source = f"""
    @triton.autotune(configs=[triton.Config({{"B": 128}}), triton.Config({{"B": 64}})], key=["K"])
    @triton.jit
    def copy(x, y, n, K: tl.constexpr, B: tl.constexpr):
        tl.static_assert({asserted})
        i = tl.arange(0, B)
        tl.store(y + i % 64, tl.load(x + i, mask=i < K))

    def run(x):
        y = torch.empty_like(x)
        copy[(1,)](x, y, x.numel(), 4 * x.numel())
        return y

    def get_inputs():
        return [torch.randn(64)]
    """
    assert told("KL745", source) == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("j < i + k and j < n", []),
        ("j < i + k and j < 99", ["error"]),
        ("j < i + k", ["error"]),
        ("tl.load(y + j) > 0", []),
    ],
)
def test_rounds_of_a_while_loop_are_those_for_which_its_test_holds(test: str, expected: list[str]) -> None:
    source = f"""
    @triton.jit
    def sums(x, y, n, k, B: tl.constexpr):
        i = tl.program_id(0)
        total = tl.zeros((B,), dtype=tl.float32)
        j = i + 1
        while {test}:
            total += tl.load(x + j * B + tl.arange(0, B))
            j += 1
        tl.store(y + i * B + tl.arange(0, B), total)

    def run():
        x, y = torch.randn(16 * 128, device="cuda"), torch.empty(16 * 128, device="cuda")
        sums[(16,)](x, y, 16, 4, B=128)

    run()
    """
    assert told("KL735", source) == expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("d = a", []),
        ("d = a = a.clone()", []),
        ("d = ((a - a.mean(-1, keepdim=True)) * b * c).relu()", ["warning"]),
    ],
)
def test_what_makes_the_inputs_of_a_run_is_no_stage_of_it(calls: str, expected: list[str]) -> None:
    source = f"""
    @triton.jit
    def add(a, b, c, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        m = i < n
        tl.store(y + i, tl.load(a + i, mask=m) + tl.load(b + i, mask=m) * tl.load(c + i, mask=m), mask=m)

    def run():
        a = torch.randn(1024, 1024, device="cuda")
        b = torch.randn(1024, 1024, device="cuda")
        c = torch.randn(1024, 1024, device="cuda")
        {calls}
        y = torch.empty_like(a)
        add[(1024,)](a, b, c, y, a.numel(), B=1024)
        return y.clone(), d

    run()
    """
    assert told("KL404", source) == expected


@pytest.mark.parametrize(("refusal", "expected"), [("tl.static_assert(desc is None, 'no')", []), ("pass", ["warning"])])
def test_a_way_that_an_assertion_at_compile_time_closes(refusal: str, expected: list[str]) -> None:
    source = f"""
    @triton.jit
    def copy(x, o, desc, n, USE: tl.constexpr, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        if USE and desc is not None:
            first = tl.program_id(0)
        else:
            {refusal}
        if desc is not None:
            v = desc.load([first])
        else:
            v = tl.load(x + i, mask=i < n)
        tl.store(o + i, v, mask=i < n)

    kernels = [copy]
    """
    assert told("KL711", source) == expected


@pytest.mark.parametrize(
    ("place", "expected"),
    [("tl.load(into + tl.program_id(0)).to(tl.pointer_type(tl.uint8))", []), ("out", ["warning"])],
)
def test_what_loaded_addresses_point_to_is_no_one_tensor(place: str, expected: list[str]) -> None:
    source = f"""
        @triton.jit
        def copies(into, out, n, B: tl.constexpr):
            to = {place}
            i = tl.arange(0, B)
            tl.store(to + i, tl.load(to + i, mask=i < n) + 1, mask=i < n)

        def run(into, out):
            copies[(8,)](into, out, 100, B=128)
        """
    assert severities("KL758", textwrap.dedent(source)) == expected
