"""Kernels: index expressions, loops, casts, helpers, dots, layouts."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.cost.layout import vector_bytes
from kernlint.cost.traffic.probe import Probe
from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Atomic, Branch, Compute, Dot, Kernel, Load, Loop, Reduce, Scan, Store, concrete

HEAD = """
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
"""


def kernel(
    body: str,
    arguments: str = "x, y, 256",
    inputs: str = "torch.randn(256, 64, dtype=torch.float16)",
    integers: bool = False,
    head: str = "",
) -> Kernel:
    """The kernel ``k(x, y, n, B=32)`` with this body, launched on a [256, 64] fp16 tensor x and fp32 (or int32) y."""
    module = parse_module(
        HEAD
        + head
        + "\n@triton.jit\ndef k(x, y, n, B: tl.constexpr):\n"
        + textwrap.indent(textwrap.dedent(body), "    ")
        + textwrap.dedent(f"""
        class ModelNew(torch.nn.Module):
            def forward(self, x):
                y = torch.empty(256, 64{", dtype=torch.int32" if integers else ""})
                k[(8, 2)]({arguments}, B=32)
        def get_inputs():
            return [{inputs}]
        """),
        "k.py",
    )
    (workload,) = Program(module).workloads()
    (launch,) = workload.launches()
    return launch.kernel


def test_affine_offsets_and_masks() -> None:
    k = kernel("""
        i = tl.program_id(0) * B + tl.arange(0, B)
        j = tl.arange(0, 64)
        v = tl.load(x + i[:, None] * 64 + j[None, :], mask=(i[:, None] < n) & (j[None, :] < 60), other=-1.0)
        tl.store(y + j[None, :] * 256 + i[:, None], v)
        """)
    (load,), (store,) = k.loads(), k.stores()
    assert k.complete
    assert load.shape == (32, 64) and load.stride(0) == 64 and load.stride(1) == 1
    assert load.other == -1.0 and [str(b) for _, b in load.mask or ()] == ["256", "60"]
    assert store.stride(0) == 1 and store.stride(1) == 256
    assert store.mask is None and store.depends == {load.id}


@pytest.mark.parametrize(
    "body",
    [
        "p = x + tl.arange(0, B)\nfor s in range(0, n, B):\n    tl.store(y + s + tl.arange(0, B), tl.load(p))\n    p += B",
        "o = tl.arange(0, B)\nfor s in tl.range(0, n, B, num_stages=2):\n    tl.store(y + s + o, tl.load(x + s + o))",
        "for s in range(tl.cdiv(n, B)):\n    o = s * B + tl.arange(0, B)\n    tl.store(y + o, tl.load(x + o))",
        "s = 0\nwhile s < n:\n    o = s + tl.arange(0, B)\n    tl.store(y + o, tl.load(x + o))\n    s += B",
        "q = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))\nr = tl.make_block_ptr(y, (n,), (1,), (0,), (B,), (0,))\n"
        "for s in range(0, n, B):\n    tl.store(r, tl.load(q))\n    q = tl.advance(q, (B,))\n    r = tl.advance(r, (B,))",
        "d = tl.make_tensor_descriptor(x, [n], [1], [B])\nfor s in range(0, n, B):\n    tl.store(y + s + tl.arange(0, B), d.load([s]))",
    ],
)
def test_ways_to_walk_a_row(body: str) -> None:
    k = kernel(body)
    ((load, loops),) = k.walk(Load)
    ((store, _),) = k.walk(Store)
    assert isinstance(load, Load) and isinstance(store, Store)
    (loop,) = loops
    assert k.complete, k.notes
    assert loop.trip in (8, None) and (loop.trip is not None or loop.kind == "while")
    (index,) = [a for a in load.offset.atoms() if type(a).__name__ == "LoopIndex"]  # type: ignore[union-attr]
    assert load.offset.coefficient(index) == 32  # type: ignore[union-attr]
    assert load.stride(0) == 1 and not loop.carried


def test_countdown_loop() -> None:
    k = kernel("""
        p = x + tl.arange(0, B)
        for left in range(n, 0, -B):
            tl.store(y + tl.arange(0, B), tl.load(p, mask=tl.arange(0, B) < left))
            p += B
        """)
    ((loop, _),) = k.walk(Loop)
    assert isinstance(loop, Loop) and loop.trip == 8


def test_nested_loops_and_carried_values() -> None:
    k = kernel("""
        acc = tl.zeros((B,), tl.float32)
        for i in range(3):
            for j in range(5):
                acc += tl.load(x + i * 64 + j * B + tl.arange(0, B))
        tl.store(y + tl.arange(0, B), acc)
        """)
    ((load, loops),) = k.walk(Load)
    assert [loop.trip for loop in loops] == [3, 5] and all(loop.carried for loop in loops)
    assert k.stores()[0].depends == {load.id}


def test_static_range_unrolls() -> None:
    k = kernel("for i in tl.static_range(4):\n    tl.store(y + i, tl.load(x + i * 64))")
    assert [str(load.offset) for load in k.loads()] == ["0", "64", "128", "192"]


def test_constexpr_branches_are_decided_and_others_kept() -> None:
    k = kernel("""
        if B > 16:
            v = tl.load(x)
        else:
            v = tl.load(x + 1)
        if v > 0:
            tl.store(y, v)
        """)
    assert len(k.loads()) == 1
    ((branch, _),) = k.walk(Branch)
    assert isinstance(branch, Branch) and isinstance(branch.arms[0][0], Store)


DOT = """
i = tl.arange(0, 32)
a = {a}
b = {b}
acc = tl.zeros((32, 32), tl.float32)
{dot}
tl.store(y + i[:, None] * 64 + i[None, :], acc)
"""
ROWS = "tl.load(x + i[:, None] * 64 + i[None, :])"


def dot_of(a: str = ROWS, b: str = ROWS, dot: str = "acc += tl.dot(a, b)") -> Dot:
    ((dot_node, _),) = kernel(DOT.format(a=a, b=b, dot=dot)).walk(Dot)
    assert isinstance(dot_node, Dot)
    return dot_node


@pytest.mark.parametrize(
    ("b", "k_major"),
    [
        (ROWS, False),
        ("tl.load(x + i[None, :] * 64 + i[:, None])", True),
        (f"{ROWS}.T", True),
        (f"tl.trans({ROWS})", True),
        (f"tl.trans({ROWS}, 1, 0)", True),
        (f"tl.trans({ROWS}).to(tl.float32)", True),
        (f"{ROWS} * 2.0", None),
        ("tl.load(x + i[:, None] * 64 + (i[None, :] % n))", False),
    ],
)
def test_operand_layout(b: str, k_major: bool | None) -> None:
    assert dot_of(b=b).b.k_major is k_major


@pytest.mark.parametrize(
    "cast",
    [
        "a.to(tl.float32)",
        "tl.cast(a, tl.float32)",
        "a.to(dtype=tl.float32)",
        "a.cast(tl.float32)",
        "up(a)",
        "tl.trans(tl.trans(a).to(tl.float32))",
    ],
)
def test_casts_are_traced_to_memory(cast: str) -> None:
    module = HEAD + "\n@triton.jit\ndef up(v):\n    return v.to(tl.float32)\n"
    source = DOT.format(a=ROWS, b=ROWS, dot=f"acc += tl.dot({cast}, b.to(tl.float32))")
    whole = (
        module
        + "\n@triton.jit\ndef k(x, y, n, B: tl.constexpr):\n"
        + textwrap.indent(source, "    ")
        + textwrap.dedent("""
        class ModelNew(torch.nn.Module):
            def forward(self, x):
                k[(1,)](x, torch.empty(256, 64), 256, B=32)
        def get_inputs():
            return [torch.randn(256, 64, dtype=torch.float16)]
        """)
    )
    (workload,) = Program(parse_module(whole, "k.py")).workloads()
    (dot,) = workload.launches()[0].kernel.dots()
    if cast.startswith("a.cast"):
        assert dot.a.memory_dtype.name in ("float16", "float32")
        return
    assert dot.a.dtype.name == "float32" and dot.a.memory_dtype.name == "float16" and dot.a.direct


@pytest.mark.parametrize(
    ("call", "precision"),
    [
        ("tl.dot(a.to(tl.float32), b.to(tl.float32), acc)", "tf32"),
        ("tl.dot(a.to(tl.float32), b.to(tl.float32), acc, allow_tf32=False)", "ieee"),
        ('tl.dot(a.to(tl.float32), b.to(tl.float32), acc, input_precision="tf32x3")', "tf32x3"),
    ],
)
def test_precision(call: str, precision: str) -> None:
    assert dot_of(dot=f"acc = {call}").precision == precision


@pytest.mark.parametrize(
    ("expression", "shape"),
    [
        ("tl.join(h, h)", (64, 2)),
        ("tl.interleave(h, h)", (128,)),
        ("tl.cat(h, h, can_reorder=True)", (128,)),
        ("tl.cat(input=h, other=h, can_reorder=True)", (128,)),
        ("tl.split(tl.join(a=h, b=h))[0]", (64,)),
        ("tl.ravel(v)", (2048,)),
        ("v.reshape(16, 128)", (16, 128)),
        ("tl.reshape(v, (16, 128))", (16, 128)),
        ("tl.expand_dims(input=h, axis=0)", (1, 64)),
        ("tl.trans(v)", (64, 32)),
        ("tl.permute(v, (1, 0))", (64, 32)),
        ("tl.gather(src=h, index=tl.arange(0, 16), axis=0)", (16,)),
        ("tl.flip(x=h)", (64,)),
        ("tl.broadcast_to(h[None, :], (32, 64))", (32, 64)),
        ("tl.broadcast_to(h[None, :], 32, 64)", (32, 64)),
        ("tl.zeros_like(input=v)", (32, 64)),
        ("tl.full_like(v, 1.0)", (32, 64)),
        ("tl.fma(x=v, y=v, z=h[None, :])", (32, 64)),
        ("tl.where(condition=v > 0, x=v, y=0.0)", (32, 64)),
        ("tl.histogram(input=i, num_bins=16)", (16,)),
        ("tl.dot_scaled(v, None, 'e4m3', tl.trans(v), None, 'e4m3')", (32, 32)),
        ("tl.map_elementwise(_half, h)", (64,)),
        ("tl.zeros((tl.cdiv(x=60, div=32) * 8, tl.next_power_of_2(n=33)), tl.float32)", (16, 64)),
    ],
)
def test_shapes_of_what_functions_make(expression: str, shape: tuple[int, ...]) -> None:
    k = kernel(
        f"""
        i = tl.arange(0, 64)
        h = tl.load(x + i)
        v = tl.load(x + tl.arange(0, 32)[:, None] * 64 + i[None, :])
        tl.sum({expression})
        """,
        head="\n@triton.jit\ndef _half(v):\n    return v * 0.5\n",
    )
    assert k.complete, k.notes
    *_, (made, _) = k.walk(Reduce)
    assert isinstance(made, Reduce) and made.shape == shape


def test_an_index_that_is_reshaped_is_still_known() -> None:
    k = kernel("""
        at = tl.reshape(tl.arange(0, 64), (4, 16))
        tl.store(y + tl.ravel(at), tl.ravel(tl.load(x + at)))
        """)
    (load,), (store,) = k.loads(), k.stores()
    assert (load.stride(0), load.stride(1), store.stride(0)) == (16, 1, 1)


@pytest.mark.parametrize("pid", range(12))
def test_swizzled_programs(pid: int) -> None:
    """4 by 3 tiles in groups of 2 rows, against what Triton's own function computes."""
    k = kernel(f"""
        i, j = tl.swizzle2d({pid} // 3, {pid} % 3, 4, 3, 2)
        tl.load(x + i * 100 + j)
        """)
    group, inside = divmod(pid, 6)
    (load,) = k.loads()
    assert k.complete and load.offset is not None
    assert concrete(load.offset) == (group * 2 + inside % 2) * 100 + inside // 2


