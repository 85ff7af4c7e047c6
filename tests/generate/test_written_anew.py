"""Kernels written from the values of a reference: what they look like, what is refused, and that they compute it."""

from __future__ import annotations

import ast
import re

import pytest
from support.generated import CASES, SIZES, TWO, attempt
from support.torch_programs import program

from kernlint.operators.generate import FIXED, UNPROVEN
from kernlint.rewrite.text import apply_edits


def written(forward: str, inputs: str = TWO, constants: str = SIZES, arguments: str = "x", **more: str) -> str:
    source, reference = program(forward, inputs, constants, arguments, **more)
    made = attempt(source, reference)
    assert made.rewriting is not None, made.reason
    assert made.rewriting.effects.applicability == "unsafe"
    assert made.rewriting.effects.notes[0] == UNPROVEN
    text = apply_edits(source, made.rewriting.edits)
    assert not _read_too_early(text)
    assert not re.search(r"(?<!\w)\(-?[\d.]+\)\.to\(", text)  # a number has no `.to`
    return text


def _read_too_early(text: str) -> set[str]:
    """The names that the functions in ``text`` bind, and read above that."""
    found = set[str]()
    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)):
        given = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id not in given]
        stores = sorted((node.lineno, node.id) for node in names if isinstance(node.ctx, ast.Store))
        bound = {name: line for line, name in reversed(stores)}
        found |= {node.id for node in names if isinstance(node.ctx, ast.Load) and node.lineno < bound.get(node.id, 0)}
    return found


def refused(forward: str, inputs: str = TWO, constants: str = SIZES, arguments: str = "x", **more: str) -> str:
    made = attempt(*program(forward, inputs, constants, arguments, **more))
    assert made.rewriting is None
    return made.reason


@pytest.mark.parametrize("name", CASES)
def test_kernels_of_known_forms(name: str) -> None:
    options, count = CASES[name]
    text = written(**options)
    assert len(re.findall(r"^def \w+_kernel\(", text, re.MULTILINE)) == count
    assert "slow_kernel" not in text  # nothing uses it any more


def test_operands_are_masked_where_they_are_not_zero_beyond_their_end() -> None:
    two = {"inputs": "torch.randn(B, T), torch.randn(T, B)", "arguments": "x, y"}
    assert "tl.where(k_mask" in written("return (x + 1.0) @ y", **two)
    assert "tl.where(k_mask" in written("return x @ (1.0 - y)", **two)
    assert "tl.where(k_mask" not in written("return (x * 2.0) @ torch.where(y > 0.5, y, 0.0)", **two)


_HANDED_ON = "a Python loop in another one, of which one hands something on"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    s = x[i, 0]\n    for j in range(T):\n        s = s + x[i, j]\n        o[i, j] = s", _HANDED_ON),
        ("    for j in range(T):\n        s = s + x[i, j]\n        o[i, j] = s", _HANDED_ON),
        ("    s = s + x[i, 0]\n    for j in range(T):\n        o[i, j] = x[i, j] + s", _HANDED_ON),
        ("    s *= 0.5\n    for j in range(T):\n        o[i, j] = x[i, j] + s", _HANDED_ON),
        ("    for j in range(T):\n        o[i + 1, j] = o[i, j] + x[i, j]", _HANDED_ON),
        ("    for j in range(T):\n        o[i, j + 1] = o[i, j] + x[i, j]", "reads what it has put elsewhere"),
        ("    for j in range(T):\n        o[i, j] = x[i, j] + o.sum()", "reads what it has put elsewhere"),
        ("    for j in range(T):\n        o[i, j] = x[i, j] + p[j]", "reads what it has put elsewhere"),
        ("    for j in range(T):\n        o[i, 0] += x[i, j]", "places that overlap"),
        ("    for j in range(T):\n        o[j, i + j] = x[i, j] * 2", "no rectangle"),
        ("    for j in range(T):\n        o[0, j] = x[i, j]", "changes what is made around it"),
        ("    a = x[i] * 2\n    for j in range(T):\n        a[j] = x[i, 0]\n        o[i, j] = a[j]", "made around it"),
        ("    for j in range(i + 1):\n        o[i, j] = x[i, j]", "not known how often it goes round"),
        ("    for j in range(T):\n        a = x[i, j] * 2\n    o[i, 0] = a", "what is no torch function"),
    ],
)
def test_loops_in_loops_that_need_one_another_are_refused(body: str, reason: str) -> None:
    """Rounds of several loops are places of one result only where no round changes what another one makes."""
    forward = f"s = x[0, 0] * 3.0\no = torch.zeros(B + T, B + T, device=x.device)\np = o[0]\nfor i in range(B):\n{body}\nreturn o"
    assert reason in refused(forward, "torch.randn(B, T)", "B = 40\nT = 50")


