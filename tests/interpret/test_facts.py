"""Facts that stand in the code, and those that a user gives."""

from __future__ import annotations

import math
import textwrap

import pytest

from kernlint.errors import UsageError
from kernlint.interpret.assume import parse_fact, sweep
from kernlint.interpret.edits import NO_EDITS
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.request import Request
from kernlint.syntax.tree import parse_module
from kernlint.workload import Compute, HostSync, Launch, Tensor, Workload
from kernlint.workload import dtype as dt

HEAD = """
import functools
import math
import torch
import triton
import triton.language as tl
from torch import Tensor
from typing import Optional
from jaxtyping import Float, Int8, BFloat16

@triton.jit
def k(x, y, n, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * s, mask=i < n)
"""
BODY = """
    y = torch.empty_like(x)
    k[(x.shape[0],)](x, y, x.numel(), 2.0, BLOCK=1024)
    return y
"""


def read(source: str, entry: str | None = None, *facts: str) -> Workload:
    module = parse_module(HEAD + textwrap.dedent(source), "k.py")
    found = Program(module, None, Question(entry, facts=tuple(map(parse_fact, facts)))).workloads()
    return found[0]


def argument(workload: Workload, name: str = "x") -> str:
    value = workload.first_call().launches()[0].arguments[name]
    assert isinstance(value, Tensor)
    return str(value)


@pytest.mark.parametrize(
    "check",
    [
        "assert x.shape == (64, 1024) and x.dtype == torch.float16",
        "assert x.shape == [64, 1024]\n    assert torch.float16 == x.dtype",
        "assert (64, 1024) == x.shape, 'shape'\n    assert x.dtype is torch.float16",
        "assert x.shape == torch.Size([64, 1024])\n    assert x.dtype in (torch.float16,)",
        "assert tuple(x.shape) == (64, 1024)\n    assert x.dtype in {torch.float16}",
        "if x.shape != (64, 1024): raise ValueError\n    if x.dtype != torch.float16: raise TypeError",
        "if x.ndim != 2 or x.shape[0] != 64 or x.size(1) != 1024: raise ValueError\n"
        "    if not x.dtype == torch.float16: raise TypeError",
        "if not (x.shape == (64, 1024) and x.dtype == torch.float16):\n        raise ValueError('no')",
        "torch._check(x.shape == (64, 1024))\n    torch._assert(x.dtype == torch.float16, 'dtype')",
        "M, N = x.shape\n    assert M == 64 and N == 1024\n    dtype = x.dtype\n    assert dtype == torch.float16",
        "assert len(x.shape) == 2\n    assert x.shape[-1] == 1024 and x.shape[0] == 64\n    assert x.dtype == torch.half",
        "assert all([x.shape == (64, 1024), x.dtype == torch.float16])",
        "assert list(x.shape) == [64, 1024]\n    assert (x.dtype, x.shape[0]) == (torch.float16, 64)",
        "assert x.shape[-2:] == (64, 1024) and {x.dtype} == {torch.float16}\n    M, N = x.shape",
        "assert x.size(0) == 64\n    assert x.size(-1) == 1024\n    M, N = x.shape\n    assert x.dtype is torch.half",
        "if x.shape == (64, 1024) and x.dtype == torch.float16:\n        pass\n    else:\n        raise ValueError",
        "if x.shape != (64, 1024):\n        return x * 2\n    if x.dtype is not torch.float16:\n        return None",
        "if any(t.dtype != torch.float16 or t.shape != (64, 1024) for t in (x,)):\n        raise TypeError",
    ],
)
def test_checks_in_every_spelling(check):
    found = read(f"def f(x):\n    {check}\n" + BODY)
    assert argument(found) == "x: float16[64, 1024]"