def test_reductions_scans_atomics_and_special_functions() -> None:
    k = kernel("""
        i = tl.arange(0, B)
        v = tl.load(x + i).to(tl.float32)
        s = tl.sum(tl.exp(v), axis=0)
        c = tl.cumsum(v, 0)
        m = tl.max(v[:, None] + v[None, :], 1)
        tl.atomic_add(y + tl.program_id(0), s)
        tl.store(y + i, c + m + libdevice.tanh(v))
        """)
    assert k.complete
    reduces = [n for n, _ in k.walk(Reduce)]
    assert [r.scalar for r in reduces if isinstance(r, Reduce)] == [True, False]
    assert len([n for n, _ in k.walk(Scan)]) == 1
    ((atomic, _),) = k.walk(Atomic)
    assert isinstance(atomic, Atomic) and atomic.op == "add" and len(atomic.depends) == 1
    assert sum(isinstance(n, Compute) and n.kind == "special" for n, _ in k.walk(Compute)) == 2


@pytest.mark.parametrize(
    ("expression", "operations"),
    [
        ("tl.exp(v) / w", ["exp", "/"]),
        ("v * w + w", ["*", "fma"]),
        ("w - v * w", ["*", "fma"]),
        ("(v + w) * w", ["+", "*"]),
        ("tl.fma(v, w, w)", ["*", "fma"]),
        ("w + 2.0 * s * s", ["*", "*", "+"]),  # the product is a scalar's: the tile is only added to
        ("-v", ["negative"]),
        ("tl.where(v > w, v, 0.0)", ["where"]),
        ("tl.where((v > w) & ((v < 1.0) | (w > 2.0)), v, w)", ["|", "&", "where"]),
        ("tl.where((i > 2) & (i < 5), v, w)", ["where"]),
        ("tl.maximum(v, w) - tl.minimum(v, w)", ["max", "min", "-"]),
        ("libdevice.pow(v, w)", ["pow"]),
        ("q // 3 + q % r", ["// constant", "%", "+"]),
        ("q // 8 % 6", ["// power of 2", "% constant"]),
        ("(q >> 4) & 15", [">>", "&"]),
        ("q.to(tl.float32)", ["int32"]),
        ("v.to(tl.float8e4nv).to(tl.float32)", ["float32", "float8_e4m3fn"]),
        ("v.to(tl.int32, bitcast=True)", ["bitcast"]),
        ("tl.clamp(v, 0.0, 1.0)", ["clamp"]),
        ("tl.rand(0, i) + v", ["rand", "+"]),
    ],
)
def test_a_computation_says_which_operation_it_is(expression: str, operations: list[str]) -> None:
    k = kernel(
        f"""
        i = tl.program_id(0) * B + tl.arange(0, B)
        v, w, s = tl.load(x + i), tl.load(x + i + B), tl.load(x)
        q, r = tl.load(y + i), tl.load(y + i + B)
        tl.store(x + i, {expression})
        """,
        "x, y, 256",
        "torch.randn(1024, dtype=torch.float32)",
        integers=True,
    )
    made = [node.op for node, _ in k.walk(Compute) if isinstance(node, Compute)]
    assert made == operations