def test_numbers_that_the_object_has_come_from_there() -> None:
    assert "self.shift" in written(**CASES["parameter"][0])


def test_sizes_are_read_when_it_runs() -> None:
    text = written(**CASES["row"][0])
    assert "640" not in text.split("class ModelNew")[1] and "x.shape" in text


def test_a_size_that_decides_is_checked() -> None:
    forward = "total = x[:, 0]\nfor i in range(1, K):\n    total = total + x[:, i]\nreturn total"
    text = written(forward, "torch.randn(B, K)", "B = 64\nK = 3")
    assert "assert x.shape[1] == 3" in text
    source, reference = program(forward, "torch.randn(B, K)", "B = 64\nK = 3", "x")
    made = attempt(source, reference)
    assert made.rewriting is not None and FIXED in made.rewriting.effects.notes


def test_sizes_are_read_before_it_is_asked_whether_they_divide_others() -> None:
    forward = "n = x.shape[0] // y.shape[0]\nreturn (x.view(n, y.shape[0], -1) * y[None, :, None]).sum(1)"
    text = written(forward, "torch.randn(B * T, 64), torch.randn(B)", arguments="x, y")
    assert "assert x.shape[0] % " in text
    assert _read_too_early("def f(x):\n    assert x % N == 0\n    N = 3\n    return N") == {"N"}


def test_a_size_that_is_a_part_is_a_whole_part() -> None:
    text = written("return x.view(B, T) * 2.0 - x.view(B, T).mean()", "torch.randn(B * T)")
    assert "assert x.shape[0] % 48 == 0" in text or "// 48" not in text


@pytest.mark.parametrize("forward", ["return x.sum(0)", "return x.t().contiguous()", "return x.t() @ x"])
def test_places_in_large_tensors_are_wide(forward: str) -> None:
    assert ".to(tl.int64)" in written(forward, constants="B = 3000000\nT = 1024").replace(
        "program_id(0).to(tl.int64)", ""
    )
    assert ".to(tl.int64)" not in written(forward, constants="B = 3000\nT = 1024").replace(
        "program_id(0).to(tl.int64)", ""
    )


def test_a_product_of_sizes_is_one_argument() -> None:
    """Triton knows of an argument what it is a multiple of, of a product of two nothing."""
    text = written("return x.sum(1)", "torch.randn(4, B, H, W)", "B = 48\nH = 56\nW = 40")
    assert "cols * h_w + row" in text and "H * W, B, B * H * W" in text


def test_neighbouring_programs_read_neighbouring_memory() -> None:
    text = written("return x.sum(1)", "torch.randn(4, B, H, W)", "B = 48\nH = 56\nW = 40")
    assert "(4 * triton.cdiv(H * W, 64),)" in text and "outer = (pid // tiles)" in text


def test_columns_are_summed_in_the_order_of_memory() -> None:
    """Also where the order of axes is another: places are then no quotients and remainders."""
    for forward in ("x.transpose(1, 2).square().sum((1, 2))", "x.transpose(1, 2).amax((1, 2))"):
        assert " % " not in written(f"return {forward}", "torch.randn(B, 300, T)", "B = 64\nT = 4096")
    # Which place it is goes by the order of axes.
    assert " % " in written(
        "return x.transpose(1, 2).reshape(B, -1).argmax(1)", "torch.randn(B, 300, T)", "B = 64\nT = 4096"
    )


