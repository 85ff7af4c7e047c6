"""Classes of kernels: which one a kernel belongs to, and that what was never timed makes an answer less sure and says so."""

from __future__ import annotations

import pytest

from kernlint.cost.classes import class_of, unmeasured
from kernlint.cost.device import devices, find_device
from kernlint.cost.dot_launch import kernel_time
from kernlint.cost.fitted import fitted
from kernlint.cost.traffic.accesses import traffic
from kernlint.interpret.assume import parse_fact
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch

H100 = find_device("h100-sxm")
SOURCE = """
import torch
import triton
import triton.language as tl

@triton.jit
def combine(a, b):
    return a * 0.5 + b

@triton.jit
def k(x, index, y, n, N: tl.constexpr):
    p = tl.program_id(0)
    i = p * N + tl.arange(0, N)
    {body}

def f(x, index):
    y = torch.empty_like(x)
    k[(x.shape[0],)](x, index, y, x.numel(), N=1024)
    return y
"""


def launch(*body: str) -> Launch:
    source = SOURCE.format(body="\n    ".join(body))
    facts = tuple(parse_fact(fact) for fact in ("f.x:float32[4096,1024]", "f.index:int32[4194304]"))
    (workload,) = Program(parse_module(source, "f.py"), None, Question("f", {}, facts)).workloads()
    (found,) = workload.launches()
    return found


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("stream", ("tl.store(y + i, tl.load(x + i) * 2)",)),
        ("row", ("v = tl.load(x + i)", "tl.store(y + i, v - tl.max(v, 0))")),
        ("gather", ("tl.store(y + i, tl.load(x + tl.load(index + i)))",)),
        ("atomic", ("tl.atomic_add(y + tl.load(index + i), tl.load(x + i))",)),
        ("scan", ("tl.store(y + i, tl.cumsum(tl.load(x + i), 0))",)),
        ("sort", ("tl.store(y + i, tl.sort(tl.load(x + i)))",)),
        ("loop", ("v = tl.load(x + i)", "for _ in range(n):", "    v = v * 0.5 + 1", "tl.store(y + i, v)")),
        ("walk", ("v = tl.load(x + i)", "for _ in range(n):", "    v = v - tl.max(v, 0)", "tl.store(y + i, v)")),
    ],
)  # fmt: skip
def test_class(kind: str, body: tuple[str, ...]) -> None:
    found = launch(*body)
    assert class_of(found, traffic(found)) == kind
    assert unmeasured(found) == ()
    assert kernel_time(found, H100).kind == kind


def test_what_was_never_timed_is_less_sure() -> None:
    timed = launch("tl.store(y + i, tl.cumsum(tl.load(x + i), 0))")
    other = launch("tl.store(y + i, tl.associative_scan(tl.load(x + i), 0, combine))")
    assert unmeasured(other) == ("a scan by associative_scan",)
    assert kernel_time(other, H100).sigma > kernel_time(timed, H100).sigma + 0.2


def test_the_residuals_of_classes_are_of_kernels_enough() -> None:
    table = fitted("programs")["classes"]
    for kind in ("stream", "row", "gather", "atomic", "scan", "walk", "loop"):
        assert table[kind]["rows"] >= 40 and 0.05 <= table[kind]["sigma"] <= 0.3


def test_a_sort_takes_as_long_as_its_network() -> None:
    assert kernel_time(launch("tl.store(y + i, tl.sort(tl.load(x + i)))"), H100).us > 60


@pytest.mark.parametrize("name", [device.id for device in devices()])
def test_no_card_is_said_to_have_units_that_it_lacks(name: str) -> None:
    device = find_device(name)
    has = device.is_nvidia and device.peak_tf32_tensor_dense_tflops is not None
    assert device.single_precision == ("tf32" if has else "fp32")


def test_programs_that_return_early_cost_little() -> None:
    body = "tl.store(y + i, tl.load(x + i) * 2)"
    whole, part = launch(body), launch("if p >= 512:", "    return", body)
    assert 1.8 < kernel_time(whole, H100).us / kernel_time(part, H100).us < 9


def test_an_index_by_way_of_floating_point_is_no_gather() -> None:
    plain = launch("tl.store(y + i, tl.load(x + i))")
    resampled = launch("at = (i.to(tl.float32) * 0.999).to(tl.int32)", "tl.store(y + i, tl.load(x + at))")
    assert kernel_time(resampled, H100).us < 1.6 * kernel_time(plain, H100).us
    assert class_of(resampled, traffic(resampled)) == "stream"


def test_a_small_constant_power_is_a_multiplication() -> None:
    square = launch("tl.store(y + i, tl.extra.cuda.libdevice.pow(tl.load(x + i), 2))")
    any_power = launch("v = tl.load(x + i)", "tl.store(y + i, tl.extra.cuda.libdevice.pow(v, v))")
    assert kernel_time(square, H100).us < 0.5 * kernel_time(any_power, H100).us
