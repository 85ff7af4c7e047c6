"""Findings that were wrong in packages nobody had looked at, as small programs: each kind is to stay away, and what it was
mistaken for is still to be found."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.settings import FileSettings
from kernlint.rules.registry import find_rule
from tests.support.values import HEADER

FOREIGN_TUNER = """
    class Tuner(triton.KernelInterface):
        def __init__(self, fn, configs):
            self.fn, self.configs = fn, configs

        def run(self, *args, **kwargs):
            return self.fn.run(*args, **kwargs, **self.configs[0].kwargs)

    class {module}:
        @staticmethod
        def autotune(configs, key):
            return lambda fn: Tuner(fn, configs)

    @{module}.autotune(configs=[triton.Config({{"BLOCK": 64}})], key=["n"])
    @triton.jit
    def twice(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    def run(x, y):
        twice[(16,)](x, y, x.numel())
"""

ROTATED = """
    @triton.jit
    def rotate(q, c, ROW: tl.constexpr, STEP: tl.constexpr, HEADS: tl.constexpr, PAIRS: tl.constexpr):
        head = tl.arange(0, HEADS)[:, None]
        pair = tl.arange(0, PAIRS)[None, :]
        even = tl.load(q + head * ROW + (2 * pair) * STEP)
        odd = tl.load(q + head * ROW + (2 * pair + 1) * STEP)
        angle = tl.load(c + pair)
        tl.store(q + head * ROW + (2 * pair) * STEP, even * angle - odd)
        tl.store(q + head * ROW + (2 * pair + 1) * STEP, odd * angle + even)

    def run(q, c):
        heads, width = q.shape
        rotate[(1,)](q, c, ROW=q.stride(0), STEP=q.stride(1), HEADS=triton.next_power_of_2(heads), PAIRS=width // 2)
"""

LAST_OFFSET = """
    @triton.jit
    def used(x, ends, o, COUNT: tl.constexpr, HAS: tl.constexpr, BLOCK: tl.constexpr):
        rows = 1000
        if HAS:
            rows = tl.load(ends + COUNT - 1)
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + i, tl.load(x + i, mask=i < rows, other=0.0), mask=i < rows)

    def backward(ctx, grad):
        x, ends = ctx.saved_tensors
        o = torch.empty_like(grad)
        count = ends.numel() if ends is not None else 0
        used[(16,)](x, ends if ends is not None else x, o, COUNT=count, HAS=ends is not None, BLOCK=64)
        return o, None
"""

EITHER_KIND = """
    @triton.jit
    def scale(x, y, n, bits, BLOCK: tl.constexpr):
        if isinstance(bits, tl.constexpr):
            b = bits.value
        else:
            b = bits
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * b, mask=i < n)

    def run(x, y, bits: int):
        scale[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), bits, BLOCK=64)