@pytest.mark.parametrize(("width", "held"), [(2048, True), (30000, True), (40000, False)])
def test_rows_are_held_where_registers_hold_them(width: int, held: bool) -> None:
    text = written("return x - x.mean(-1, keepdim=True)", constants=f"B = 4096\nT = {width}")
    assert ("for start in" not in text) == held


def test_few_tiles_of_a_deep_product_share_its_depth() -> None:
    text = written("return x.t() @ x", constants="B = 200000\nT = 128")
    assert "CHUNKS=" in text
    # A mask that ends at a minimum would make the loads of the loop narrow; parts end with a step.
    assert "k_mask = ks < last" not in text and re.search(r"for start in range\(chunk \* length, last, BK\)", text)
    assert "CHUNKS=" not in written("return x.t() @ x", constants="B = 4096\nT = 4096")


def test_a_view_one_step_aside_is_an_index_one_step_on() -> None:
    text = written(**CASES["neighbours"][0])
    assert "//" not in text.split("def fused_kernel")[1].split("class ModelNew")[0]


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        ("return torch.sort(x).values", "sort"),
        ("y = x.clone()\ntorch.cumsum(x, 1, out=y)\nreturn y", "`out`"),
        ("y = x.clone()\nz = torch.where(x > 0, x, 1.0, out=y)\nreturn y + z", "`out`"),
        ("y = x.new_zeros(B)\ni = torch.zeros_like(y).long()\ntorch.max(x, 1, out=(y, i))\nreturn y", "`out`"),
        ("y = x.new_zeros(2 * B, T)\ntorch.cat([x, x], out=y)\nreturn y", "`out`"),
        ("return float('inf') ** x", "a power"),
        ("return x.to(torch.uint8) % 300", "that no uint8 holds"),
        ("return torch.topk(x, 20)[0]", "many"),
        (
            "h = x[:, 0]\nfor t in range(T):\n    h = h * 0.5 + torch.sort(x[:, t] * h.sum()).values\nreturn h",
            "sort",
        ),
        ("h = x\nfor _ in range(99):\n    h = torch.tanh(h @ h.t()) @ x\nreturn h", "too large"),
        ("h = x > 0\nfor _ in range(99):\n    h = h.any(-1, keepdim=True) & (x > -1)\nreturn h", "truth"),
        ("h = x.long()\nfor _ in range(99):\n    h = (h + h.sum(-1, keepdim=True)) % 97\nreturn h", "sums in int64"),
        ("for _ in range(99):\n    x.mul_(0.5).add_(x.sum(0) * 0.1)\nreturn x", "in place"),
        (
            "h = x[:, :4]\nfor _ in range(99):\n    h = h * torch.softmax(h, 0) + h[[3, 2, 1, 0]].sum(0)\nreturn h",
            "no kernels",
        ),
        ("h = x[:, 0]\nfor t in range(T):\n    h = h * 0.5 if t == 7 else h + x[:, t]\nreturn h", "condition"),
        (
            "a = [0.1 * i for i in range(T)]\nh = x[:, 0]\nfor t in range(T):\n    h = h * a[t] + x[:, t]\nreturn h",
            "arguments",
        ),
        (
            "h = x[:, 0]\nfor t in range(T):\n    if t == 7:\n        break\n    h = h * 0.5 + x[:, t]\nreturn h",
            "condition",
        ),
        (
            "h = x[:, 0]\nk = 1.0\nfor t in range(T):\n    k = k * 0.5\n    h = h * k + x[:, t]\nreturn h",
            "differ in a number",
        ),
        (
            "p = x[:, 1]\nq = p\nh = p * 0.0\nfor t in range(T):\n    h = h + q * x[:, t]\n    q = p\n    p = x[:, t]\nreturn h",
            "no law",
        ),
        (
            "p = x[:, 1]\nq = p\nh = p\nfor t in range(T):\n    h = 1.5 * p - 0.6 * q + x[:, t]\n    q = p\n    p = h\nreturn h",
            "no law",
        ),
        (
            "s = (x[:, 1], x[:, 1])\nh = x[:, 2]\nfor t in range(T):\n    h = h * s[1] + x[:, t]\n    s = (h, s[0])\nreturn h",
            "no law",
        ),
        (
            "k = j = 1.0\nh = x[:, 2]\nfor t in range(T):\n    h = h * j + x[:, t]\n    j = k\n    k = k * 0.5\nreturn h",
            "no law",
        ),
        (
            "p = x[:, 1]\nh = p * 0.0\nf = True\nfor t in range(T):\n    h = h + (p if f else x[:, t]) * x[:, t]\n    f = False\nreturn h",
            "look at",
        ),
        (
            "y = x.clone()\np = y[:, 0]\nh = p * 0.0\nfor t in range(T):\n    y[:, t] = h\n    h = h + p\n    p = y[:, t]\nreturn h",
            "a part of a tensor that it changes",
        ),
        ("x = x.clone()\nfor t in range(9, T):\n    x[:, t] = x[:, t] + x[:, t - 9]\nreturn x", "elsewhere"),
        ("x = x.clone()\nfor t in range(1, T - 1):\n    x[:, t] = x[:, t - 1] + x[:, t + 1]\nreturn x", "elsewhere"),
        ("x = torch.ones_like(x)\nfor t in range(T):\n    x[:, t] = x[:, t - 1] * 0.5\nreturn x", "goes beyond"),
        (
            "y = x.new_zeros(B, T + 1)\nfor t in range(T):\n    y[:, t] = x[:, t]\n    y[:, t + 1] = -x[:, t]\nreturn y",
            "overlap",
        ),
        (
            "y = x.clone()\nh = y[0] * 0.0\nfor t in range(B - 1):\n    y[t] = h * 0.5 + 1.0\n    h = y[t + 1]\nreturn y, h",
            "hands on a part of a tensor",
        ),
        (
            "y = x.clone()\nh = y[0] * 0.0\nfor t in range(B):\n    h = torch.add(h, x[t], out=y[t])\n    y.mul_(0.5)\nreturn y, h",
            "elsewhere",
        ),
        ("y = x.t().contiguous()\nx.copy_(y.t().flip(0))\nreturn x", "other elements"),
        ("for t in range(T):\n    x[:, t] = x[:, t] + t\nreturn x", "in place"),
        ("return x.cummax(-1).indices", "bits"),
        ("x[x[:, 0].long()] *= 2.0\nreturn x", "other elements"),
        ("y = x.clone()\nx[x[:, 0].long()] = 2.0\nreturn x + y", "before all is read"),
        ("y = x.double()\ny[x[:, 0].long()] = x\nreturn y", "an assignment of float32"),
        ("return x[x[0].to(torch.uint8)]", "masks"),
        ("y = x.clone()\ny[:, 3, None, x[0].long()] = 0.0\nreturn y", "not known"),
        ("y = x.clone()\ny[[3, 5]] = x[:2]\nreturn y", "indexing"),
        ("y = x.clone()\ny[x > 0] = x[x > 0]\nreturn y", "no kernels"),
        (
            "h = x[:, 0]\no = []\nfor t in range(T):\n    h = h + x[:, t]\n    o.append(h)\nreturn torch.stack(o[1:]).sum(0)",
            "not known",
        ),
        (
            "self.n = 0\nh = x[:, 0]\nfor t in range(T):\n    self.n += 1\n    h = h + x[:, t]\nreturn h / self.n",
            "rounds",
        ),
        (
            "n = {'n': 0}\nh = x[:, 0]\nfor t in range(T):\n    n['n'] += 1\n    h = h + x[:, t]\nreturn h / n['n']",
            "rounds",
        ),
        ("h = x[:, 0]\nn = 0\nfor t in range(T):\n    n += 1\n    h = h + x[:, t]\nreturn h / n", "not known"),
        (
            "m = x[:, 0] > 0\no = []\nfor t in range(T):\n    m = m | (x[:, t] > 1)\n    o.append(m)\nreturn torch.stack(o)",
            "truth",
        ),
        ("return x if x.sum() > 0 else -x", "condition"),
        ("if x.sum() > 0:\n    x = -x\nreturn x", "condition"),
        ("with torch.autocast('cuda'):\n    return x @ x.t()", "autocast"),
        ("return x.view(torch.int32) + 1", "bits of float32"),
        ("return x.double().argmax(-1)", "extreme of float64"),
        ("return x.index_add_(0, torch.arange(B), x)", "other elements"),
        ("return torch.zeros(B * 9, T).half().index_add_(0, x[:, 0].long(), x.half())", "many places"),
        ("return torch.fft.fft(x)", "no kernels can be written"),
        ("return torch.div(x, 0.1, rounding_mode='floor')", "next integer"),
        ("return x.double().var()", "of float64 step by step"),
        ("return (x.double() @ x.double().t()) @ x.double()", "product of float64"),
        ("return torch.nn.functional.embedding(x[0].long() % 4, x, max_norm=1.0)", "scaled as they are looked up"),
        ("return torch.linalg.cross(x[:3, :3], x[:3, 1:4])", "vectors of three"),
        ("return x[:1].var(0, correction=2)", "a correction"),
        (
            "return torch.nn.functional.interpolate(x[None, None].double(), scale_factor=1.5, mode='bilinear').float()",
            "float64",
        ),
    ],
)
def test_what_is_not_written_says_why(forward: str, reason: str) -> None:
    assert reason in refused(forward)


