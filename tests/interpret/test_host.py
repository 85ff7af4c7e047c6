"""The host side: shapes, strides, dtypes, loops, branches, launches."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.errors import UsageError
from kernlint.interpret.assume import parse_fact
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.request import Request
from kernlint.syntax.tree import parse_module
from kernlint.workload import Expr, HostSync, Launch, Repeat, Size, Symbol, Tensor, TorchOp, Workload, concrete

KERNEL = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl

@triton.jit
def k(x, y, n, s0, s1, BLOCK: tl.constexpr = 128):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
"""


def read(body: str, *facts: str, entry: str | None = None, **overrides: int) -> Workload:
    module = parse_module(KERNEL + textwrap.dedent(body), "f.py")
    question = Question(entry, overrides, tuple(parse_fact(f) for f in facts))
    (workload,) = Program(module, None, question).workloads()
    return workload


def launch_of(workload: Workload) -> Launch:
    (launch,) = workload.launches()
    return launch


def expression(code: str) -> Tensor:
    """What ``code`` evaluates to with x: fp16 [4, 6, 8]."""
    launch = launch_of(
        read(f"""
        class ModelNew(nn.Module):
            def forward(self, x):
                y = {code}
                k[(1,)](y, y, 1, 0, 0)
        def get_inputs():
            return [torch.randn(4, 6, 8, dtype=torch.float16)]
        """)
    )
    tensor = launch.tensor("x")
    assert tensor is not None
    return tensor