@pytest.mark.parametrize(
    "use", ["assert fits(x)", "if not fits(x):\n        raise ValueError", "torch._check(fits(t=x))"]
)
@pytest.mark.parametrize(
    ("body", "follows"),
    [
        ("return t.dim() == 2 and t.shape == (64, 1024)", True),
        ("if t.dim() != 2 or t.shape != (64, 1024):\n        return False\n    return t.is_cuda", True),
        ("m, n = t.shape\n    return m == 64 and n == 1024", True),
        ("if t.is_cuda:\n        return True\n    return t.shape == (64, 1024)", False),
        ("if t.shape != (64, 1024):\n        print(t)\n    return True", False),
        ("return t.shape != (64, 1024)", False),
        ("return fits(t) and t.shape == (64, 1024)", True),
    ],
)
def test_what_a_predicate_returns_is_a_fact_of_its_arguments(body, follows, use):
    found = read(f"def fits(t):\n    {body}\n\n\ndef f(x):\n    {use}\n" + BODY, "f")
    assert ("[64, 1024]" in argument(found)) == follows


@pytest.mark.parametrize(
    "check",
    [
        "assert x.shape == (64, 1024) or x.numel() == 0",
        "if x.shape == (64, 1024): pass",
        "if x.shape != (64, 1024) and x.numel() > 9: raise ValueError",
        "assert not x.shape == (64, 1024)",
        "assert x.shape != (64, 1024)",
        "if x.numel() > 9:\n        if x.shape == (64, 1024):\n            pass\n        else:\n            raise ValueError",
        "x = helper(x)",
    ],
)
def test_what_does_not_follow_is_not_learnt(check):
    helper = "def helper(x):\n    if x.shape != (64, 1024):\n        return x\n    return x + 1\n\n\n"
    found = read(f"{helper}def f(x):\n    {check}\n" + BODY, "f")
    assert "64" not in argument(found)


def test_what_a_function_checks_says_nothing_of_the_arguments_of_another():
    module = parse_module(
        HEAD + "def f(x):\n    assert x.shape == (64, 1024)" + BODY + "def g(x):\n    m, n = x.shape" + BODY, "k.py"
    )
    f, g = Program(module).workloads()
    assert argument(f) == "x: unknown[64, 1024]" and argument(g) == "x: unknown[x.shape[0], x.shape[1]]"


def test_a_way_out_after_a_launch_tells_nothing():
    found = read("""
        def f(x):
            y = torch.empty_like(x)
            k[(4,)](x, y, x.numel(), 2.0, BLOCK=1024)
            if x.dtype != torch.float16:
                return y
            return y.float()
        """)
    assert argument(found).startswith("x: unknown")


def test_a_type_is_known_where_all_ways_lead_to_it():
    found = read("def f(x):\n    if x.dtype != torch.float16:\n        x = x.to(torch.float16)\n" + BODY)
    assert argument(found).startswith("x: float16")
    assert [tensor.dtype for tensor in found.inputs] == [None]
    found = read("def f(x):\n    big = False\n    if x.dtype == torch.float32:\n        big = True\n" + BODY)
    assert argument(found).startswith("x: unknown")


def test_extents_and_more_are_unpacked_together():
    found = read("""
        def f(x):
            b, m, n, device = *x.shape, x.device
            y = torch.empty(b, m, n, device=device, dtype=x.dtype)
            k[(b * m,)](x, y, n, 2.0, BLOCK=1024)
        """)
    assert argument(found) == "x: unknown[x.shape[0], x.shape[1], x.shape[2]]"
    assert str(found.first_call().launches()[0].grid[0]) == "x.shape[0]*x.shape[1]"


@pytest.mark.parametrize(
    "loop",
    [
        "for a, b in zip(xs, ys):",
        "for i, a in enumerate(xs):",
        "for a in xs:",
        "for a, b in zip(xs, xs):",
        "for a in [x.contiguous() for x in xs]:",
        "for a in list(x for x in xs):",
    ],
)
def test_lists_of_tensors_that_nobody_knows_are_gone_through(loop):
    found = read(f"""
        def f(xs, ys):
            sizes = []
            {loop}
                m, n = a.shape
                sizes += [m, n]
                torch.empty(m, n, device=a.device)
            sizes = torch.tensor(sizes, dtype=torch.int32, device="cuda")
            k[(len(xs),)](sizes, sizes, len(xs), 2.0, BLOCK=1024)
        """)
    assert argument(found) == "sizes: int32[2*len(xs)]"
    assert str(found.first_call().launches()[0].grid[0]) == "len(xs)"