def test_what_is_changed_in_place_is_read_before() -> None:
    swapped = "o = x.clone()\nx.copy_(y.t())\ny.copy_(o.t())\nreturn x"
    reason = refused(swapped, inputs="torch.randn(B, T), torch.randn(T, B)", arguments="x, y")
    assert "before all is read" in reason


def test_layouts_that_decide_what_is_written_are_asserted() -> None:
    """Whether a reshape is the argument itself depends on how that lies in memory."""
    updated = "z = x.t().reshape(-1)\nz.add_(1.0)\nreturn x.sum(0), z.sum()"
    assert "assert x.is_contiguous()" in written(updated)
    kept = written("z = x.t().reshape(-1)\nreturn x.sum(0), (z + 1.0).sum()")
    assert "x = x.contiguous()" in kept and "is_contiguous" not in kept


def test_a_function_that_makes_nothing_is_left_alone() -> None:
    assert "nothing is returned" in refused("y = x + 1.0")


def test_a_grid_is_no_larger_than_cuda_takes() -> None:
    """The axis of most programs is the first, the others have 65,535 at most."""
    small = {"forward": "return torch.bmm(x, x)", "inputs": "torch.randn(B, T, T)"}
    assert "batch = tl.program_id(1)" in written(**small, constants="B = 65535\nT = 32")
    assert "batch = tl.program_id(0)" in written(**small, constants="B = 65536\nT = 32")
    assert "than CUDA launches" in refused(**small, constants="B = 65536\nT = 65536")