@pytest.mark.parametrize(
    ("code", "dtype", "shape", "strides"),
    [
        ("x", "float16", (4, 6, 8), (48, 8, 1)),
        ("x.transpose(1, 2)", "float16", (4, 8, 6), (48, 1, 8)),
        ("x.permute(2, 0, 1)", "float16", (8, 4, 6), (1, 48, 8)),
        ("x.transpose(0, 1).contiguous()", "float16", (6, 4, 8), (32, 8, 1)),
        ("x.view(-1, 8)", "float16", (24, 8), (8, 1)),
        ("x.reshape(4, 48)", "float16", (4, 48), (48, 1)),
        ("x.transpose(1, 2).reshape(4, 48)", "float16", (4, 48), (48, 1)),
        ("x[0]", "float16", (6, 8), (8, 1)),
        ("x[:, 1:3]", "float16", (4, 2, 8), (48, 8, 1)),
        ("x[..., ::2]", "float16", (4, 6, 4), (48, 8, 2)),
        ("x[:, None]", "float16", (4, 1, 6, 8), (48, 1, 8, 1)),
        ("x.float()", "float32", (4, 6, 8), (48, 8, 1)),
        ("x.to(torch.bfloat16)", "bfloat16", (4, 6, 8), (48, 8, 1)),
        ("x.transpose(1, 2).float()", "float32", (4, 8, 6), (48, 1, 8)),
        ("torch.zeros_like(x, dtype=torch.int8)", "int8", (4, 6, 8), (48, 8, 1)),
        ("x + 1.0", "float16", (4, 6, 8), (48, 8, 1)),
        ("x * torch.ones(8)", "float32", (4, 6, 8), (48, 8, 1)),
        ("x > 0", "bool", (4, 6, 8), (48, 8, 1)),
        ("x.sum(-1)", "float16", (4, 6), (6, 1)),
        ("x.mean(dim=1, keepdim=True)", "float16", (4, 1, 8), (8, 8, 1)),
        ("x @ torch.ones(8, 5, dtype=torch.float16)", "float16", (4, 6, 5), (30, 5, 1)),
        ("F.softmax(x, dim=-1)", "float16", (4, 6, 8), (48, 8, 1)),
        ("torch.cat([x, x], dim=1)", "float16", (4, 12, 8), (96, 8, 1)),
        ("torch.stack([x, x])", "float16", (2, 4, 6, 8), (192, 48, 8, 1)),
        ("x.chunk(2, dim=-1)[1]", "float16", (4, 6, 4), (48, 8, 1)),
        ("x.expand(3, 4, 6, 8)", "float16", (3, 4, 6, 8), (0, 48, 8, 1)),
        ("x.unsqueeze(0).squeeze()", "float16", (4, 6, 8), (48, 8, 1)),
        ("torch.einsum('bij,bjk->bik', x, x.transpose(1, 2))", "float16", (4, 6, 6), (36, 6, 1)),
        ("nn.functional.pad(x, (1, 1))", "float16", (4, 6, 10), (60, 10, 1)),
        ("torch.arange(10)", "int64", (10,), (1,)),
        ("x.flatten(1)", "float16", (4, 48), (48, 1)),
        ("x.unbind(0)[2]", "float16", (6, 8), (8, 1)),
        ("x.argmax(-1)", "int64", (4, 6), (6, 1)),
    ],
)
def test_tensor_expressions(code: str, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    tensor = expression(code)
    assert str(tensor.dtype) == dtype
    assert tensor.shape == shape
    assert tensor.strides == strides


def test_steps_in_order_with_what_they_move() -> None:
    workload = read("""
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.randn(16, 32))
            def forward(self, x):
                w = self.w.t().contiguous()
                y = torch.empty_like(x)
                k[(x.numel() // 128,)](x, y, x.numel(), w.stride(0), w.stride(1))
                return y.item()
        def get_inputs():
            return [torch.randn(128, 8)]
        """)
    kinds = [type(s).__name__ + ":" + getattr(s, "kind", "") for s in workload.steps]
    assert kinds == ["TorchOp:transpose", "TorchOp:alloc", "Launch:", "HostSync:"]
    launch = launch_of(workload)
    assert launch.grid == (8,)
    assert launch.arguments["s0"] == 16 and launch.arguments["s1"] == 1
    assert launch.constexprs == {"BLOCK": 128}


def test_loop_with_launches_is_one_repeat_of_a_settled_iteration() -> None:
    workload = read("""
        class ModelNew(nn.Module):
            def forward(self, x):
                out = torch.empty_like(x)
                h = torch.zeros(8)
                for t in range(x.shape[0]):
                    k[(1,)](h, out[t], 8, h.stride(0), 0)
                    h = out[t]
                return out
        def get_inputs():
            return [torch.randn(100, 8)]
        """)
    (repeat,) = [s for s in workload.steps if isinstance(s, Repeat)]
    assert repeat.count == 100
    (launch,) = repeat.body
    assert isinstance(launch, Launch)
    read_, written = launch.tensor("x"), launch.tensor("y")
    assert read_ is not None and written is not None
    assert read_.storage == written.storage and read_.offset != written.offset


@pytest.mark.parametrize(("candidates", "folded"), [(100, 0), (900, 900)])
def test_a_long_list_of_candidates_is_not_launched_one_by_one(candidates: int, folded: int) -> None:
    workload = read(f"""
        CANDIDATES = [(16 * (1 + i % 8), i) for i in range({candidates})]
        class ModelNew(nn.Module):
            def forward(self, x):
                for block, number in CANDIDATES:
                    k[(1,)](x, x, 8, number, 0, BLOCK=block)
                return x
        def get_inputs():
            return [torch.randn(100, 8)]
        """)
    repeats = [s for s in workload.steps if isinstance(s, Repeat)]
    single = [s for s in workload.steps if isinstance(s, Launch)]
    assert len(single) + sum(r.count for r in repeats if isinstance(r.count, int)) == candidates
    assert len(repeats) == (folded > 0) and len(single) < 300


def test_a_loop_that_ends_somewhere_is_not_followed_for_ever() -> None:
    workload = read("""
        class ModelNew(nn.Module):
            def forward(self, x):
                while True:
                    k[(1,)](x, x, 8, 0, 0)
                    if self.done:
                        break
                return x
        def get_inputs():
            return [torch.randn(100, 8)]
        """)
    (repeat,) = [s for s in workload.steps if isinstance(s, Repeat)]
    assert repeat.count is None and len(workload.steps) < 300


def test_an_endless_loop_of_much_is_not_followed_for_long() -> None:
    """A generator of batches at the top of a training script, whose files nobody knows."""
    body = "".join(f"        a{i} = [pos + k for k in range(20)]\n" for i in range(20))
    source = (
        f"def batches():\n    pos = 0\n    while True:\n{body}        pos += 1\n        yield pos\n\ndata = batches()\n"
    )
    program = Program(parse_module(source, "k.py"))
    list(program.workloads())
    assert 400_000 - program._reading.host.budget < 40_000


def test_an_endless_loop_goes_round_until_it_is_left() -> None:
    workload = read("""
        class ModelNew(nn.Module):
            def forward(self, x):
                n = 0
                while 1:
                    if n == 200:
                        break
                    n += 1
                    k[(1,)](x, x, 8, n, 0)
                return x
        def get_inputs():
            return [torch.randn(100, 8)]
        """)
    assert len(workload.steps) == 200


def test_list_built_in_a_loop_has_its_full_length() -> None:
    workload = read("""
        class ModelNew(nn.Module):
            def forward(self, x):
                outs = []
                for t in range(50):
                    k[(1,)](x, x, 8, 0, 0)
                    outs.append(x)
                return torch.stack(outs)
        def get_inputs():
            return [torch.randn(8)]
        """)
    stack = workload.steps[-1]
    assert isinstance(stack, TorchOp) and stack.writes[0].shape == (50, 8)


def test_numbers_of_a_list_of_open_length_are_not_the_same() -> None:
    workload = read("""
        def halves(q):
            n, d = q.shape
            ends = [64 * i for i in range(d // 64 + 1)]
            if ends[-1] != d:
                ends.append(d)
            for i in range(len(ends) - 1):
                part = q[:, ends[i] : ends[i + 1]].contiguous()
                k[(1,)](part, part, part.shape[1], 0, 0)
        """)
    launch = next(iter(workload.launches()))
    assert "unknown" in str(launch.arguments["n"])


@pytest.mark.parametrize(
    "launcher",
    [
        "k[(4,)](x, x, n, 0, 0, BLOCK=64)",
        "k[(4,)](x=x, y=x, n=n, s0=0, s1=0, BLOCK=64)",
        "k[4,](x, x, n, 0, 0, 64)",
        "cfg = dict(BLOCK=64); k[(4,)](x, x, n, 0, 0, **cfg)",
        "args = (x, x, n, 0, 0); k[(4,)](*args, BLOCK=64)",
        "g = lambda meta: (n // meta['BLOCK'],); k[g](x, x, n, 0, 0, BLOCK=64)",
        "BLOCK = min(64, 128) if n else 0; k[(triton.cdiv(n, BLOCK),)](x, x, n, 0, 0, BLOCK)",
        "self.go(x, n)",
        "helper(x, n, size=64)",
        "f = functools.partial; launcher = k[(4,)]; launcher(x, x, n, 0, 0, BLOCK=64)",
    ],
)
def test_ways_to_launch(launcher: str) -> None:
    launch = launch_of(
        read(f"""
        def helper(x, n, size):
            k[(n // size,)](x, x, n, 0, 0, BLOCK=size)
        class ModelNew(nn.Module):
            def go(self, x, n):
                helper(x, n, 64)
            def forward(self, x):
                n = x.numel()
                {launcher}
        def get_inputs():
            return [torch.randn(256)]
        """)
    )
    assert launch.grid == (4,) and launch.constexprs == {"BLOCK": 64}


@pytest.mark.parametrize(
    "configs",
    [
        '[triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 256) for w in (4, 8)]',
        "configs()",
        "list(filter(lambda c: c.kwargs['BLOCK'] > 32, configs() + [triton.Config({'BLOCK': 16})]))",
    ],
)
def test_autotune_configurations(configs: str) -> None:
    source = f"""
import torch, triton, triton.language as tl
def configs():
    return [triton.Config({{"BLOCK": b}}, num_warps=w) for b in (64, 256) for w in (4, 8)]
@triton.autotune(configs={configs}, key=["n"])
@triton.jit
def k(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, i, mask=i < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        k[lambda m: (triton.cdiv(1024, m["BLOCK"]),)](x, 1024)
def get_inputs():
    return [torch.empty(1024)]
"""
    (workload,) = Program(parse_module(source, "f.py")).workloads()
    launch = launch_of(workload)
    variants = [launch, *launch.alternatives]
    assert launch.autotuned
    assert [(v.constexprs["BLOCK"], v.num_warps, v.grid) for v in variants] == [
        (64, 4, (16,)),
        (64, 8, (16,)),
        (256, 4, (4,)),
        (256, 8, (4,)),
    ]


def test_heuristics_see_the_arguments() -> None:
    source = """
import torch, triton, triton.language as tl
@triton.heuristics({"BLOCK": lambda a: triton.next_power_of_2(a["n"]), "num_warps": lambda a: 8 if a["n"] > 512 else 2})
@triton.jit
def k(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i, mask=i < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        k[(1,)](x, x.shape[0])
def get_inputs():
    return [torch.empty(1000)]
"""
    (workload,) = Program(parse_module(source, "f.py")).workloads()
    launch = launch_of(workload)
    assert launch.constexprs["BLOCK"] == 1024 and launch.num_warps == 8


def test_set_overrides_a_constant_and_what_follows_from_it() -> None:
    body = """
        ROWS = 16
        COLS = ROWS * 2
        class ModelNew(nn.Module):
            def forward(self, x):
                k[(x.shape[0],)](x, x, x.shape[1], 0, 0)
        def get_inputs():
            return [torch.randn(ROWS, COLS)]
        """
    assert launch_of(read(body)).grid == (16,)
    launch = launch_of(read(body, ROWS=100))
    assert launch.grid == (100,) and launch.arguments["n"] == 200


def test_unknown_set_and_assume_are_errors() -> None:
    body = """
        def run(x):
            k[(1,)](x, x, 1, 0, 0)
        """
    with pytest.raises(UsageError, match="--set NOPE"):
        read(body, NOPE=3)
    with pytest.raises(UsageError, match="--assume z"):
        read(body, "z:int8[4]")
    with pytest.raises(UsageError, match="not found"):
        read(body, entry="nothing")


class TestWithoutReference:
    BODY = """
        def run(x, w):
            assert x.dtype == torch.int8 and x.is_contiguous()
            M, K = x.shape
            assert w.shape[1] == K
            k[(triton.cdiv(M, 64),)](x, w, K, x.stride(0), x.stride(1))
        """

    def test_sizes_stay_symbolic(self) -> None:
        workload = read(self.BODY)
        launch = launch_of(workload)
        assert concrete(launch.grid[0]) is None
        tensor = launch.tensor("x")
        assert tensor is not None and str(tensor.dtype) == "int8" and len(tensor.shape or ()) == 2
        assert launch.arguments["s1"] == 1
        assert workload.symbols

    def test_assumed_tensor(self) -> None:
        launch = launch_of(read(self.BODY, "x:int8[128,2048]", "run.w:int8[512,2048]"))
        assert launch.grid == (2,) and launch.arguments["n"] == 2048 and launch.arguments["s0"] == 2048

    def test_assumed_size(self) -> None:
        launch = launch_of(read(self.BODY, "M=640", "K=32"))
        assert launch.grid == (10,) and launch.arguments["n"] == 32


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("len({t.dtype for t in (x, x.clone())}) == 1", True),
        ("len({x.dtype, w.dtype}) == 1", False),
        ("len({t.device for t in (x, w)}) == 1", True),
        ("len(set([x.dtype, w.dtype, x.dtype])) == 2", True),
        ("len({1, 2, 1, 1.0}) == 2", True),
        ("len({x.dtype, other.dtype}) == 1", None),
        ("{2, 1} == {1, 2} == frozenset([1, 2])", True),
        ("{1, 2} <= {1, 3}", False),
        ("{x.dtype, w.dtype} <= {torch.int8, torch.float16, torch.float32}", True),
        ("{x.dtype, other.dtype} <= {torch.int8, torch.float16}", None),
        ("len({1, 2} & {2, 3}) == 1 and not {1, 2} - {2, 1}", True),
        ("{1, 2}.issubset([2, 1, 3]) and {1}.union({bits}) == {1}", None),
        ("{1: 2}.keys() == {1}", None),
        ("isinstance({1}, set) and not isinstance({1}, (list, tuple))", True),
        ("bits in [4, 8]", None),
        ("bits not in (4,)", None),
        ("(bits, 4) == (4, 4)", None),
        ("Named(2) == Named(2)", None),
        ("torch.is_autocast_enabled()", False),
        ("x.is_complex() or torch.promote_types(x.dtype, torch.int64) != torch.float16", False),
    ],
)
def test_what_is_equal(code: str, known: bool | None) -> None:
    """A set holds each item once; what may be a number, or an object of a class, is compared with nothing for certain."""
    workload = read(f"""
        class Named:
            def __init__(self, n):
                self.n = n
        def run(x, w, other, bits):
            assert x.dtype == torch.float16 and w.dtype == torch.int8
            flag = {code}
            k[(1,)](x, w, flag, 0, 0)
            return bits + other
        """)
    assert launch_of(workload).arguments.get("n") is known


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("torch._scaled_mm(x, w, s, s, None, None, torch.bfloat16)", "bfloat16"),
        ("torch._scaled_mm(x, w, s, s, out_dtype=torch.float16)", "float16"),
        ("torch._scaled_mm(x, w, s, s)", "float8_e4m3fn"),
        ("torch.mm(x.half(), w.half(), torch.float32)", "float32"),
        ("torch.bmm(x.half(), w.half())", "float16"),
    ],
)
def test_a_product_may_be_told_its_type(code: str, dtype: str) -> None:
    workload = read(f"""
        def run(x, w, s):
            assert x.dtype == w.dtype == torch.float8_e4m3fn
            y = {code}
            k[(1,)](y, y, 1, 0, 0)
            return y
        """)
    tensor = launch_of(workload).tensor("x")
    assert tensor is not None and tensor.dtype is not None and tensor.dtype.name == dtype


