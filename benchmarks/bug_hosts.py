"""Host code for bug rows whose example leaves types and sizes open, by row: appended to the bad and the good example."""

_MODEL = """
class ModelNew(torch.nn.Module):
    def forward(self, {names}):
        {call}
        return {result}

def get_inputs():
    return [{inputs}]
"""


def _host(names: str, call: str, result: str, inputs: str) -> str:
    return _MODEL.format(names=names, call=call, result=result, inputs=inputs)


def _tile(dtype: str, call: str = "k[(1,)](x, y, o, D=32)", rest: str = "") -> str:
    tensor = f"torch.zeros(32, 32, dtype=torch.{dtype})"
    return _host("x, y, o", call, "o", ", ".join([tensor] * 3)) + rest


def _row(dtype: str, call: str) -> str:
    tensor = f"torch.zeros(1024, dtype=torch.{dtype})"
    return _host("x, o", call, "o", f"{tensor}, {tensor}")


HOSTS: dict[str, str] = {
    "BUG-055": "\ndef caller(x):\n    rows, columns = x.shape\n    assert columns <= 16\n    return run(x)\n",
    "BUG-065": _tile("float32"),
    "BUG-068": "\ndef caller(seed: int):\n    o = torch.empty(64, 1024)\n    k[(64,)](o, seed, B=1024)\n    return o\n",
    "BUG-022": _host("x, o", "run(x, o)", "o", "torch.zeros(1024), torch.zeros(1024)"),
    "BUG-037": _host("x, o", "run(x, o)", "o", "torch.zeros(4, 96), torch.zeros(4, 96)"),
    "BUG-038": _row("float32", "k[(1,)](x, o, 1024)"),
    "BUG-046": _row("float32", "k[(1,)](x, o, B=1024)"),
    "BUG-047": _row("float32", "k[(1,)](x, o, B=1024)"),
    "BUG-051": _row("float32", "k[(1,)](x, o, B=1024)"),
    "BUG-052": _row("float16", "k[(1,)](x, o, B=1024)"),
    "BUG-053": _row("float32", "k[(1,)](x, o, x.numel())"),
    "BUG-054": _row("float32", "k[(1,)](x, o)"),
    "BUG-069": _row("float32", "k[(1,)](x, o, x.numel(), B=1024)"),
    "BUG-070": _row("float32", "k[(1,)](x, o, B=1024)"),
    "BUG-073": _tile("float16"),
    "BUG-072": _host("x, o", "k[(1,)](x, o, 16, 16, BM=16, BN=16)", "o", "torch.zeros(16, 16), torch.zeros(16, 16)"),
    "BUG-075": _row("float32", "k[(1,)](x, o, B=1024)"),
    "BUG-076": _tile("float32"),
    "BUG-016": _row("float32", "k[(1,)](x, o, x.numel(), B=1024)"),
    "BUG-039": _host(
        "x, y, o",
        "run(x, y, o)",
        "o",
        "torch.zeros(16, 16, dtype=torch.float16), torch.zeros(16, 16, dtype=torch.float16), torch.zeros(16, 16)",
    ),
    "BUG-040": _tile("bfloat16", "k[(1,)](x, y, o, D=32)"),
    "BUG-041": _tile("float16"),
    "BUG-042": _row("float32", "k[(1,)](x, o, x.numel())"),
    "BUG-043": _row("bfloat16", "k[(1,)](x, o, x.numel(), B=1024)"),
    "BUG-045": _host(
        "x, flag, o",
        "k[(1,)](x, flag, o, x.numel(), B=1024)",
        "o",
        "torch.zeros(1024), torch.zeros(1024, dtype=torch.int8), torch.zeros(1024)",
    ),
    "BUG-048": _host("x, o", "k[(4,)](x, o, x.stride(1), B=64)", "o", "torch.zeros(4, 64), torch.zeros(4, 64)"),
    "BUG-049": _row("float32", "k[(1,)](x, o, B=1024)"),
    "BUG-050": _row("uint8", "k[(1,)](x, o, B=1024)"),
    "BUG-074": _host("x, o", "run(x, o)", "o", "torch.zeros(8192), torch.zeros(8192)"),
}

#: Rows about other devices than the default one.
DEVICES: dict[str, str] = {"BUG-075": "a100-80gb-sxm", "BUG-076": "mi250x-gcd"}
