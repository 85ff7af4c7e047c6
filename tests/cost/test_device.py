"""Devices are found the way people write them, and a wrong name comes with the right ones."""

import json
import pickle
from pathlib import Path

import pytest

from kernlint.cost.device import UnknownDevice, devices, find_device


@pytest.mark.parametrize(
    ("name", "id"),
    [
        pytest.param("h100-sxm", "h100-sxm", id="exact"),
        pytest.param("H100", "h100-sxm", id="short-name-is-the-first-of-its-model"),
        pytest.param("h100_PCIe", "h100-pcie", id="case-and-punctuation"),
        pytest.param("NVIDIA H100 80GB HBM3", "h100-sxm", id="what-torch-calls-it"),
        pytest.param("NVIDIA A100-SXM4-80GB", "a100-80gb-sxm", id="torch-name-with-memory-size"),
        pytest.param("NVIDIA GeForce RTX 4090", "rtx-4090", id="two-word-model"),
        pytest.param("NVIDIA L4", "l4", id="l4-is-not-l40s"),
        pytest.param("NVIDIA H20", "h20", id="h20-is-not-h200"),
        pytest.param("b300", "b300", id="blackwell-ultra"),
        pytest.param("A6000", "rtx-a6000", id="alias"),
        pytest.param("a100", "a100-80gb-sxm", id="alias-of-several"),
        pytest.param("mi300x", "mi300x", id="amd"),
    ],
)
def test_find(name: str, id: str) -> None:
    assert find_device(name).id == id


@pytest.mark.parametrize("name", ["h10", "", "b400", "🙂", "x" * 5000, "l"])
def test_unknown_device_is_a_value_error(name: str) -> None:
    with pytest.raises(UnknownDevice, match="unknown device"):
        find_device(name)


def test_typo_suggests() -> None:
    with pytest.raises(UnknownDevice) as caught:
        find_device("h100-smx")
    assert caught.value.suggestions[0] == "h100-sxm"
    assert isinstance(caught.value, ValueError)
    passed_on = pickle.loads(pickle.dumps(caught.value))  # as worker processes do
    assert str(passed_on) == str(caught.value) and passed_on.suggestions == caught.value.suggestions


def test_every_device_is_found_by_its_id_and_name() -> None:
    assert len(devices()) == len({device.id for device in devices()}) >= 18
    for device in devices():
        assert find_device(device.id) is device
        assert find_device(device.name) is device


def test_two_cards_are_measured_and_kinship_orders_the_rest() -> None:
    assert [device.id for device in devices() if device.measured] == ["h100-sxm", "h200-sxm"]
    kin = {device.id: device.kinship for device in devices()}
    assert kin["h100-pcie"] == kin["h20"] == "architecture"
    assert kin["a100-40gb"] == "vendor"
    assert kin["mi300x"] == "other"


def test_properties() -> None:
    assert find_device("a100").sm == (8, 0)
    assert find_device("l4").architecture == "sm_89"
    assert find_device("mi300x").sm is None
    assert find_device("mi300x").architecture == "gfx942"
    assert find_device("mi250x").peak_tf32_tensor_dense_tflops is None


def device_file(folder: Path, **changed: object) -> str:
    """A device file as ``kernlint calibrate`` writes them, with ``changed``."""
    data = {
        "kernlint_device": 1,
        "base": "h100-sxm",
        "name": "My card",
        "sm_count": 66,
        "factors": {"memory": 2.0},
    } | changed
    path = folder / "card.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)


def test_a_device_file_is_its_base_with_what_it_says(tmp_path: Path) -> None:
    path = device_file(tmp_path, residuals={"stream": 0.3})
    card = find_device(path)
    assert (card.id, card.sm_count, card.factor("memory"), card.factor("l2")) == (path, 66, 2.0, 1.0)
    assert card.measured and card.kinship == "measured" and find_device(card.id) is card


@pytest.mark.parametrize(
    "changed",
    [
        {"kernlint_device": 2}, {"base": "none"}, {"factors": {"memory": -1}}, {"factors": [1]}, {"sm_count": "many"},
        {"residuals": {"row": True}}, {"peak_of_nothing": 3.0},
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, changed: dict[str, object]) -> None:
    with pytest.raises(UnknownDevice, match="no device file"):
        find_device(device_file(tmp_path, **changed))


def test_no_file_and_no_json_are_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text("[1", encoding="utf-8")
    for name in ("nothing.json", "odd.json"):
        with pytest.raises(UnknownDevice, match="no device file"):
            find_device(str(tmp_path / name))