def test_a_function_that_a_class_names_is_no_method_of_it() -> None:
    workload = read("""
        FAR = 7
        def run(x):
            k[(1,)](x, x, FAR, 0, 0)
        class Registry:
            FAR = 1
            OPERATOR = run
        """, entry="run")  # fmt: skip
    assert launch_of(workload).arguments["n"] == 7


FAMILY = """
    class Base(nn.Module):
        def __init__(self, width, dtype):
            super(Base, self).__init__()
            self.width, self.dtype = width, dtype

        def run(self, x):
            y = torch.empty(self.width, dtype=self.dtype)
            k[(self.width,)](y, y, 1, 0, 0)

    class Middle(Base):
        def __init__(self, groups):
            super().__init__(width=4 * groups, dtype=torch.float16)

    class ModelNew(Middle):
        def __init__(self):
            super().__init__(8)

        def forward(self, x):
            return super().run(x)

        def run(self, x):
            return x
    def get_inputs():
        return [torch.randn(8)]
    """


def test_super_is_the_next_class() -> None:
    launch = launch_of(read(FAMILY))
    tensor = launch.tensor("x")
    assert launch.grid == (32,) and tensor is not None and str(tensor.dtype) == "float16"


@pytest.mark.parametrize(
    "init",
    [
        "",
        "def __init__(self, a, b):\n                super().__init__(a, num_channels=b)",
        "def __init__(self, a, b):\n                super(ModelNew, self).__init__(a, b, affine=True)",
    ],
)
def test_a_layer_of_the_library_is_derived_from(init: str) -> None:
    workload = read(f"""
        class ModelNew(nn.GroupNorm):
            {init}
            def forward(self, x):
                k[(self.num_groups,)](self.weight, self.bias, 1, 0, 0)
                return super().forward(x)
        def get_inputs():
            return [torch.randn(2, 64, 8, 8)]
        def get_init_inputs():
            return [4, 64]
        """)
    launch = launch_of(workload)
    weight = launch.tensor("x")
    assert launch.grid == (4,) and weight is not None and weight.shape == (64,)
    assert [step.name for step in workload.steps if isinstance(step, TorchOp)] == ["group_norm"]