def test_an_augmented_sum_of_a_product_is_one_operation() -> None:
    k = kernel("""
        i = tl.arange(0, B)
        total = tl.zeros((B,), tl.float32)
        for step in range(4):
            total += tl.load(x + i + step * B) * tl.load(y + i)
        tl.store(y + i, total)
        """)
    assert [node.op for node, _ in k.walk(Compute) if isinstance(node, Compute)] == ["*", "fma"]


@pytest.mark.parametrize(
    ("order", "sem"), [("", "acq_rel"), (', sem="acq_rel"', "acq_rel"), (', sem="relaxed"', "relaxed")]
)
def test_an_atomic_says_what_it_orders(order: str, sem: str) -> None:
    k = kernel(f"tl.atomic_add(y + tl.program_id(0), 1.0{order})")
    ((atomic, _),) = k.walk(Atomic)
    assert isinstance(atomic, Atomic) and atomic.sem == sem


def test_unknown_things_are_noted_not_guessed() -> None:
    k = kernel("v = mystery(tl.load(x))\ntl.store(y + tl.load(x).to(tl.int32), v)")
    assert not k.complete and any("mystery" in note for note in k.notes)
    (store,) = k.stores()
    assert store.base == "y"


@pytest.mark.parametrize(
    "body", ["return", "pass", "k(x, y, n, B)", "while True:\n    pass", "x[0]", "tl.dot(1, 2)", "tl.load()"]
)
def test_odd_bodies_never_raise(body: str) -> None:
    assert kernel(body).name == "k"


