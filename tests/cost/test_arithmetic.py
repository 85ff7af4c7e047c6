"""Prices of operations: against the measured chains and formulas, by type, and for what nobody measured."""

import math
from collections import defaultdict

import pytest
from bench_launches import ARITHMETIC_FILES, bench_samples
from micro_launches import HERE, LANE, PID, launch, load, store, tensor

from kernlint.cost.arithmetic import Operations, Price, on_special_unit, operations
from kernlint.cost.device import devices, find_device
from kernlint.cost.dot_launch import _arithmetic
from kernlint.cost.programs.price import program_time
from kernlint.cost.traffic.accesses import traffic
from kernlint.records import replace
from kernlint.workload import Compute, Dtype, Launch, Loop, Reduce
from kernlint.workload import dtype as dt

H100 = find_device("h100-sxm")


def node(op: str, dtype: Dtype = dt.FLOAT32, kind: str = "special", elements: int = 1024) -> Compute:
    return Compute(kind, elements, dtype, HERE, op=op)


def repeated(*nodes: Compute | Reduce, programs: int = 2048, trips: int = 64) -> Launch:
    """The operations one after the other, ``trips`` times, between one load and one store."""
    where = PID * 1024 + LANE
    body = (
        load(0, "x", dt.FLOAT32, (1024,), where), Loop(0, "range", trips, nodes, HERE, carried=True),
        store(1, "y", dt.FLOAT32, (1024,), where),
    )  # fmt: skip
    whole = tensor("x", dt.FLOAT32, programs * 1024)
    return launch("chain", body, (programs,), {"x": whole, "y": tensor("y", dt.FLOAT32, programs * 1024)}, 4)


def us(*nodes: Compute, device: str = "h100-sxm") -> float:
    return program_time(repeated(*nodes), find_device(device)).us


@pytest.fixture(scope="module")
def errors() -> dict[str, list[float]]:
    """ln errors of the measured kernels by what they are and the type that they compute in."""
    found: dict[str, list[float]] = defaultdict(list)
    for sample in bench_samples(files=ARITHMETIC_FILES):
        params = dict(item.split("=") for item in sample.name.split(" ", 1)[1].split(";"))
        time = program_time(sample.launch, find_device(sample.device))
        found[f"{sample.family} {params.get('dtype', '')}".strip()].append(math.log(time.us / sample.us))
    return found


def test_chains_of_one_operation_are_priced_by_type(errors: dict[str, list[float]]) -> None:
    chains = {name: values for name, values in errors.items() if not name.startswith("formula")}
    assert len(chains) >= 8
    for name, values in chains.items():
        # Two results of a conversion meet in one instruction there, which a model of single operations does not see.
        assert sum(map(abs, values)) / len(values) <= (0.25 if name == "convert" else 0.1), name


def test_formulas_cost_what_their_operations_do(errors: dict[str, list[float]]) -> None:
    for dtype in ("float32", "float64", "int32"):
        values = errors[f"formula {dtype}"]
        assert sum(map(abs, values)) / len(values) <= 0.15, dtype
        assert abs(sum(values) / len(values)) <= 0.1, dtype
    # The compiler narrows 64-bit integers that a remainder bounds.
    narrowed = errors["formula int64"]
    assert sum(map(abs, narrowed)) / len(narrowed) <= 0.45


@pytest.mark.parametrize(
    ("dear", "cheap", "factor"),
    [
        (node("exp", dt.FLOAT64), node("exp"), 3),
        (node("pow", dt.FLOAT64), node("exp", dt.FLOAT64), 4),
        (node("log"), node("exp"), 2),
        (node("//", dt.INT32, "arith"), node("// constant", dt.INT32, "arith"), 2),
        (node("// constant", dt.INT64, "arith"), node("// power of 2", dt.INT64, "arith"), 2),
        (node("randn"), node("exp"), 5),
        (node("+", dt.FLOAT64, "arith"), node("+", dt.FLOAT32, "arith"), 1.5),
        (node("float32", dt.find("float8_e4m3fn"), "cast"), node("float32", dt.FLOAT16, "cast"), 2),  # type: ignore[arg-type]
    ],
    ids=lambda value: f"{value.op} {value.dtype}" if isinstance(value, Compute) else "",
)
def test_dearer(dear: Compute, cheap: Compute, factor: float) -> None:
    floor = us()
    assert us(dear) - floor > factor * (us(cheap) - floor)


def test_a_product_and_its_sum_are_one_instruction() -> None:
    product, added = node("*", kind="arith"), node("+", kind="arith")
    assert us(product, node("fma", kind="arith")) < us(product) * 1.1
    assert us(product, added) > us(product) * 1.4


def test_the_special_function_unit_works_beside_the_other_lanes() -> None:
    exp, plain = node("exp"), [node("*", kind="arith")] * 8
    assert us(exp, *plain) < 0.9 * (us(exp) + us(*plain))
    assert us(exp, *plain) > max(us(exp), us(*plain))