@pytest.mark.parametrize(
    "odd",
    [
        "super().__init__()",
        "super(Other, x).forward(x)",
        "super(1, 2, 3).forward(x)",
        "super().nothing.at_all(x)",
        "(lambda: super().forward(x))()",
    ],
)
def test_super_of_nothing_in_view_is_not_followed(odd: str) -> None:
    workload = read(f"""
        class Other(nn.Linear):
            pass
        class Mine(Other, nn.Module):
            def forward(self, x):
                {odd}
                k[(1,)](x, x, 1, 0, 0)
        def run(x):
            super().run(x)
            Mine(2, 3)(x)
        """, entry="run")  # fmt: skip
    assert launch_of(workload).grid == (1,)


def test_guards_teach_and_unknown_branches_are_told() -> None:
    workload = read("""
        def run(x, flag):
            if x.dtype != torch.float16:
                raise TypeError("fp16 only")
            if flag.mystery:
                k[(1,)](x, x, 1, 0, 0)
            return x
        """)
    tensor = launch_of(workload).tensor("x")
    assert tensor is not None and str(tensor.dtype) == "float16"
    assert any("flag.mystery" in a for a in workload.assumptions)


def test_syncs_are_steps() -> None:
    workload = read("""
        class ModelNew(nn.Module):
            def forward(self, x):
                n = int(x.max().item())
                k[(1,)](x, x, 1, 0, 0)
                if x.sum() > 0:
                    x = x + 1
                return x.cpu()
        def get_inputs():
            return [torch.randn(8)]
        """)
    assert sum(isinstance(s, HostSync) for s in workload.steps) >= 2