def test_conditional_return_puts_the_rest_into_an_arm() -> None:
    k = kernel("""
        row = tl.program_id(0)
        if row >= n - 250:
            return
        tl.store(y + row, tl.load(x + row))
        if row > 2:
            return
        tl.store(y + row, 1.0)
        """)
    ((outer, _), (inner, _)) = k.walk(Branch)
    assert isinstance(outer, Branch) and isinstance(inner, Branch)
    assert outer.arms[0] == () and outer.share == 1.0
    assert [type(node).__name__ for node in outer.arms[1]] == ["Load", "Store", "Branch"]
    assert [type(node).__name__ for node in inner.arms[1]] == ["Store"]


def test_masks_say_whether_they_are_known_whole() -> None:
    k = kernel("""
        i = tl.arange(0, B)
        tl.store(y + i, 1.0, mask=i < n)
        tl.store(y + i, 1.0, mask=(i < n) & (i >= 2))
        tl.store(y + i, 1.0, mask=(i < n) & (tl.load(x + i) > 0))
        tl.store(y + i, 1.0, mask=(i < n) | (i > 4))
        tl.store(y + i, 1.0)
        """)
    assert [store.mask_known for store in k.stores()] == [True, True, False, False, True]


@pytest.mark.parametrize(
    ("body", "trip"),
    [
        ("s = 0\nwhile s < n:\n    tl.store(y + s, 1.0)\n    s += B", 8),
        ("s = 3\nwhile s + B <= n:\n    tl.store(y + s, 1.0)\n    s += B", 7),
        ("s = n\nwhile s > 0:\n    tl.store(y + s, 1.0)\n    s -= 64", 4),
        ("s = 1\nwhile s < n:\n    tl.store(y + s, 1.0)\n    s *= 2", None),
        ("s = 0\nwhile (s < n) & (tl.load(x + s) > 0):\n    tl.store(y + s, 1.0)\n    s += 1", None),
    ],
)
def test_trip_count_of_while(body: str, trip: int | None) -> None:
    ((loop, _),) = kernel(body).walk(Loop)
    assert isinstance(loop, Loop) and loop.kind == "while" and loop.trip == trip


