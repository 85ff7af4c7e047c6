"""What counts as rounding and what does not: results made by torch in the ways in which kernels make them, judged as a run's."""

from __future__ import annotations

import pytest
from support.late import Late, needs

from kernlint.verify.judge import judge_case

pytestmark = needs("torch")
torch, subjects, modes = Late("torch"), Late("kernlint.verify.child.subjects"), Late("kernlint.verify.child.modes")
noise, child = Late("kernlint.verify.child.noise"), Late("kernlint.verify.child.run")


@pytest.fixture
def dtype(request):
    return getattr(torch, request.param)


ROOT = 0.7978845608028654


def gelu(x, root=ROOT):
    return 0.5 * x * (1 + torch.tanh(root * (x + 0.044715 * x * x * x)))


def cut(x):
    """float32 as tensor cores take it for tf32."""
    return noise.rounded(x.double(), "tf32").float()


def product(a, b, k=None, factor=1.0):
    k = a.shape[1] if k is None else k
    return (a[:, :k].float() @ b[:k].float()) * factor


def split(a, b, parts=8):
    """The sum over k in parts, the last first."""
    size = a.shape[1] // parts
    pieces = [a[:, i : i + size].float() @ b[i : i + size].float() for i in range(0, a.shape[1], size)]
    return sum(reversed(pieces[1:]), pieces[0])


def inputs(rows=65, depth=257, columns=71, dtype=None, shift=0.0):
    torch.manual_seed(5)
    dtype = dtype or torch.float16
    return (
        (torch.randn(rows, depth) + shift).to(dtype),
        ((torch.randn(depth, columns) + shift) / depth**0.5).to(dtype),
    )


def judged(reference, before, after, given, numerics="changed", formats=None):
    """The result of a case in which a kernel ``before`` became ``after``."""
    subject = subjects.Subject(reference)
    with modes.precise():
        truth = child._results(reference(*subjects.widened(list(given))), [])
    outcomes = {
        name: {"results": child._results(function(*given), []), "unwritten": {}, "unsteady": {}}
        for name, function in (("before", before), ("after", after))
    }
    rounding = child._Reference(subject, list(given), "cpu", interpreted=False)
    event = {
        "name": "case", "sizes": {}, "status": "run", "failures": {}, "half": False, "reference": "float64",
        "outputs": child._compared(outcomes, truth, rounding, formats or {}),
    }  # fmt: skip
    return judge_case(event, numerics, False)


def matmul(a, b):
    return a @ b


@pytest.mark.parametrize("dtype", ["float16", "float32"], indirect=True)
@pytest.mark.parametrize("numerics", ["reordered", "changed"])
@pytest.mark.parametrize("factor", [1.005, 1.001, 0.999, 0.995])
def test_a_constant_factor_is_incorrect(dtype, numerics, factor):
    found = judged(
        matmul,
        lambda a, b: product(a, b).to(dtype),
        lambda a, b: product(a, b, factor=factor).to(dtype),
        inputs(dtype=dtype),
        numerics,
    )
    assert found.outcome == "incorrect"
    assert "times the reference" in found.message
    assert found.factor == pytest.approx(factor, rel=2e-4)


@pytest.mark.parametrize("factor", [1.005, 1.002])
def test_a_constant_factor_on_bfloat16_is_incorrect(factor):
    def kernel(a, b, factor=1.0):
        return product(a, b, factor=factor).bfloat16()

    given = inputs(dtype=torch.bfloat16)
    assert judged(matmul, kernel, lambda a, b: kernel(a, b, factor), given).outcome == "incorrect"
    assert (
        judged(matmul, kernel, lambda a, b: split(a, b).bfloat16(), inputs(depth=256, dtype=torch.bfloat16)).outcome
        == "correct"
    )


@pytest.mark.parametrize("dtype", ["float16", "float32"], indirect=True)
def test_a_wrong_constant_of_the_epilogue_is_incorrect(dtype):
    def kernel(a, b, root=ROOT):
        return gelu(product(a, b), root).to(dtype)

    def reference(a, b):
        return gelu(a @ b)

    given = inputs(dtype=dtype)
    assert judged(reference, kernel, kernel, given).outcome == "correct"
    assert judged(reference, kernel, lambda a, b: kernel(a, b, 0.79), given).outcome == "incorrect"
    # Also where hardly an element is small enough to show it.
    wide = given[0], given[1] * 16
    assert judged(reference, kernel, lambda a, b: kernel(a, b, 0.79), wide).outcome == "incorrect"