"""

PICKED = """
    @triton.jit
    def attend(K, IDX, O, picks, D: tl.constexpr, BT: tl.constexpr):
        s = tl.program_id(0)
        d = tl.arange(0, D)
        m = -float("inf")
        l = 0.0
        for t in range(0, picks, BT):
            lane = t + tl.arange(0, BT)
            idx = tl.load(IDX + s * picks + lane, mask=lane < picks, other=0)
            valid = (lane < picks) & ({valid})
            k = tl.load(K + idx[:, None] * D + d[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
            scores = tl.where(valid, tl.sum(k, axis=1), -float("inf"))
            new = tl.maximum(m, tl.max(scores, axis=0))
            l = l * tl.exp(m - new) + tl.sum(tl.exp(scores - new), axis=0)
            m = new
        tl.store(O + s, m + tl.log(l))
"""

IN_CHUNKS = """
    @triton.jit
    def twice(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    class ModelNew(torch.nn.Module):
        def forward(self, x):
            y = torch.empty_like(x)
            n = {step} * x.shape[1]
            for c in {rows}:
                twice[(triton.cdiv(n, 1024),)](x[c : c + {step}], y[c : c + {step}], n, BLOCK=1024)
            return y
"""

K_LOOP = """
    @triton.jit
    def row_sum(x, o, K, BK: tl.constexpr):
        row = tl.program_id(0)
        k = tl.arange(0, BK)
        total = tl.zeros((BK,), tl.float32)
        for start in range(0, tl.cdiv(K, BK)):
            total += tl.load(x + row * K + start * BK + k)
        {masked}
        tl.store(o + row, tl.sum(total, axis=0))

    def run(x, o):
        row_sum[(x.shape[0],)](x, o, x.shape[1], BK=32)
"""


REGROUPED = """
    @triton.jit
    def grouped(Q, sb, st, sh, sg, sd, O, D: tl.constexpr):
        d = tl.arange(0, D)
        for g in tl.range(0, 4):
            x = tl.load(Q + tl.program_id(0).to(tl.int64) * sb + g.to(tl.int64) * sg + d * sd)
            tl.store(O + g * D + d, x)

    def run(q, args):
        B, T, H, D = q.shape
        q = q.view(B, -1, H // args.group, args.group, D)
        B, _, heads, G, D = q.shape
        o = torch.empty_like(q)
        grouped[(B,)](q, *q.stride(), o, D)
        return o
"""


PART_OF_A_KERNEL = """
    @triton.jit
    def accumulate(dq, start, step, k, grad, lock, BLOCK: tl.constexpr):
        slot = lock + tl.program_id(0) + start // BLOCK
        while tl.atomic_cas(slot, 0, 1) == 1:
            pass
        total = tl.load(dq + start * step) + tl.dot(tl.trans(k), grad)
        tl.store(dq + start * step, total)
        tl.debug_barrier()
        tl.atomic_xchg(slot, 0)
"""


def severities(code: str, source: str) -> list[str]:
    """How severe each finding of rule ``code`` is in ``source``, as `kernlint check` answers."""
    job = Job("example.py", (HEADER + textwrap.dedent(source)).encode(), FileSettings(frozenset([code])))
    return [finding.severity for finding in check_file(job).findings]


def codes(asked: set[str], source: str) -> list[str]:
    """The rules of ``asked`` that find something in ``source``, once for each finding."""
    job = Job("example.py", (HEADER + textwrap.dedent(source)).encode(), FileSettings(frozenset(asked)))
    return [finding.code for finding in check_file(job).findings]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (FOREIGN_TUNER.format(module="custom_autotune"), "KL703"),
        (ROTATED, "KL758"),
        (LAST_OFFSET, "KL741"),
        (EITHER_KIND, "KL729"),
        (PICKED.format(valid="idx <= s"), "KL774"),
        (REGROUPED, "KL729"),
        (PART_OF_A_KERNEL, "KL708"),
        (IN_CHUNKS.format(rows="range(0, x.shape[0], 16)", step=16), "KL601"),
    ],
)
def test_is_not_told(source: str, code: str) -> None:
    assert severities(code, source) == []


def test_the_same_tuner_of_triton_has_no_such_argument() -> None:
    source = FOREIGN_TUNER.format(module="custom_autotune").replace("@custom_autotune.autotune", "@triton.autotune")
    assert severities("KL703", source.replace('{"BLOCK": 64}', '{"TILE": 64}'))


def test_a_flag_that_was_read_may_leave_nothing_of_a_row() -> None:
    assert severities("KL774", PICKED.format(valid="idx != 0")) == ["info"]


def test_one_row_at_a_time_is_no_chunk() -> None:
    assert severities("KL601", IN_CHUNKS.format(rows="range(x.shape[0])", step=1))


def test_a_loop_over_whole_tiles_is_a_remark_unless_another_access_masks_its_index() -> None:
    assert severities("KL735", K_LOOP.format(masked="pass")) == ["info"]
    masked = "for start in range(0, tl.cdiv(K, BK)):\n            total += tl.load(x + row * K + start * BK + k)\n            "
    masked += "total += tl.load(o + start * BK + k, mask=start * BK + k < K, other=0.0)"
    assert "warning" in severities("KL735", K_LOOP.format(masked=masked))


PAST_THE_END = """
    @triton.jit
    def two_sweeps(x, o, n, BLOCK: tl.constexpr):
        lane = tl.arange(0, BLOCK)
        p = x + lane
        total = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, n, BLOCK):
            total += tl.load(p, mask=start + lane < n, other=0.0)
            p += BLOCK
        scale = tl.sum(total, axis=0)
        {back}
        for start in range(0, n, BLOCK):
            v = tl.load(p, mask=start + lane < n, other=0.0)
            tl.store(o + start + lane, v / scale, mask=start + lane < n)
            p += BLOCK

    def run(x):
        o = torch.empty(1000, device=x.device)
        two_sweeps[(1,)](x, o, 1000, BLOCK=256)
        return o

    def get_inputs():
        return [torch.randn(1000)]
"""


def test_a_pointer_that_one_loop_moved_on_and_the_next_does_not_take_back() -> None:
    assert severities("KL745", PAST_THE_END.format(back="pass")) == ["error"]
    assert severities("KL745", PAST_THE_END.format(back="p = x + lane")) == []


SHIFTED = """
    @triton.jit
    def shifted(x, o, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + i + {shift}, tl.load(x + i, mask=i < n), mask={mask})

    def run(x, n: int):
        o = torch.empty({extent}, device=x.device)
        shifted[(triton.cdiv(n, 256),)](x, o, n, BLOCK=256)
        return o
"""


@pytest.mark.parametrize(
    ("shift", "mask", "extent", "expected"),
    [
        ("1", "i < n", "n", ["error"]),
        ("1", "i + 1 < n", "n", []),
        ("1", "i < n", "n + 1", []),
        ("0", "i < n", "n", []),
        ("1", "i < n", "2 * n", []),
    ],
)
def test_a_shift_that_only_the_address_has(shift: str, mask: str, extent: str, expected: list[str]) -> None:
    assert severities("KL745", SHIFTED.format(shift=shift, mask=mask, extent=extent)) == expected


CALLED = """
    @triton.jit
    def twice(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    @torch.no_grad()
    def doubled(x, lengths, y):
        twice[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)

    def test():
        x = torch.randn(100)
        y = torch.empty_like(x)
        twice[(1,)](x, y, 100, BLOCK=128)
        doubled({arguments})
"""


@pytest.mark.parametrize(
    ("arguments", "expected"), [("x, y", ["error"]), ("x, None, y", []), ("*(x, None, y)", []), ("x, y=y", ["error"])]
)
def test_a_call_that_python_refuses(arguments: str, expected: list[str]) -> None:
    assert severities("KL795", CALLED.format(arguments=arguments)) == expected


ROWS = """
    @triton.jit
    def doubled(x, o, n, s, D: tl.constexpr, B: tl.constexpr):
        pid = tl.program_id(0)
        row = tl.arange(0, B)
        column = tl.arange(0, D)
        inside = ({index} < n)[:, None] * (column < D)[None, :]
        at = (pid * B + row)[:, None] * s + column[None, :]
        tl.store(o + at, tl.load(x + at, mask=inside, other=0.0) * 2.0, mask=inside)

    def run(x):
        assert x.shape[1] == 64
        o = torch.empty_like(x)
        doubled[(triton.cdiv(x.shape[0], 32),)](x, o, x.shape[0], x.stride(0), D=64, B=32)
        return o
"""


@pytest.mark.parametrize(("index", "expected"), [("row", ["warning", "warning"]), ("pid * B + row", [])])
def test_a_mask_that_does_not_move_with_the_program(index: str, expected: list[str]) -> None:
    assert severities("KL796", ROWS.format(index=index)) == expected


WHOLE_TILES = """
    @triton.jit
    def doubled(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        n = tl.program_id(1) * BN + tl.arange(0, BN)
        at = m[:, None] * N + n[None, :]
        inside = (m < M)[:, None] & (n < N)[None, :]
        tl.store(o + at, tl.load(x + at, mask=inside) * 2.0, mask=inside)

    def run(x):
        M, N = x.shape
        {check}
        x = x.contiguous()
        o = torch.empty_like(x)
        doubled[(triton.cdiv(M, 64), {columns})](x, o, M, N, BM=64, BN=64)
        return o
"""


@pytest.mark.parametrize(
    ("columns", "check", "expected"),
    [
        ("N // 64", "pass", ["warning"]),
        ("N // 64", "assert N % 64 == 0", []),
        ("triton.cdiv(N, 64)", "pass", []),
    ],
)
def test_a_grid_of_whole_tiles(columns: str, check: str, expected: list[str]) -> None:
    assert severities("KL747", WHOLE_TILES.format(columns=columns, check=check)) == expected


SPLIT = """
    @triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"], reset_to_zero=["o"])
    @triton.jit
    def total(x, o, n, SPLIT_K: tl.constexpr, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        s = tl.load(x + i, mask=i < n, other=0.0)
        if SPLIT_K > 1:
            tl.atomic_add(o + i % (n // SPLIT_K), s, mask=i < n)
        else:
            tl.store(o + i, s, mask=i < n)

    def run(x):
        n = x.numel()
        SPLIT_K = max(1, n // 4096)
        if SPLIT_K > 1:
            o = x.new_zeros(n)
        else:
            o = x.new_empty(n)
        total[lambda meta: (triton.cdiv(n, meta["B"]),)](x, o, n, SPLIT_K=SPLIT_K)
        return o
"""


def test_a_buffer_that_is_zeroed_where_the_kernel_adds_to_it() -> None:
    assert severities("KL753", SPLIT) == []
    assert severities("KL753", SPLIT.replace("x.new_zeros(n)", "x.new_empty(n)")) == ["error"]


NORM = """
    @triton.jit
    def backward_kernel(dy, x, dx, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * n + tl.arange(0, BLOCK)
        inside = tl.arange(0, BLOCK) < n
        g = tl.load(dy + at, mask=inside, other=0.0) * tl.load(x + at, mask=inside, other=0.0)
        tl.store(dx + at, g, mask=inside)

    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            shape = x.shape
            x = x.view(-1, shape[-1])
            ctx.block = triton.next_power_of_2(x.shape[1])
            ctx.save_for_backward(x)
            return torch.empty_like(x).view(*shape)

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensors
            shape = dy.shape
            dy = dy.view(-1, shape[-1])
            rows, n = dy.shape
            dx = torch.empty_like(dy)
            backward_kernel[(rows,)](dy, x, dx, n, BLOCK=ctx.block)
            return dx.view(*shape)
"""


def test_a_block_that_the_forward_pass_chose_for_the_same_rows() -> None:
    assert severities("KL751", NORM) == []


TUNED_OR_NOT = """
    @triton.jit
    def twice(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    tuned = triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])(twice)

    def run(x, y, search):
        kernel = tuned if search else twice
        if search:
            kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
        else:
            kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
"""

TIMED = """
    @triton.jit
    def twice(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    @triton.testing.perf_report([])
    def bench(n):
        x = torch.randn(n, device="cuda")
        y = torch.empty_like(x)
        ms = triton.testing.do_bench(lambda: twice[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64))
        twice[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
        return y / ms
"""


def test_a_kernel_and_its_arguments_picked_by_one_condition() -> None:
    assert severities("KL703", TUNED_OR_NOT) == []
    assert severities("KL703", TUNED_OR_NOT.replace("tuned if search else twice", "tuned"))


def test_a_benchmark_may_measure() -> None:
    assert severities("KL604", TIMED) == []


STAGES_OF_THE_TUNER = """
    @triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_stages=4), triton.Config({"BLOCK": 128})], key=["n"])
    @triton.jit
    def total(x, y, n, BLOCK: tl.constexpr, num_stages: tl.constexpr):
        row, acc = tl.program_id(0), tl.zeros((BLOCK,), tl.float32)
        for start in tl.range(0, n, BLOCK, num_stages=num_stages):
            i = start + tl.arange(0, BLOCK)
            acc += tl.load(x + row * n + i, mask=i < n, other=0.0)
        tl.store(y + row, tl.sum(acc))

    def run(x, y):
        total[(x.shape[0],)](x, y, x.shape[1])
"""

ATTRIBUTE_OF_ANOTHER = """
    @triton.jit
    def shift(x, zeros, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n)
        if getattr(zeros, "offset", None) is not None:
            v = v + zeros.offset
        tl.store(y + i, v, mask=i < n)

    def run(x, zeros):
        y = torch.empty_like(x)
        shift[(triton.cdiv(x.numel(), 128),)](x, zeros, y, x.numel(), BLOCK=128)
        return y
"""


def test_a_tuner_passes_its_options_to_parameters_of_their_names() -> None:
    assert severities("KL703", STAGES_OF_THE_TUNER) == []
    # ... but not one that the configurations do not have, nor without a tuner, nor beside the launch's own.
    assert severities("KL703", STAGES_OF_THE_TUNER.replace("num_stages: tl", "depth: tl")) == ["error"]
    assert severities("KL703", STAGES_OF_THE_TUNER.replace("x.shape[1])\n", "x.shape[1], 64, 2)\n")) == ["error"]
    decorator = STAGES_OF_THE_TUNER[: STAGES_OF_THE_TUNER.index("    @triton.jit")]
    untuned = STAGES_OF_THE_TUNER.replace(decorator, "\n").replace("x.shape[1])\n", "x.shape[1], BLOCK=64)\n")
    assert severities("KL703", untuned) == ["error"]


def test_an_attribute_that_the_condition_asks_for() -> None:
    assert severities("KL729", ATTRIBUTE_OF_ANOTHER) == []
    asked = 'getattr(zeros, "offset", None) is not None'
    assert severities("KL729", ATTRIBUTE_OF_ANOTHER.replace(asked, 'hasattr(zeros, "offset")')) == []
    assert severities("KL729", ATTRIBUTE_OF_ANOTHER.replace(asked, 'getattr(zeros, "dtype", None) is not None'))
    assert severities("KL729", ATTRIBUTE_OF_ANOTHER.replace(asked, "n > 0"))


LOCKED = """
    @triton.jit
    def add(lock, acc, x, B: tl.constexpr):
        c = tl.arange(0, B)
        v = tl.load(x + tl.program_id(0) * B + c)
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        tl.store(acc + c, tl.load(acc + c) + v)
        tl.atomic_xchg(lock, 0)
"""


def test_a_release_that_triton_waits_before() -> None:
    relaxed, acquire, release = (
        LOCKED.replace("(lock, 0)\n", f'(lock, 0, sem="{sem}")\n') for sem in ("relaxed", "acquire", "release")
    )
    for version, source, expected in (
        (None, LOCKED, [("info", "before 3.9")]),
        (None, acquire, [("warning", "protects")]),
        ("3.8", LOCKED, [("warning", "before 3.9")]),
        ("3.9", LOCKED, []),
        ("3.9", release, []),
        ("3.9", relaxed, [("warning", "protects")]),
        ("3.9", acquire, [("warning", "protects")]),
    ):
        settings = FileSettings(frozenset(["KL762"]), target_triton=version)
        found = check_file(Job("example.py", (HEADER + textwrap.dedent(source)).encode(), settings)).findings
        assert [(f.severity, f.message[-len(end) :]) for f, (_, end) in zip(found, expected, strict=True)] == expected


def test_a_fault_of_a_helper_is_told_where_it_stands(tmp_path) -> None:
    helper = LOCKED.replace("tl.program_id(0) * B + ", "")
    caller = """
        from helper import add

        @triton.jit
        def outer(lock, acc, x, B: tl.constexpr):
            add(lock, acc, x + tl.program_id(0) * B, B)

        def run(lock, acc, x):
            outer[(64,)](lock, acc, x, B=1024)
    """
    for name, source, count in (("helper", helper, 1), ("caller", caller, 0)):
        path = tmp_path / f"{name}.py"
        path.write_text(HEADER + textwrap.dedent(source))
        job = Job(str(path), path.read_bytes(), FileSettings(frozenset(["KL762"])))
        assert len(check_file(job).findings) == count


SWITCHED = """
    @triton.jit
    def twice(x, y, n, BLOCK: tl.constexpr, CHECK: tl.constexpr = False):
        for step in range(4):
            start = (tl.program_id(0) * 4 + step) * BLOCK
            if CHECK:
                if start >= n:
                    break
            i = start + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)
"""


def test_code_behind_a_switch_that_nobody_sets() -> None:
    assert severities("KL704", SWITCHED) == ["info"]
    assert severities("KL704", SWITCHED.replace(" = False", "")) == ["info"]
    assert severities("KL704", SWITCHED.replace("if CHECK", "if not CHECK")) == ["info"]
    launched = SWITCHED + "\n    def run(x, y):\n        twice[(16,)](x, y, x.numel(), 64{})\n"
    assert severities("KL704", launched.format("")) == []
    assert severities("KL704", launched.format(", CHECK=True")) == ["error"]


GRID_FUNCTION = """
    @triton.jit
    def twice(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    def run(x):
        y = torch.zeros(x.numel(), device=x.device)

        def grid({parameters}):
            return (triton.cdiv(x.numel(), 64),)

        twice[grid](x, y, x.numel(), BLOCK=64)
        return y
"""


@pytest.mark.parametrize("parameters", ["", "m, n", "*, n"])
def test_a_grid_function_takes_the_meta_parameters(parameters: str) -> None:
    # What a launch that fails overwrites is nobody's waste.
    assert codes({"KL302", "KL713"}, GRID_FUNCTION.format(parameters=parameters)) == ["KL713"]


@pytest.mark.parametrize("parameters", ["meta", "*args", "meta, n=2"])
def test_a_grid_function_that_can_be_called(parameters: str) -> None:
    assert codes({"KL302", "KL713"}, GRID_FUNCTION.format(parameters=parameters)) == ["KL302"]


BENCHMARK = """
    def available():
        return True

    @triton.jit
    def fill(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), 1.0)

    HAS_APEX = {has}

    @triton.testing.perf_report(
        triton.testing.Benchmark(
            x_names=["n"], x_vals=[512], line_arg="provider",
            line_vals=["triton", "torch"] + (["apex"] if HAS_APEX else []),
        )
    )
    def bench(n, provider):
        if provider == {name}:
            return apex.norm(n)
        return n
"""

SWITCH = """
    @triton.jit
    def fill(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), 1.0)

    DEBUG = {value}

    def run(x):
        if DEBUG and x.is_cuda:
            dump(x)
"""


@pytest.mark.parametrize(
    ("has", "name", "expected"),
    [
        ("False", '"apex"', []),
        ("True", '"apex"', ["error"]),
        ("available()", '"apex"', ["error"]),
        ("False", '"torch"', ["error"]),
    ],
)
def test_a_provider_that_a_benchmark_never_asks_for(has: str, name: str, expected: list[str]) -> None:
    assert severities("KL702", BENCHMARK.format(has=has, name=name)) == expected


def test_a_branch_that_a_constant_of_the_module_closes() -> None:
    assert severities("KL702", SWITCH.format(value="False")) == []
    assert severities("KL702", SWITCH.format(value="True")) == ["error"]
    # ... but not one that something else sets, nor a parameter of that name.
    assert severities(
        "KL702", SWITCH.format(value="False") + "\n    if torch.cuda.is_available():\n        DEBUG = True\n"
    )
    assert severities("KL702", SWITCH.format(value="False").replace("run(x)", "run(x, DEBUG)")) == ["error"]


ISSUED_AND_DONE = """
    import time

    @triton.jit
    def fill(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), 1.0)

    def bench(x):
        begin = time.perf_counter()
        fill[(1,)](x, BLOCK=1024)
        issued = time.perf_counter() - begin
        torch.cuda.synchronize()
        return issued, time.perf_counter() - begin
"""


def test_the_time_of_issuing_beside_the_whole() -> None:
    assert severities("KL785", ISSUED_AND_DONE) == []
    wait = "        torch.cuda.synchronize()\n"
    assert severities("KL785", ISSUED_AND_DONE.replace(wait, "")) == ["warning"]
    assert severities("KL785", ISSUED_AND_DONE.replace(wait, wait + "        fill[(1,)](x, BLOCK=1024)\n")) == [
        "warning"
    ]
    assert severities("KL785", ISSUED_AND_DONE.replace(", time.perf_counter() - begin", "")) == ["warning"]


def test_the_time_of_a_launch_that_an_interpreter_may_run() -> None:
    waited = ISSUED_AND_DONE.replace("        torch.cuda.synchronize()\n", "")
    other = "@triton.jit\n    def other(x):\n        tl.store(x, 0.0)\n\n"
    imported, traced = f"\n    import viz{waited}", "@viz.trace(client)\n    "
    assert severities("KL785", imported) == ["warning"]
    assert severities("KL785", imported.replace("@triton.jit", f"{traced}@triton.jit")) == ["info"]
    # A decorator of Triton, or over another kernel than the one that is launched, runs nothing at once.
    tuned = "@triton.autotune([triton.Config({'BLOCK': 1024})], key=[])\n    "
    assert severities("KL785", imported.replace("@triton.jit", f"{tuned}@triton.jit")) == ["warning"]
    assert severities("KL785", imported.replace("@triton.jit", f"{traced}{other}    @triton.jit")) == ["warning"]


def test_the_time_of_issuing_beside_other_work_of_the_host() -> None:
    begin, end = "        begin = time.perf_counter()\n", "        torch.cuda.synchronize()\n"
    source = ISSUED_AND_DONE.replace(end, "").replace(", time.perf_counter() - begin", "")
    looked_up = source.replace(begin, f"        first = time.perf_counter()\n        found = look_up()\n{begin}")
    assert severities("KL785", looked_up) == ["info"]
    reading = "        issued = time.perf_counter() - begin\n"
    logged = source.replace(reading, "        if LOG:\n            print(time.perf_counter() - begin)\n")
    assert severities("KL785", logged.replace("return issued", "return x")) == ["info"]
    # ... but warming up is none of it.
    warm = f"        first = time.perf_counter()\n        fill[(1,)](x, BLOCK=1024)\n{end}{begin}"
    assert severities("KL785", source.replace(begin, warm)) == ["warning"]


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("", ["KL220"]),
        ("assert K % 32 == 0", ["KL220"]),
        ("assert M <= 16", []),
        ("assert M <= 16 and K <= 5120", []),
        ("if M > 16: raise ValueError(M)", []),
    ],
)
def test_a_tile_for_the_sizes_that_the_wrapper_takes(check: str, expected: list[str]) -> None:
    source = textwrap.dedent(find_rule("KL220").bad).replace("N = b.shape[1]\n", f"N = b.shape[1]\n    {check}\n")
    assert codes({"KL220"}, source) == expected


BLOCKED_SCALES = """
    @triton.jit
    def dequantise(x, w, xs, ws, o, K, stride, BM: tl.constexpr, BK: tl.constexpr):
        m = tl.arange(0, BM)[:, None]
        acc = tl.zeros((BM, BM), tl.float32)
        for i in range(0, tl.cdiv(K, BK)):
            k0 = i * BK
            k = k0 + tl.arange(0, BK)[None, :]
            packed = {packed}
            group = k0 // 32 + tl.arange(0, BK // 32)[None, :]
            a = tl.load(x + m * K + k)
            b = tl.load(w + m * stride + packed)
            blocked = (group // 4) * 512 + m * 16 + group % 4
            s = tl.load(xs + blocked)
            t = tl.load(ws + m * (K // 32) + group)
            acc = tl.dot_scaled(a, s, "e4m3", tl.trans(b), t, "e2m1", acc)
        tl.store(o + m * BM + tl.arange(0, BM)[None, :], acc)

    def run(x, w, xs, ws, o):
        dequantise[(1,)](x, w, xs, ws, o, 4096, w.stride(0), BM=32, BK=128)
"""


def test_packed_bytes_beside_scales_of_another_order() -> None:
    assert severities("KL797", BLOCKED_SCALES.format(packed="k0 // 2 + tl.arange(0, BK // 2)[None, :]")) == []
    # ... but a quotient of which only the first is read leaves the others out.
    first = textwrap.dedent(find_rule("KL797").bad)
    halves = "    h = tl.load(a + m[:, None] * K + k0 // 2 + tl.arange(0, BK // 2)[None, :])\n        x = tl.load(a"
    assert codes({"KL797"}, first.replace("    x = tl.load(a", halves)) == ["KL797"]


MERGED_IN_PLACE = """
    @triton.jit
    def merge(inv, TILE: tl.constexpr, PART: tl.constexpr):
        own = inv + tl.program_id(0) * TILE * TILE
        lane = tl.arange(0, PART)[:, None] * TILE + tl.arange(0, PART)[None, :]
        first = tl.load(own + lane)
        tl.store(own + PART * TILE + lane, tl.dot(first, first))
"""


def test_parts_of_a_tile_of_an_open_size() -> None:
    assert severities("KL760", MERGED_IN_PLACE) == []
    assert severities("KL760", MERGED_IN_PLACE + "\n    def run(x): merge[(8,)](x, TILE=64, PART=16)\n") == []


PADDED_ROWS = """
    @triton.jit
    def scales(x, s, M, K, stride, BLOCK: tl.constexpr, GROUP: tl.constexpr):
        rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
        columns = tl.program_id(1) * GROUP + tl.arange(0, GROUP)[None, :]
        v = tl.load(x + rows * K + columns, mask=(rows < M) & (columns < K), other=0.0)
        group = tl.program_id(1) + tl.arange(0, 1)[None, :]
        tl.store(s + rows * stride + group, tl.max(v, axis=1, keep_dims=True))

    def run(x):
        x = x.view(-1, x.shape[-1])
        M, K = x.shape
        s = torch.empty(({rows}, K // 32), device=x.device)
        scales[(triton.cdiv(M, 32), triton.cdiv(K, 32))](x, s, M, K, s.stride(0), BLOCK=32, GROUP=32)
        return s
"""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [("M", ["warning"]), ("M + (32 - M % 32) % 32", []), ("M + 16", ["warning"]), ("triton.cdiv(M, 32) * 32", [])],
)
def test_rows_allocated_in_whole_tiles_beside_columns_that_are_not(rows: str, expected: list[str]) -> None:
    assert severities("KL736", PADDED_ROWS.format(rows=rows)) == expected


@pytest.mark.parametrize(
    ("padded", "expected"), [("triton.cdiv(n, 64) * 64", []), ("n", ["warning"]), ("n + 8", ["warning"])]
)
def test_a_view_of_a_buffer_of_whole_tiles(padded: str, expected: list[str]) -> None:
    """What lies behind the view is the buffer's own."""
    source = f"""
    @triton.jit
    def k(x, o, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n, other=0.0))

    def run(x):
        n = x.numel()
        o = torch.empty({padded}, device=x.device)[:n]
        k[(triton.cdiv(n, 64),)](x, o, n, B=64)
        return o
    """
    assert severities("KL736", source) == expected


WEIGHTS = """
    @triton.jit
    def attend(x, valid, top, total, o, n, B: tl.constexpr):
        m = tl.max(tl.where(tl.load(valid + tl.arange(0, B)) != 0, tl.load(x + tl.arange(0, B)), -float("inf")), axis=0)
        c = tl.arange(0, B)
        seen = tl.load(valid + c) != 0
        q = tl.where(seen, tl.load(x + c), -float("inf"))
        p = tl.exp(q - m) * tl.load(total)
        {guard}
        tl.store(o + c, p)
"""


def test_weights_of_which_the_next_step_discards_those_of_masked_elements() -> None:
    assert severities("KL774", WEIGHTS.format(guard="p = tl.where(seen, p, 0.0)")) == []
    assert severities("KL774", WEIGHTS.format(guard="pass")) == ["info"]
    # What a loop has summed is spoilt before: choosing at its end hides it.
    kept = PICKED.format(valid="idx != 0").replace(
        "tl.store(O + s, m + tl.log(l))", "tl.store(O + s, tl.where(l > 0, m + tl.log(l), 0.0))"
    )
    assert severities("KL774", kept) == ["info"]


IN_A_TEST = """
    from primitives import arrive

    def count():
        @triton.jit
        def count(x, SCOPE: tl.constexpr):
            arrive(x, 1, SCOPE)

        x = torch.zeros(1, dtype=torch.int32, device="cuda")
        for scope in ["gpu", "sys"]:
            x.zero_()
            count[(1,)](x, scope)
            torch.cuda.synchronize()
        {end}
"""


@pytest.mark.parametrize(
    ("end", "told"),
    [("assert torch.allclose(x, torch.ones_like(x))", False), ("print('done')", False), ("return x", True)],
)
def test_what_a_test_waits_for_is_what_it_asserts(end: str, told: bool) -> None:
    """Code on the device that is not followed keeps no tensor, so that nobody else sees what the kernel writes."""
    found = codes({"KL602", "KL603"}, IN_A_TEST.format(end=end))
    assert sorted(found) == (["KL602", "KL603"] if told else [])


def test_a_kernel_that_refuses_by_itself() -> None:
    """What it raises is refused with or without kernlint, and says so; whether anybody gets there only a launch shows."""
    stub = """
        @triton.jit
        def stack(x, axis: tl.constexpr):
            raise {error}
    """
    use = "\n        OPERATIONS = [stack]\n"
    assert severities("KL704", stub.format(error="NotImplementedError") + use) == ["info"]
    assert severities("KL704", stub.format(error="ValueError(axis)") + use) == ["info"]
    launched = "\n        def run(x): stack[(1,)](x, 1)\n"
    assert severities("KL704", stub.format(error="NotImplementedError()") + launched) == ["error"]
