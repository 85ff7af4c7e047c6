"""KL601 and KL507: Python loops whose iterations are independent, and those that are the steps of a recurrence."""

import pytest
from support.findings import run_rule

from kernlint.workload import Repeat

DOUBLE = """
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

@triton.jit
def double_row(x, y, row, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + row * n + i, tl.load(x + row * n + i, mask=i < n) * 2.0, mask=i < n)

def one(piece, target):
    double[(triton.cdiv(piece.numel(), 1024),)](piece, target, piece.numel(), BLOCK=1024)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        n = x[0].numel()
        grid = (triton.cdiv(n, 1024),)
        {body}

def get_inputs():
    return [torch.randn({shape})]
"""


def program(body, shape="32, 4096"):
    lines = body.strip("\n").split("\n")
    return DOUBLE.replace("{body}", ("\n" + " " * 8).join(lines)).replace("{shape}", shape)


@pytest.mark.parametrize(
    ("body", "shape", "count"),
    [
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(len(x)):\n    one(x[b], y[b])\nreturn y",
            "32, 4096",
            32,
            id="helper",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(x.size(0)):\n    src, dst = x[b], y[b]\n"
            "    double[grid](x=src, y=dst, n=n, BLOCK=1024)\nreturn y",
            "32, 4096",
            32,
            id="keywords and names",
        ),
        pytest.param("for b in range(x.shape[0]):\n    one(x[b], x[b])\nreturn x", "32, 4096", 32, id="in place"),
        pytest.param(
            "y = torch.empty_like(x)\nb = 0\nwhile b < x.shape[0]:\n    one(x[b], y[b])\n    b += 1\nreturn y",
            "32, 4096",
            32,
            id="a while that counts",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor a, b in zip(x, y):\n    one(a, b)\nreturn y",
            "32, 4096",
            32,
            id="views in turn",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(x.shape[0]):\n    double_row[grid](x, y, b, n, BLOCK=1024)\nreturn y",
            "32, 4096",
            32,
            id="index passed to the kernel",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(x.shape[0]):\n    for h in range(x.shape[1]):\n"
            "        one(x[b, h], y[b, h])\nreturn y",
            "4, 8, 4096",
            32,
            id="nest",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(x.shape[0]):\n    t = torch.empty_like(x[b])\n"
            "    one(x[b], t)\n    one(t, y[b])\nreturn y",
            "32, 4096",
            32,
            id="scratch of its own",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor start in range(0, x.shape[0], 4):\n    one(x[start:start + 4], y[start:start + 4])\nreturn y",
            "32, 4096",
            8,
            id="chunks",
        ),
        pytest.param(
            "outs = []\nfor b in range(x.shape[0]):\n    t = torch.empty_like(x[b])\n"
            "    one(x[b], t)\n    outs.append(t)\nreturn torch.stack(outs)",
            "32, 4096",
            32,
            id="stacked",
        ),
        pytest.param(
            "y, at = torch.empty_like(x), 0\nfor b in range(x.shape[0]):\n"
            "    one(x.view(-1)[at:at + n], y.view(-1)[at:at + n])\n    at += n\nreturn y",
            "32, 4096",
            32,
            id="a place that is counted on",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(x.shape[0]):\n    double[grid](x[b:], y[b], n, BLOCK=1024)\nreturn y",
            "32, 4096",
            32,
            id="what is read begins where the round does",
        ),
    ],
)
def test_independent_iterations_are_one_launch(body, shape, count):
    found = run_rule("KL601", program(body, shape))
    assert found.only().symbol == "ModelNew.forward"
    assert f" {count} times" in found.only().message
    assert found.promised() > 1.2


def test_open_sizes_are_found_without_a_number():
    source = DOUBLE.split("class ModelNew")[0] + (
        "def run(x: torch.Tensor, y: torch.Tensor):\n    for b in range(x.shape[0]):\n        one(x[b], y[b])\n"
    )
    assert run_rule("KL601", source).only().change is not None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "y = torch.empty_like(x[0])\nb = 0\nwhile b < 32:\n    one(x[0], y)\n    b += 1\nreturn y",
            id="the same in a while",
        ),
        pytest.param(
            "y = torch.empty_like(x[0])\nfor b in range(32):\n    one(x[0], y)\nreturn y", id="the same work again"
        ),
        pytest.param(
            "y = torch.empty_like(x[0])\nfor b in range(32):\n    one(x[b], y)\nreturn y", id="one output for all"
        ),
        pytest.param(
            "y = torch.zeros_like(x)\nh = x[0]\nfor b in range(32):\n    one(h, y[b])\n    h = y[b]\nreturn y",
            id="state handed on",
        ),
        pytest.param("for b in range(31):\n    one(x[b], x[b + 1])\nreturn x", id="reads what the last one wrote"),
        pytest.param(
            "a, b = x.clone(), torch.empty_like(x)\nfor t in range(32):\n    one(a, b)\n    a, b = b, a\nreturn a",
            id="two buffers in turn",
        ),
        pytest.param(
            "ys = [torch.empty_like(x[0]) for _ in range(2)]\nfor b in range(32):\n    one(x[b], ys[b % 2])\nreturn ys",
            id="one of two outputs",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(32):\n    one(x[b:], y[b:])\nreturn y",
            id="rounds that write over another",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(32):\n    one(x[b], y[16])\n    one(x[b], y[b])\nreturn y",
            id="a place that all write",
        ),
        pytest.param(
            "y, start = torch.empty_like(x), True\nfor b in range(32):\n    one(x[b], y[b] if b else y[0])\nreturn y",
            id="something else at first",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(32):\n    one(x[b], y[b])\n    if y[b].sum() > 0:\n        break\nreturn y",
            id="stops early",
        ),
        pytest.param(
            "y = torch.empty_like(x)\nfor b in range(32):\n    s = x[b].max().item()\n    one(x[b], y[b])\nreturn y",
            id="waits for the device",
        ),
        pytest.param("y = torch.empty_like(x)\none(x, y)\nreturn y", id="no loop"),
        pytest.param(
            "h = x[0]\nfor b in range(32):\n    t = torch.empty_like(h)\n    one(h, t)\n    h = t\nreturn h",
            id="iteration",
        ),
    ],
)
def test_dependent_or_identical_iterations_stay(body):
    assert not run_rule("KL601", program(body))


