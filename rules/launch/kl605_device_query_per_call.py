from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.launch.per_call import run_each_time

_QUERIES = frozenset(
    {
        "torch.cuda.get_device_properties",
        "torch.cuda.get_device_capability",
        "torch.cuda.get_device_name",
        "triton.runtime.driver.active.get_current_target",
        "triton.runtime.driver.active.utils.get_device_properties",
        "os.getenv",
        "os.environ.get",
    }
)


class DeviceQueryPerCall(Rule):
    code = "KL605"
    name = "device-query-per-call"
    severity = "info"
    default = False
    summary = "device properties or environment variables are looked up on every call"
    what_it_does = """
        Finds queries of the device (properties, capability, name, compile target) and of environment variables in the routines that
        every call of the entry runs: not in `__init__`, behind `functools.cache` or a condition.
        """
    why = "The answer never changes, and the questions together cost up to a few microseconds of host time in front of the launch."
    when_not = """
        Kernels of more than some 20 us, whose launch the host has long issued, which is why the rule is off by default: of recent
        releases of PyTorch one query costs under a microsecond. Constructors and set-up code.
        """
    fix_safety = "Safe: cache the answer by device index."
    evidence = """
        No time of our own. The row's threads: 2.8 us per call for capability and availability checks (helion pull request 2746),
        0.2 to 0.4 us for one `get_device_properties` (pytorch pull request 193467).
        Pattern row PERF-082.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def double(x, y, n, BLOCK: tl.constexpr):
            for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
                i = start + tl.arange(0, BLOCK)
                tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

        def run(x):
            y = torch.empty_like(x)
            sms = torch.cuda.get_device_properties(x.device).multi_processor_count
            double[(4 * sms,)](x, y, x.numel(), BLOCK=1024)
            return y
        """
    good = bad.replace(
        "torch.cuda.get_device_properties(x.device).multi_processor_count", "sm_count(x.device)"
    ).replace(
        "import torch\n",
        "import functools\n        import torch\n\n        @functools.cache\n        def sm_count(device):\n"
        "            return torch.cuda.get_device_properties(device).multi_processor_count\n\n",
    )
    example = "sms = torch.cuda.get_device_properties(x.device).multi_processor_count"
    use_instead = "@functools.cache\ndef sm_count(device): ..."

    def check(self, context: Context) -> Iterable[Finding]:
        launches = context.workload.launches()
        if not launches:
            return
        module = context.program.kernel
        queries = {call: origin for origin in _QUERIES for call in module.calls.get(origin, ())}
        for routine, call, origin in run_each_time(module, context.workload.entry, queries):
            span = module.span(call)
            name = origin.rsplit(".", 1)[-1]
            yield self.finding(
                f"`{routine.symbol}` asks for {name} on every call",
                span,
                routine.symbol,
                (Evidence(f"{origin}, on the path of every call of {context.workload.entry}, behind no cache", span),),
                Change(
                    None,
                    f"`{routine.symbol}` looks up {name} in front of every launch, although the answer never changes.",
                    "Ask once per device and keep the answer.",
                    f"Move the query at line {span.line} into a function with `functools.cache`, keyed on the device index.",
                    priced=False,
                ),
                kernel=launches[0].kernel.name,
            )
