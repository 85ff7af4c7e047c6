"""KL790 to KL794: kernels that only look like kernels."""

import pytest
from support.findings import run_rule

KERNEL = """
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

def run(x, y=None):
    y = torch.empty_like(x) if y is None else y
    double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y

class Model(torch.nn.Module):
    def forward(self, x):
        return {model}

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = None
        self.table = {}
        self.weight = torch.nn.Parameter(torch.randn(1024, 1024))

    def forward(self, x):
        {body}

def get_inputs():
    return [torch.randn(1024, 1024)]
"""


def program(body, model="x * 2"):
    return KERNEL.replace("{model}", model).replace("{body}", ("\n" + " " * 8).join(body.split("\n")))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return x * 2", id="torch operator"),
        pytest.param("return torch.mul(x, 2)", id="torch function"),
        pytest.param("double  # a name alone launches nothing\nreturn x + x", id="named"),
        pytest.param("def later():\n    return x\nreturn later() * 2", id="nested function"),
    ],
)
def test_kernel_never_launched(body):
    finding = run_rule("KL790", program(body)).only()
    assert finding.kernel == "double"
    assert finding.severity == "error"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return run(x)", id="through a function"),
        pytest.param("f = run\nreturn f(x)", id="through an alias"),
        pytest.param("return {'go': run}['go'](x)", id="through a table"),
        pytest.param("if x.is_cuda:\n    return run(x)\nreturn x * 2", id="fallback for the CPU"),
        pytest.param("return helper.apply(x)", id="something unknown"),
    ],
)
def test_kernel_that_may_be_launched(body):
    assert not run_rule("KL790", program(body))


def test_unlaunched_kernel_without_a_model_is_a_library():
    assert not run_rule("KL790", program("return x * 2").replace("class Model(", "class Other("))


@pytest.mark.parametrize(
    ("model", "body"),
    [
        pytest.param("x @ x", "return run(x @ x) * 0.5", id="operator"),
        pytest.param("torch.matmul(x, x)", "return run(torch.mm(x, x))", id="another name"),
        pytest.param("x @ x", "y = x.matmul(x)\nrun(self.weight[0])\nreturn y", id="kernel on the side"),
    ],
)
def test_library_does_the_work(model, body):
    big = program(body, model).replace("1024, 1024)", "8192, 8192)")
    assert run_rule("KL791", big).only().severity == "warning"


@pytest.mark.parametrize(
    ("model", "body"),
    [
        pytest.param("x * 2", "return run(x)", id="the kernel does it"),
        pytest.param("(x[:, :64] @ x[:64]) * 2", "return run(x[:, :64] @ x[:64])", id="hybrid with a real share"),
        pytest.param("x * 2", "return run(x @ x)", id="the model makes no such call"),
    ],
)
def test_kernel_with_a_share_of_the_work(model, body):
    assert not run_rule("KL791", program(body, model))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("if self.kept is None:\n    self.kept = run(x)\nreturn self.kept", id="attribute"),
        pytest.param(
            "if 'y' not in self.table:\n    self.table['y'] = run(x)\nreturn self.table['y']", id="constant key"
        ),
        pytest.param(
            "k = tuple(x.shape)\nif k not in self.table:\n    self.table[k] = run(x)\nreturn self.table[k]",
            id="key of the shape",
        ),
        pytest.param("if not hasattr(self, 'y'):\n    self.y = run(x)\nreturn self.y", id="hasattr"),
    ],
)
def test_result_from_earlier_call(body):
    assert run_rule("KL792", program(body)).only().severity == "error"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return run(x)", id="nothing kept"),
        pytest.param("self.kept = run(x)\nreturn self.kept", id="kept and made anew"),
        pytest.param(
            "if self.kept is None:\n    self.kept = torch.empty_like(x)\nreturn run(x, self.kept)", id="buffer"
        ),
        pytest.param(
            "if self.kept is None:\n    self.kept = run(self.weight)\nreturn run(x) + self.kept", id="weights"
        ),
        pytest.param(
            "k = x.data_ptr()\nif k not in self.table:\n    self.table[k] = run(x)\nreturn self.table[k]",
            id="key that is not followed",
        ),
    ],
)
def test_result_of_this_call(body):
    assert not run_rule("KL792", program(body))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return run(torch.zeros(1024, 1024))", id="of a constant"),
        pytest.param("run(x)\nreturn torch.zeros_like(x)", id="zeros"),
        pytest.param("return run(torch.empty_like(x))", id="of uninitialised memory"),
    ],
)
def test_result_ignores_input(body):
    assert run_rule("KL793", program(body)).only().severity == "error"


@pytest.mark.parametrize(
    ("model", "body"),
    [
        pytest.param("x * 2", "return run(x)", id="kernel"),
        pytest.param("x * 2", "y = run(x)\nreturn torch.zeros_like(x) + y", id="through torch"),
        pytest.param("x * 2", "y = torch.zeros_like(x)\ny.copy_(run(x))\nreturn y", id="in place"),
        pytest.param("torch.zeros_like(x)", "return run(torch.zeros_like(x))", id="so does the model"),
        pytest.param("x * 2", "return unknown_function(x)", id="not followed"),
    ],
)
def test_result_of_the_input(model, body):
    assert not run_rule("KL793", program(body, model))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("y = torch.empty_like(x)\nrun(x)\nreturn y", id="another buffer was written"),
        pytest.param("y = torch.empty(2048, 1024)\nrun(x, y)\nreturn y", id="half of it"),
        pytest.param("y = x.new_empty(x.shape)\ndouble[(8,)](x, y, x.numel(), BLOCK=1024)\nreturn y", id="grid too small"),
        pytest.param("y = torch.empty_like(x)\nfor i in range(2):\n    double[(8,)](x, y, 9, BLOCK=1024)\nreturn y", id="loop"),
    ],
)  # fmt: skip
def test_output_not_written(body):
    assert run_rule("KL794", program(body)).only().severity == "error"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return run(x)", id="whole"),
        pytest.param("y = torch.empty(1024, 1024)\ny.copy_(x)\nreturn y", id="torch writes"),
        pytest.param("y = torch.empty(2048, 1024)\nrun(x, y[:1024])\nrun(x, y[1024:])\nreturn y", id="halves"),
        pytest.param("y = torch.zeros(2048, 1024)\nrun(x, y)\nreturn y", id="the rest is zero"),
        pytest.param("y = torch.empty(2048, 1024)\nrun(x, y)\nreturn y[:1024]", id="the rest is not returned"),
        pytest.param("y = torch.empty_like(x)\nmystery(x, y)\nreturn y", id="not followed"),
    ],
)
def test_output_written(body):
    assert not run_rule("KL794", program(body))