@pytest.mark.parametrize("dtype", ["float16", "float32"], indirect=True)
@pytest.mark.parametrize("lost", [1, 32])
def test_terms_that_are_left_out_are_incorrect(dtype, lost):
    def kernel(a, b, k=None):
        return product(a, b, k).to(dtype)

    assert judged(matmul, kernel, lambda a, b: kernel(a, b, 257 - lost), inputs(dtype=dtype)).outcome == "incorrect"


@pytest.mark.parametrize("offset", [1e-3, -1e-3])
def test_a_constant_offset_is_incorrect(offset):
    def kernel(a, b):
        return product(a, b).half()

    found = judged(matmul, kernel, lambda a, b: (product(a, b) + offset).half(), inputs())
    assert found.outcome == "incorrect"


def test_an_offset_that_no_element_shows_is_found_in_the_mean():
    # A quarter of a rounding each: no element is out of bounds, and the factor is one.
    def reference(x):
        return x + 0.0

    signs = torch.ones(4096).index_fill_(0, torch.arange(0, 4096, 2), -1.0)
    x = signs * (1 + torch.rand(4096)) * 1.37
    found = judged(reference, lambda x: x.half(), lambda x: (x + 5e-4).half(), (x,))
    assert found.outcome == "incorrect"
    assert "on average" in found.message or "times what rounding explains" in found.message


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"], indirect=True)
@pytest.mark.parametrize("shift", [0.0, 1.0], ids=["zero mean", "one sign"])
@pytest.mark.parametrize("rows", [1, 3, 64])
def test_sums_in_another_order_are_correct(dtype, shift, rows):
    given = inputs(rows=rows, depth=4096, dtype=dtype, shift=shift)
    for numerics in ("reordered", "changed"):
        found = judged(
            matmul, lambda a, b: product(a, b).to(dtype), lambda a, b: split(a, b).to(dtype), given, numerics
        )
        assert found.outcome == "correct", found.message


def test_a_sum_one_by_one_is_correct():
    def reference(x):
        return x.sum(-1)

    def one_by_one(x):
        total = torch.zeros(x.shape[0])
        for column in x.T:
            total = total + column
        return total

    given = (torch.randn(64, 2000, generator=torch.Generator().manual_seed(1)),)
    found = judged(reference, lambda x: x.sum(-1), one_by_one, given, "reordered")
    assert found.outcome == "correct", found.message


@pytest.mark.parametrize("rows", [1, 5, 64])
@pytest.mark.parametrize("shift", [0.0, 1.0], ids=["zero mean", "one sign"])
def test_tf32_is_correct_where_it_is_declared_and_only_there(rows, shift):
    given = inputs(rows=rows, dtype=torch.float32, shift=shift)
    tf32 = {"before": {}, "after": {"operands": "tf32"}}

    def after(a, b):
        return product(cut(a), cut(b))

    assert judged(matmul, product, after, given, "changed", tf32).outcome == "correct"
    assert judged(matmul, product, after, given, "reordered").outcome == "incorrect"
    assert judged(matmul, product, after, given, "changed").outcome == "incorrect"
    # The same that was there before is no growth.
    assert judged(matmul, after, after, given, "reordered", {"before": {"operands": "tf32"}}).outcome == "correct"


@pytest.mark.parametrize("factor", [1.005, 1.002, 0.995])
def test_a_factor_does_not_hide_behind_tf32(factor):
    tf32 = {"before": {}, "after": {"operands": "tf32"}}
    found = judged(
        matmul, product, lambda a, b: product(cut(a), cut(b)) * factor, inputs(dtype=torch.float32), "changed", tf32
    )
    assert found.outcome == "incorrect"


@pytest.mark.parametrize("shift", [0.0, 1.0], ids=["zero mean", "one sign"])
def test_sums_that_tensor_cores_cut_off_are_correct(shift):
    def kernel(a, b, terms=16, factor=1.0):
        total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float64)
        for i in range(0, a.shape[1], terms):
            total += a[:, i : i + terms].double() @ b[i : i + terms].double()
            # 24 bits of the significand are kept, the rest is dropped.
            total = (total.view(torch.int64) & ~((1 << 29) - 1)).view(torch.float64)
        return (total * factor).float()

    given = inputs(depth=4096, shift=shift)
    for before, after in ((kernel, lambda a, b: kernel(a, b, 32)), (product, kernel)):
        found = judged(matmul, before, after, given, "reordered")
        assert found.outcome == "correct", found.message
    assert judged(matmul, kernel, lambda a, b: kernel(a, b, factor=1.001), given).outcome == "incorrect"


