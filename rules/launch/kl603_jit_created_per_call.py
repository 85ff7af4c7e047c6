from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding, doubted
from kernlint.rules.launch.per_call import MAKERS, called_once, routines, run_each_time
from kernlint.rules.proofs.liveness import uses
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import Span, Workload

#: What a call spends on it, in microseconds: hashing the source and finding the binary on disk at the least, compiling at the most.
_US = (1e3, 1e6)


class JitCreatedPerCall(Rule):
    code = "KL603"
    name = "jit-created-per-call"
    at_any_size = True
    severity = "error"
    summary = "a kernel is decorated with triton.jit or autotune again on every call"
    what_it_does = """
        Finds `@triton.jit` or `@triton.autotune` on a function that is defined inside another, and calls of them, where the outer
        function runs on every call of the entry: not at import, not in `__init__`, not behind `lru_cache` or an
        `if kernel is None`.
        """
    why = """
        A new jit object starts with an empty cache. Each call hashes the source again, looks the binary up on disk or compiles
        it, and an autotuner times all its configurations again: milliseconds to seconds before any work is done.
        """
    when_not = """
        Factories that run once: at module level, in `__init__`, or cached by their arguments. Tests. A remark where the entry is given no
        tensor, as a loader is, or is called once, by a script. A warning where a tuner with a
        single configuration is put around a kernel that exists: nothing is compiled or timed again.
        """
    fix_safety = (
        "Safe; not automatic where the kernel reads variables of the outer function (pass them as arguments or "
        "`tl.constexpr`), where it is deleted, or where a decorator that is not one of Triton stands on it."
    )
    evidence = """
        Of correct LLM-written kernels with measured speed, those that create autotune or jit per call always ran below 0.5x of
        PyTorch, 0.02x in the median (corpus study named in the project's design notes). Pattern row PERF-086.
        """

    bad = """
        def double(x):
            @triton.jit
            def kernel(x, y, n, BLOCK: tl.constexpr):
                i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

            y = torch.empty_like(x)
            kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
            return y
        """
    good = (
        elementwise("kernel", "{} * 2.0")
        + """
        def double(x):
            y = torch.empty_like(x)
            kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
            return y
        """
    )
    example = "def run(x):\n    @triton.jit\n    def kernel(...): ..."
    use_instead = "@triton.jit\ndef kernel(...): ...\n\ndef run(x): ..."

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        if not context.workload.launches():
            return
        for made in _made_per_call(module, context.workload.entry):
            span = module.span(made.place)
            yield self.finding(
                f"`{made.function}` creates {made.what} anew on every call",
                span,
                made.function,
                (
                    Evidence(
                        f"{made.what} is made inside `{made.function}`, which each call of {context.workload.entry} "
                        "runs",
                        span,
                    ),
                ),
                Change(
                    context.variant.then(transform=MadeOnce(span)),
                    f"`{made.function}` makes {made.what} anew on every call, so its caches start empty: each call compiles "
                    "(or looks up the compiled code again), and an autotuner times all of its configurations again.",
                    f"Move the decorated kernel to module level, so that {made.what} is made once.",
                    f"Define the kernel and its autotune configurations at module level; let `{made.function}` only launch it.",
                    priced=False,
                    saves_us=_US,
                ),
                kernel=made.kernel,
                severity=self.severity if _is_slow(made, context) else "warning",
                doubts=doubted(made.given, f"`{made.given}`, which it is made of, is what a call gives")
                + doubted(
                    not any(uses(context.workload, given.storage.id) for given in context.workload.inputs),
                    f"`{context.workload.entry}` is given no tensor: it may be what a script or a loader runs once",
                )
                + doubted(
                    called_once(module, context.workload.entry),
                    f"`{context.workload.entry}` is called once, by a script",
                ),
            )


def _is_slow(made: _Made, context: Context) -> bool:
    """Whether something is compiled or looked up on disk, or several configurations are timed; a new tuner of one configuration
    around a kernel of the module does neither."""
    imports = context.program.kernel.imports
    jit = any(origin_of(part.func, imports) == "triton.jit" for part in walk(made.place) if isinstance(part, cst.Call))
    if jit or isinstance(made.place, cst.FunctionDef):
        return True
    return any(len(one.configurations) > 1 for one in context.workload.launches() if one.kernel.name == made.kernel)


@dataclass(frozen=True)
class MadeOnce:
    """The program with what is made at ``place`` made at import; a call does the same device work as before."""

    place: Span

    def __call__(self, workload: Workload) -> Workload:
        return workload


@dataclass(frozen=True)
class _Made:
    """A jit or autotune object that ``function`` makes at ``place``."""

    place: cst.CSTNode
    what: str
    kernel: str
    function: str
    given: str = ""


def _made_per_call(module: Module, entry: str) -> Iterator[_Made]:
    inner: set[cst.CSTNode] = set()
    for routine, node, made in run_each_time(module, entry, module.once(_makers)):
        if node not in inner:
            yield _Made(node, *made, routine.symbol, _given(node, routine.node))
        # `autotune(...)(jit(f))` makes one kernel: its parts are no findings of their own.
        inner.update(walk(node))


def _given(made: cst.CSTNode, function: cst.FunctionDef) -> str:
    """The parameter of ``function`` that what is made depends on; empty where there is none."""
    parts = [d.decorator for d in made.decorators] if isinstance(made, cst.FunctionDef) else [made]
    nodes = [node for part in parts for node in walk(part)]
    keywords = {node.keyword for node in nodes if isinstance(node, cst.Arg)}
    known = {p.name.value for p in parameters(function)}
    names = (node.value for node in nodes if isinstance(node, cst.Name) and node not in keywords)
    return next((name for name in names if name in known), "")


def _makers(module: Module) -> dict[cst.CSTNode, tuple[str, str]]:
    """What makes a jit or autotune object in ``module``, the decorated functions that are made at import left out, each with
    what :func:`_maker` says of it."""
    at_import = {routine.node for routine in module.once(routines)}
    functions = [node for node in module.of(cst.FunctionDef) if node not in at_import]
    decorators = {d.decorator for node in module.of(cst.FunctionDef) for d in node.decorators}
    calls = [call for maker in MAKERS for call in module.calls.get(maker, ()) if call not in decorators]
    found = {node: _maker(node, module.imports) for node in (*functions, *calls)}
    return {node: made for node, made in found.items() if made is not None}


def _maker(node: cst.CSTNode, imports: Mapping[str, str]) -> tuple[str, str] | None:
    """(what is made, the kernel's name) where ``node`` makes a jit or autotune object."""
    if type(node) is cst.FunctionDef:
        for decorator in node.decorators:
            origin = origin_of(decorator.decorator, imports)
            if origin in MAKERS:
                return f"the {(origin or '').rsplit('.', 1)[-1]} kernel `{node.name.value}`", node.name.value
    elif type(node) is cst.Call and origin_of(node.func, imports) in MAKERS:
        origin = origin_of(node.func, imports) or ""
        return f"a `triton.{origin.rsplit('.', 1)[-1]}` object", _wrapped(node, imports)
    return None


def _wrapped(made: cst.Call, imports: Mapping[str, str]) -> str:
    """The name of the function that a call such as `autotune(...)(jit(f))` makes a kernel of, empty where it has none."""
    if not made.args or made.args[0].keyword is not None:
        return ""
    argument = made.args[0].value
    if isinstance(argument, cst.Call) and origin_of(argument.func, imports) in MAKERS:
        return _wrapped(argument, imports)
    return dotted_name(argument) or ""
