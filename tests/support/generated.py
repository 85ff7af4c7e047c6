"""References of many kinds, and what is made of them: for tests of generated kernels."""

from __future__ import annotations

from support.torch_programs import program

from kernlint.interpret.program import Program, Question
from kernlint.operators.generate import first_way
from kernlint.rewrite.edits import Attempt
from kernlint.syntax.tree import parse_module

SIZES = "B = 48\nT = 640"
TWO = "torch.randn(B, T)"


def attempt(source: str, reference: str) -> Attempt:
    asked = Program(parse_module(source, "before.py"), parse_module(reference, "reference.py"), Question())
    return first_way(asked, "ModelNew.forward")


def program_of(name: str) -> tuple[str, str]:
    """The program and the reference of a case."""
    return program(**{"inputs": TWO, "constants": SIZES, "arguments": "x", **CASES[name][0]})


def at_odd_sizes(reference: str) -> str:
    """The reference of a case at other sizes, which few tiles divide."""
    return (
        reference.replace("B = 48", "B = 13")
        .replace("T = 640", "T = 200")
        .replace("B = 7", "B = 3")
        .replace("T = 70\n", "T = 37\n")
        .replace("T = 70000", "T = 333")
        .replace("H = 21", "H = 19")
        .replace("H = 11", "H = 14")
        .replace("T = 1100", "T = 1387")
        .replace("00000", "0001")
        .replace("B = 600", "B = 5")
        .replace("B = 2150", "B = 83")
        .replace("B = 150", "B = 7")
        .replace("K = 9\n", "K = 37\n")
    )


#: Compares after.py of a folder with its reference.py.
RUN = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import after, reference
torch.manual_seed(1)
inputs = reference.get_inputs()
init = reference.get_init_inputs()
torch.manual_seed(2)
model = reference.Model(*init)
torch.manual_seed(2)
new = after.ModelNew(*init)
copies = [t.clone() for t in inputs]
want, got = model(*inputs), new(*copies)
want, got = (v if isinstance(v, tuple) else (v,) for v in (want, got))
kept, changed = (one.state_dict().values() for one in (model, new))
for a, b in zip((*want, *inputs, *kept), (*got, *copies, *changed), strict=True):
    if not isinstance(a, torch.Tensor):
        assert a == b, (a, b)
        continue
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
    tolerance = {torch.float16: 2e-2, torch.float64: 1e-12}.get(a.dtype, 1e-4)
    torch.testing.assert_close(b, a, rtol=tolerance, atol=tolerance, equal_nan=True)