def test_half_precision_on_the_way_is_correct_where_it_is_declared_and_only_there():
    def reference(a, b):
        return torch.relu(a @ b) * 0.3

    def before(a, b):
        return (torch.relu(product(a, b)) * 0.3).half()

    def after(a, b):
        return torch.relu(product(a, b).half()) * 0.3

    narrow = {"before": {}, "after": {"results": "float16"}}
    assert judged(reference, before, after, inputs(), "changed", narrow).outcome == "correct"
    # The other way round the errors shrink.
    assert judged(reference, after, before, inputs(), "reordered").outcome == "correct"


def test_integer_products_are_exact():
    generator = torch.Generator().manual_seed(3)
    a = torch.randint(-128, 128, (65, 300), generator=generator, dtype=torch.int8)
    b = torch.randint(-128, 128, (300, 70), generator=generator, dtype=torch.int8)
    scale = torch.rand(65, 1, generator=generator) * 0.01

    def reference(a, b, scale):
        return (a.double() @ b.double()) * scale

    def as_floats(a, b, scale):
        return ((a.float() @ b.float()) * scale).half()

    def as_integers(a, b, scale, factor=1.0):
        return ((a.int() @ b.int()).float() * (scale * factor)).half()

    given = (a, b, scale)
    assert judged(reference, as_floats, as_integers, given, "exact").outcome == "correct"
    for numerics in ("exact", "reordered", "changed"):
        wrong = judged(reference, as_floats, lambda a, b, s: as_integers(a, b, s, 1.001), given, numerics)
        assert wrong.outcome == "incorrect"


def test_equal_numbers_are_rounded_alike():
    # One third is rounded the same way everywhere: a factor of the format's making.
    given = (torch.full((64, 64), 1 / 3),)
    found = judged(lambda x: x * 1.0, lambda x: x.half(), lambda x: (x * 1.0).half(), given, "changed", {})
    assert found.outcome == "correct", found.message
    assert judged(lambda x: x * 1.0, lambda x: x.half(), lambda x: (x * 1.001).half(), given).outcome == "incorrect"


def test_softmax_in_another_way_is_correct_and_with_a_wrong_scale_is_not():
    def reference(x):
        return torch.softmax(x * 0.125, -1)

    def base_two(x, scale=0.125):
        y = x.float() * (scale * 1.4426950408889634)
        p = torch.exp2(y - y.amax(-1, keepdim=True))
        return (p / p.sum(-1, keepdim=True)).to(x.dtype)

    for dtype in (torch.float16, torch.float32):
        given = ((torch.randn(40, 1000, generator=torch.Generator().manual_seed(2)) * 20).to(dtype),)
        plain = judged(
            reference, lambda x: torch.softmax(x.float() * 0.125, -1).to(x.dtype), base_two, given, "reordered"
        )
        assert plain.outcome == "correct", plain.message
        wrong = judged(reference, base_two, lambda x: base_two(x, 0.1252), given)
        assert wrong.outcome == "incorrect"


def test_a_factor_in_both_versions_is_blamed_on_neither():
    def kernel(a, b):
        return product(a, b, factor=1.005).half()

    found = judged(matmul, kernel, kernel, inputs(), "exact")
    assert found.outcome == "skipped" and "both versions are wrong" in found.note
    mended = judged(matmul, kernel, lambda a, b: product(a, b).half(), inputs())
    assert mended.outcome == "correct" and "the version before is wrong" in mended.note


def test_errors_that_the_version_before_has_too_are_no_fault():
    # Both add up in half precision, each in its order.
    def half_sums(a, b, parts):
        size = a.shape[1] // parts
        total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float16)
        for i in range(0, a.shape[1], size):
            total = total + (a[:, i : i + size].float() @ b[i : i + size].float()).half()
        return total

    given = inputs(depth=256)
    found = judged(matmul, lambda a, b: half_sums(a, b, 8), lambda a, b: half_sums(a, b, 16), given, "reordered")
    assert found.outcome == "correct", found.message
    worse = judged(matmul, lambda a, b: product(a, b).half(), lambda a, b: half_sums(a, b, 128), given, "reordered")
    assert worse.outcome == "incorrect"