def test_the_sum_over_a_list_that_nobody_knows_is_not_that_of_one_of_it():
    found = read("""
        def f(xs):
            out = torch.empty(8, device="cuda")
            k[(sum(x.shape[0] for x in xs),)](out, out, 8, 2.0, BLOCK=1024)
        """)
    assert str(found.first_call().launches()[0].grid[0]) == "grid[0]"


def test_a_list_that_a_loop_of_unknown_length_fills_has_no_length():
    found = read(
        """
        def f(x):
            sizes = []
            for i in something(x):
                sizes.append(i)
                torch.empty(8, device=x.device)
            sizes = torch.tensor(sizes, dtype=torch.int32, device="cuda")
            k[(math.prod([x.shape[0], 2]),)](sizes, sizes, len(sizes), 2.0, BLOCK=1024)
        """
    )
    assert argument(found) == "sizes: int32[?]"
    assert str(found.first_call().launches()[0].grid[0]) == "2*x.shape[0]"


@pytest.mark.parametrize(
    ("size", "known"),
    [
        ("math.prod(x.shape)", "x.numel"),
        ("math.prod(x.shape[:-1])", "math.prod(x.shape[:-1])"),
        ("math.prod(sizes[:-1])", "math.prod(sizes[:-1])"),
        ("math.prod(sizes[:-1]) if sizes[:-1] else 1", "math.prod(sizes[:-1])"),
        ("1 if x.ndim == 1 else x.shape[0]", "x.shape[0]"),
        ("math.prod(sizes) if sizes else 2", "2"),  # of no sizes it is 1, not this
        ("product(sizes)", "grid[0]"),  # a helper has other sizes in each call
        ("math.prod([x, x])", "grid[0]"),
        ("math.prod(0.5 for _ in sizes)", "grid[0]"),
    ],
)
def test_products_of_sizes_that_nobody_knows_are_open_numbers(size, known):
    source = f"""
        def product(sizes):
            return math.prod(sizes)

        def f(x, y):
            sizes = tuple(a * b for a, b in zip(x.shape, y.shape))
            n = {size}
            k[(n,)](x, torch.empty(2 * n), n, 2.0, BLOCK=1024)
        """
    found = read(source)
    assert str(found.first_call().launches()[0].grid[0]) == known


def test_such_a_product_can_be_given():
    source = """
        def f(x):
            k[(math.prod(x.shape[:-1]),)](x, torch.empty_like(x), x.numel(), 2.0, BLOCK=1024)
        """
    assert read(source, None, "math.prod(x.shape[:-1])=6").first_call().launches()[0].grid[0] == 6


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ("it = iter(x.split([8, 24]))\n    a, b = next(it), next(it)", ["float16[8, 64]", "float16[24, 64]"]),
        ("it = iter([x])\n    a, b = next(it), next(it, x[:2])", ["float16[32, 64]", "float16[2, 64]"]),
        ("g = (x[:n] for n in (3, 5))\n    a, (_, b) = x, [*iter(g)]", ["float16[32, 64]", "float16[5, 64]"]),
        (
            "it = iter([x[:3], x[:4]])\n    a = x\n    if n > 1:\n        a = next(it)\n    b = next(it)",
            ["float16[32, 64]", "None"],
        ),
    ],
)
def test_iterators_give_their_items_one_by_one(taken, expected):
    launches = "".join(f"    k[(1,)]({name}, torch.empty_like(x), 64, 2.0, BLOCK=64)\n" for name in "ab")
    found = read(f"def f(x, n):\n    {taken}\n{launches}", None, "x:fp16[32,64]")
    told = [str(launch.arguments.get("x")) for launch in found.first_call().launches()]
    assert [text.rpartition(": ")[2] for text in told] == expected