"""

#: Programs with what is in the kernels that are written for them.
CASES = {
    "stream": ({"forward": "return torch.relu(x) * 2.0 + y", "inputs": "torch.randn(B, T), torch.randn(B, T)", "arguments": "x, y"}, 1),
    "broadcast": ({"forward": "return x * y[:, None]", "inputs": "torch.randn(B, T), torch.randn(B)", "arguments": "x, y"}, 1),
    "row": ({"forward": "return torch.softmax(x, dim=-1)"}, 1),
    "norm": ({"forward": "return F.layer_norm(x.float(), (T,), eps=1e-5).half()", "inputs": "torch.randn(B, T).half()"}, 1),
    "column": ({"forward": "return x.mean(0), x.var(0)"}, 1),
    "long": ({"forward": "return x - x.mean(-1, keepdim=True)", "constants": "B = 4\nT = 300000"}, 2),
    "long softmax": ({"forward": "return torch.logsumexp(x, -1)", "constants": "B = 2\nT = 400000"}, 2),
    "long variance": ({"forward": "return x.std(-1)", "constants": "B = 2\nT = 400001"}, 2),
    "long entropy": (
        {
            "forward": "logp = torch.log_softmax(x, -1)\nentropy = -(logp.exp() * logp).sum(-1)\nreturn logp[:, 3], entropy",
            "constants": "B = 2\nT = 300000",
        },
        3,
    ),
    "long rows without what is far below their largest": (
        {
            "forward": (
                "top = x.amax(1, keepdim=True)\nz = x.masked_fill(x < top - 3.0, float('-inf'))\n"
                "return (z + y).argmax(1), torch.logsumexp(z, 1)"
            ),
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "arguments": "x, y",
            "constants": "B = 2\nT = 70000",
        },
        3,
    ),
    "side by side of the same few": (
        {
            "forward": (
                "u, v, w = x.unbind(-1)\nn = torch.rsqrt(u * u + v * v + w * w + 1e-6)\n"
                "return torch.stack([torch.full_like(u, 0.5), u * n, v * w * n, w - u, u * v, w * n], -1)"
            ),
            "inputs": "torch.randn(B, T, 3)",
        },
        1,
    ),
    "stacks beside others, and none": (
        {
            "forward": (
                "c, s = x[..., :1].cos(), x[..., :1].sin()\nrows = [torch.cat([c, -s, y], -1), torch.cat([s, c, y[..., :0], y * c], -1)]\n"
                "return torch.cat([torch.stack(rows, -1).flatten(-2), x[..., 1:3] + c, y, x], -1)"
            ),
            "inputs": "torch.randn(B, T, 3), torch.randn(B, T, 2)",
            "arguments": "x, y",
        },
        3,
    ),
    "weights of four bits": (
        {
            "forward": (
                "shifts = torch.arange(0, 32, 4, device=x.device, dtype=torch.int32)\n"
                "w = ((q[:, None, :] >> shifts[None, :, None]) & 15).reshape(128, T) - 8\n"
                "return x @ (w.half() * s.repeat_interleave(32, 0))"
            ),
            "inputs": "torch.randn(B, 128).half(), torch.randint(-2**31, 2**31 - 1, (16, T), dtype=torch.int32), torch.rand(4, T).half()",
            "arguments": "x, q, s",
            "constants": "B = 7\nT = 70",
        },
        1,
    ),
    "few rows of what is gated": (
        {
            "forward": "return (F.silu(x[:, :96].float()).half() * x[:, 96:]) @ y",
            "inputs": "torch.randn(B, 192).half(), torch.randn(96, T).half()",
            "arguments": "x, y",
            "constants": "B = 7\nT = 70",
        },
        1,
    ),
    "long deviations": ({"forward": "return (x - x.mean(-1, keepdim=True)).abs().mean(-1)", "constants": "B = 2\nT = 300000"}, 3),
    "transposed": ({"forward": "return (x.t().contiguous() + 1.0)"}, 1),
    "summed against memory": (
        {"forward": "y = x.transpose(1, 2)\nreturn y.square().sum((1, 2)), y.amax((1, 2))", "inputs": "torch.randn(B, 3, T)"},
        1,
    ),
    "halves": ({"forward": "a, b = x.chunk(2, -1)\nreturn torch.cat([a - b, a + b], -1)"}, 1),
    "not a made boolean": (
        {"forward": "return x.masked_fill(~torch.ones(B, T, dtype=torch.bool, device=x.device).tril(), 0.0)"},
        1,
    ),
    "gather": (
        {
            "forward": "return F.embedding(i, w).sum(1)",
            "inputs": "torch.randint(0, B, (T, 5)), torch.randn(B, 32)",
            "arguments": "i, w",
        },
        1,
    ),
    "product": (
        {
            "forward": "return torch.sigmoid(x @ w + b)",
            "inputs": "torch.randn(B, T).half(), torch.randn(T, 96).half(), torch.randn(96).half()",
            "arguments": "x, w, b",
        },
        1,
    ),
    "largest of a row of scores": (
        {
            "forward": "return (x.float() @ y.float().t()).masked_fill(z[None, :], -1.0).amax(1)",
            "inputs": "torch.randn(B, T).half(), torch.randn(300, T).half(), torch.rand(300) > 0.5",
            "constants": "B = 2150\nT = 70",
            "arguments": "x, y, z",
        },
        1,
    ),
    "contrastive loss": (
        {
            "forward": "s = x @ y.t() / 0.07\nreturn (torch.logsumexp(s, 1) - torch.diagonal(s)).mean()",
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "constants": "B = 2150\nT = 37",
            "arguments": "x, y",
        },
        3,
    ),
    "largest of scores of short rows": (
        {
            "forward": "s = x @ y.t()\nreturn s.amax(1), (s / 4.0).exp().sum(1)",
            "inputs": "torch.randn(B, K), torch.randn(70, K)",
            "constants": "B = 2150\nK = 9\n",
            "arguments": "x, y",
        },
        1,
    ),
    "nearest code": (
        {
            "forward": "d = y.square().sum(1)[None, :] - 2.0 * x @ y.t()\nreturn d.argmin(1)",
            "inputs": "torch.randn(B, T), torch.randn(333, T)",
            "constants": "B = 2150\nT = 48",
            "arguments": "x, y",
        },
        2,
    ),
    "late interaction": (
        {
            "forward": "return torch.einsum('qd,nkd->nqk', x.float(), y.float()).amax(2).sum(1)",
            "inputs": "torch.randn(20, T).half(), torch.randn(B, 130, T).half()",
            "constants": "B = 150\nT = 70\n",
            "arguments": "x, y",
        },
        2,
    ),
    "sums of columns of scores": (
        {
            "forward": "s = x @ y.t()\nreturn s.exp().sum(0), s.amin(0)",
            "inputs": "torch.randn(40, T) * 0.1, torch.randn(B, T)",
            "constants": "B = 2150\nT = 37",
            "arguments": "x, y",
        },
        1,
    ),
    "loss over all pairs": (
        {
            "forward": "return F.logsigmoid(x @ y.t()).sum()",
            "inputs": "torch.randn(B, T), torch.randn(97, T)",
            "constants": "B = 2150\nT = 37",
            "arguments": "x, y",
        },
        2,
    ),
    "norm behind a product": (
        {
            "forward": "return F.layer_norm(x.float() @ y.float().t(), (57,))",
            "inputs": "torch.randn(B, T).half(), torch.randn(57, T).half()",
            "constants": "B = 2150\nT = 200",
            "arguments": "x, y",
        },
        1,
    ),
    "few rows of many scores": (
        {
            "forward": "s = x.float() @ y.float().t()\nreturn torch.logsumexp(s, 1), s.mean(1)",
            "inputs": "torch.randn(20, T).half(), torch.randn(B, T).half()",
            "constants": "B = 2150\nT = 37",
            "arguments": "x, y",
        },
        2,
    ),
    "deep product": ({"forward": "return x.t() @ x / B", "constants": "B = 20000\nT = 64"}, 2),
    "deep product of batches": (
        {
            "forward": "return torch.relu(torch.bmm(x, x.transpose(1, 2)))",
            "inputs": "torch.randn(2, B, T)",
            "constants": "B = 48\nT = 9001",
        },
        2,
    ),
    "image product": (
        {
            "forward": "return F.conv2d(x, w, c)",
            "inputs": "torch.randn(2, 24, B, B), torch.randn(40, 24, 1, 1), torch.randn(40)",
            "constants": "B = 48\nT = 640",
            "arguments": "x, w, c",
        },
        1,
    ),
    "taps": (
        {
            "forward": "y = F.pad(x, (0, 0, 3, 0))\nreturn sum(y[:, i : i + T] * w[:, i] for i in range(4))",
            "inputs": "torch.randn(3, T, B), torch.randn(B, 4)",
            "arguments": "x, w",
        },
        1,
    ),
    "channels first norm": (
        {
            "forward": "m = x.mean(1, keepdim=True)\nreturn (x - m) * torch.rsqrt((x - m).square().mean(1, keepdim=True) + 1e-5)",
            "inputs": "torch.randn(2, B, 7, T // 10)",
        },
        1,
    ),
    "heads": (
        {
            "forward": (
                "r = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)\n"
                "a, b = (x * r).chunk(2, -1)\nreturn torch.cat([a - b, a + b], -1)"
            ),
            "inputs": "torch.randn(B, 6, T // 10)",
        },
        1,
    ),
    "neighbours in parts": (
        {
            "forward": "return torch.stack([x.abs().amax(1), (x[:, 1:] - x[:, :-1]).abs().mean(1)], 1)",
            "constants": "B = 3\nT = 300000",
        },
        3,
    ),
    "entropy": (
        {
            "forward": "p = torch.log_softmax(x / 2.0, -1)\nreturn -(p.exp() * p).sum(-1), (p.exp() * y).sum(-1)",
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "constants": "B = 600\nT = 40000",
            "arguments": "x, y",
        },
        1,
    ),
    "entropy far from zero": (
        {
            "forward": "p = torch.log_softmax(x + 5000.0, -1)\nreturn -(p.exp() * p).sum(-1)",
            "constants": "B = 600\nT = 40000",
        },
        1,
    ),
    "quantised": (
        {
            "forward": "return F.linear(x.float(), w.float() * s[:, None]).half()",
            "inputs": "torch.randn(B, T).half(), torch.randint(-99, 99, (96, T), dtype=torch.int8), torch.rand(96)",
            "arguments": "x, w, s",
        },
        1,
    ),
    "padded": (
        {
            "forward": "return F.conv1d(F.pad(x[:, None], (2, 0)), w)[:, 0]",
            "inputs": "torch.randn(B, T), torch.randn(1, 1, 3)",
            "arguments": "x, w",
        },
        1,
    ),
    "assigned": ({"forward": "out = torch.zeros_like(x)\nout[:, 1:] = x[:, :-1]\nreturn out"}, 1),
    "neighbours": ({"forward": "return x[:, 1:] - x[:, :-1]"}, 1),
    "loss": (
        {
            "forward": "return F.cross_entropy(x, i, label_smoothing=0.1)",
            "inputs": "torch.randn(B, T), torch.randint(0, B, (B,))",
            "arguments": "x, i",
        },
        2,
    ),
    "summed operand": ({"forward": "return (x + y) @ x.t()", "inputs": "torch.randn(B, T), torch.randn(B, T)", "arguments": "x, y"}, 2),
    "dear operand": ({"forward": "return x @ torch.exp(x).t()"}, 2),
    "two results": ({"forward": "s = x.abs().amax(-1, keepdim=True)\nreturn x / s, s"}, 1),
    "group norm": ({"forward": "return F.group_norm(x.view(B, T // 10, 10), 4)"}, 2),
    "sums of integers that go beyond int32": (
        {"forward": "return (x * 1e8).to(torch.int32).sum(0), (x * 1e8).to(torch.int32).sum(), (x > 0).sum(-1)"},
        3,
    ),
    "doubles in parts": (
        {
            "forward": "y = x.double()\nreturn y.sum(), y.max(), y[:, :64].var(-1), torch.logsumexp(y[:, :64], -1)",
            "constants": "B = 48\nT = 6400",
        },
        3,
    ),
    "a sum over what a recurrence with reductions makes": (
        {
            "forward": "h, o = y * 0.0, []\nfor t in range(64):\n    h = torch.softmax(x[:, t] + h, -1)\n    o.append(h)\n"
            "return torch.stack(o, 1).sum(dim=(1, 2))",
            "inputs": "torch.randn(B, 64, 32), torch.randn(B, 32)",
            "arguments": "x, y",
        },
        2,
    ),
    "running sum": ({"forward": "return x.cumsum(-1)"}, 1),
    "running sum from its fourth place on, and over windows": (
        {"forward": "c = x.cumsum(-1)\np = F.pad(c, (1, 0))\nreturn c[:, 3:] * 2.0, c[:, 8:] - c[:, :-8], p[:, 4:] - p[:, :-4]"},
        3,
    ),
    "running sum from behind, and what stands before its end": (
        {"forward": "c = x.flip(-1).cumsum(-1).flip(-1)\nreturn c[:, :-5] + x[:, 5:], c[:, 2:]"},
        3,
    ),
    "running product": ({"forward": "return (x * 0.1 + 1.0).cumprod(0) * 2.0"}, 1),
    "running sums of running sums": (
        {
            "forward": (
                "a = x.cumsum(1)\nreturn (x * 0.01 + 0.1).cumsum(1).cumprod(1), a.cumsum(0), "
                "(x[:, :, None] @ x[:, None]).cumsum(0)"
            ),
            "constants": "B = 7\nT = 70",
        },
        3,
    ),
    "linear loop": (
        {
            "forward": "h = torch.zeros_like(x[:, 0])\nout = []\nfor t in range(x.shape[1]):\n"
            "    h = torch.sigmoid(g[:, t]) * h + x[:, t]\n    out.append(h)\nreturn torch.stack(out, 1)",
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "arguments": "x, g",
            "constants": "B = 7\nT = 70",
        },
        1,
    ),
    "loop in turn": (
        {
            "forward": "h = s\nout = []\nfor x_t in x.unbind(1):\n    h = torch.tanh(x_t + 0.5 * h)\n"
            "    out.append(h.unsqueeze(1))\nreturn torch.cat(out, dim=1), h",
            "inputs": "torch.randn(B, K, 40), torch.randn(B, 40)",
            "arguments": "x, s",
            "constants": "B = 48\nK = 70",
        },
        1,
    ),
    "loop backwards": (
        {
            "forward": "run = torch.zeros_like(x[:, 0])\nout = torch.empty_like(x)\nfor t in reversed(range(x.shape[1])):\n"
            "    run = x[:, t] + 0.9 * m[:, t] * run\n    out[:, t] = run\nreturn out - out.mean()",
            "inputs": "torch.randn(B, K), (torch.rand(B, K) > 0.1).float()",
            "arguments": "x, m",
            "constants": "B = 48\nK = 70",
        },
        2,
    ),
    "a list that is turned round": (
        {
            "forward": (
                "h = torch.zeros_like(x[:, 0])\no = [x[:, 3]]\np = []\nfor t in range(T - 1, -1, -1):\n    h = 0.5 * h + x[:, t]\n"
                "    o.append(h)\n    p.append(h * 2.0)\nq = list(o)\no.reverse()\n"
                "return torch.stack(o, 1), torch.stack(q, 1), torch.stack(p[::-1])"
            ),
            "constants": "B = 7\nT = 70",
        },
        3,
    ),
    "loop through memory": (
        {
            "forward": "out = torch.zeros_like(x)\nout[:, 0] = x[:, 0]\nfor t in range(1, x.shape[1]):\n"
            "    out[:, t] = 0.7 * out[:, t - 1] + x[:, t]\nreturn out",
            "constants": "B = 7\nT = 70",
        },
        1,
    ),
    "two states": (
        {
            "inputs": "torch.randn(T, B)",
            "forward": "v = torch.zeros_like(x[0])\np = torch.ones_like(x[0])\nout = []\nfor t in range(x.shape[0]):\n"
            "    v = 0.9 * v + x[t]\n    p = p - 0.1 * v\n    out.append(p * v)\nreturn torch.stack(out)",
            "constants": "B = 7\nT = 70",
        },
        1,
    ),
    "the state before": (
        {
            "forward": "h = x[:, 0]\nout = []\nfor t in range(x.shape[1]):\n    out.append(x[:, t] - h)\n"
            "    h = h + 0.1 * (x[:, t] - h)\nreturn torch.stack(out, -1)",
            "constants": "B = 7\nT = 70",
        },
        1,
    ),
    "largest so far": (
        {
            "forward": "h = x[:, 0]\nout = [h]\nfor t in range(1, x.shape[1]):\n    h = torch.maximum(h, x[:, t])\n"
            "    out.append(h)\nreturn torch.stack(out, 1)",
            "constants": "B = 7\nT = 70",
        },
        1,
    ),
    "looked at from its end": ({"forward": "return x[-1], x[:, -1], x[..., -3:], x[-2, -1] * x[:, 5]"}, 3),
    "neighbours that are handed on": (
        {
            "forward": (
                "n = torch.full((B, T), -1e30, device=x.device)\na = n.clone()\na[:, 0] = x[:, 0]\na[:, 1] = x[:, 1]\n"
                "for t in range(40):\n    b = torch.cat([n[:, :1], a[:, :-1]], 1)\n    c = torch.cat([n[:, :2], a[:, :-2]], 1)\n"
                "    a = torch.logsumexp(torch.stack([a, b, c]), 0) + y[:, t]\nreturn -torch.logaddexp(a[:, -1], a[:, -2])"
            ),
            "inputs": "torch.randn(B, T), torch.randn(B, 40, T)",
            "arguments": "x, y",
            "constants": "B = 7\nT = 21",
        },
        1,
    ),
    "states beside a number": (
        {
            "forward": (
                "a = torch.cat([x[:, :1], torch.full_like(x[:, 1:], -1e30)], 1)\nfor t in range(40):\n"
                "    b = torch.cat([torch.full_like(a[:, :1], -1e30), a[:, :-1]], 1)\n"
                "    a = torch.logaddexp(a, b) + y[:, t]\nreturn a[:, -1]"
            ),
            "inputs": "torch.randn(B, T), torch.randn(B, 40, T)",
            "arguments": "x, y",
            "constants": "B = 7\nT = 21",
        },
        1,
    ),
    "rotated states": (
        {
            "forward": (
                "h = x\nfor t in range(40):\n    h = torch.tanh(torch.cat([h[:, 3:], h[:, :3]], 1) + y[t] + h[:, :1] * 0.1)\n"
                "return h, h.sum(1)"
            ),
            "inputs": "torch.randn(B, 21), torch.randn(40, 21)",
            "arguments": "x, y",
        },
        2,
    ),
    "states that look the other way": (
        {
            "forward": "h = x[:, 0]\nfor t in range(T):\n    h = h * 0.5 + x[:, t].flip(0) * h.flip(0)\nreturn h",
            "constants": "B = 40\nT = 71",
        },
        1,
    ),
    "sums of a few of the states": (
        {"forward": "h = x[:, :8]\nfor t in range(99):\n    h = torch.tanh(h * 0.5 + h[:, :4].sum(1, keepdim=True))\nreturn h"},
        1,
    ),
    "two states and a matrix": (
        {"forward": "h = c = x[:, :8]\nfor t in range(99):\n    c = c * 0.5 + h @ x[:8, :8]\n    h = torch.tanh(c)\nreturn h"},
        1,
    ),
    "one of the states for all": (
        {"forward": "h = x\nfor t in range(99):\n    h = torch.tanh(h * 0.5 + h[3:4])\nreturn h", "constants": "B = 40\nT = 71"},
        1,
    ),
    "small matrices in turn": (
        {
            "forward": (
                "m = torch.exp(x - x.amax(dim=-1, keepdim=True))\nfor _ in range(8):\n    m = m / (m.sum(-1, keepdim=True) + 1e-6)\n"
                "    m = m / (m.sum(-2, keepdim=True) + 1e-6)\nreturn m"
            ),
            "inputs": "torch.randn(T, 4, 4)",
            "constants": "B = 48\nT = 70000",
        },
        1,
    ),
    "statistics that are kept": (
        {
            "forward": "return torch.relu(self.bn(x))",
            "init": "self.bn = nn.BatchNorm1d(c, momentum=0.25)",
            "parameters": "c",
            "given": "B",
            "inputs": "torch.randn(5, B, T) * 2.0 + 1.0",
        },
        3,
    ),
    "a statistic beside what it centres": (
        {
            "forward": "m = x.mean(0)\nself.kept.mul_(0.9).add_(0.1 * m)\nreturn x - m, x.t() * self.kept[:, None]",
            "init": "self.register_buffer('kept', torch.ones(t))",
            "parameters": "t",
            "given": "T",
            "constants": "B = 7000\nT = 70",
        },
        3,
    ),
    "attention of halves that are made wide": (
        {
            "forward": (
                "s = (x.float() * 0.25) @ y.float().transpose(-1, -2) + b.float()\n"
                "return (torch.sigmoid(g.float()) * (torch.softmax(s, -1) @ z.float())).half()"
            ),
            "inputs": (
                "torch.randn(2, B, 16).half(), torch.randn(2, B, 16).half(), torch.randn(2, B, 16).half(), "
                "torch.randn(B, B).half(), torch.randn(2, B, 16).half()"
            ),
            "arguments": "x, y, z, b, g",
        },
        1,
    ),
    "few columns of rows that an index tells": (
        {
            "forward": "return (x[i].float() * y[..., None]).sum(1).half()",
            "inputs": "torch.randn(300, T).half(), torch.randint(0, 300, (B, 8)), torch.rand(B, 8)",
            "arguments": "x, i, y",
            "constants": "B = 48\nT = 1100",
        },
        1,
    ),
    "place": ({"forward": "return x.round().argmax(-1), x.round().argmin(0), x.round().half().argmax(1, keepdim=True)"}, 2),
    "place of all": ({"forward": "return torch.argmin(torch.floor(x))"}, 1),
    "place of NaN": ({"forward": "return torch.where(x > 2.5, x / 0.0 * 0.0, x.round()).argmin(1)", "constants": "B = 48\nT = 64"}, 1),
    "places of integers in many rows": (
        {
            "forward": "m = x.min(-1)\nreturn m.values, m.indices, y.argmax(-1)",
            "inputs": "torch.randint(-9, 9, (T, 2500)).int(), torch.randint(0, 9, (T, 6)).to(torch.uint8)",
            "arguments": "x, y",
            "constants": "T = 2048",
        },
        1,
    ),
    "extremes with places": (
        {"forward": "v, i = x.round().max(-1)\nm = x.half().min(0, keepdim=True)\nreturn v, i, m.values, m.indices, i.max(0)[0]"},
        3,
    ),
    "places along an axis of few": (
        {
            "forward": (
                "x = torch.where(x > 2.5, x / 0.0 * 0.0, x.round())\nv, i = x.max(1)\n"
                "return v, i, x.half().argmin(1), torch.where(x < 9.0, float('-inf'), x).argmax(1), torch.stack([x[:, 0], x[:, 1]], -1)"
            ),
            "inputs": "torch.randn(B, 9, T)",
            "constants": "B = 600\nT = 70\n",
        },
        1,
    ),
    "largest few": (
        {
            "forward": (
                "p, e = torch.topk(torch.softmax(x, -1), 3, dim=-1)\nv, i = y.topk(2, 0, largest=False)\n"
                "return p / p.sum(-1, keepdim=True), e, v, i, (-x).half().topk(1)[1]"
            ),
            "inputs": "torch.randn(B, T), torch.randint(-99, 9999, (B, T))[:, :5].contiguous().int()",
            "arguments": "x, y",
            "constants": "B = 48\nT = 64",
        },
        2,
    ),
    "largest where there are NaN": (
        {
            "forward": "x = torch.where(x > 2.0, x / 0.0 * 0.0, x)\nreturn x.topk(3, sorted=True)[0], x.min(-1)[0], x.max(-1)[0]",
            "constants": "B = 48\nT = 64",
        },
        1,
    ),
    "added at many places": (
        {
            "forward": (
                "s = torch.zeros(K, 3).index_add_(0, i, x * y[:, None])\nn = torch.zeros(K, dtype=torch.int32)\n"
                "n.scatter_add_(0, i, torch.ones_like(i, dtype=torch.int32))\n"
                "t = z.clone().scatter_add_(1, j, w)\nreturn s / n.clamp(min=1)[:, None], t"
            ),
            "inputs": "torch.randn(T, 3), torch.rand(T), torch.randint(0, K, (T,)), torch.rand(B, K), torch.randint(0, K, (B, 200)), "
            "torch.rand(B, 200)",
            "constants": "T = 640\nK = 2000\nB = 48",
            "arguments": "x, y, i, z, j, w",
        },
        4,
    ),
    "sums over pairs": (
        {
            "forward": (
                "v = x.float() * y[:, :, None]\ng = v @ v.transpose(1, 2)\n"
                "return torch.triu(g, diagonal=1).sum(dim=(1, 2)), torch.tril(g).sum(-1).sum(-1)"
            ),
            "inputs": "torch.rand(T, 19, 8).half(), torch.rand(T, 19)",
            "arguments": "x, y",
            "constants": "T = 640",
        },
        2,
    ),
    "nearest of pairs": (
        {
            "forward": "d = (x[:, None, 0] - y[:, 0]).abs() + (x[:, None, 1] - y[:, 1]).abs()\nreturn d.amin(1), d.exp().sum(1)",
            "inputs": "torch.rand(B, 2), torch.rand(T, 2)",
            "arguments": "x, y",
            "constants": "B = 48\nT = 1100",
        },
        1,
    ),
    "distances of points": (
        {
            "forward": "d = torch.cdist(x, y)\nreturn d.amin(2).square().mean(1) + d.amin(1).mean(1), torch.cdist(z, z, p=1.0)",
            "inputs": "torch.rand(2, B, 3), torch.rand(2, T, 3), torch.rand(9, 20)",
            "arguments": "x, y, z",
            "constants": "B = 48\nT = 64",
        },
        4,
    ),
    "product with factors": (
        {
            "forward": "return torch.addmm(c, x, x.t(), alpha=0.5, beta=2.0) + torch.baddbmm(c, x[None], y[None], beta=0)[0]",
            "inputs": "torch.randn(B, T), torch.randn(T, B), torch.randn(B)",
            "arguments": "x, y, c",
        },
        2,
    ),
    "losses of distributions": (
        {
            "forward": "return F.kl_div(torch.log(x), y, reduction='batchmean'), F.triplet_margin_loss(x, y, z, margin=0.5)",
            "inputs": "torch.rand(B, T) + 0.1, torch.relu(torch.randn(B, T)), torch.rand(B, T)",
            "arguments": "x, y, z",
        },
        2,
    ),
    "place in a long row": (
        {
            "forward": "return i.argmax(-1), x.round().argmax(-1)",
            "inputs": "torch.randint(-9, 9, (B, T)).to(torch.int8), torch.randn(B, T)",
            "arguments": "i, x",
            "constants": "B = 3\nT = 300000",
        },
        2,
    ),
    "attention": (
        {
            "forward": "return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
            "inputs": "torch.randn(2, B, 16).half(), torch.randn(2, B, 16).half(), torch.randn(2, B, 16).half()",
            "arguments": "q, k, v",
        },
        1,
    ),
    "attention by heads of a row": (
        {
            "forward": (
                "b, t, c = x.shape\nq, k, v = (o.view(b, t, 3, c // 9).transpose(1, 2) for o in x.chunk(3, -1))\n"
                "a = (q @ k.transpose(-2, -1)) * 0.2\na = a.masked_fill(torch.tril(torch.ones(t, t)) == 0, float('-inf'))\n"
                "return (F.softmax(a, dim=-1) @ v).transpose(1, 2).contiguous().view(b, t, c // 3) + 1.0"
            ),
            "inputs": "torch.randn(2, T, 216)",
            "constants": "T = 130",
        },
        1,
    ),
    "attention within a window": (
        {
            "forward": (
                "i = torch.arange(T)\nfar = (i[:, None] - i[None, :]).abs() > 20\n"
                "s = torch.einsum('bqhd,bkhd->bhqk', q, k).float() / 40**0.5\n"
                "p = s.masked_fill(far, float('-inf')).softmax(-1).to(v.dtype)\n"
                "return torch.einsum('bhqk,bkhd->bqhd', p, v)"
            ),
            "inputs": "torch.randn(2, T, 3, 40).half(), torch.randn(2, T, 3, 40).half(), torch.randn(2, T, 3, 24).half()",
            "constants": "T = 200",
            "arguments": "q, k, v",
        },
        1,
    ),
    "attention with a sink": (
        {
            "forward": (
                "i = torch.arange(T)\nfar = i[:, None] - i[None, :]\n"
                "s = (q.float() @ k.float().transpose(-1, -2) * 0.25).masked_fill((far < 0) | (far >= 30), float('-inf'))\n"
                "z = sink.float().view(1, 3, 1, 1)\nm = torch.maximum(z, s.amax(-1, keepdim=True))\np = torch.exp(s - m)\n"
                "return ((p / (torch.exp(z - m) + p.sum(-1, keepdim=True))) @ v.float()).half()"
            ),
            "inputs": "*(torch.randn(2, 3, T, 32).half() for _ in range(3)), torch.randn(3)",
            "constants": "T = 200",
            "arguments": "q, k, v, sink",
        },
        1,
    ),
    "a share that is in the maximum and not in the sum": (
        {
            "forward": (
                "s = q @ k.transpose(-1, -2)\nm = torch.maximum(s.amax(-1, keepdim=True), z)\np = torch.exp(s - m)\n"
                "return (p / (p.sum(-1, keepdim=True) + torch.exp(z - s.amax(-1, keepdim=True)))) @ v"
            ),
            "inputs": "torch.randn(2, T, 32) / 4, torch.randn(2, T, 32) / 4, torch.randn(2, T, 32), torch.randn(2, T, 1)",
            "constants": "T = 200",
            "arguments": "q, k, v, z",
        },
        3,
    ),
    "attention backwards": (
        {
            "forward": (
                "q, k, v, o, g = q.float(), k.float(), v.float(), o.float(), g.float()\ndelta = (o * g).sum(-1, keepdim=True)\n"
                "keep = torch.ones(T, T, dtype=torch.bool).tril()\n"
                "p = torch.exp(q @ k.transpose(-1, -2) * 0.25 - lse[..., None]).masked_fill(~keep, 0.0)\n"
                "ds = p * (g @ v.transpose(-1, -2) - delta)\n"
                "return (ds.transpose(-1, -2) @ q * 0.25).half(), (p.transpose(-1, -2) @ g).half(), (ds @ k * 0.25).half()"
            ),
            "inputs": "*(torch.randn(16, 4, T, 32).half() for _ in range(5)), torch.rand(16, 4, T) + 4.0",
            "constants": "T = 200",
            "arguments": "q, k, v, o, g, lse",
        },
        4,
    ),
    "a padded convolution of halves": (
        {
            "forward": "return F.gelu(F.conv1d(x.float().transpose(1, 2), w.float().permute(2, 1, 0), stride=2, padding=1)).half()",
            "inputs": "torch.randn(3, T, 48).half(), torch.randn(3, 48, 40).half() / 8",
            "constants": "T = 200",
            "arguments": "x, w",
        },
        1,
    ),
    "whole numbers of what is quantised": (
        {
            "forward": (
                "s = x.abs().amax(-1, keepdim=True).clamp_min(1e-6) / 127.0\nq = torch.floor(x / s + 0.5).clamp(-127, 127)\n"
                "return q @ w.float().t() * s"
            ),
            "inputs": "torch.randn(B, T), torch.randint(-127, 128, (90, T)).to(torch.int8)",
            "arguments": "x, w",
        },
        2,
    ),
    "whole numbers that no half holds": (
        {
            "forward": "return torch.round(x * 4000.0).clamp(-4095, 4095) @ w.float().t(), torch.relu(x.half().float()) @ y.float().t()",
            "inputs": "torch.randn(B, T), torch.randint(-127, 128, (90, T)).to(torch.int8), torch.randn(90, T).bfloat16()",
            "arguments": "x, w, y",
        },
        2,
    ),
    "doubles without axes": (
        {
            "forward": "return torch.exp(-r * x) + (r + 0.5 * x * x), x.half() * r, x > r",
            "inputs": "torch.randn(B, T), torch.tensor(0.1, dtype=torch.float64)",
            "arguments": "x, r",
        },
        1,
    ),
    "attention with a bias and rows that look at nothing": (
        {
            "forward": (
                "a = F.scaled_dot_product_attention(q, k, v, attn_mask=m > 0.9)\n"
                "i, j = torch.arange(B)[:, None], torch.arange(T)[None, :]\n"
                "s = q @ k.transpose(1, 2) - 0.1 * (i - j).abs() + torch.where((j >= i) & (j < i + 9), 0.0, -float('inf'))\n"
                "return a + torch.softmax(s, -1) @ v"
            ),
            "inputs": "torch.randn(2, B, 32), torch.randn(2, T, 32), torch.randn(2, T, 64), "
            "torch.rand(B, T) * (torch.arange(B) > 5)[:, None]",
            "constants": "B = 48\nT = 640",
            "arguments": "q, k, v, m",
        },
        2,
    ),
    "attention of few over many keys": (
        {
            "forward": (
                "s = (q.view(2, 2, 3, 16) @ k.transpose(-1, -2)).float() / 4.0\n"
                "i = torch.arange(T, device=q.device)\ns = s.masked_fill((i[None, :] >= n[:, None])[:, None, None], float('-inf'))\n"
                "a = (torch.softmax(s, -1).to(v.dtype) @ v).view(2, 6, 16)\n"
                "m = (i < T // 3)[None] & (n > 300)[:, None]\n"
                "return a, F.scaled_dot_product_attention(q[:, :, None], k, v, attn_mask=m[:, None, None], enable_gqa=True)"
            ),
            "inputs": "torch.randn(2, 6, 16), torch.randn(2, 2, T, 16), torch.randn(2, 2, T, 16), torch.randint(1, 900, (2,)) % 600",
            "constants": "T = 1100",
            "arguments": "q, k, v, n",
        },
        3,
    ),
    "attention of one": (
        {
            "forward": "return F.scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True)",
            "inputs": "torch.randn(2, 6, 1, 16), torch.randn(2, 3, B, 16), torch.randn(2, 3, B, 16), torch.randn(1, B)",
            "arguments": "q, k, v, m",
        },
        1,
    ),
    "attention of repeated heads": (
        {
            "forward": (
                "r = q.shape[1] // k.shape[1]\nk, v = k.repeat_interleave(r, dim=1), v.repeat_interleave(r, dim=1)\n"
                "return F.scaled_dot_product_attention(q, k, v)"
            ),
            "inputs": "torch.randn(2, H, B, 16), torch.randn(2, G, B, 16), torch.randn(2, G, B, 16)",
            "arguments": "q, k, v",
            "constants": "B = 48\nH = 6\nG = 3",
        },
        1,
    ),
    "reshaped copy": ({"forward": "return x[:, :, None].expand(B, T, 2).reshape(B, 2 * T) + x.t().reshape(B * T)[0]"}, 1),
    "halves changed about": ({"forward": "return x.view(B, 2, T // 2).transpose(1, 2).reshape(B, T) + x.t().reshape(B, T)"}, 1),
    "attention of expanded heads": (
        {
            "forward": (
                "b, n, t, d = k.shape\nr = q.shape[1] // n\n"
                "k, v = (o[:, :, None].expand(b, n, r, t, d).reshape(b, n * r, t, d) for o in (k, v))\n"
                "return F.scaled_dot_product_attention(q, k, v)"
            ),
            "inputs": "torch.randn(2, H, B, 16), torch.randn(2, G, B, 16), torch.randn(2, G, B, 16)",
            "arguments": "q, k, v",
            "constants": "B = 48\nH = 6\nG = 3",
        },
        1,
    ),
    "many taps": (
        {
            "forward": "return F.conv2d(x, w, c, padding=5, groups=C)",
            "inputs": "torch.randn(2, C, H, H), torch.randn(C, 1, 11, 11), torch.randn(C)",
            "arguments": "x, w, c",
            "constants": "C = 12\nH = 20",
        },
        1,
    ),
    "padded image": (
        {
            "forward": "return torch.relu(F.conv2d(x, w, c, 2, 1)) + y",
            "inputs": "torch.randn(2, 24, H, 15), torch.randn(40, 24, 3, 3), torch.randn(40), torch.randn(2, 40, (H + 1) // 2, 8)",
            "arguments": "x, w, c, y",
            "constants": "H = 21",
        },
        1,
    ),
    "volume": (
        {
            "forward": "return self.layer(x)",
            "inputs": "torch.randn(2, 9, 5, H, 6)",
            "init": "self.layer = nn.Conv3d(c, 12, (3, 2, 3), padding=(1, 0, 2), dilation=(1, 2, 1))",
            "parameters": "c",
            "given": "9",
            "constants": "H = 21",
        },
        1,
    ),
    "groups of channels": (
        {
            "forward": "return F.gelu(F.conv2d(x, w, c, padding=1, groups=4)) * 2.0",
            "inputs": "torch.randn(2, 48, H, 9), torch.randn(64, 12, 3, 3), torch.randn(64)",
            "arguments": "x, w, c",
            "constants": "H = 21",
        },
        1,
    ),
    "two filters for each channel": (
        {
            "forward": "return F.conv2d(x, w, stride=2, groups=K)",
            "inputs": "torch.randn(2, K, 17, 9), torch.randn(2 * K, 1, 3, 3)",
            "arguments": "x, w",
            "constants": "K = 6",
        },
        1,
    ),
    "transposed line": (
        {
            "forward": "return F.conv_transpose1d(x, w, c, 3, 2, 1, 2, 2), F.conv_transpose1d(x, v, stride=4, dilation=2, groups=2)",
            "inputs": "torch.randn(2, 24, H), torch.randn(24, 20, 5), torch.randn(40), torch.randn(24, 20, 3)",
            "arguments": "x, w, c, v",
            "constants": "H = 21",
        },
        2,
    ),
    "transposed image": (
        {
            "forward": "return F.leaky_relu(self.layer(x), 0.1)",
            "inputs": "torch.randn(2, C, H, 7)",
            "init": "self.layer = nn.ConvTranspose2d(c, 24, 3, stride=2, padding=1, output_padding=1)",
            "parameters": "c",
            "given": "C",
            "constants": "C = 20\nH = 11",
        },
        1,
    ),
    "pooled": ({"forward": "return F.max_pool2d(x, 3, 2, 1) - F.avg_pool2d(x, 3, 2, 1)", "inputs": "torch.randn(2, B, 40, 31)"}, 1),
    "instances": ({"forward": "return F.selu(F.instance_norm(x))", "inputs": "torch.randn(3, B, 9, 11)"}, 1),
    "counted": (
        {
            "forward": "n = torch.zeros(x.shape[0], K, dtype=torch.int32)\n"
            "return n.scatter_add_(1, x, torch.ones_like(x, dtype=torch.int32))",
            "inputs": "torch.randint(0, K, (B, T))",
            "constants": f"{SIZES}\nK = 37",
        },
        1,
    ),
    "added by place": (
        {
            "forward": "s = torch.zeros(K, 3)\ns.index_add_(0, i, x)\nreturn s / x.shape[0]",
            "inputs": "torch.randn(T, 3), torch.randint(0, K, (T,))",
            "constants": "T = 70000\nK = 21",
            "arguments": "x, i",
        },
        2,
    ),
    "step of an optimiser": (
        {
            "forward": (
                "m.lerp_(g, 1 - 0.9)\nv.mul_(0.99).addcmul_(g, g, value=1 - 0.99)\n"
                "p.mul_(0.999).addcdiv_(m, v.sqrt() + 1e-6, value=-0.01)\nreturn p, m, v"
            ),
            "inputs": "torch.randn(B, T), torch.randn(B, T), torch.randn(B, T), torch.rand(B, T)",
            "arguments": "p, g, m, v",
        },
        1,
    ),
    "moving average without a result": (
        {"forward": "y.mul_(0.9).add_(x, alpha=0.1)", "inputs": "torch.randn(B, T), torch.randn(B, T)", "arguments": "x, y"},
        1,
    ),
    "a part changed in place": (
        {
            "forward": "y[:, 3:20] += x[:, :17]\ny[:, 30:].clamp_(min=0.0)\nreturn x.sum(-1), None, 3, x.shape[0]",
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "arguments": "x, y",
        },
        1,
    ),
    "product before a change in place": ({"forward": "x.mul_(2.0)\nreturn x.t().contiguous() @ x"}, 2),
    "rows scaled in place": ({"forward": "x /= x.norm(dim=-1, keepdim=True)\nreturn x"}, 1),
    "NaN": (
        {
            "forward": (
                "x = torch.where(x > 2.0, x / 0.0 * 0.0, x)\n"
                "return torch.relu(x), x.clamp(-1, 1), torch.maximum(x, y), torch.fmax(x, y), x.amax(-1), x.amin(0), "
                "F.max_pool1d(x, 3), F.softmax(x, -1), x.max(), F.hardswish(x)"
            ),
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "arguments": "x, y",
            "constants": "B = 13\nT = 640",
        },
        4,
    ),
    "reset of what is infinite": (
        {
            "forward": "h = torch.ones_like(x[:, 0])\nout = []\nfor t in range(x.shape[1]):\n"
            "    h = torch.where(d[:, t] > 0.8, 0.0, h) * 0.5 + x[:, t] / (d[:, t] > 0.1)\n    out.append(h)\n"
            "return torch.stack(out, 1)",
            "inputs": "torch.randn(B, T), torch.rand(B, T)",
            "arguments": "x, d",
            "constants": "B = 7\nT = 70",
        },
        1,
    ),
    "further activations": (
        {
            "forward": (
                "a = F.mish(x) + F.glu(x, 0).repeat(2, 1) + F.celu(x, 0.7) + F.hardshrink(x, 0.3) + F.softshrink(x) + F.tanhshrink(x)\n"
                "b = F.threshold(x, 0.1, -2.0) + torch.prelu(x, w) + torch.frac(x * 3.0) + torch.log10(x.abs() + 1.0) + x.pow(5)\n"
                "n = torch.where(x.abs() > 2.0, x / 0.0, x) * torch.where((x > 0) & (x < 0.01), x / 0.0 * 0.0, 1.0)\n"
                "c = torch.logaddexp(n, n), torch.logaddexp(n, x), torch.nan_to_num(n, 1.0, 7.0), torch.isfinite(n)\n"
                "return a, b, n ** 2.5, n ** -1.5, *c"
            ),
            "inputs": "torch.randn(2 * B, T), torch.rand(T)",
            "arguments": "x, w",
        },
        1,
    ),
    "activations in place": (
        {
            "forward": "z = x * 2.0\ny = F.silu(z, inplace=True)\nv = self.act(y - 0.1)\nF.leaky_relu(v, 0.2, True)\nreturn z + y, v",
            "init": "self.act = nn.Sequential(nn.ELU(0.5, inplace=True), nn.Hardtanh(-1.0, 1.0, True))",
        },
        1,
    ),
    "an argument through an activation in place": (
        {"forward": "y = self.act(x)\nreturn y + x", "init": "self.act = nn.ReLU(inplace=True)"},
        1,
    ),
    "rolled": (
        {"forward": "return torch.roll(x, (3, -5), (0, 1)) - x.roll(1, 1), torch.roll(x[0], 700), x.roll(shifts=-B, dims=0)"},
        2,
    ),
    "slopes of channels": (
        {
            "forward": "return F.prelu(x, w) + 1.0, F.prelu(F.pixel_shuffle(x, 2), v)",
            "inputs": "torch.randn(2, 12, 5, B), torch.rand(12), torch.rand(3)",
            "arguments": "x, w, v",
        },
        2,
    ),
    "pixels": (
        {
            "forward": "return F.pixel_shuffle(x, 2) + 1.0, F.pixel_unshuffle(y, 3) * 2.0, F.one_hot(i, 9).float()",
            "inputs": "torch.randn(2, 12, B, 5), torch.randn(2, 3, 9, 6), torch.randint(0, 9, (B, 3))",
            "arguments": "x, y, i",
        },
        3,
    ),
    "pads of several kinds": (
        {
            "forward": (
                "y = F.pad(x, (3, 1, 0, 2), mode='reflect'), F.pad(x, (3, 1, 0, 2), mode='replicate')\n"
                "return *y, F.pad(x, (3, 1, 0, 2), mode='circular') * 2.0"
            ),
            "inputs": "torch.randn(2, 3, B, 5)",
        },
        1,
    ),
    "counted numbers": (
        {
            "forward": (
                "n = x.shape[0]\nkeys = x.reshape(n, -1).long() + 256 * torch.arange(n, device=x.device)[:, None]\n"
                "few = torch.bincount(x.reshape(-1).long() & 31, minlength=32)\n"
                "many = torch.bincount(keys.reshape(-1) * 3, minlength=800 * n)\n"
                "return torch.bincount(keys.reshape(-1), minlength=n * 256).view(n, 256).float() / T, few, many"
            ),
            "inputs": "torch.randint(0, 256, (B, 3, T)).to(torch.uint8)",
        },
        5,
    ),
    "sums of letters": (
        {
            "forward": (
                "a = torch.einsum('bt,ct,bc->b', x, y, x @ y.t())\nb = torch.einsum('ij->j', x), torch.einsum('bt,b->t', x, y[:, 0])\n"
                "c = torch.einsum('...t,ct', x[None], y), torch.einsum('bt,dt', x, y), torch.einsum('tt->t', x[:, : x.shape[0]])\n"
                "return a, *b, *c, torch.mv(x, y[0]), torch.dot(x[0], y[1])"
            ),
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "arguments": "x, y",
        },
        6,
    ),
    "losses of two classes": (
        {
            "forward": (
                "p = torch.sigmoid(x)\nq = torch.where(y > 0.9, 1.0, y)\n"
                "e = F.binary_cross_entropy(torch.where(x > 2.0, 1.0, p), q)\nl = torch.log_softmax(x, -1)\n"
                "return e, F.binary_cross_entropy_with_logits(x * 40.0, y, reduction='none'), F.nll_loss(l, i, ignore_index=2)"
            ),
            "inputs": "torch.randn(B, T), torch.rand(B, T), torch.randint(0, B, (B,))",
            "arguments": "x, y, i",
        },
        2,
    ),
    "pools of parts": (
        {
            "forward": "return F.adaptive_avg_pool2d(x, (4, 1)), F.adaptive_max_pool2d(x, 1), F.adaptive_avg_pool1d(x[0], 5)",
            "inputs": "torch.randn(2, 6, 4 * B, 15)",
        },
        3,
    ),
    "further reductions": (
        {
            "forward": (
                "v, m = torch.var_mean(x, 1)\ns, u = torch.std_mean(x, 0, keepdim=True)\na = torch.aminmax(x, dim=1)\n"
                "return (v, m, s, u, a[0], a[1], (x > 2.0).any(1), (x > -2.0).all(0), torch.count_nonzero(x > 0.5, 1), "
                "x.norm(float('inf'), dim=1), F.cosine_similarity(x, y), F.cosine_similarity(x, y, dim=0), F.pairwise_distance(x, y))"
            ),
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "arguments": "x, y",
        },
        2,
    ),
    "chain of products": (
        {
            "forward": (
                "a = ((x @ y.t()) * 0.125) @ y\nb = -(x @ y.t() / 3.0) @ y.abs()\nreturn a, b, (x.t() @ (x @ y.t())) @ y"
            ),
            "inputs": "torch.randn(B, T) / 25, torch.randn(B, T) / 25",
            "arguments": "x, y",
            "constants": "B = 640\nT = 48",
        },
        6,
    ),
    "sums of squares of products": (
        {
            "forward": (
                "x, y = x.float(), y.float()\nk, l = x @ x.t(), y @ y.t()\n"
                "return (k * l).sum() / torch.sqrt((k * k).sum() * l.square().sum()), (x @ y.t()).sum(1), (x @ y.t()).mean(), "
                "torch.einsum('id,jd,je->ie', x, y, y)"
            ),
            "inputs": "(torch.randn(T, 24) / 8).half(), (torch.randn(T, 24) / 8).half()",
            "arguments": "x, y",
            "constants": "T = 640",
        },
        8,
    ),
    "products that are asked for themselves": (
        {
            "forward": "s = x @ y.t()\nreturn s, s @ y, (s.half() @ y.half()).float()",
            "inputs": "torch.randn(B, T) / 25, torch.randn(B, T) / 25",
            "arguments": "x, y",
            "constants": "B = 640\nT = 48",
        },
        3,
    ),
    "filters that are outer products": (
        {
            "forward": (
                "k = torch.outer(g, g).expand(x.shape[1], 1, 9, 9).contiguous()\na = F.conv2d(x, k, padding=4, groups=x.shape[1])\n"
                "w = (c[:, :, None] * c[:, None, :9])[:, None]\n"
                "b = F.conv2d(x, w, stride=2, padding=(3, 8), dilation=(1, 2), groups=x.shape[1])\n"
                "return a + 1.0, b, F.conv2d(x[:, :1].half(), torch.outer(g[:8], g)[None, None].half())"
            ),
            "inputs": "torch.randn(2, C, H, 19), torch.rand(9), torch.rand(C, 9)",
            "arguments": "x, g, c",
            "constants": "C = 5\nH = 21",
        },
        5,
    ),
    "neighbours that are joined": (
        {
            "forward": (
                "p = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]\na = F.layer_norm(torch.cat(p, -1), (4 * x.shape[-1],))\n"
                "b = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 1::2], x[:, 1::2, 0::2]], -1) * 2.0\n"
                "c = torch.stack([x[:, :, 1::2], x[:, :, 0::2]], 1) + 1.0\n"
                "return a, b, c, torch.cat([x[..., :3], x[..., 4:7], x[..., 8:11]], -1).sum(-1)"
            ),
            "inputs": "torch.randn(2, 6, 10, B)",
        },
        4,
    ),
    "images of other sizes": (
        {
            "forward": (
                "a = F.interpolate(x, scale_factor=2), F.interpolate(x, size=(7, 30)), F.interpolate(x[0], size=9)\n"
                "b = F.interpolate(x, scale_factor=(2.0, 1.5), mode='bilinear'), self.up(x)\n"
                "return *a, *b, F.interpolate(x, (5, 40), mode='bilinear', align_corners=True), F.unfold(x, 3, padding=1, stride=(2, 1))"
            ),
            "inputs": "torch.randn(2, 3, H, 20)",
            "init": "self.up = nn.Upsample(size=(33, 8), mode='bilinear')",
            "constants": "H = 20",
        },
        7,
    ),
    "bags and buckets": (
        {
            "forward": (
                "a = F.embedding_bag(i, w), F.embedding_bag(i, w, mode='max'), self.bag(i)\n"
                "e = torch.tensor([-1.5, -0.25, 0.0, 0.25, 2.0], device=x.device)\ny = torch.where(x > 2.5, x / 0.0 * 0.0, x)\n"
                "return *a, torch.searchsorted(e, y), torch.bucketize(y, e, right=True), torch.eye(5) + e, i % (-7), torch.diff(x)"
            ),
            "inputs": "torch.randn(B, T).round(decimals=1), torch.randint(0, B, (7, 5)), torch.randn(B, 3)",
            "init": "self.bag = nn.EmbeddingBag(n, 3, mode='sum')",
            "parameters": "n",
            "given": "B",
            "arguments": "x, i, w",
        },
        5,
    ),
    "elements put elsewhere": (
        {
            "forward": (
                "a = x.scatter(1, i, y), torch.zeros_like(x).scatter_(1, i, 1.0)\nd = i[:, :1].expand(-1, 3) % 9\n"
                "b = torch.full((9, 3), -0.5).scatter_reduce(0, d, x[:, :3], 'amax')\n"
                "c = torch.zeros(9, 3).scatter_reduce(0, d, x[:, :3], 'amin', include_self=False)\n"
                "return *a, b, c, torch.cross(x[:, :3], y[:, :3], dim=1), torch.diag(x[0, :4])"
            ),
            "inputs": "torch.randn(B, T), torch.stack([torch.randperm(T)[:6] for _ in range(B)]), torch.randn(B, 6)",
            "arguments": "x, i, y",
        },
        4,
    ),
    "losses of three": (
        {
            "forward": (
                "a = F.margin_ranking_loss(x, y, x.sign(), margin=0.3), self.loss(x, y, y * y), F.soft_margin_loss(x, y.sign())\n"
                "b = F.poisson_nll_loss(x, y), F.hinge_embedding_loss(x, torch.where(y > 0, 1.0, -1.0), reduction='sum')\n"
                "return *a, *b"
            ),
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "init": "self.loss = nn.GaussianNLLLoss()",
            "arguments": "x, y",
        },
        1,
    ),
    "running extremes": (
        {
            "forward": (
                "y = torch.where(x > 2.0, x / 0.0, x)\nb = torch.bilinear(x, x, w)\np = (x * 0.1 + 1.0).prod(1)\n"
                "return y.cummax(1)[0], x.cummin(0).values, y.logcumsumexp(1), p, torch.tensordot(x, x, ([0], [0])), b"
            ),
            "inputs": "torch.randn(B, 12), torch.randn(5, 12, 12)",
            "arguments": "x, w",
        },
        5,
    ),
    "divergence of logarithms": (
        {
            "forward": (
                "s, t = torch.log_softmax(x, -1), torch.log_softmax(y * 3.0 + 20.0, -1)\n"
                "return F.kl_div(s, t, log_target=True, reduction='batchmean')"
            ),
            "inputs": "torch.randn(B, T), torch.randn(B, T)",
            "constants": "B = 600\nT = 40000",
            "arguments": "x, y",
        },
        2,
    ),
    "states that are multiplied by a matrix": (
        {
            "forward": (
                "h = s\no = []\nfor t in range(x.shape[1]):\n    h = torch.tanh(x[:, t] @ u + h @ w)\n    o.append(h)\n"
                "return torch.stack(o, 1), h * 2.0"
            ),
            "inputs": "torch.randn(7, K, 24), torch.randn(20, 20) / 6, torch.randn(24, 20) / 5, torch.randn(7, 20)",
            "constants": "K = 37",
            "arguments": "x, w, u, s",
        },
        2,
    ),
    "states of two shapes": (
        {
            "forward": (
                "h, c = torch.zeros(x.shape[0], 20), torch.ones(x.shape[0], 20)\nm = torch.zeros(x.shape[0])\n"
                "for t in reversed(range(x.shape[1])):\n    c = torch.sigmoid(h @ f) * c + torch.tanh(x[:, t] + h @ g)\n"
                "    h = torch.tanh(c)\n    m = torch.maximum(m, h.sum(-1))\nreturn h, c, m"
            ),
            "inputs": "torch.randn(7, K, 20), torch.randn(20, 20) / 6, torch.randn(20, 20) / 6",
            "constants": "K = 37",
            "arguments": "x, f, g",
        },
        1,
    ),
    "one recurrence behind another": (
        {
            "forward": (
                "h = torch.zeros(7, 20, device=x.device)\no = []\nfor t in range(x.shape[1]):\n    o.append(h.sum(-1) * (t + 1))\n"
                "    h = torch.tanh(h @ w + x[:, t] * t)\nfor t in range(40):\n    h = torch.tanh(h @ w) * 0.9\n"
                "return h, torch.stack(o, 1).mean(1), torch.stack(o, 1).flip(1)"
            ),
            "inputs": "torch.randn(7, K, 20), torch.randn(20, 20) / 6",
            "constants": "K = 37",
            "arguments": "x, w",
        },
        3,
    ),
    "states that are matrices": (
        {
            "forward": (
                "s = torch.zeros(2, 3, 24, 40, device=q.device)\no = []\nfor t in range(q.shape[2]):\n    a = k[:, :, t]\n"
                "    e = v[:, :, t] - torch.einsum('bhk,bhkv->bhv', a, s)\n"
                "    s = s * g[:, :, t, None, None] + torch.einsum('bhk,bhv->bhkv', a, e * b[:, :, t, None])\n"
                "    o.append(torch.einsum('bhk,bhkv->bhv', q[:, :, t], s))\nreturn torch.stack(o, 2)"
            ),
            "inputs": (
                "*(torch.randn(2, 3, K, 24) / 5 for _ in range(2)), torch.randn(2, 3, K, 40), "
                "torch.rand(2, 3, K), torch.rand(2, 3, K)"
            ),
            "constants": "K = 37",
            "arguments": "q, k, v, b, g",
        },
        1,
    ),
    "scaling of rows and columns in turn": (
        {
            "forward": (
                "z, m = x / 0.3, -torch.log(torch.tensor(float(x.shape[1])))\n"
                "v = torch.zeros(x.shape[0], x.shape[2], device=x.device)\nfor _ in range(20):\n"
                "    u = m.item() - torch.logsumexp(z + v[:, None, :], 2)\n    v = -2.5 - torch.logsumexp(z + u[:, :, None], 1)\n"
                "return torch.exp(z + u[:, :, None] + v[:, None, :])"
            ),
            "inputs": "torch.randn(5, K, 21)",
            "constants": "K = 37",
        },
        1,
    ),
    "most likely states": (
        {
            "forward": (
                "a = x[:, 0]\nfor t in range(1, x.shape[1]):\n    a = torch.logsumexp(a[:, :, None] + w, 1) + x[:, t]\n"
                "return torch.logsumexp(a, 1)"
            ),
            "inputs": "torch.randn(5, K, 9), torch.randn(9, 9)",
            "constants": "K = 50",
            "arguments": "x, w",
        },
        1,
    ),
    "shares within segments": (
        {
            "forward": (
                "m = torch.zeros(9).scatter_reduce(0, i, x, 'amax', include_self=False)\ne = torch.exp(x - m[i])\n"
                "y = x.clone()\ny[y > 1.0] = 0.5\nreturn e / torch.zeros(9).scatter_add(0, i, e)[i] + y"
            ),
            "inputs": "torch.randn(T), torch.randint(0, 9, (T,))",
            "arguments": "x, i",
        },
        3,
    ),
    "products of what is made of products": (
        {
            "forward": (
                "t = q.shape[2]\ni = torch.arange(t, device=q.device)\nd = (i[:, None] - i[None]).float()\n"
                "g = torch.exp2(d.clamp(min=0) * f[:, None, None]) * (d >= 0)\ns = q.float() @ k.float().transpose(-1, -2) * 0.25\n"
                "a = ((s * g) @ v.float()).to(v.dtype)\nb = (q @ k.transpose(-1, -2)).tril(-3) @ v\n"
                "c = torch.where(i[:, None] - i < 7, torch.sigmoid(s), 0.0).half() @ v\nreturn a, b, c"
            ),
            "inputs": "*(torch.randn(3, H, T, 16).half() for _ in range(3)), -torch.rand(H)",
            "constants": "H = 21\nT = 200",
            "arguments": "q, k, v, f",
        },
        3,
    ),
    "what the round before has looked at": (
        {
            "forward": (
                "o = torch.zeros_like(x)\na = torch.zeros_like(n)\nb = n\nfor t in reversed(range(x.shape[0])):\n    k = 1.0 - d[t]\n"
                "    a = x[t] + 0.9 * b * k - v[t] + 0.8 * k * a\n    o[t] = a\n    b = v[t]\nh = torch.zeros_like(n)\np = 2.0\n"
                "for t in range(x.shape[0]):\n    h = 0.5 * h + (x[t] - p).abs()\n    p = x[t]\nreturn o, o + v, h"
            ),
            "inputs": "torch.randn(K, 9), torch.randn(K, 9), (torch.rand(K, 9) < 0.1).float(), torch.randn(9)",
            "constants": "K = 70",
            "arguments": "x, v, d, n",
        },
        3,
    ),
    "put where an index says": (
        {
            "forward": (
                "c[i // 8, i % 8] = k.half()\nd.index_copy_(0, i, k)\ny = torch.relu(k) * 2.0\ny[j] = k[j] - y[j]\n"
                "z = k.clone()\nz[:, j] = 0.0\nreturn c, d, y, z, k.index_fill(0, j, 3.5)"
            ),
            "inputs": (
                "torch.randn(8, 8, 24).half(), torch.randn(70, 24), torch.randn(B, 24), torch.randperm(64)[:B], "
                "torch.randperm(B)[:7] % 13 - 13"
            ),
            "constants": "B = 48",
            "arguments": "c, d, k, i, j",
        },
        6,
    ),
    "classes of places": (
        {
            "forward": (
                "a = F.cross_entropy(x.float(), t, ignore_index=3, reduction='none')\n"
                "return a, F.cross_entropy(x.float(), t, ignore_index=3, label_smoothing=0.1), F.nll_loss(x.float(), t, reduction='sum')"
            ),
            "inputs": "torch.randn(2, 7, 9, B).half(), torch.randint(0, 7, (2, 9, B))",
            "constants": "B = 48",
            "arguments": "x, t",
        },
        2,
    ),
    "put from the end of a part": (
        {
            "forward": (
                "x[5:20][i] = w\ny = torch.relu(v)\ny[j] = y[k] + 1.0\nz = y.t()[:, 2:] > 0\nz[i[:3]] = True\n"
                "return x, y, z, v[5:20][i], v[:, 3:][:9].reshape(-1)[i]"
            ),
            "inputs": (
                "torch.randn(B, 16), torch.randn(40, 16), torch.randperm(15)[:7] - 15, torch.randn(7, 16), torch.randperm(40)[:9] - 40, "
                "torch.randperm(40)[:9]"
            ),
            "constants": "B = 48",
            "arguments": "x, v, i, w, j, k",
        },
        9,
    ),
    "diagonals": (
        {
            "forward": (
                "y = x @ x.t()\ny.fill_diagonal_(2.5)\n"
                "return torch.diag(x @ x.t(), 3) + 1, torch.diag(y, -2), z.diagonal(-1, 1, 2) * 2, "
                "torch.diagonal(z, dim1=1, dim2=2).sum(-1), y.trace()"
            ),
            "inputs": "torch.randn(B, B), torch.randn(5, B, B)",
            "constants": "B = 48",
            "arguments": "x, z",
        },
        5,
    ),
    "one place under the mask of a tile": (
        {
            "forward": (
                "a, b, c = d.unbind(-1)\nb = torch.stack([torch.ones_like(a) * 0.28, -0.48 * b, 0.48 * c, -0.48 * a], -1)\n"
                "m = F.avg_pool2d(x * x, 3, 1, 1) / (F.avg_pool2d(x, 3, 1, 1) + 9.0)\nreturn (b[:, :, None] * s).sum(1), m.mean()"
            ),
            "inputs": "torch.randn(B, 3), torch.randn(B, 4, 3), torch.randn(2, 3, 20, B)",
            "constants": "B = 48",
            "arguments": "d, s, x",
        },
        2,
    ),
    "cells with gates": (
        {
            "forward": (
                "h, c, o = g, g, []\nfor t in range(x.shape[1]):\n    p = x[:, t] @ u + h @ w\n    i, f, a, e = p.chunk(4, 1)\n"
                "    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(a)\n    h = torch.sigmoid(e) * torch.tanh(c)\n"
                "    o.append(h)\nk = g\nfor t in range(x.shape[1]):\n    p, q = x[:, t] @ v, k @ r\n"
                "    z = torch.sigmoid(p[:, :20] + q[:, :20])\n    k = (1 - z) * torch.tanh(p[:, 20:] + z * q[:, 20:]) + z * k\n"
                "return torch.stack(o, 1), h, c, k"
            ),
            "inputs": "torch.randn(3, K, 9), torch.randn(3, 20), *(torch.randn(n, m) / 6 for n in (9, 20) for m in (80, 40))",
            "constants": "K = 37",
            "arguments": "x, g, u, v, w, r",
        },
        4,
    ),
    "powers": (
        {
            "forward": "return 2 ** i, x ** y, 1.0 ** y, (2 ** torch.arange(8, dtype=torch.uint8))[i % 8]",
            "inputs": (
                "torch.randint(0, 31, (B,)), torch.where(torch.rand(B) < 0.3, 1.0, torch.rand(B) * 3), "
                "torch.where(torch.rand(B) < 0.4, float('nan'), torch.randn(B))"
            ),
            "arguments": "i, x, y",
        },
        1,
    ),
    "put one in each row": (
        {
            "forward": (
                "p = torch.softmax(x, -1)\np[torch.arange(x.shape[0], device=x.device), t] -= 1.0\n"
                "y = x.clone()\ny[torch.arange(x.shape[0]), t] = w\nreturn p / x.shape[0], y"
            ),
            "inputs": "torch.randn(B, T), torch.randint(-T, T, (B,)), torch.randn(B)",
            "constants": SIZES,
            "arguments": "x, t, w",
        },
        1,
    ),
    "the largest of many places": (
        {
            "forward": (
                "z = torch.where(x > 2.5, float('nan'), x)\na = torch.full_like(y, float('-inf')).scatter_reduce(0, i, z, 'amax')\n"
                "b = y.scatter_reduce(0, i, z, 'amin')\nc = y.scatter_reduce(0, i, x, 'amax', include_self=False)\n"
                "d = torch.zeros_like(y).scatter_reduce(0, i, x, 'mean', include_self=False)\n"
                "e = y.scatter_reduce(0, i, x, 'mean')\nreturn a, b, c, d, e"
            ),
            "inputs": "torch.randn(T), torch.randint(0, N, (T,)), torch.randn(N)",
            "constants": f"{SIZES}\nN = 300",
            "arguments": "x, i, y",
        },
        8,
    ),
    "a list of tensors": (
        {
            "forward": (
                "n = torch.sqrt(sum((g ** 2).sum() for g in gs))\nfor p, g in zip(ps, gs):\n    p.sub_(g * (0.1 / (n + 1e-6)))\n"
                "return n"
            ),
            "inputs": "[torch.randn(B, T), torch.randn(T)], (torch.randn(B, T), torch.randn(T))",
            "arguments": "ps, gs",
        },
        3,
    ),
    "quotients of integers": (
        {
            "forward": "return (i - 50) // j, (i - 50) // 4, x[o // 2], (i - 50) % -7",
            "inputs": "torch.randint(0, 100, (B,)), torch.where(torch.rand(B) < 0.5, -3, 5), torch.randn(B, 64), torch.randperm(2 * B)",
            "arguments": "i, j, x, o",
        },
        2,
    ),
    "quotients at the ends of a type": (
        {
            "forward": (
                "return b % c, b // c, torch.remainder(b, 100), torch.div(b, 100, rounding_mode='floor'), b // -77, u % v, u // v, "
                "u % 255, b % c.to(torch.int16), u % c, i % 2147483646, i // 3, i // j, i % j, i // 2147483647"
            ),
            "inputs": (
                "torch.arange(-128, 128).to(torch.int8), "
                "(((torch.arange(256) * 37 + 11) % 126 + 2) * torch.where(torch.arange(256) % 3 == 0, -1, 1)).to(torch.int8), "
                "torch.arange(256).to(torch.uint8), (255 - torch.arange(256) // 2).to(torch.uint8), "
                "torch.linspace(-2147483648, 2147483647, 256, dtype=torch.float64).to(torch.int32), "
                "torch.where(torch.arange(256) % 2 == 0, 2147483647, -2147483648).to(torch.int32)"
            ),
            "arguments": "b, c, u, v, i, j",
        },
        1,
    ),
    "powers of zeros with signs": (
        {
            "forward": "return x[:, None] ** y, x[:, None] ** -y",
            "inputs": (
                "torch.tensor([0.0, -0.0, -torch.inf, torch.inf, -1.0, -2.0, 1.0, 3.0, torch.nan]), "
                "torch.tensor([-1.0, 0.5, -0.5, 2.0, 3.0, 0.0, -3.0, torch.inf, torch.nan])"
            ),
            "arguments": "x, y",
        },
        1,
    ),
    "wide pools": ({"forward": "return F.max_pool2d(x, 9, 3, 4) - F.avg_pool2d(x, 9, 3, 4)", "inputs": "torch.randn(2, 3, 50, 31)"}, 1),
    "operands that are not zero beyond their end": (
        {
            "forward": (
                "s = (x + 1.0) @ (y + 1.0).t()\nn = torch.ones(9, x.shape[1], device=x.device)\n"
                "return torch.softmax(s / 6.0, -1) @ (1.0 / z), (x - 1.0) @ (y.t() + 2.0), n @ (y.t() + 1.0)"
            ),
            "inputs": "torch.randn(70, 40), torch.randn(50, 40), torch.rand(50, 24) + 0.5",
            "arguments": "x, y, z",
        },
        3,
    ),
    "complementary error function": (
        {
            "forward": "return torch.erfc(x), torch.tan(x[:-2])",
            "inputs": "torch.cat([torch.linspace(-6, 10, 998), torch.tensor([torch.inf, -torch.inf])])",
        },
        2,
    ),
    "a filter that looks back in what it makes": (
        {
            "forward": (
                "y = torch.zeros_like(x)\ny[:, 0] = x[:, 0]\ny[:, 1] = x[:, 1] - 0.3 * y[:, 0]\nfor t in range(2, x.shape[1]):\n"
                "    y[:, t] = x[:, t] + 0.5 * x[:, t - 1] - 0.3 * y[:, t - 1] + 0.2 * y[:, t - 2]\n"
                "z = x.clone()\nfor t in range(3, x.shape[1]):\n    z[:, t] += 0.4 * z[:, t - 1] - 0.2 * z[:, t - 3]\nreturn y, z * 2"
            ),
            "inputs": "torch.randn(9, T)",
            "constants": "T = 70\n",
        },
        1,
    ),
    "attention head by head in a loop over batches": (
        {
            "forward": (
                "g = q.shape[1] // k.shape[1]\np = torch.arange(q.shape[2], device=q.device)\nd = p[:, None] - p[None]\n"
                "o = torch.empty_like(q)\nfor i in range(q.shape[0]):\n    for j in range(q.shape[1]):\n"
                "        s = (q[i, j].float() @ k[i, j // g].float().T) * q.shape[3] ** -0.5\n"
                "        s = s.masked_fill((d < 0) | (d >= 20), float('-inf')).softmax(-1)\n"
                "        o[i, j] = (s @ v[i, j // g].float()).to(q.dtype)\nreturn o"
            ),
            "inputs": "torch.randn(B, 6, T, 16).half(), *(torch.randn(B, 3, T, 16).half() for _ in range(2))",
            "constants": "B = 7\nT = 70\n",
            "arguments": "q, k, v",
        },
        1,
    ),
    "a loop in a loop in a loop": (
        {
            "forward": (
                "o = x.new_full((x.shape[0], 5, 2 * x.shape[1] + 3, 6), 4.0)\nfor i in range(x.shape[0]):\n    a = x[i] * 2.0\n"
                "    for j in reversed(range(x.shape[1])):\n        b = a[j] + y[j]\n        for c in range(5):\n"
                "            e = b * torch.sigmoid(y[c])\n            o[i, c, j] = e\n"
                "            o[i, c, x.shape[1] + 3 + j] = e.sum() - b\nreturn o"
            ),
            "inputs": "torch.randn(B, T, 6), torch.randn(T, 6)",
            "constants": "B = 7\nT = 40",
            "arguments": "x, y",
        },
        1,
    ),
    "results of rounds put into what is handed on": (
        {
            "forward": (
                "a = torch.empty_like(r)\nh = torch.zeros_like(r[0])\nfor t in range(r.shape[0] - 1, -1, -1):\n"
                "    h = torch.addcmul(r[t], d[t], h, out=a[t])\nn = r.shape[1]\nc = r.new_zeros(r.shape[0], 2 * n)\n"
                "e = r.new_ones(r.shape[0], 3, n)\ng = r[:, 0]\nfor t in range(n):\n    g = g * 0.5 + d[:, t]\n    c[:, t] = g\n"
                "    c[:, n + t] = -g\n    e[:, 0, t] = g\n    e[:, 2, t] = torch.tanh(g)\nreturn a, c, e"
            ),
            "inputs": "torch.randn(37, T), torch.rand(37, T)",
            "constants": "T = 70\n",
            "arguments": "r, d",
        },
        4,
    ),
    "linear attention": (
        {
            "forward": (
                "n = q.shape[1]\ns, p, o = s0, s0 * 0.0, []\nfor t in range(n):\n"
                "    u = torch.einsum('bhd,bhde->bhe', q[:, t], p) / 4.0\n    a = k[:, t, :, :, None] * v[:, t, :, None, :]\n"
                "    s = s * g[:, t, :, None, None] + a\n    p = p * torch.exp(-w)[None, :, None, None] + a\n"
                "    o.append((q[:, t, :, :, None] * s).sum(2) + u)\nreturn torch.stack(o, 1), s"
            ),
            "inputs": (
                "*(torch.randn(2, K, 4, 32) / 4 for _ in range(3)), torch.randint(-1, 2, (2, K, 4)).float(), torch.rand(4), "
                "torch.randn(2, 4, 32, 32)"
            ),
            "constants": "K = 512",
            "arguments": "q, k, v, g, w, s0",
        },
        2,
    ),
    "numbers that float32 does not hold": (
        {
            "forward": (
                "h = x[:, 0] * x[:, 0]\no = torch.empty_like(x)\no[:, 0] = h\nfor t in range(1, x.shape[1]):\n"
                "    h = self.keep * h + (1.0 - self.keep) * x[:, t] ** 2\n    o[:, t] = h\n"
                "return torch.sqrt(self.scale * o), torch.where(x > self.keep, x / 0.3, 0.7), x.clamp(min=-0.1, max=0.9) * 0.1 - 1e300"
            ),
            "inputs": "torch.cat([torch.rand(B, T - 2, dtype=torch.float64), torch.full((B, 2), 0.9, dtype=torch.float64)], 1)",
            "constants": f"{SIZES}\nKEEP = 0.9\nSCALE = 252.1",
            "init": "self.keep = keep\nself.scale = scale",
            "parameters": "keep, scale",
            "given": "KEEP, SCALE",
        },
        1,
    ),
    "states of doubles in registers": (
        {
            "forward": "h = x[:, 0]\nfor t in range(1, x.shape[1]):\n    h = h * 0.3 + h.roll(1, -1) * 0.6 + x[:, t] * 0.1\nreturn h",
            "inputs": "torch.rand(5, T, 16, dtype=torch.float64)",
            "constants": "T = 70\n",
        },
        1,
    ),
    "parameter": (
        {
            "forward": "return x * self.w + self.shift",
            "init": "self.w = nn.Parameter(torch.ones(t))\nself.shift = shift",
            "parameters": "t, shift",
            "given": "T, SHIFT",
            "constants": f"{SIZES}\nSHIFT = 0.25",
        },
        1,
    ),
}  # fmt: skip
