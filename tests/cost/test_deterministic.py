"""What torch's operations take where it was told to take deterministic algorithms alone."""

import pytest
from micro_launches import HERE, tensor

from kernlint.cost.deterministic import steps_of
from kernlint.cost.device import find_device
from kernlint.cost.torch_ops import torch_op_time
from kernlint.workload import Expr, Storage, Symbol, Tensor, TorchOp
from kernlint.workload import dtype as dtypes

H100, F32 = find_device("h100-sxm"), dtypes.FLOAT32
X, Y = tensor("x", F32, 8192, 8192), tensor("y", F32, 8192, 8192)


def op(name: str, kind: str, *reads: Tensor, out: Tensor = Y, **dims: int) -> TorchOp:
    return TorchOp(name, kind, reads, (out,), HERE, "f", 0, {**dims, "deterministic": 1})


def names(made: TorchOp) -> list[str]:
    return [step.name for step in steps_of(made)]


def us(made: TorchOp) -> float:
    return torch_op_time(made, H100).us


def test_memory_that_nobody_has_written_is_filled() -> None:
    bare = op("empty_like", "alloc")
    assert us(TorchOp("empty_like", "alloc", (), (Y,), HERE, "f")) == 0
    assert us(bare) == us(TorchOp("zeros", "fill", (), (Y,), HERE, "f")) > 50
    loss = op("huber_loss", "reduce", X, Y, out=tensor("loss", F32))
    assert steps_of(loss)[0].writes == (X,)
    assert us(op("abs", "elementwise", X)) == pytest.approx(us(op("sigmoid", "elementwise", X)) + us(bare))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("sigmoid", "elementwise"), ("copy_", "copy"), ("setitem", "copy"), ("zero_", "fill"), ("sum", "reduce")],
)
def test_what_is_written_over_or_made_without_it_is_not(name: str, kind: str) -> None:
    assert names(op(name, kind, X)) == [name]


def convolution(
    name: str, image: tuple[int, ...], weight: tuple[int, ...], out: tuple[int, ...], **dims: int
) -> TorchOp:
    return op(name, "conv", tensor("x", F32, *image), tensor("w", F32, *weight), out=tensor("y", F32, *out), **dims)


def test_windows_with_gaps_are_multiplied_as_columns() -> None:
    plain = convolution("conv2d", (8, 32, 512, 512), (64, 32, 3, 3), (8, 64, 510, 510), stride=1, dilation=1)
    gaps = convolution("conv2d", (8, 32, 512, 512), (64, 32, 3, 3), (8, 64, 508, 508), stride=1, dilation=2)
    assert names(plain) == ["conv2d"]
    assert names(gaps) == ["empty", "unfold", "matmul"]
    columns = steps_of(gaps)[1].writes[0]
    assert columns.shape == (8, 32 * 9, 508 * 508) == steps_of(gaps)[2].reads[1].shape
    assert {"batch": 8, "m": 64, "n": 508 * 508, "k": 288}.items() == steps_of(gaps)[2].dims.items()
    assert us(gaps) > 2 * us(plain)


def test_back_through_gaps_columns_are_summed_up() -> None:
    made = convolution("conv_transpose1d", (32, 32, 4096), (32, 16, 5), (32, 64, 4108), stride=1, dilation=3, groups=4)
    fill, product, copies = steps_of(made)
    assert (fill.name, product.name, copies.name) == ("empty", "matmul", "unfold")
    assert {"batch": 128, "m": 16 * 5, "n": 4096, "k": 8}.items() == product.dims.items()
    assert product.writes[0].shape == (32, 4 * 16 * 5, 4096) == copies.reads[0].shape
    assert copies.dims["tried"] == 13  # places between the first and the last tap, most of which no tap meets


def test_filters_of_one_channel_write_to_memory_of_their_own() -> None:
    made = convolution("conv2d", (16, 64, 64, 64), (64, 1, 3, 3), (16, 64, 62, 62), stride=1, dilation=1)
    assert names(made) == ["empty", "conv2d"]


@pytest.mark.parametrize("kind", ["alloc", "conv", "fill", "norm", "no-such-kind"])
def test_of_what_nothing_is_known_there_is_a_time(kind: str) -> None:
    open_ = Tensor("x", None, None, None, Storage(1, "input"))
    symbolic = Tensor("x", F32, (Expr.atom(Symbol("n")), 3, 8), None, Storage(1, "input"))
    weight = tensor("w", F32, 4, 3, 3)
    for reads in ((), (open_, open_), (symbolic, weight)):
        for writes in ((), (open_,), (symbolic,)):
            made = TorchOp(kind, kind, reads, writes, HERE, "f", None, {"deterministic": 1, "dilation": 2})
            assert us(made) >= 0