def test_a_loop_that_launches_nothing_is_no_reason_for_its_arm():
    found = read("""
        def f(x, flag):
            y = torch.empty_like(x)
            if flag:
                k[(1,)](x, y, 1, 2.0, BLOCK=64)
                k[(2,)](x, y, 2, 2.0, BLOCK=64)
            else:
                for i in range(x.shape[0]):
                    y[i] = i
                k[(3,)](x, y, 3, 2.0, BLOCK=64)
        """)
    assert [launch.grid[0] for launch in found.first_call().launches()] == [1, 2]


def test_where_one_way_raises_another_is_taken():
    found = read("""
        def bins(n):
            for count in (8, 4):
                if n <= 64 // count:
                    return count
            raise ValueError

        def f(x):
            M, N = x.shape
            k[(bins(N),)](x, torch.empty_like(x), x.numel(), 2.0, BLOCK=1024)
        """, "f")  # fmt: skip
    assert found.first_call().launches()[0].grid == (4,)
    assert any("holds" in assumption for assumption in found.assumptions)


def test_a_flag_that_one_of_several_ways_returns_stays_one():
    found = read("""
        def is_wide(n):
            for count, wide in ((8, False), (4, True)):
                if n <= 64 // count:
                    return wide
            raise ValueError

        def f(x):
            M, N = x.shape
            k[(4 if isinstance(is_wide(N), bool) else 7,)](x, torch.empty_like(x), x.numel(), 2.0, BLOCK=1024)
        """, "f")  # fmt: skip
    assert found.first_call().launches()[0].grid == (4,)


def test_numbers_are_told_by_what_grids_and_sizes_are_made_of():
    found = read("""
        def f(m, n, block):
            x = torch.randn(m, n, device="cuda")
            k[((m * n) // block,)](x, x, m * n, 2.0, BLOCK=1024)
        """)
    assert argument(found) == "x: float32[m, n]" and str(found.first_call().launches()[0].grid[0]) == "m*n // block"


@pytest.mark.parametrize(
    "loop", ["for part in parts(x): outs.append(g(part))", "outs = [g(part) for part in parts(x)]"]
)
def test_generators_are_followed(loop):
    found = read(f"""
        def parts(x):
            for i in range(4):
                yield x[i]
            yield from [x[0], x[1]]

        def g(x):
            y = torch.empty_like(x)
            k[(x.shape[0],)](x, y, x.numel(), 2.0, BLOCK=1024)
            return y

        def f(x):
            assert x.shape == (4, 64, 1024) and x.dtype == torch.float16
            outs = []
            {loop}
            return torch.stack(outs)
        """, "f")  # fmt: skip
    assert [launch.grid for launch in found.first_call().launches()] == [(64,)] * 6


def test_a_list_that_a_loop_fills_has_each_item_once():
    found = read("""
        def f(x):
            assert x.shape == (4, 64, 1024) and x.dtype == torch.float16
            parts = []
            for i in range(4):
                parts.append(x[i])
            for part in parts:
                k[(part.shape[0],)](part, torch.empty_like(part), part.numel(), 2.0, BLOCK=1024)
        """)
    walked = [(step, loops) for step, loops in found.first_call().walk() if isinstance(step, Launch)]
    assert sum(math.prod(loop.count for loop in loops) for _, loops in walked) == 4


def test_what_a_generator_that_launches_returns_can_be_open():
    found = read("""
        def f(x):
            m, n = x.shape
            for i in range(m):
                y = torch.empty_like(x[i])
                k[(1,)](x[i], y, n, 2.0, BLOCK=1024)
                yield y
        """)
    assert found.first_call().launches()


