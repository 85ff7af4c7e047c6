from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Span


@dataclass(frozen=True)
class KeyWithoutTuned(Repair):
    """The program whose autotuner at ``tuner`` does not have ``names`` in its key."""

    tuner: Span
    names: frozenset[str]


class TunedParameterInKey(Rule):
    code = "KL755"
    name = "tuned-parameter-in-key"
    summary = "the autotune key names a parameter that the configurations set"
    bare = True
    at_any_size = True
    what_it_does = "Finds autotune keys with a name that is also a meta-parameter of the configurations."
    why = """
        The caller does not pass it, so that part of the key is the same on every call: the kernel is tuned once, for
        the first sizes it meets.
        """
    when_not = "None known."
    fix_safety = """
        Safe where other names are left in the key. Refused where none is: which sizes the best configuration depends
        on is the author's to say.
        """
    evidence = """
        The row's run under TRITON_INTERPRET=1 (Triton 3.9.0) shows it. Pattern row BUG-026. No gain: wrong results
        have no speed.
        """
    references = ("https://github.com/triton-lang/triton/issues/10596",)

    bad = """
        @triton.autotune(configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=["B"])
        @triton.jit
        def k(x, n, B: tl.constexpr):
            a = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(x + a, 1.0, mask=a < n)
        def run(x): k[lambda M: (triton.cdiv(x.numel(), M["B"]),)](x, x.numel())
        """
    good = bad.replace('key=["B', 'key=["n')

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            tuning = launch.tuning
            both = [name for name in tuning.key if name in tuning.parameters] if tuning is not None else []
            if tuning is None or not both or tuning.span in seen:
                continue
            seen.add(tuning.span)
            names = ", ".join(f"`{name}`" for name in both)
            # With other names in the key only a part of it is void; a single configuration is not tuned for any key.
            constant = len(both) == len(tuning.key) and len(launch.configurations) > 1
            yield self.finding(
                f"the autotune key names {names}, which the configurations set: "
                + ("it never changes" if len(both) == len(tuning.key) else "that part never changes"),
                tuning.span,
                launch.kernel.name,
                (Evidence(f"the configurations set {', '.join(sorted(tuning.parameters))}", tuning.span),),
                mending(
                    context,
                    KeyWithoutTuned(tuning.span, frozenset(both)),
                    f"the autotune key names {names}",
                    "Key on the problem sizes alone.",
                ),
                doubts=doubted(not constant, "the rest of the key tells calls apart, or there is one configuration"),
            )
