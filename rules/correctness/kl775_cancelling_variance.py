from collections.abc import Iterator

from kernlint.rules.faults import FaultRule
from kernlint.rules.finding import Context, Doubt
from kernlint.workload import Fault


class CancellingVariance(FaultRule):
    code = "KL775"
    name = "cancelling-variance"
    kinds = frozenset(["cancelling-variance"])
    summary = "a variance is computed as the mean of squares less the square of the mean"
    what_it_does = """
        Finds the difference of a sum of squares and the square of a sum of the same loaded values, each divided by a
        count, whatever they are called and however the sums are accumulated.
        """
    why = """
        Both terms are as large as the square of the mean. In float32 a mean of a thousand deviations leaves one
        correct digit, and the difference can be negative, so that `rsqrt` gives NaN.
        """
    when_not = """
        Values that are known to be centred. Two passes over the values, Welford's update, or its combination of
        partial results. A remark where a maximum keeps the difference from falling below zero: only digits are lost there.
        """
    fix_safety = """
        No automatic fix: subtracting the mean first costs a second pass where the row does not stay in registers;
        KL504 says what that would take.
        """
    evidence = """
        float32, values 1000 + N(0, 1): the difference of squares is off by 4 %, the two-pass form by 1e-7 (own
        arithmetic). Pattern row BUG-061.
        """
    references = ("https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance",)

    bad = """
        @triton.jit
        def inverse_deviation(x, o, n, B: tl.constexpr):
            c = tl.arange(0, B)
            v = tl.load(x + c, mask=c < n, other=0.0).to(tl.float32)
            mean = tl.sum(v, axis=0) / n
            variance = tl.sum(v * v, axis=0) / n - mean * mean
            tl.store(o, 1.0 / tl.sqrt(variance + 1e-5))

        def run(x):
            assert x.dtype == torch.float32
            o = torch.empty(1, device=x.device)
            inverse_deviation[(1,)](x, o, x.numel(), B=1024)
            return o
        """
    good = bad.replace(
        "variance = tl.sum(v * v, axis=0) / n - mean * mean",
        "d = tl.where(c < n, v - mean, 0.0)\n            variance = tl.sum(d * d, axis=0) / n",
    )
    example = "variance = tl.sum(v * v) / n - mean * mean"
    use_instead = "d = tl.where(c < n, v - mean, 0.0)\nvariance = tl.sum(d * d) / n"

    def doubts_of(self, fault: Fault, context: Context) -> Iterator[Doubt]:
        """That the kernel keeps the difference from falling below zero."""
        if not fault.certain:
            yield Doubt("a maximum keeps it from falling below zero: only digits are lost")