def test_tensors_of_one_shape_and_type_know_of_one_another():
    found = read("""
        def f(x, b, c):
            assert x.shape == b.shape == c.shape
            assert x.dtype == b.dtype == c.dtype
            m, n = b.shape
            assert c.dtype == torch.bfloat16 and m == 8 and n in (64, 128)
            y = torch.empty_like(c)
            k[(m,)](x, y, c.numel(), 2.0, BLOCK=1024)
        """)
    assert argument(found, "x").startswith("x: bfloat16[8") and argument(found, "y").startswith("y: bfloat16[8")
    assert list(found.hints.values.values()) == [(64, 128)]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ('BFloat16[Tensor, "m n"]', "x: bfloat16[x.shape[0], x.shape[1]]"),
        ('Int8[Tensor, "64 n"]', "x: int8[64, x.shape[1]]"),
        ("\"Float[Tensor, 'm n']\"", "x: unknown[x.shape[0], x.shape[1]]"),
        ('Float[Tensor, "... n"]', "x: unknown[?]"),
        ("torch.HalfTensor", "x: float16[?]"),
        ("Optional[torch.Tensor]", "x: unknown[?]"),
        ("Float[", None),
        ('"' + "(" * 90 + '"', "x: unknown[?]"),
    ],
)
def test_annotations_of_tensors(annotation, expected):
    if expected is None:
        return  # no Python at all
    found = read(f"""
def f(x: {annotation}):
    y = torch.empty_like(x)
    k[(8,)](x, y, 8, 2.0, BLOCK=1024)
""")
    assert argument(found) == expected


@pytest.mark.parametrize("annotation", ["int", "Optional[int]", "int | None", '"int"', "None | int"])
def test_annotations_of_numbers(annotation):
    found = read(f"""
        def f(x: Tensor, n: {annotation}):
            y = torch.empty_like(x)
            k[(n,)](x, y, n, 2.0, BLOCK=1024)
        """)
    assert [str(extent) for extent in found.first_call().launches()[0].grid] == ["n"]


def test_partial_calls_launches_and_module_level_ones():
    found = read(
        """
        def run(x, y, n, block):
            k[(triton.cdiv(n, block),)](x, y, n, 2.0, BLOCK=block)

        _go = functools.partial(run, block=512)

        def f(x: Tensor):
            assert x.shape == (64, 1024)
            y = torch.empty_like(x)
            _go(x, y, x.numel())
            functools.partial(k[(7,)], BLOCK=256)(x, y, x.numel(), 2.0)
        """,
        "f",
    )
    launches = found.first_call().launches()
    assert [(launch.grid, launch.constexprs["BLOCK"]) for launch in launches] == [((128,), 512), ((7,), 256)]


def test_the_drivers_properties_are_those_of_the_device():
    found = read("""
        @functools.lru_cache(maxsize=None)
        def sms(device=None):
            return triton.runtime.driver.active.utils.get_device_properties(0)["multiprocessor_count"]

        def f(x):
            y = torch.empty_like(x)
            k[(4 * sms(),)](x, y, 8, 2.0, BLOCK=1024)
        """)
    assert found.first_call().launches()[0].grid == (528,)


FUNCTION = """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        assert x.shape == (64, 1024) and x.dtype == torch.float16
        y = torch.empty_like(x)
        k[(64,)](x, y, x.numel(), 2.0, BLOCK=1024)
        ctx.save_for_backward(x)
        ctx.block = 512
        return y

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensors
        dx = torch.empty_like(x)
        if ctx.needs_input_grad[0]:
            k[(x.numel() // ctx.block,)](dy, dx, x.numel(), 2.0, BLOCK=ctx.block)
        return dx
"""


def test_backward_sees_what_forward_saved():
    found = read(FUNCTION, "F.backward")
    assert found.entry == "F.backward" and found.first_call().launches()[0].grid == (128,)
    assert argument(found) == "dy: float16[64, 1024]"  # a gradient is like the result


def test_both_passes_are_followed():
    module = parse_module(HEAD + FUNCTION, "k.py")
    assert [w.entry for w in Program(module).workloads()] == ["F.forward", "F.backward"]


@pytest.mark.parametrize("way", ["f = _F.apply", "def f(x):\n    return _F.apply(x)"])
def test_private_autograd_functions_are_followed_back(way):
    module = parse_module(HEAD + FUNCTION.replace("class F", "class _F") + f"\n{way}\n", "k.py")
    program = Program(module)
    backward = program.workloads()[-1]
    assert backward.entry == "_F.backward" and argument(backward) == "dy: float16[64, 1024]"
    again = program.at().workload("_F.backward", NO_EDITS)
    assert again is not None and argument(again) == argument(backward)