def test_layers_own_their_parameters() -> None:
    workload = read("""
        class ModelNew(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.fc = nn.Linear(n, 3, bias=False).half()
                self.conv = nn.Conv2d(4, 8, 3, padding=1)
            def forward(self, x):
                k[(1,)](self.fc.weight, self.conv.weight, 1, 0, 0)
                return self.fc(x)
        def get_inputs():
            return [torch.randn(2, 5, dtype=torch.float16)]
        def get_init_inputs():
            return [5]
        """)
    launch = launch_of(workload)
    fc, conv = launch.tensor("x"), launch.tensor("y")
    assert fc is not None and fc.shape == (3, 5) and str(fc.dtype) == "float16" and fc.storage.origin == "parameter"
    assert conv is not None and conv.shape == (8, 4, 3, 3)
    linear = workload.steps[-1]
    assert isinstance(linear, TorchOp) and linear.dims == {"batch": 1, "m": 2, "n": 3, "k": 5}


@pytest.mark.parametrize("way", ["continue", "break"])
def test_an_open_test_that_may_leave_the_loop_is_not_taken(way: str) -> None:
    workload = read(f"""
        class ModelNew(nn.Module):
            def forward(self, x, which):
                y = torch.empty_like(x)
                for e in range(4):
                    rows = torch.where(which == e)[0]
                    if rows.numel() == 0:
                        {way}
                    k[(1,)](x[rows], y, 128, 0, 0)
                return y
        def get_inputs():
            return [torch.randn(64, 128), torch.randint(0, 4, (64,))]
        """)
    assert workload.launches()


def test_cdiv_of_tensors_is_three_operations() -> None:
    workload = read("""
        class ModelNew(nn.Module):
            def forward(self, x):
                y = triton.cdiv(x, 4)
                k[(1,)](y, y, 1, 0, 0)
        def get_inputs():
            return [torch.ones(4, 6, dtype=torch.int32)]
    """)
    names = [step.name for step in workload.steps if isinstance(step, TorchOp)]
    assert names[-3:] == ["add", "sub", "floor_divide"]


