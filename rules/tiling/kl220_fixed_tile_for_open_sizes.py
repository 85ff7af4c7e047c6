from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import exp, log

import libcst as cst

from kernlint.operators.operator import WhyNot
from kernlint.operators.product_tiles import TileChoice, TileNames, named
from kernlint.operators.retile import stages_for
from kernlint.records import replace
from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.dot_tiles import current_tile, main_dot
from kernlint.rules.proofs.kernel_copies import Form, known_of, whole_form
from kernlint.rules.proofs.pricing import LEAST_GAIN
from kernlint.rules.tiling.other_sizes import open_calls
from kernlint.rules.tiling.tuned_tiles import Tuned, autotune_words, placed, tuned_tiles
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.workload import Dot, Dtype, Launch, Span
from kernlint.workload.span import Nest

_HALF, _SINGLE = Dtype("float16", 16, "float"), Dtype("float32", 32, "float")
#: Calls of all sizes alike, which tell most cases: a first look, and a look at operands of another type.
_FEW_CALLS = 3
_MOST = 2 / 3
#: What a host decides with, and what it looks up.
_CHOICES = (cst.If, cst.IfExp, cst.Match)
_TABLES = (cst.Dict, cst.List, cst.ListComp)
#: What a grid divides with.
_DIVISION = "cdiv"


class FixedTileForOpenSizes(Rule):
    code = "KL220"
    name = "fixed-tile-for-open-sizes"
    tuning = True
    summary = (
        "a matmul whose sizes its caller chooses is launched with one hard-coded tile that is slow at most of them"
    )
    what_it_does = """
        Finds matmul-like kernels (one `tl.dot` in a loop) whose tile is written as literals at a launch with open sizes. The
        launch is priced with every tile worth trying at a spread of sizes: small, medium and large ones, one of them small or
        large, and sizes that no tile divides. Found are tiles that are 1.2 times slower than the best of a few at most of
        them. Where the element types are open too, that must hold for 16-bit and for 32-bit operands. When the user asks for
        tuned tiles (`kernlint fix --autotune`), one size that loses is enough.
        """
    why = """
        One tile cannot suit all sizes: a large one fills the tensor cores when the problem is large and a few of the SMs when
        it is small, a small one the other way round.
        """
    when_not = """
        Autotuned launches. Tiles that the host chooses: in a branch, by a conditional expression, from a table. Sizes that are
        given (with a reference, `--set` or `--assume`): then KL201 looks at those.
        """
    fix_safety = """
        Safe: adds `@triton.autotune` with the few tiles that are near the best everywhere, and tunes anew for the sizes that the
        best tile depends on; the number of rows, which changes from call to call, counts by its next power of two. Tensors
        that the kernel updates are restored after each measurement. The order of a K sum changes with the tile.
        """
    evidence = """
        H100, fp16: the tile 64x32x128 is the fastest measured at M=64, N=K=4096 (12 us) and takes 73 us at 2048^3, where
        128x128x64 takes 31 us (`calibration/facts/h100-gemm.csv`). Pattern rows PERF-011, PERF-012.
        """

    bad = (
        MATMUL.replace("c, N, K", "c, M, N, K")
        .replace(
            "(start + k)[None, :])",
            "(start + k)[None, :], mask=(m < M)[:, None] & (start + k < K)[None, :], other=0.0)",
        )
        .replace("N + n[None, :])", "N + n[None, :], mask=(n < N)[None, :] & (start + k < K)[:, None], other=0.0)")
        .replace("(tl.float16))", "(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])")
        + """
        def linear(a, b):
            assert a.dtype == torch.float16 and b.dtype == torch.float16
            assert a.is_contiguous() and b.is_contiguous()
            M, K = a.shape
            N = b.shape[1]
            c = torch.empty((M, N), device=a.device, dtype=torch.float16)
            BM, BN = 16, 16
            grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
            matmul[grid](a, b, c, M, N, K, BM, BN, BK=32)
            return c
        """
    )
    good = (
        bad.replace(
            "@triton.jit",
            """TILES = [(128, 128, 8), (64, 128, 4), (64, 64, 4)]

        @triton.autotune([triton.Config({"BM": m, "BN": n, "BK": 64}, num_warps=w) for m, n, w in TILES], key=["N", "K"])
        @triton.jit""",
        )
        .replace("            BM, BN = 16, 16\n", "")
        .replace(
            "(triton.cdiv(M, BM), triton.cdiv(N, BN))",
            'lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]))',
        )
        .replace(", BM, BN, BK=32)", ")")
    )
    example = "matmul[grid](a, b, c, M, N, K, BM=16, BN=16, BK=32)"
    use_instead = '@triton.autotune(CONFIGS, key=["N", "K"])\n@triton.jit\ndef matmul(...): ...'

    def check(self, context: Context) -> Iterable[Finding]:
        if context.workload.bare or not context.workload.symbols:
            return
        seen: set[Span] = set()
        for launch in context.distinct_launches():
            found = main_dot(launch)
            if launch.span in seen or launch.autotuned or found is None or not found[1] or launch.programs is not None:
                continue
            seen.add(launch.span)
            dot = found[0]
            # Before the program is read again for each constexpr: what may set the tile at all.
            if not launch.kernel.complete or not {dot.m, dot.n, dot.k} <= set(_fixed(context, launch).values()):
                continue
            form = whole_form(context, launch)
            launch, names = named(context, launch, dot, form)
            if not isinstance(names, TileNames) or not {names.m, names.n, names.k} <= _fixed(context, launch).keys():
                continue
            advice = _advice_once(TileChoice(context, launch, dot, names, stages_for(launch)), form)
            if advice is not None:
                yield self._finding(launch, dot, names, advice)

    def _finding(self, launch: Launch, dot: Dot, names: TileNames, tuned: Tuned) -> Finding:
        old, kernel = current_tile(launch, dot), launch.kernel.name
        if len(tuned.tiles) > 1:
            method, plan = autotune_words(launch, tuned)
        else:
            (tile,) = tuned.tiles
            method = f"Launch `{kernel}` with the tile {tile}, which is near the best at all sizes looked at."
            plan = f"Set {names.settings(tile)} at line {launch.span.line}."
        why = (
            f"The sizes of `{kernel}` are its caller's, and one tile serves them all: at {len(tuned.gains)} calls from small to large "
            f"it is predicted to take {min(tuned.gains):.1f} to {max(tuned.gains):.1f} times as long as the best of "
            f"{len(tuned.tiles)}."
        )
        return self.finding(
            f"`{kernel}` runs with the fixed tile {old} at every size", launch.span, kernel,
            (Evidence(f"tile {dot.m}x{dot.n}x{dot.k}, grid {' x '.join(map(str, launch.grid))}", launch.span),),
            Change(tuned.variant, why, method, plan),
        )  # fmt: skip