def test_what_a_backward_pass_needs_is_kept_by_the_forward_pass():
    found = read(
        FUNCTION.replace("save_for_backward(x)", "save_for_backward(x if x.requires_grad else None)"), "F.backward"
    )
    assert argument(found, "y") == "dx: float16[64, 1024]"


def test_contexts_that_are_set_up_apart_and_class_methods():
    apart = FUNCTION.replace("forward(ctx, x)", "forward(x)").replace(
        "        ctx.save_for_backward(x)\n        ctx.block = 512\n        return y\n",
        "        return y\n\n    @staticmethod\n    def setup_context(ctx, inputs, output):\n"
        "        ctx.save_for_backward(*inputs)\n        ctx.block = 512\n",
    )
    of_class = FUNCTION.replace("@staticmethod", "@classmethod").replace("(ctx,", "(cls, ctx,")
    for source in (apart, of_class):
        assert argument(read(source, "F.forward")) == "x: float16[64, 1024]"
        assert read(source, "F.backward").first_call().launches()[0].grid == (128,)


def test_attributes_that_hooks_and_properties_give():
    found = read("""
        class Layer(torch.nn.Module):
            def __init__(self, n=512):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(n, dtype=torch.float16))
                self.register_forward_pre_hook(self.prepare)

            def prepare(self, module, args):
                self.block = 2 * self.n
                self.scaled = self.weight * 2

            @property
            def n(self):
                return self.weight.shape[0]

            def forward(self, x):
                k[(self.n,)](self.scaled, torch.empty_like(x), self.n, 2.0, BLOCK=self.block)
        """)
    launch = found.first_call().launches()[0]
    assert argument(found) == "scaled: float16[512]" and launch.grid == (512,) and launch.constexprs["BLOCK"] == 1024


# -- what a user gives ------------------------------------------------------------------------------------------------

OPEN = """
def f(x, w, causal=True, scale=None, start=0):
    M, K = x.shape
    assert w.shape[0] == K
    assert x.dtype != torch.float32 or causal
    y = torch.empty_like(x)
    k[(M,)](x, y, x.numel(), 2.0 if scale is None else scale, BLOCK=512 if causal else 1024)
    return y
"""


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (["x:int8[16,64]"], "x: int8[16, 64]"),
        (["x:int8[?,64]"], "x: int8[x.shape[0], 64]"),
        (["f.x:torch.int8", "x.shape[0]=16", "x.size(1)=64"], "x: int8[16, 64]"),
        (["x.dtype=bf16", "M=16"], "x: bfloat16[16, x.shape[1]]"),
        (["x:int8[?,64]", "x.numel()=1024"], "x: int8[16, 64]"),
        (["x.numel()=1024", "f.x:int8[16,64]"], "x: int8[16, 64]"),
    ],
)
def test_facts_as_people_write_them(facts, expected):
    assert argument(read(OPEN, None, *facts)) == expected


@pytest.mark.parametrize(
    ("fact", "value"),
    [("causal=False", False), ("scale=0.125", 0.125), ("start=0", 0), ("n=-3", -3), ("mode='fast'", "fast"), ("b=None", None)],
)  # fmt: skip
def test_values(fact, value):
    found = parse_fact(fact)
    assert found.is_value and found.value == value and type(found.value) is type(value)


def test_flags_and_scales_reach_the_launch():
    launch = read(OPEN, None, "causal=False", "scale=0.5").first_call().launches()[0]
    assert launch.constexprs["BLOCK"] == 1024 and launch.arguments["s"] == 0.5


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (["y=3"], "there are: x, w, causal, scale, start"),
        (["x:int8[16,64]", "w:int8[32,8]"], "`assert w.shape\\[0\\] == K` fails"),
        (["x:int8[4,16,64]"], "takes x to have 2 dimensions, not 3"),
        (["x.numel=5"], "no argument or size"),
        (["x:int8[?,?]", "x.numel=5"], "no argument or size"),
        (["x:int8[?,64]", "x.numel=5"], "x of the shape \\[\\?, 64\\] does not have 5 elements"),
        (["x:int8[2,64]", "x.numel=64"], "x of the shape \\[2, 64\\] does not have 64 elements"),
        (["other.x:int8[16,64]"], "other.x: the analysed code has no argument"),
        (["x:int8[16,64]", "x:fp16[16,64]"], "x: given twice, as x:int8\\[16,64\\] and as x:fp16"),
        (["x:int8[16,64]", "K=32"], "K: it is 64 by the code and the other facts"),
    ],
)
def test_wrong_facts_are_refused(facts, message):
    from kernlint.analysis import read_program

    with pytest.raises(UsageError, match=message):
        read_program(Request(HEAD + OPEN, assumptions=tuple(facts)))