def test_few_elements_wait_for_each_result() -> None:
    """A chain with an element a thread on every SM takes its latency, not its slots."""
    steps = 64
    where = PID * 128 + LANE
    body = (
        load(0, "x", dt.FLOAT32, (128,), where), Loop(0, "range", steps, (node("log", elements=128),), HERE),
        store(1, "y", dt.FLOAT32, (128,), where),
    )  # fmt: skip
    made = launch("chain", body, (132,), {"x": tensor("x", dt.FLOAT32, 16896), "y": tensor("y", dt.FLOAT32, 16896)}, 4)
    wait = operations().prices["float32"]["log"].wait_ns
    assert wait > 10
    assert program_time(made, H100).terms["latency"] > steps * wait / 1000


def test_double_precision_costs_more_where_there_are_few_lanes_for_it() -> None:
    exp = node("exp", dt.FLOAT64)
    assert us(exp, device="l40s") > 8 * us(exp)


TABLE = Operations({"float32": {"exp": Price(8.0), "+": Price(1.0), "int8": Price(3.0), "other": Price(30.0)},
                    "int32": {"+": Price(1.3), "//": Price(20.0)}, "float16": {"float32": Price(1.5)}})  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "slots"),
    [
        (node("exp"), 8.0),
        (node("-", kind="arith"), 1.0),
        (node("lgamma"), 30.0),
        (node("nonsense", kind="arith"), None),
        (node(""), None),
        (node("exp", dt.FLOAT64), None),
        (node("+", dt.INT8, "arith"), 1.3),
        (node("//", dt.find("uint32"), "arith"), 20.0),  # type: ignore[arg-type]
        (node("uint8", dt.FLOAT32, "cast"), 3.0),
        (node("float32", dt.FLOAT16, "cast"), 1.5),
        (node("bfloat16", dt.FLOAT16, "cast"), None),
        (node("bitcast", dt.INT32, "cast"), 0.0),
        (node("negative", dt.FLOAT64, "arith"), 0.0),
        (node("negative", dt.INT64, "arith"), None),
    ],
    ids=lambda value: f"{value.op} {value.dtype}" if isinstance(value, Compute) else str(value),
)
def test_what_is_alike_costs_alike(asked: Compute, slots: float | None) -> None:
    found = TABLE.price(asked)
    assert (found.slots if found is not None else None) == slots


def test_the_special_function_unit_has_nothing_for_double_precision() -> None:
    assert on_special_unit(node("exp"))
    assert on_special_unit(node("int32", dt.FLOAT32, "cast"))
    assert not on_special_unit(node("exp", dt.FLOAT64))
    assert not on_special_unit(node("float16", dt.FLOAT32, "cast"))
    assert not on_special_unit(node("log"))


def test_every_price_is_a_time() -> None:
    for row in operations().prices.values():
        for price in row.values():
            assert 0 <= price.slots < 1000
            assert 0 <= price.wait_ns < 5000


@pytest.mark.parametrize("elements", [0, 1, 2**40])
@pytest.mark.parametrize("op", ["", "exp", "no such operation", "\x00", "fma"])
def test_odd_operations_never_raise(op: str, elements: int) -> None:
    for kind in ("arith", "special", "cast"):
        for dtype in (dt.FLOAT64, dt.INT8, dt.BOOL):
            for device in devices():
                time = program_time(repeated(node(op, dtype, kind, elements)), device)
                assert math.isfinite(time.us) and time.us >= 0


def test_a_dot_loop_counts_a_long_function_as_more_elements() -> None:
    def counted(one: Compute) -> tuple[float, float]:
        made = repeated(one)
        return _arithmetic(made.kernel.body[1].body, traffic(made))  # type: ignore[union-attr]

    assert counted(node("exp"))[1] == pytest.approx(1024)
    assert counted(node("erf"))[1] > 2 * 1024
    assert counted(node("", kind="arith"))[0] == counted(node("+", kind="arith"))[0] == 1024
    assert counted(node("+", dt.FLOAT64, "arith"))[0] > 1.5 * 1024


@pytest.mark.parametrize(
    ("dtype", "indexed", "faster"),
    [(dt.INT32, False, True), (dt.INT8, False, True), (dt.INT32, True, False), (dt.INT64, False, False), (dt.FLOAT32, False, False)],
)  # fmt: skip
def test_a_warp_reduces_integers_at_once_where_the_card_can(dtype: Dtype, indexed: bool, faster: bool) -> None:
    whole = repeated(Reduce("max", (32, 32), 1, False, frozenset(), HERE, dtype, indexed=indexed))
    older = replace(H100, compute_capability="7.5")
    now, before = (program_time(whole, card).us for card in (H100, older))
    assert (now < 0.95 * before) is faster
    assert faster or now == pytest.approx(before)