@pytest.mark.parametrize(
    "value", ['tl.where(i < n, 0, float("-inf"))', "tl.maximum(tl.full((16,), 1.0, tl.float32), 2.0)"]
)
def test_what_two_constants_make_does_not_end_the_kernel(value: str) -> None:
    source = f"""
import triton
import triton.language as tl

@triton.jit
def fill(x, n):
    i = tl.arange(0, 16)
    tl.store(x + i, {value}, mask=i < n)
"""
    (workload,) = Program(parse_module(source, "example.py")).bare_kernels()
    assert len(workload.launches()[0].kernel.stores()) == 1


@pytest.mark.parametrize(
    ("reduced", "shape"),
    [
        ("tl.sum(v, 1, True)", (32, 1)),
        ("v.sum(1, True)", (32, 1)),
        ("tl.argmax(v, 1, True, True)", (32, 1)),
        ("tl.max(v, 1, True)[0]", (32,)),
        ("tl.max(v, 1, False, True, True)", (32, 1)),
        ("tl.reduce(v, 1, larger, True)", (32, 1)),
        ("tl.reduce(combine_fn=larger, input=v, axis=1)", (32,)),
    ],
)
def test_flags_of_reductions_by_position(reduced: str, shape: tuple[int, ...]) -> None:
    rest = "" if len(shape) == 2 else "[:, None]"
    k = kernel(f"""
        v = tl.load(x + tl.arange(0, B)[:, None] * 64 + tl.arange(0, 64)[None, :])
        m = {reduced}{rest}
        tl.store(y + tl.arange(0, B)[:, None] + tl.zeros_like(m), m)
        """)
    assert k.complete, k.notes
    assert k.stores()[0].shape == (32, 1)


@pytest.mark.parametrize(
    "bounds", ["0, n, B, 2", "arg1=0, arg2=n, step=B, num_stages=2", "n, step=B, num_stages=2", "n, None, B, 2"]
)
def test_stages_and_bounds_of_a_loop_by_position_and_name(bounds: str) -> None:
    k = kernel(f"o = tl.arange(0, B)\nfor s in tl.range({bounds}):\n    tl.store(y + s + o, tl.load(x + s + o))")
    (loop,) = (node for node, _ in k.walk(Loop))
    assert k.complete and loop.trip == 8 and loop.num_stages == 2


@pytest.mark.parametrize(("told", "width"), [("tl.max_contiguous(at, B)", 16), ("at", 2)])
def test_a_clamped_index_is_contiguous_where_the_compiler_is_told(told: str, width: int) -> None:
    k = kernel(f"""
        at = tl.program_id(0) * B + tl.arange(0, B)
        at = tl.where(at < n, at, 0)
        at = {told}
        tl.store(y + tl.arange(0, B), tl.load(x + at))
    """)
    (load,) = k.loads()
    assert vector_bytes(load) == width
    assert str(k.likely_offset(load)) == "lane0 + 32*pid0", "for the traffic it is the index itself"


def test_what_one_of_many_programs_does_counts_once() -> None:
    k = kernel("""
        value = tl.load(x + tl.program_id(0) * B + tl.arange(0, B))
        if tl.program_id(0) == 0:
            tl.store(y + tl.arange(0, B), value)
    """)
    (branch,) = [node for node, _ in k.walk(Branch)]
    assert isinstance(branch, Branch) and branch.conditions[0] is not None
    assert Probe(k, [1000, 1]).arm_shares(branch) == (pytest.approx(0.001, abs=0.02), pytest.approx(0.999, abs=0.02))


def test_a_number_that_depends_on_the_program_is_mostly_the_larger() -> None:
    k = kernel("""
        count = 3
        if tl.program_id(0) < 5:
            count += 1
        for i in range(0, 4 * count):
            tl.store(y + i * B + tl.arange(0, B), 1.0)
    """)
    (loop,) = [node for node, _ in k.walk(Loop)]
    assert isinstance(loop, Loop) and Probe(k, [8, 2]).trips[loop.id] == 16