@pytest.mark.parametrize("dtype", ["float16", "float32"], indirect=True)
def test_without_a_reference_the_version_before_is_the_truth_and_rounds_too(dtype):
    given = inputs(depth=256, dtype=dtype)

    def run(after):
        outcomes = {
            name: {"results": child._results(function(*given).to(dtype), []), "unwritten": {}, "unsteady": {}}
            for name, function in (("before", product), ("after", after))
        }
        outputs = child._compared(outcomes, None, child._Reference(None, list(given), "cpu", interpreted=False), {})
        event = {"name": "case", "sizes": {}, "status": "run", "failures": {}, "outputs": outputs, "reference": "none"}
        return judge_case(event, "reordered", False)

    assert run(split).outcome == "correct"
    assert run(lambda a, b: product(a, b, factor=1.001)).outcome == "incorrect"


def test_what_the_reference_does_not_answer_is_compared_with_before_alone():
    x = torch.randn(40, 40)
    rounding = child._Reference(subjects.Subject(lambda x: x * 2.0), [x], "cpu", interpreted=False)
    results = {"result": x * 2.0, "argument [0]": x * 2.0}
    outcomes = {
        "before": {"results": results, "unwritten": {}, "unsteady": {}},
        "after": {"results": results | {"argument [0]": x}, "unwritten": {}, "unsteady": {}},
    }
    event = {"name": "case", "sizes": {}, "status": "run", "failures": {}, "reference": "float64"}
    event["outputs"] = child._compared(outcomes, {"result": x.double() * 2.0}, rounding, {})
    found = judge_case(event, "changed", False)
    assert found.outcome == "incorrect" and "argument [0]" in found.message


def test_nothing_and_one_number_can_be_judged():
    one = (torch.ones(1),)
    assert judged(lambda x: x / 3, lambda x: x / 3, lambda x: x / 3, one).outcome == "correct"
    assert judged(lambda x: x / 3, lambda x: x / 3, lambda x: x / 2.99, one).outcome == "incorrect"
    zeros = (torch.zeros(5, 5),)
    assert judged(lambda x: x / 3, lambda x: x / 3, lambda x: x / 2.99, zeros).outcome == "correct"
    assert judged(lambda x: x / 3, lambda x: x / 3, lambda x: x + 1e-6, zeros).outcome == "incorrect"
    empty = (torch.zeros(0, 5),)
    assert judged(lambda x: x / 3, lambda x: x / 3, lambda x: x, empty).outcome == "correct"


@pytest.mark.parametrize(("format", "bits"), [("float32", 24), ("tf32", 11), ("bfloat16", 8), ("float8_e5m2", 3)])
def test_numbers_are_rounded_to_so_many_bits(format, bits):
    x = torch.randn(1000, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    error = ((noise.rounded(x, format) - x) / x).abs().max()
    assert error <= 2.0 ** (1 - bits if format == "tf32" else -bits)
    assert torch.equal(noise.rounded(noise.rounded(x, format), format), noise.rounded(x, format))
    if format == "float32":
        assert torch.equal(noise.rounded(x, format), x.float().double())
    special = torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0], dtype=torch.float64)
    assert torch.equal(torch.nan_to_num(noise.rounded(special, format)), torch.nan_to_num(special))


def test_views_stay_views_while_their_numbers_are_rounded():
    def reference(x):
        out = torch.zeros_like(x)
        out.view(-1)[3:] += x.view(-1)[3:] / 3
        return out

    x = torch.ones(4, 4, dtype=torch.float64)
    with modes.precise(), noise.Rounding("float16"):
        found = reference(x)
    assert torch.equal(found.half().double(), found) and found.count_nonzero() == 13


def test_depth_is_that_of_the_longest_sum():
    a, b = torch.ones(3, 700, dtype=torch.float64), torch.ones(700, 5, dtype=torch.float64)
    with noise.Rounding("float32") as mode:
        torch.relu(a @ b)
    assert mode.depth == 700 and mode.contracted == 700


def test_small_elements_are_not_excused_by_large_ones():
    truth = torch.tensor([[1e-3, 1000.0] * 100], dtype=torch.float64)
    unit = noise.unit_of("result", torch.float16, truth, noise.Noise({"result": truth}, None, 1))
    assert float(unit.total[0, 0]) < 1e-6