@pytest.mark.parametrize(
    "text", ["x", "x:", "x:int9", "x:int8[a]", "x:int8[0]", "=3", "x=1,2", "x=nan", "x=1e999", "x y=3"]
)
def test_what_is_no_fact(text):
    with pytest.raises(UsageError):
        parse_fact(text)


def test_lists_of_facts_are_a_sweep():
    assert sweep(["M=1,2", "x:int8"]) == [({"M": "1"}, ["M=1", "x:int8"]), ({"M": "2"}, ["M=2", "x:int8"])]
    points = sweep(["x:int8|fp16[16|32,64]"])
    assert [texts for _, texts in points] == [
        ["x:int8[16,64]"],
        ["x:int8[32,64]"],
        ["x:fp16[16,64]"],
        ["x:fp16[32,64]"],
    ]
    with pytest.raises(UsageError, match="64 combinations"):
        sweep([f"{name}=1,2,3,4,5,6,7,8" for name in "abc"])


# -- the reference ----------------------------------------------------------------------------------------------------

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, w, x):
        return x @ w
def get_inputs():
    return [torch.ones(64, 32, dtype=torch.int8), torch.ones(16, 64, dtype=torch.int8)]
"""


def with_reference(reference: str, entry: str | None = None, source: str = OPEN) -> tuple[Program, Workload]:
    module = parse_module(HEAD + source, "k.py")
    program = Program(module, parse_module(reference, "ref.py"), Question(entry))
    return program, program.workloads()[0]


def test_inputs_go_by_the_names_of_the_reference():
    program, found = with_reference(REFERENCE)
    assert argument(found) == "x: int8[16, 64]" and found.reference is not None and not program.without_reference


def test_then_by_their_order():
    _, found = with_reference(
        REFERENCE.replace("w, x", "a, b").replace("x @ w", "b @ a").replace("64, 32", "16, 16"), "f"
    )
    assert argument(found) == "x: int8[16, 16]"


@pytest.mark.parametrize(
    ("reference", "source", "message"),
    [
        (REFERENCE.replace("), torch", "), 1, 2, 3, 4, 5, torch"), OPEN, "gives 7 values, which f cannot take"),
        (REFERENCE.replace("w, x", "a, b"), OPEN + OPEN.replace("def f", "def g"), "f, g all fit"),
        ("import torch", OPEN, "no get_inputs"),
    ],
)
def test_a_reference_that_fits_nothing_is_said(reference, source, message):
    program, _ = with_reference(reference, source=source)
    assert message in program.without_reference


@pytest.mark.parametrize(
    ("entry", "followed"), [("F", "F.forward"), ("F.backward", "F.backward"), ("backward", "F.backward")]
)
def test_passes_are_entries(entry, followed):
    assert read(FUNCTION, entry).entry == followed


def test_entries_that_there_are_not():
    with pytest.raises(UsageError, match=r"F\.backward, F\.forward, g") as refused:
        read(FUNCTION + "\ndef g(x):\n    return x\n", "h")
    assert "h: not found" in str(refused.value)


def test_a_backward_pass_alone_can_be_asked_again():
    module = parse_module(HEAD + FUNCTION.replace(" and x.dtype == torch.float16", ""), "k.py")
    program = Program(module)
    assert [w.entry for w in program.workloads()] == ["F.forward", "F.backward"]
    again = program.at(dtypes={"x": dt.INT8}).workload("F.backward", NO_EDITS)
    assert again is not None and argument(again, "y") == "dx: int8[64, 1024]"


@pytest.mark.parametrize(
    ("body", "entries"),
    [
        ("def forward(self, x):{body}\n    def run(self, x):\n        return self.forward(x)", ["Engine.forward"]),
        ("def __call__(self, x):{body}", ["Engine.__call__"]),
        (
            "def _inner(self, x):{body}\n    def run(self, x):\n        return self._inner(x)\n    def size(self):\n        return 3",
            ["Engine.run"],
        ),
    ],
)
def test_classes_are_entered_by_what_their_users_call(body: str, entries: list[str]) -> None:
    inner = textwrap.indent(BODY, "    ")
    source = (
        f"class Engine:\n    def __init__(self, scale):\n        self.scale = scale\n    {body.format(body=inner)}\n"
    )
    module = parse_module(HEAD + source, "k.py")
    assert [one.entry for one in Program(module, None, Question()).workloads()] == entries
    named = Program(module, None, Question("Engine")).workloads()
    assert [one.entry for one in named] == entries


@pytest.mark.parametrize(
    "check",
    [
        "if (three, heads) != (3, self.heads):\n            raise ValueError",
        "if not (three, heads) == (3, self.heads):\n            raise ValueError",
        "if 3 not in (three, heads):\n            raise ValueError",
        "if heads not in [self.heads, 4]:\n            raise ValueError",
    ],
)
def test_open_elements_of_sequences_decide_nothing(check: str) -> None:
    source = f"""
