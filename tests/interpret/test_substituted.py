"""What-ifs answered by following a few calls again say what following the whole program says."""

from pathlib import Path
from textwrap import dedent

import libcst as cst
import pytest

from kernlint.interpret.edits import NO_EDITS, Edits
from kernlint.interpret.program import Program
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import read_task
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch, Repeat

PAIRS = Path(__file__).parents[2] / "fixtures" / "pairs"

KERNEL = """
    import torch
    import triton
    import triton.language as tl

    SIZE = 128

    @triton.jit
    def scale(x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
"""

MODEL = """
    class ModelNew(torch.nn.Module):
        def forward(self, x):
            {body}

    def get_inputs():
        return [torch.randn(4096)]
"""


def program_of(launcher, body="return double(double(x))"):
    return Program(parse_module(dedent(KERNEL) + dedent(launcher) + dedent(MODEL.format(body=body)), "k.py"))


def literal(program, number, nth=0):
    """Where ``number`` stands in the text, the ``nth`` time."""
    found = [node for node in program.kernel.of(cst.Integer) if node.value == str(number)]
    return program.kernel.span(found[nth])


def both(program, edits, entry="ModelNew.forward"):
    """The workload by exchanging launches (None where that does not do), and by following the program."""
    program.workloads()
    quick = program._exchanged(entry, edits)
    slow = next(w for w in program.workloads(edits, only=entry) if w.entry == entry)
    return quick, slow


def shown(step):
    if isinstance(step, Repeat):
        return Repeat, step.count, [shown(inner) for inner in step.body]
    if not isinstance(step, Launch):
        return step
    kernel = step.kernel
    return (
        (kernel.name_span, kernel.body, step.grid, dict(step.arguments), dict(step.constexprs)),
        (step.num_warps, step.num_stages, dict(step.literals), dict(step.numbers), step.grid_follows),
        [shown(one) for one in step.alternatives],
    )


def same(one, other):
    assert list(map(shown, one.steps)) == list(map(shown, other.steps))
    assert list(map(shown, one.first_call().steps)) == list(map(shown, other.first_call().steps))
    for name in ("symbols", "inputs", "outputs", "assumptions", "unknowns", "bounds", "zeros", "sizes", "reference"):
        assert getattr(one, name) == getattr(other, name), name


IN_THE_CALL = """
    def double(x):
        y = torch.empty_like(x)
        scale[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
"""
IN_THE_FUNCTION = """
    def double(x):
        y = torch.empty_like(x)
        block = 256
        grid = (triton.cdiv(x.numel(), block),)
        scale[grid](x, y, x.numel(), BLOCK=block)
        return y
"""
BY_A_HELPER = """
    def start(grid, *args, **kwargs):
        scale[grid](*args, **kwargs)

    def double(x):
        y = torch.empty_like(x)
        block = 256
        start((triton.cdiv(x.numel(), block),), x, y, x.numel(), BLOCK=block)
        return y
"""
BY_META = """
    def double(x, block=256):
        y = torch.empty_like(x)
        grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
        scale[grid](x, y, x.numel(), BLOCK=block)
        return y
"""


