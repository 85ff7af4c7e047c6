from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule


class HostObjectInKernel(RefusalRule):
    code = "KL719"
    name = "host-object-in-kernel"
    compiler_only = True
    summary = "a kernel uses a function or a type of Python or PyTorch"
    kinds = frozenset(["host-dtype", "host-function", "power"])
    methods = (
        ("host-dtype", "Name Triton's type."),
        ("host-function", "Call Triton's function."),
        ("power", "Write the product."),
    )

    what_it_does = """
        Finds calls in a kernel of functions that only Python has (built-ins such as `sum` and `abs`, `math`, `torch`,
        functions without `@triton.jit`, `int` and `float` of run-time values), PyTorch's types used as element types,
        and `**` on tensors.
        """
    why = """
        The compiler raises; often with a message about internals, such as `'torch.dtype' object has no attribute
        'scalar'`. The interpreter accepts many of these.
        """
    when_not = """
        The same functions on compile-time values where Triton evaluates them (`len`, `min`, `max`, `int`, `float`).
        """
    fix_safety = """
        Safe: `torch.float32` becomes `tl.float32`, functions of one tensor that Triton has under the same name become
        Triton's, and `v ** 2` becomes `v * v`. Refused where Triton has no such function.
        """
    evidence = """
        Compiled: `'torch.dtype' object has no attribute 'scalar'` on Triton 3.9 for sm_90. Pattern row BUG-052.
        """

    bad = mapped("v.to(torch.float32) ** 2")
    good = bad.replace("torch.float32) ** 2", "tl.float32) * v")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    example = "v.to(torch.float32) ** 2"
    use_instead = "v.to(tl.float32) * v"
