"""What every rule is: an identity, its documentation, examples that run as its tests, and a check."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.headroom.causes import Cause
    from kernlint.rules.finding import Change, Context, Doubt, Evidence, Finding
    from kernlint.workload import Span, Workload

#: What the hundreds of codes stand for, from KL101 on; each has a folder.
CATEGORIES = ("precision", "tiling", "memory", "fusion", "algorithm", "launch", "correctness", "portability")

#: What a rule of these categories finds is wrong whatever its change would gain.
NOT_ABOUT_SPEED = frozenset({"correctness", "portability"})

SEVERITIES = ("error", "warning", "info")

#: What is said of the fix of a rule whose ``operator`` is "generate", unless it says more.
WRITTEN_ANEW = """
    Unsafe: kernels are written anew, from the reference or from what the program computes; sums are taken in another order, and fp32 is
    kept where a tensor in memory was rounded. `kernlint verify` proves it.
    """

#: What every example begins with, unless it says itself what it imports.
_IMPORTS = ("import torch", "import triton", "import triton.language as tl")
_IMPORTED = re.compile(r"\b(torch|triton|tl)\.")
_IMPORTING = re.compile(r"^ *import (torch|triton)\b", re.MULTILINE)

#: What an example ends with whose rule says what it launches.
_MODEL = """
        class ModelNew(torch.nn.Module):
            def forward(self, {rule.takes}):
                {makes}
                {launch}
                return {made}

        def get_inputs():
            return [{inputs}]
        """

#: The kernel of examples about products, unless there is something about how that is written.
MATMUL = """
        @triton.jit
        def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m = tl.program_id(0) * BM + tl.arange(0, BM)
            n = tl.program_id(1) * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                x = tl.load(a + m[:, None] * K + (start + k)[None, :])
                y = tl.load(b + (start + k)[:, None] * N + n[None, :])
                acc = tl.dot(x, y, acc)
            tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))
        """


def elementwise(name: str, value: str) -> str:
    """The kernel ``name`` of examples, which stores ``value`` for each element; what is loaded of ``x`` stands for ``{}``."""
    return f"""
        @triton.jit
        def {name}(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, {value.format("tl.load(x + i, mask=i < n)")}, mask=i < n)
        """


def mapped(value: str) -> str:
    """The same for a ``value`` made of ``v``, which is loaded first."""
    return elementwise("kernel", value).replace("tl.store", "v = tl.load(x + i, mask=i < n)\n            tl.store", 1)


_CODE = re.compile(r"KL[1-8]\d\d")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_REQUIRED_TEXTS = tuple("code name severity summary what_it_does why when_not fix_safety evidence bad good".split())


@dataclass(frozen=True)
class Option:
    """A number that the configuration can set for a rule, ``least`` or more."""

    name: str
    default: float
    meaning: str
    least: float = 0


#: What every rule about speed takes.
MIN_GAIN = Option(
    "min-gain", 1.05, "A finding whose change is predicted to gain less than this factor is a remark (`info`).", 1
)


class Rule(ABC):
    """One anti-pattern. Subclasses set the class attributes below; a wrong or missing one fails at import.

    ``name`` says the bad pattern, not the remedy; the hundred of the ``code`` stands for the category. ``severity`` is that of a
    finding proven from values; ``default`` is whether the rule runs unless it is asked not to. ``tuning`` marks a choice whose
    best value depends on everything else in the kernel (a tile), so that it is made last. The texts are Markdown without
    headings, indented as source or not. ``bad`` is a whole program that the rule finds something in, ``good`` one that it does
    not; both run as tests. The imports of torch, triton and tl that they begin with need not be written, nor a model that
    ``takes`` tensors (``inputs``) and ``makes`` another one, filled by a ``launch`` (``good_inputs``, ``good_makes`` and ``good_launch``
    in ``good``, whose kernels are those of ``bad`` unless it has its own).
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[str] = "warning"
    summary: ClassVar[str]
    #: Given by the code.
    category: ClassVar[str]
    #: What a verdict names as the category of what holds the call up; the rule's own where empty.
    bottleneck: ClassVar[str] = ""
    default: ClassVar[bool] = True
    tuning: ClassVar[bool] = False
    #: Whether the rule also looks at kernels that no followed call launches (``Workload.bare``).
    bare: ClassVar[bool] = False
    #: Whether a finding whose gain cannot be predicted, its sizes being open, is for those only who ask for the rule: so for
    #: rules whose matter mostly does not count at the sizes that code turns out to have.
    silent_if_open: ClassVar[bool] = False
    #: Whether a finding keeps its severity whatever the sizes: its matter is slower, or wrong, at every size.
    at_any_size: ClassVar[bool] = False
    #: Whether it happens, or matters, with certain values in memory only, of which source tells nothing.
    of_values: ClassVar[bool] = False
    #: Whether it says that Triton's compiler or launcher refuses the code.
    refused: ClassVar[bool] = False
    #: Whether it is about what Triton's compiler makes of the code: another vendor's may make something else.
    of_compiler: ClassVar[bool] = False
    #: Whether what is refused is refused by the compiler alone: Triton's interpreter, which runs a kernel as Python, takes it.
    compiler_only: ClassVar[bool] = False
    #: Whether what is refused is a name that the code reads, so that it is refused whatever the arguments are.
    of_names: ClassVar[bool] = False
    #: Whether releases of Triton before those that are known take what is refused.
    of_release: ClassVar[bool] = False
    #: Whether the rule reads the module's source alone: it is asked once a file, with a workload that has no steps.
    lexical: ClassVar[bool] = False
    #: The operator whose proofs the rule puts into words, by name; empty where the rule proves its condition itself.
    operator: ClassVar[str] = ""
    #: What of the condition the configuration can set; a check asks :meth:`Context.option` for the value.
    options: ClassVar[tuple[Option, ...]] = ()

    what_it_does: ClassVar[str]
    why: ClassVar[str]
    when_not: ClassVar[str]
    fix_safety: ClassVar[str]
    #: The measured gain with GPU, shape and source.
    evidence: ClassVar[str]
    references: ClassVar[tuple[str, ...]] = ()

    bad: ClassVar[str]
    good: ClassVar[str]
    launch: ClassVar[str] = ""
    good_launch: ClassVar[str] = ""
    takes: ClassVar[str] = "x"
    makes: ClassVar[str] = "y = torch.empty_like(x)"
    good_makes: ClassVar[str] = ""
    inputs: ClassVar[str] = "torch.randn(64, 64)"
    good_inputs: ClassVar[str] = ""
    #: The device that ``bad`` is bad on.
    example_device: ClassVar[str] = "h100-sxm"
    #: The lines of ``bad`` and ``good`` that documentation shows; the whole program where empty.
    example: ClassVar[str] = ""
    use_instead: ClassVar[str] = ""

    def __init_subclass__(cls, abstract: bool = False, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract:
            if cls.operator == "generate" and not hasattr(cls, "fix_safety"):
                cls.fix_safety = WRITTEN_ANEW
            if cls.good_launch or cls.good_makes or cls.good_inputs:
                cls.good = vars(cls).get("good", cls.bad)
            _validate(cls)
            cls.category = CATEGORIES[int(cls.code[2]) - 1]
            cls.bad = _whole(cls, cls.bad, cls.launch, cls.makes, cls.inputs)
            launch, makes = cls.good_launch or cls.launch, cls.good_makes or cls.makes
            cls.good = _whole(cls, cls.good, launch, makes, cls.good_inputs or cls.inputs)

    @property
    def gains_by(self) -> str:
        """The category of what a change gains by: that of the rule unless it says otherwise."""
        return self.bottleneck or self.category

    @property
    def first_call(self) -> bool:
        """Whether it looks at a first call, caches being empty: what is wrong is wrong then, what is slow matters where it
        happens on every call."""
        return self.category in NOT_ABOUT_SPEED

    def concerns(self, workload: Workload) -> Workload:
        """The call of ``workload`` that the rule looks at."""
        return workload.first_call() if self.first_call else workload

    @classmethod
    def configurable(cls) -> tuple[Option, ...]:
        """All that the configuration can set for this rule."""
        return cls.options if cls.category in NOT_ABOUT_SPEED else (*cls.options, MIN_GAIN)

    def finding(
        self,
        message: str,
        span: Span,
        symbol: str,
        evidence: tuple[Evidence, ...] = (),
        change: Change | None = None,
        cause: Cause | None = None,
        *,
        kernel: str | None = None,
        severity: str | None = None,
        doubts: tuple[Doubt, ...] = (),
        at_any_size: bool = False,
    ) -> Finding:
        """A finding of this rule at ``span``: ``symbol`` is the kernel to blame, or the host function, in which case ``kernel`` says which
        kernel it concerns; as severe as its rule unless said otherwise."""
        from kernlint.rules.finding import Finding

        concerned, level = symbol if kernel is None else kernel, severity or self.severity
        return Finding(self, level, message, span, symbol, concerned, evidence, change, cause, doubts, at_any_size)

    @abstractmethod
    def check(self, context: Context) -> Iterable[Finding]:
        """The places of ``context`` where the condition holds, each with its proof; none where it cannot be proven."""


def calls_for(workload: Workload, rules: Iterable[Rule]) -> Iterator[tuple[Workload, list[Rule]]]:
    """The calls of ``workload`` that any of ``rules`` look at, each with those that do. One that launches nothing concerns
    nobody, unless it stands in for a model: such a replacement has rules of its own."""
    first = workload.first_call()
    for call in (workload,) if first is workload else (workload, first):
        if call.launches() or call.reference is not None:
            yield call, [rule for rule in rules if first is workload or rule.first_call == (call is first)]


def _whole(rule: type[Rule], program: str, launch: str, makes: str, inputs: str) -> str:
    """``program``, indented or not, behind the imports of torch and Triton, unless it has its own or needs none, with the model of
    ``rule`` that does the ``launch``, if there is one."""
    if launch:
        program = program.rstrip(" ") + _MODEL.format(
            rule=rule, launch=launch, makes=makes, inputs=inputs, made=makes.partition(" ")[0]
        )
    if _IMPORTING.search(program) or not _IMPORTED.search(program):
        return program
    body = program.lstrip("\n")
    margin = body[: len(body) - len(body.lstrip(" "))]
    return "".join(f"\n{margin}{line}" for line in _IMPORTS) + "\n\n" + body


def _validate(rule: type[Rule]) -> None:
    """Raise ``TypeError`` where a class attribute of ``rule`` is missing or wrong."""

    def demand(holds: object, what: str) -> None:
        if not holds:
            raise TypeError(f"rule {rule.__module__}.{rule.__qualname__}: {what}")

    for attribute in _REQUIRED_TEXTS:
        value = getattr(rule, attribute, None)
        demand(isinstance(value, str) and value.strip(), f"`{attribute}` must be a text")
    demand(_CODE.fullmatch(rule.code), f"{rule.code!r} is not a code such as KL101 (to KL{len(CATEGORIES)}99)")
    demand(_NAME.fullmatch(rule.name), f"{rule.name!r} is not a kebab-case name")
    demand(rule.severity in SEVERITIES, f"{rule.severity!r} is not a severity")