CELL = """
@triton.jit
def cell(x, h, w, u, out, B, sx, sh, so, I: tl.constexpr, H: tl.constexpr, BB: tl.constexpr):
    b = tl.program_id(0) * BB + tl.arange(0, BB)
    i, j = tl.arange(0, I), tl.arange(0, H)
    acc = tl.dot(tl.load(x + b[:, None] * sx + i[None, :]), tl.load(w + j[None, :] * I + i[:, None]))
    acc += tl.dot(tl.load(h + b[:, None] * sh + j[None, :]), tl.load(u + j[None, :] * H + j[:, None]))
    tl.store(out + b[:, None] * so + j[None, :], tl.sigmoid(acc).to(tl.float16))

@triton.jit
def activate(g, r, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.sigmoid((tl.load(g + i) + tl.load(r + i)).to(tl.float32)).to(tl.float16))

B, T, I, H = 256, 64, 64, 128

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(H, I, dtype=torch.float16))
        self.u = torch.nn.Parameter(torch.randn(H, H, dtype=torch.float16))

    def step(self, x, h, out):
        cell[(B // 16,)](x, h, self.w, self.u, out, B, x.stride(0), h.stride(0), out.stride(0), I=I, H=H, BB=16)

    def forward(self, x):
        out = torch.empty(B, T, H, device=x.device, dtype=x.dtype)
        state = torch.zeros(B, H, device=x.device, dtype=x.dtype)
        {body}

def get_inputs():
    return [torch.randn(B, T, I, dtype=torch.float16)]
"""


def recurrence(body):
    return CELL.replace("{body}", ("\n" + " " * 8).join(body.strip("\n").split("\n")))


REBOUND = "for t in range(T):\n    now = out[:, t]\n    self.step(x[:, t], state, now)\n    state = now\nreturn out"


@pytest.mark.parametrize(
    ("body", "projections"),
    [
        pytest.param(REBOUND, 1, id="state rebound to the output"),
        pytest.param(
            "for t in range(T):\n    new = torch.empty_like(state)\n    self.step(x[:, t], state, new)\n    state = new\nreturn state",
            1,
            id="new state each step",
        ),
        pytest.param("for t in range(T):\n    self.step(x[:, t], state, state)\nreturn state", 1, id="state in place"),
        pytest.param(
            "for t in range(T):\n    g = torch.nn.functional.linear(x[:, t], self.w)\n    r = torch.nn.functional.linear(state, self.u)\n"
            "    new = torch.empty_like(state)\n    activate[(B * H // 1024,)](g, r, new, B * H, BLOCK=1024)\n"
            "    state = new\nreturn state",
            1,
            id="torch products, fused activation",
        ),
    ],
)
def test_recurrence_becomes_two_kernels(body, projections):
    found = run_rule("KL507", recurrence(body))
    assert found.only().symbol == "ModelNew.forward"
    after = found.after()
    assert not any(isinstance(step, Repeat) for step in after.steps)
    names = [launch.kernel.name for launch in after.launches()]
    assert names == ["input_projection"] * projections + ["recurrence"]
    dot = after.launches()[-1].kernel.dots()[0]
    assert (dot.n, dot.k) == (128, 128)
    assert not run_rule("KL601", recurrence(body))


def test_a_weight_too_large_for_the_chip_keeps_the_loop():
    assert not run_rule("KL507", recurrence(REBOUND), H=512)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "for t in range(T):\n    self.step(x[:, t], state, out[:, t])\nreturn out", id="state never changes"
        ),
        pytest.param("self.step(x[:, 0], state, out[:, 0])\nreturn out", id="one step"),
        pytest.param(
            "rows = torch.empty(T, B, I, device=x.device, dtype=x.dtype)\nfor t in range(T):\n    rows[t].copy_(x[:, t])\n"
            "    self.step(rows[t], state, out[:, t])\nreturn out",
            id="a product of what the round has written itself",
        ),
        pytest.param(
            "for t in range(T):\n    new = torch.empty_like(state)\n    activate[(B * H // 1024,)](state, state, new, B * H, BLOCK=1024)\n"
            "    state = new\nreturn state",
            id="no product",
        ),
        pytest.param(
            "for t in range(T):\n    self.step(x[:, t], state, out[:, t])\n    state.item()\nreturn out", id="waits"
        ),
    ],
)
def test_no_recurrent_product(body):
    assert not run_rule("KL507", recurrence(body))