@pytest.mark.parametrize(
    ("by_place", "by_name"),
    [
        ('F.huber_loss(x, y, "sum", 0.25)', 'F.huber_loss(x, y, reduction="sum", delta=0.25)'),
        ('nn.HuberLoss("sum", 0.25)(x, y)', 'F.huber_loss(x, y, reduction="sum", delta=0.25)'),
        ('nn.MSELoss(None, None, "sum")(x, y)', 'F.mse_loss(x, y, reduction="sum")'),
        ('F.smooth_l1_loss(x, y, None, None, "mean", 0.5)', "F.smooth_l1_loss(x, y, beta=0.5)"),
        ("nn.CrossEntropyLoss(None, None, 7)(x, i)", "F.cross_entropy(x, i, ignore_index=7)"),
    ],
)
def test_a_loss_is_told_by_place_what_it_is_told_by_name(by_place: str, by_name: str) -> None:
    given = {"inputs": "torch.randn(B, T), torch.randn(B, T), torch.randint(0, T, (B,))", "arguments": "x, y, i"}
    first, second = (written(f"return {one}", **given).replace(one, "") for one in (by_place, by_name))
    assert first == second


@pytest.mark.parametrize(
    "loss", ["nn.L1Loss(False)(x, y)", "F.mse_loss(x, y, size_average=False)", "F.huber_loss(x, y, 'sum', 1.0, x)"]
)
def test_what_a_loss_is_told_is_not_overheard(loss: str) -> None:
    reason = refused(f"return {loss}", inputs="torch.randn(B, T), torch.randn(B, T)", arguments="x, y")
    assert "size_average" in reason or "weight" in reason