class Layer(torch.nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def forward(self, x):
        three, heads = x.shape
        {check}
        y = torch.empty_like(x)
        k[(x.shape[0],)](x, y, x.numel(), 2.0, BLOCK=1024)
        return y
"""
    assert read(source).launches()


@pytest.mark.parametrize(
    ("a", "b", "equal"), [("(1, 2)", "(1, 2)", True), ("(1, 2)", "(1, 3)", False), ("(1,)", "(1, 2)", False)]
)
def test_known_sequences_are_compared(a: str, b: str, equal: bool) -> None:
    source = """
def f(x):
    y = torch.empty_like(x)
    if {a} == {b}:
        k[(1,)](x, y, 1, 2.0, BLOCK=64)
    k[(2,)](x, y, 1, 2.0, BLOCK=64)
    return y
"""
    found = read(source.replace("{a}", a).replace("{b}", b))
    assert [launch.grid for launch in found.launches()] == ([(1,), (2,)] if equal else [(2,)])


@pytest.mark.parametrize(
    ("made", "waits"),
    [
        ("torch.randint(9, ())", False),
        ("torch.randint(9, (), device=x.device)", True),
        ("torch.zeros(1)", False),
        ("x.new_zeros(1)", True),
    ],
)
def test_the_host_waits_for_nobody_to_read_what_it_made_itself(made: str, waits: bool) -> None:
    source = f"def f(x):\n    y = torch.empty_like(x)\n    k[(1,)](x, y, int({made}), 2.0, BLOCK=64)\n    return y\n"
    steps = read(source).steps
    assert any(isinstance(step, HostSync) for step in steps) == waits
    default = "torch.set_default_device('cuda')\n" + source
    assert any(isinstance(step, HostSync) for step in read(default).steps)


@pytest.mark.parametrize(("tile", "known"), [("tl.zeros([64], tl.float32)", "float32"), ("tl.load(x + i)", None)])
def test_numbers_that_kernels_are_given_leave_wide_tiles_their_type(tile: str, known: str | None) -> None:
    source = f"""
@triton.jit
def scaled(x, y, s, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, {tile} * s)

def f(x, s):
    y = torch.empty_like(x)
    scaled[(1,)](x, y, s, BLOCK=64)
    return y
"""
    (launch,) = read(source, "f").launches()
    products = [node for node, _ in launch.kernel.walk(Compute) if isinstance(node, Compute) and node.op == "*"]
    assert [str(node.dtype) for node in products] == ([known] if known else [])