def test_batch_norm_has_its_statistics_as_buffers() -> None:
    launch = launch_of(
        read("""
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm2d(64)
            def forward(self, x):
                k[(1,)](self.norm.running_mean, self.norm.running_var, self.norm.eps, 0, 0)
        def get_inputs():
            return [torch.randn(4, 64, 8, 8)]
        """)
    )
    mean, var = launch.tensor("x"), launch.tensor("y")
    assert mean is not None and var is not None and mean.shape == var.shape == (64,)
    assert launch.arguments["n"] == 1e-5


def test_convolutions_keep_their_geometry_for_each_dimension() -> None:
    launch = launch_of(
        read("""
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.ConvTranspose2d(8, 8, 3, padding=(1, 2))
            def forward(self, x):
                c = self.conv
                if c.stride == (1, 1) and c.dilation == (1, 1) and c.padding == (1, 2) and c.kernel_size[1] == 3:
                    k[(1,)](x, x, c.padding[1], c.stride[0], 0)
        def get_inputs():
            return [torch.randn(4, 8, 16, 16)]
        """)
    )
    assert (launch.arguments["n"], launch.arguments["s0"]) == (2, 1)


def test_a_kernel_whose_sizes_are_told_by_a_check_is_looked_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernlint.interpret.host import kernels

    read_kernel, sizes = kernels.read_kernel, []

    def counted(jit, arguments, *rest):
        sizes.append(arguments["n"])
        return read_kernel(jit, arguments, *rest)

    monkeypatch.setattr(kernels, "read_kernel", counted)
    body = """
    def run(x):
        (m,) = x.shape
        assert m == 4096
        y = torch.empty_like(x)
        k[(32,)](x, y, m, 1, 1)
        return y
    """
    assert launch_of(read(body)).kernel.complete
    assert sizes == [4096]


def test_what_only_the_kernel_tells_is_still_learned_after_a_check() -> None:
    body = """
    def run(x, n):
        (m,) = x.shape
        assert m == 4096
        y = torch.empty_like(x)
        k[(32,)](x, y, n, 1, 1)
        return y
    """
    assert str(launch_of(read(body)).arguments["n"]) == "n"


def test_module_code_too_long_to_follow_leaves_the_functions():
    """A test that runs when the module is imported binds what nobody knows; the rest is read."""
    workload = read("""
        def packed(w):
            return [[v // 16 for v in row] for row in w]
        TABLE = packed([[i for i in range(4000)] for j in range(4000)])
        SIZE = 256
        class ModelNew(nn.Module):
            def forward(self, x):
                y = torch.empty_like(x)
                k[(SIZE,)](x, y, len(TABLE), 0, 0)
                return y
        def get_inputs():
            return [torch.randn(4, 8)]
    """)
    launch = launch_of(workload)
    assert launch.grid == (256,)
    assert "n" not in launch.arguments


def test_random_integers_of_a_size_that_is_not_known() -> None:
    workload = read("""
        def run(x, size):
            y = torch.randint(256, size, dtype=torch.uint8)
            k[(1,)](x, y, 1, 0, 0)
            return y
    """)
    tensor = launch_of(workload).arguments["y"]
    assert isinstance(tensor, Tensor) and tensor.shape is None


@pytest.mark.parametrize(
    ("other", "known"),
    [
        ("torch.zeros(4, 8, dtype=torch.uint8)", {"shape": (4, 8), "strides": (8, 1)}),
        ("torch.zeros(8, 4)", {"dtype": "float32"}),
        ("torch.zeros(8, 4).t()", {"dtype": "float32", "shape": (4, 8)}),
        ("torch.ones(4, 8)", {"dtype": "float32", "shape": (4, 8), "strides": (8, 1)}),
    ],
)
def test_one_of_two_tensors_is_what_both_are(other: str, known: dict[str, object]) -> None:
    """Which one it is nobody knows: a kernel that takes it is refused nothing for what holds of one alone."""
    workload = read(f"""
        def run(x, flag):
            if flag:
                y = torch.zeros(4, 8)
            else:
                y = {other}
            k[(1,)](x, y, 1, 0, 0)
            return y
    """)
    tensor = launch_of(workload).arguments["y"]
    assert isinstance(tensor, Tensor)
    found = {"dtype": tensor.dtype and tensor.dtype.name, "shape": tensor.shape, "strides": tensor.strides}
    assert found == {"dtype": None, "shape": None, "strides": None, **known}