def test_a_doubling_chain_ends() -> None:
    steps = "\n".join(
        "x = torch.cat([x[:, : T // 2] + x[:, T // 2 :], x[:, : T // 2] - x[:, T // 2 :]], -1)" for _ in range(24)
    )
    assert refused(f"{steps}\nreturn x")


def test_slices_by_numbers_ask_for_axes_that_are_long_enough():
    text = written(forward="return x[:, :17] + x[3, 2], x[:, 1:] - x[:, :-1]")
    assert "assert T >= 17\n" in text and "assert B >= 4\n" in text and text.count("assert") == 3


def test_a_truth_value_that_becomes_a_number_is_one():
    forward = "y = x * 2\ny[i] = 1\ny[:, j] = True\nreturn y"
    given = "torch.randn(B, T), torch.randperm(B)[:40], torch.randperm(T)[:10]"
    assert "True" not in written(forward, given, arguments="x, i, j").split("class ModelNew")[0]


FILLED = "h = x\no = []\nfor t in range(40):\n    h = h * 0.5 + y[t]\n    o.append(h)\n"


@pytest.mark.parametrize(
    "more",
    [
        "return torch.stack(o + [h], 1)",
        "return torch.stack([h] + o[::-1], 1)",
        "return torch.stack(o * 2, 1)",
        "o.pop()\nreturn torch.stack(o, 1)",
        "o.clear()\no.append(h)\nreturn torch.stack(o, 1)",
        "o[0] = h\nreturn torch.stack(o, 1)",
        "o[5] = x\nreturn torch.stack(o, 1)",
        "for t in range(40):\n    o.append(x * 2)\nreturn torch.stack(o, 1)",
        "p = [x]\np += o\nreturn torch.stack(p, 1)",
        "o[0].mul_(2)\nreturn torch.stack(o, 1)",
        "o[0][:, 0] = 3.0\nreturn torch.stack(o, 1)",
        "h.mul_(2)\nreturn torch.stack(o, 1)",
        "h[:, 0] = 3.0\nreturn torch.stack(o, 1)",
        "p = [x]\np.extend(o)\nreturn torch.stack(p, 1)",
    ],
)
def test_a_list_that_many_rounds_fill_is_not_taken_for_another(more: str) -> None:
    """Of such a list the elements of one round are known: what is made of these alone is another list."""
    refused(FILLED + more, "torch.randn(B, T), torch.randn(40, B, T)", "B = 7\nT = 21", "x, y")


@pytest.mark.parametrize(("more", "length"), [("", 40), ("o.pop()", 39), ("o.append(h)", 41)])
def test_the_length_of_a_list_that_many_rounds_fill(more: str, length: int) -> None:
    text = written(
        f"{FILLED}{more}\nreturn x * len(o)", "torch.randn(B, T), torch.randn(40, B, T)", "B = 7\nT = 21", "x, y"
    )
    assert re.search(rf"\b{length}\b", text.split("def forward")[0])


def test_settings_of_a_loss_by_place() -> None:
    loss = "return F.cross_entropy(x, y, None, None, 4, None, 'none', 0.1)"
    text = written(loss, "torch.randn(B, T), torch.randint(0, T, (B,))", "B = 64\nT = 10", "x, y")
    assert re.search(r"out = torch\.empty\(\(\w+,\)", text)


@pytest.mark.parametrize("loss", ["mse_loss(x, y, None, None, 'none')", "huber_loss(x, y, 'none', 0.5)"])
def test_losses_of_each_element_by_place(loss: str) -> None:
    text = written(f"return F.{loss}", "torch.randn(B, T), torch.randn(B, T)", "B = 64\nT = 96", "x, y")
    assert "torch.empty(()" not in text