@pytest.mark.parametrize("launcher", [IN_THE_CALL, IN_THE_FUNCTION, BY_A_HELPER, BY_META])
@pytest.mark.parametrize("number", [512, 64])
def test_a_number_of_the_launcher(launcher, number):
    program = program_of(launcher)
    places = [program.kernel.span(n) for n in program.kernel.of(cst.Integer) if n.value == "256"]
    quick, slow = both(program, Edits(literals=frozenset((place, number) for place in places)))
    assert quick is not None
    same(quick, slow)
    assert [launch.constexprs["BLOCK"] for launch in quick.launches()] == [number, number]
    assert quick.launches()[0].grid == (4096 // number,)


@pytest.mark.parametrize("launcher", [IN_THE_CALL, IN_THE_FUNCTION, BY_A_HELPER, BY_META])
def test_an_option_of_the_launch(launcher):
    program = program_of(launcher)
    (place, *_) = {launch.span for w in program.workloads() for launch in w.launches()}
    edits = Edits(options=frozenset({(place, "num_warps", 8)}))
    quick, slow = both(program, edits)
    assert quick is not None
    same(quick, slow)
    assert all(launch.num_warps == 8 for launch in quick.launches())


@pytest.mark.parametrize("launcher", [IN_THE_CALL, IN_THE_FUNCTION, BY_A_HELPER, BY_META])
def test_a_number_on_top_of_other_edits(launcher):
    """Calls that are left out stay left out while numbers are tried."""
    program = program_of(launcher, "return double(double(x.to(torch.float16)))")
    dropped = next(c for c in program.kernel.of(cst.Call) if program.kernel.code(c) == "x.to(torch.float16)")
    base = Edits(skipped=frozenset({program.kernel.span(dropped)}))
    places = [program.kernel.span(n) for n in program.kernel.of(cst.Integer) if n.value == "256"]
    program.workloads()
    quick, slow = both(program, base | Edits(literals=frozenset((place, 64) for place in places)))
    assert quick is not None
    same(quick, slow)
    assert str(quick.launches()[0].tensor("x").dtype) == "float32"
    assert program.workload("ModelNew.forward", base).launches()[0].grid == (16,)


def test_a_number_of_the_launcher_and_an_option_of_the_launch_in_another_function():
    program = program_of(BY_A_HELPER)
    (place, *_) = {launch.span for w in program.workloads() for launch in w.launches()}
    number = frozenset({(literal(program, 256), 1024)})
    quick, slow = both(program, Edits(literals=number, options=frozenset({(place, "num_warps", 8)})))
    assert quick is not None
    same(quick, slow)


def test_launches_in_a_loop():
    program = program_of(IN_THE_CALL, "for i in range(40):\n                x = double(x)\n            return x")
    places = frozenset((literal(program, 256, nth), 512) for nth in range(2))
    quick, slow = both(program, Edits(literals=places))
    assert quick is not None
    same(quick, slow)
    assert any(isinstance(step, Repeat) for step in quick.steps)


@pytest.mark.parametrize(
    ("launcher", "number"),
    [
        pytest.param(
            IN_THE_CALL.replace("empty_like(x)", "empty(x.numel() + 256, device=x.device)"), 256, id="what is returned"
        ),
        pytest.param(
            IN_THE_FUNCTION.replace("grid = ", "y = y.clone() if block > 256 else y\n        grid = "), 256, id="steps"
        ),
        pytest.param(IN_THE_FUNCTION.replace("block = 256", "block = SIZE"), 128, id="a constant of the module"),
        pytest.param(
            "    TILES = {}\n" + IN_THE_FUNCTION.replace("block = 256", 'block = TILES.setdefault("n", 256)'), 256,
            id="what is kept",
        ),
        pytest.param(
            "    class Kept:\n        size = 0\n\n    KEPT = Kept()\n"
            + IN_THE_FUNCTION.replace("block = 256", "block = 256\n        KEPT.size = block"), 256, id="an attribute",
        ),
        pytest.param(
            "    last = 0\n" + IN_THE_FUNCTION.replace("block = 256", "global last\n        last = block = 256"), 256,
            id="a global",
        ),
        pytest.param(IN_THE_FUNCTION.replace("block = 256", "assert x.numel() > 256\n        block = 256"), 256, id="raises"),
    ],
)  # fmt: skip
def test_what_the_rest_of_the_program_may_notice_is_followed(launcher, number):
    program = program_of(launcher)
    quick, slow = both(program, Edits(literals=frozenset({(literal(program, number), 8192)})))
    if quick is not None:  # what the first number of the text changes may be nothing
        same(quick, slow)
    answer = program.workload("ModelNew.forward", Edits(literals=frozenset({(literal(program, number), 8192)})))
    assert answer is not None
    same(answer, slow)


def test_an_edited_source_has_answers_of_its_own():
    """A program read from other text knows nothing of this one."""
    one, other = program_of(IN_THE_CALL), program_of(IN_THE_CALL.replace("256", "512"))
    for program, block in ((one, 256), (other, 512), (one, 256)):
        (first, *_) = program.workloads()
        assert [launch.constexprs["BLOCK"] for launch in first.launches()] == [block, block]
        place = literal(program, block, 1)
        changed = program.workload(first.entry, Edits(literals=frozenset({(place, 64)})))
        assert changed is not None and changed.launches()[0].constexprs["BLOCK"] == 64
        assert program.workload(first.entry, NO_EDITS) is first


@pytest.mark.parametrize("pair", sorted(path.parent.name for path in PAIRS.glob("*/before.py"))[::4])
def test_programs_of_the_fixtures(pair):
    """Whatever is exchanged is as if the program had been followed; in every program something is."""
    exchanged = 0
    source = (PAIRS / pair / "before.py").read_text()
    reference = PAIRS / pair / "reference.py"
    module = read_task(SourceText(source, "before.py")).kernel
    of_torch = read_task(SourceText(reference.read_text(), "reference.py")).kernel if reference.exists() else None
    program = Program(module, of_torch)
    for workload in program.workloads():
        launches = {launch.span: launch for launch in workload.launches()}
        for launch in launches.values():
            edits = [Edits(options=frozenset({(launch.span, "num_warps", 8)}))]
            for name, places in launch.literals.items():
                value = launch.constexprs.get(name)
                if isinstance(value, int) and places:
                    edits.append(Edits(literals=frozenset((place, 2 * value) for place in places)))
            for edit in edits:
                quick, slow = both(program, edit, workload.entry)
                if quick is not None:
                    same(quick, slow)
                    exchanged += 1
    assert exchanged