def test_inputs_beyond_the_named_parameters_go_to_the_starred_one() -> None:
    source = """
import torch, triton, triton.language as tl

@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

class ModelNew(torch.nn.Module):
    def forward(self, *args):
        x = args[0]
        y = torch.empty_like(x)
        twice[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
        return y

def get_inputs():
    return [torch.rand(64, 64)]
"""
    from kernlint.analysis import read_program

    (workload,) = read_program(Request(source)).workloads
    assert workload.launches()[0].grid == (256,)


_BOTH_PASSES = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        y = torch.empty_like(x)
        scale[(4,)](x, y, x.numel(), BLOCK=64)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        dx = torch.empty_like(x)
        scale[(4,)](grad, dx, x.numel(), BLOCK=64)
        return dx, None

def f(x, grad):
    y = Scale.apply(x, 2.0)
    (dx,) = torch.autograd.grad(y, (x,), GRAD)
    return y, dx
"""


@pytest.mark.parametrize(("gradient", "launches"), [("grad", 2), ("None", 1)])
def test_gradients_of_an_autograd_function_are_its_backward_pass(gradient: str, launches: int) -> None:
    source = _BOTH_PASSES.replace("GRAD", gradient)
    asked = Program(parse_module(source, "a.py"), None, Question(entry="f"))
    (workload,) = asked.workloads()
    assert len([s for s in workload.steps if isinstance(s, Launch)]) == launches
    if launches == 2:
        assert len(workload.outputs) == 2  # what was saved is not needed any more


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        (
            "l = [3, 1, 2]; l.insert(0, 5); l.remove(1); l.reverse(); l += [7]; l.pop(0); l.sort(reverse=True)",
            "l[0] * 100 + l[-1]",
        ),
        ("l = [1, 2, 3]; del l[0]; l[1:] = [9]; l.extend((4,))", "l[0] * 100 + l[1] * 10 + l[2]"),
        ("l = [1]; l.clear(); l.append(8)", "l[0] + len(l)"),
        (
            "d = {'a': 1, 'b': 2}; d.update(b=3); d.update([('c', 4)]); del d['a']",
            "sorted(d.values(), reverse=True)[0] + len(d)",
        ),
        ("l = sorted([3, 1, 2])", "l[0] * 100 + l[2]"),
        ("n = sum([1, 2], start=5)", "n"),
    ],
)
def test_containers_are_changed_as_python_does(lines: str, count: str) -> None:
    known: dict[str, int] = {}
    exec(f"{lines}\nresult = {count}", known)
    body = "".join(f"    {line.strip()}\n" for line in lines.split(";"))
    workload = read(f"def f(x):\n{body}    k[({count},)](x, x, 1, 1, 1)\n")
    assert [launch.grid for launch in workload.launches()] == [(known["result"],)]


@pytest.mark.parametrize(
    "lines",
    ["l.sort(key=len)", "l[x.shape[0]] = 9", "l.remove(x.shape[0])", "l[x.shape[0]:] = [2]", "l = sorted(l, key=f)"],
)
def test_what_is_not_followed_is_not_known(lines: str) -> None:
    workload = read(f"def f(x):\n    l = [4, 2]\n    {lines}\n    k[(l[0],)](x, x, 1, 1, 1)\n")
    assert [launch.grid for launch in workload.launches()] != [(4,)]


@pytest.mark.parametrize(("raises", "grid"), [(True, 11), (False, 110)])
def test_what_comes_after_a_try(raises: bool, grid: int) -> None:
    """``else`` only where nothing was raised, ``finally`` whatever leaves the block."""
    workload = read(f"""
def f(x):
    n = 0
    for i in range(1):
        try:
            try:
                if {raises}:
                    raise ValueError
            except ValueError:
                n += 1
            else:
                n += 100
            continue
        finally:
            n += 10
    k[(n,)](x, x, 1, 1, 1)
""")
    assert [launch.grid for launch in workload.launches()] == [(grid,)]


@pytest.mark.parametrize("loop", ["for i in range(3):", "while n < 3:"])
@pytest.mark.parametrize(("ends", "grid"), [("if n == 2: break", 2), ("pass", 103)])
def test_what_comes_after_a_loop_that_is_left(loop: str, ends: str, grid: int) -> None:
    """Its ``else`` only where no round has broken it off."""
    workload = read(f"""
def f(x):
    n = 0
    {loop}
        {ends}
        n += 1
    else:
        n += 100
    k[(n,)](x, x, 1, 1, 1)