def test_rows_of_doubles_are_not_reduced_in_single_precision() -> None:
    two = {
        "inputs": "torch.randn(B, T).double(), torch.randn(B, T).double()",
        "constants": "B = 2150\nT = 64",
        "arguments": "x, y",
    }
    assert "float64" in refused("return (x @ y.t()).amax(1)", **two)


def test_sums_over_rows_and_columns_of_halves_stay_wide_between_kernels() -> None:
    two = {
        "inputs": "torch.randn(B, T).half(), torch.randn(B, T).half()",
        "constants": "B = 2150\nT = 64",
        "arguments": "x, y",
    }
    text = written("return torch.relu(x @ y.t()).sum()", **two)
    assert "dtype=torch.float32" in text and "tl.dot" in text


def test_scores_that_are_returned_lie_in_memory() -> None:
    two = {"inputs": "torch.randn(B, T), torch.randn(B, T)", "constants": "B = 2150\nT = 64", "arguments": "x, y"}
    text = written("s = x @ y.t()\nreturn s, s.amax(1)", **two)
    assert text.count("tl.dot(") == 1 and text.count("tl.store(") == 2
    # A row of which each element is needed again is too long for a program.
    text = written("s = x @ y.t()\nreturn s - s.amax(1, keepdim=True)", **two)
    assert text.count("tl.dot(") == 1 and "for first in" not in text


def test_numbers_that_indices_become_are_written_as_such() -> None:
    taps = """
t = torch.arange(-2, 3, device=x.device, dtype=torch.float32)
k = torch.exp(-t[None, :] ** 2 / (2 * sigma[:, None] ** 2))
padded = torch.nn.functional.pad(x, (2, 2)).reshape(1, B, T + 4)
return torch.nn.functional.conv1d(padded, k[:, None], groups=B).reshape(B, T)
""".strip()
    text = written(taps, "torch.randn(B, T), 0.1 + torch.rand(B)", "B = 48\nT = 512", "x, sigma")
    assert "-2.0" in text


@pytest.mark.parametrize(
    "forward",
    [
        "return x[:, : int(lens.max())].sum(1)",
        "return x * 2.0 if int(lens[0]) > 50 else x * 3.0",
        "return torch.relu(x * lens.max().item())",
        "a, b = x[:, :166].split(lens.tolist(), 1)\nreturn a.sum(1) + b.sum(1)",
    ],
)
def test_numbers_in_a_tensor_that_a_call_is_given_are_no_constants(forward: str) -> None:
    refused(forward, f"{TWO}, torch.tensor([70, 96], device='cuda')", arguments="x, lens")


def test_blocks_hold_axes_of_all_sizes() -> None:
    """Also where those that they are written for are smaller than the smallest operand of a product."""
    two = {"inputs": "torch.randn(B, K), torch.randn(T, K)", "arguments": "x, y"}
    text = written("return (x @ y.t()).amax(1)", constants="B = 2150\nK = 9\nT = 300", **two)
    assert "BK=max(16, triton.next_power_of_2(K))" in text.replace("x.shape[1]", "K")
    text = written("return torch.softmax(x @ y.t(), 1)", constants="B = 2150\nK = 40\nT = 57", **two)
    assert "BLOCK=max(16, triton.next_power_of_2(T))" in text.replace("y.shape[0]", "T")


@pytest.mark.parametrize(("depth", "held"), [(131071, True), (131072, False)])
@pytest.mark.parametrize("end", ["", ".amax(1)"])
def test_int32_holds_the_sums_that_are_made_in_it(depth: int, held: bool, end: str) -> None:
    inputs = ", ".join(f"torch.randint(-128, 128, ({rows}, K), dtype=torch.int8)" for rows in ("B", "300"))
    text = written(f"return (x.float() @ y.float().t()){end}", inputs, f"B = 2150\nK = {depth}", "x, y")
    assert ("tl.int32" in text) == held