def _advice_once(choice: TileChoice, form: Form | None) -> Tuned | None:
    """The advice for a launch; for the copies of one ``form`` looked for once."""
    known = known_of(choice.context, _advice)
    key = None if form is None else (form.key, choice.names)
    if key is None or key not in known:
        advice = _advice(choice)
        if key is not None:
            known[key] = advice
        return advice
    advice = known[key]
    variant = placed(choice, advice) if advice is not None else None
    return replace(advice, variant=variant) if advice is not None and variant is not None else None


def _advice(choice: TileChoice) -> Tuned | None:
    """Better tiles, where those at hand are slow for operands of every type they may have."""
    context, dot, free = choice.context, choice.dot, choice.free()
    if isinstance(free, WhyNot):
        return None
    half = open_calls(context, _HALF)
    few = half[:_FEW_CALLS]
    if not few or (not context.autotune and not _is_slow(context, tuned_tiles(free, few))):
        return None
    known = dot.a.known and dot.b.known
    single = [] if known else open_calls(context, _SINGLE)[:_FEW_CALLS]
    tuned = tuned_tiles(free, [*half, *single])
    return tuned if _is_slow(context, tuned, len(half)) else None


def _is_slow(context: Context, tuned: Tuned | None, first: int = _FEW_CALLS) -> bool:
    """Whether the tile at hand is slow at most of the ``first`` calls, and at most of the rest."""
    if tuned is None:
        return False
    if context.autotune:
        return max(tuned.gains) >= LEAST_GAIN
    parts = [part for part in (tuned.gains[:first], tuned.gains[first:]) if part]
    return all(_mean(part) >= LEAST_GAIN and _share(part) >= _MOST for part in parts)


def _share(gains: tuple[float, ...]) -> float:
    return sum(gain >= LEAST_GAIN for gain in gains) / len(gains)


def _mean(gains: tuple[float, ...]) -> float:
    return exp(sum(map(log, gains)) / len(gains))


def _fixed(context: Context, launch: Launch) -> dict[str, object]:
    """The constexprs of ``launch``, with their values, that are literals which nothing chooses: no condition, no table, no
    function."""
    written = {name: launch.literals[name] for name in launch.constexprs if launch.literals.get(name)}
    if not written:
        return {}
    module = context.program.kernel
    choices = module.once(_choices)
    if choices.around(launch.span):
        return {}
    lookups, times = module.once(_lookups)
    # The one call of a function that launches what it is given computes nothing.
    launcher = launch.function.rpartition(".")[2]
    passing = launcher if times[launcher] == 1 else None

    def is_chosen(place: Span) -> bool:
        return bool(choices.around(place)) or any(
            (name is None or name != passing) and not span.contains(launch.span) for name, span in lookups.around(place)
        )

    return {
        name: launch.constexprs[name]
        for name, places in written.items()
        if not any(is_chosen(place) for place in places)
    }


def _choices(module: Module) -> Nest[Span]:
    """Where one of several things is taken."""
    chosen = [module.span(node) for kind in _CHOICES for node in module.of(kind)] + _alternative_returns(module)
    return Nest((span, span) for span in chosen)


def _lookups(module: Module) -> tuple[Nest[tuple[str | None, Span]], Counter[str]]:
    """Where a host looks numbers up or has them computed: tables, and calls by the last name of what they call, but for the
    division of a grid; and how often each name is called."""
    calls = _calls(module)
    found: list[tuple[str | None, Span]] = [*calls, *((None, span) for span in _tables(module))]
    return Nest((one[1], one) for one in found), Counter(name for name, _ in calls)


def _tables(module: Module) -> list[Span]:
    # `**{"BK": 32}` is another way to write `BK=32`.
    keywords = {id(arg.value) for arg in module.of(cst.Arg) if arg.star == "**"}
    return [module.span(node) for kind in _TABLES for node in module.of(kind) if id(node) not in keywords]


def _calls(module: Module) -> list[tuple[str, Span]]:
    """The calls of ``module`` by the last name of what they call; without divisions, and what a text is made of."""
    texts = {call for text in module.of(cst.FormattedString) for call in module.within(text, cst.Call)}
    named = (
        ((dotted_name(call.func) or "").rpartition(".")[2], call) for call in module.of(cst.Call) if call not in texts
    )
    return [(name, module.span(call)) for name, call in named if name != _DIVISION]


def _alternative_returns(module: Module) -> list[Span]:
    """The returns of functions that have several: which one is reached is a choice too."""
    found = []
    for function in module.of(cst.FunctionDef):
        returns = module.within(function.body, cst.Return)
        if len(returns) > 1:
            found += [module.span(node) for node in returns]
    return found