""")
    assert [launch.grid for launch in workload.launches()] == [(grid,)]


@pytest.mark.parametrize("cast", ["x.to(w.dtype)", "x.to(dtype=w.dtype)", "x.to(w)", "x.to('cuda', w.dtype)"])
def test_what_is_cast_to_an_unknown_type_has_none(cast):
    workload = read(f"def f(x, w):\n    y = {cast}\n    k[(1,)](y, w, 1, 0, 0)", "x:fp16[4,8]")
    tensor = launch_of(workload).tensor("x")
    assert tensor is not None and tensor.dtype is None and tensor.shape == (4, 8)


@pytest.mark.parametrize(
    ("loss", "whole"),
    [
        ("F.kl_div(x, target=other)", ["kl_div"]),
        ("F.cross_entropy(x, classes)", ["log_softmax", "nll_loss"]),
        ("F.cross_entropy(x, target=classes, label_smoothing=0.1)", ["log_softmax", "nll_loss", "sum"]),
        ("F.cross_entropy(x, other)", ["log_softmax", "mul", "sum"]),
        ("F.cross_entropy(x, other, label_smoothing=0.1)", ["log_softmax", "mul", "add", "mul", "sum"]),
    ],
)
def test_losses_read_what_torch_reads(loss: str, whole: list[str]) -> None:
    """The steps that go through all of ``x``, or of something as large; of two tensors where there are two."""
    found = read(f"""
        class ModelNew(nn.Module):
            def forward(self, x, classes, other):
                y = {loss}
                k[(1,)](y, y, 1, 0, 0)
        def get_inputs():
            return [torch.randn(64, 100), torch.randint(0, 100, (64,)), torch.rand(64, 100)]
    """)
    steps = [step for step in found.steps if isinstance(step, TorchOp)]
    large = [step for step in steps if any(tensor.numel == 6400 for tensor in step.reads)]
    assert [step.name for step in large] == whole
    assert "kl_div" not in whole or len(large[0].reads) == 2


@pytest.mark.parametrize(
    ("layer", "gates", "multiplied", "layers"),
    [
        ("nn.LSTM(32, 16)", 4, 32 + 16, 1),
        ("nn.GRU(32, 16, batch_first=False, num_layers=2)", 3, 32 + 16 + 16 + 16, 2),
        ("nn.RNN(32, 16, 2, bidirectional=True)", 1, 2 * (32 + 16 + 32 + 16), 2),
    ],
)
def test_recurrent_layers_count_their_products_and_steps(layer: str, gates: int, multiplied: int, layers: int) -> None:
    found = read(f"""
        class ModelNew(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = {layer}
            def forward(self, x):
                y = self.layer(x)[0]
                k[(1,)](y, y, 1, 0, 0)
        def get_inputs():
            return [torch.randn(10, 4, 32)]
    """)
    (step,) = (step for step in found.steps if isinstance(step, TorchOp) and step.kind == "rnn")
    assert step.flops == 2 * gates * 10 * 4 * 16 * multiplied
    assert step.dims["steps"] == 10 * layers * gates


@pytest.mark.parametrize(
    ("facts", "shape"),
    [
        (["x:float16"], (Expr.atom(Symbol("x.numel")),)),
        (["x:float16", "x.numel()=4096"], (4096,)),
        ([], None),  # which may be no tensor at all
    ],
)
def test_a_tensor_of_unknown_shape_is_as_large_as_what_it_is_like(
    facts: list[str], shape: tuple[Size, ...] | None
) -> None:
    source = """
        def drop(x):
            n = x.numel()
            r = torch.rand_like(x)
            k[(triton.cdiv(n, 128),)](r, x, n, 0, 0)
    """
    (drawn,) = [step for step in read(source, *facts).steps if isinstance(step, TorchOp) and step.kind == "random"]
    assert drawn.writes[0].shape == shape


@pytest.mark.parametrize(
    ("parameter", "block"),
    [(", block=BLOCK", "block"), (", block=2 * BLOCK // 2", "block"), (", block=lambda n=BLOCK: n", "block()")],
)
def test_names_in_defaults_stand_for_what_they_are_where_the_function_is_defined(parameter: str, block: str) -> None:
    """Of copies too, which differ in nothing else."""
    kernel = (
        "@triton.jit\ndef {0}(x, B: tl.constexpr, C: tl.constexpr = BLOCK):\n    tl.store(x + tl.arange(0, B), C)\n"
    )
    launcher = f"def launch_{{0}}(x{parameter}):\n    {{0}}[(1,)](x, {block})\n"
    parts = [f"BLOCK = {size}\n" + (kernel + launcher).format(name) for name, size in (("one", 64), ("two", 256))]
    entry = "def f(x: torch.Tensor):\n    launch_one(x)\n    launch_two(x)\n"
    source = "import torch\nimport triton\nimport triton.language as tl\n" + "".join(parts) + "BLOCK = 512\n" + entry
    workload = next(one for one in Program(parse_module(source, "k.py")).workloads() if one.entry == "f")
    found = [(one.constexprs["B"], one.constexprs["C"]) for one in workload.first_call().launches()]
    assert found == [(64, 64), (256, 256)]
