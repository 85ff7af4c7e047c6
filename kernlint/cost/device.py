"""The GPUs the model knows: datasheet numbers, each with its source in ``data/devices.json``."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import field, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from kernlint.cost.fitted import fitted
from kernlint.errors import UsageError, suggestion
from kernlint.records import dataclass, replace

#: Words that open the name a driver gives a card: what follows is a model number and its variant.
_BRANDS = frozenset({"nvidia", "amd", "tesla", "geforce", "instinct"})

#: The device that the constants are of; any other is scaled from it.
MEASURED_DEVICE = "h100-sxm"


#: Short names that stand for one of several devices, and the one that they take.
ALIASES: Mapping[str, str] = {
    "h100": "h100-sxm", "h200": "h200-sxm", "gh200": "h200-sxm", "a100": "a100-80gb-sxm", "a100-80gb": "a100-80gb-sxm",
    "a100-pcie": "a100-80gb-pcie", "a6000": "rtx-a6000", "3090": "rtx-3090", "4090": "rtx-4090", "5090": "rtx-5090",
    "a10": "a10g", "mi250": "mi250x", "mi300": "mi300x", "mi355": "mi355x",
}  # fmt: skip


class UnknownDevice(UsageError, ValueError):
    """No device of that name; ``suggestions`` holds the ids that look most like it."""

    def __init__(self, text: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.suggestions = suggestions


@dataclass(frozen=True)
class Device:
    """One GPU as ``data/devices.json`` describes it; a field is None where no source gives it.

    Peaks are dense (no structured sparsity) and with fp32 accumulation, in 10^12 operations per second; sizes in bytes
    say so in their names, ``*_mb`` is 2^20 bytes, ``*_gb_per_s`` 10^9 bytes per second. On AMD an "SM" is a compute
    unit and a "warp" a wavefront of 64 threads.
    """

    id: str
    name: str
    vendor: str
    triton_backend: str
    sm_count: int
    warp_size_threads: int
    memory_bandwidth_gb_per_s: float
    memory_gb: float
    l2_cache_mb: float
    shared_memory_max_bytes_per_block: int
    shared_memory_bytes_per_sm: int
    registers_32bit_per_sm: int
    max_registers_per_thread: int
    max_warps_per_sm: int
    max_threads_per_block: int
    tensor_clock_mhz: float
    boost_clock_mhz: float
    fp16_tensor_flops_per_sm_per_clock: float
    peak_fp32_vector_tflops: float
    max_blocks_per_sm: int | None = None
    compute_capability: str | None = None
    gfx_target: str | None = None
    last_level_cache_mb: float | None = None
    peak_fp64_vector_tflops: float | None = None
    peak_fp64_tensor_tflops: float | None = None
    peak_fp32_tensor_tflops: float | None = None
    peak_tf32_tensor_dense_tflops: float | None = None
    peak_bf16_tensor_dense_fp32acc_tflops: float | None = None
    peak_fp16_tensor_dense_fp32acc_tflops: float | None = None
    peak_fp16_tensor_dense_fp16acc_tflops: float | None = None
    peak_fp8_tensor_dense_fp32acc_tflops: float | None = None
    peak_int8_tensor_dense_tops: float | None = None
    measured_bf16_gemm_tflops: float | None = None
    measured_fp8_gemm_tflops: float | None = None
    memory_bandwidth_driver_reported_gb_per_s: float | None = None
    confidence: str = ""
    notes: str = ""
    source_peaks: str = ""
    source_memory: str = ""
    source_limits: str = ""
    source_measured: str = ""
    #: Measured times over those that follow from the data sheet, by term of the model, where the card was measured.
    factors: Mapping[str, float] = field(default_factory=dict)
    #: Standard deviation of ln(measured / predicted) by class of kernel, and how many rows it is of, where the card was measured.
    residuals: Mapping[str, float] = field(default_factory=dict)
    source_factors: str = ""

    def factor(self, term: str) -> float:
        """What ``term`` takes on this card over what it takes by the data sheet; 1 where that was not measured."""
        return self.factors.get(term, 1.0)

    @property
    def measured(self) -> bool:
        """True for a device with timings of its own; every other one is scaled from the first of them."""
        return self.id == MEASURED_DEVICE or bool(self.factors)

    @cached_property
    def sm(self) -> tuple[int, int] | None:
        """CUDA compute capability (major, minor); None for other vendors."""
        if self.compute_capability is None:
            return None
        major, _, minor = self.compute_capability.partition(".")
        return int(major), int(minor or 0)

    @property
    def sm_major(self) -> int | None:
        return None if self.sm is None else self.sm[0]

    @property
    def is_nvidia(self) -> bool:
        return self.vendor == "nvidia"

    @property
    def is_amd(self) -> bool:
        return self.vendor == "amd"

    @property
    def single_precision(self) -> str:
        """What the rate of dots of fp32 operands is called here: tf32 where an NVIDIA card has such units, else the data type."""
        return "tf32" if self.is_nvidia and self.peak_tf32_tensor_dense_tflops is not None else "fp32"

    @property
    def is_hopper(self) -> bool:
        """Compute capability 9.0: wgmma, TMA, and tensor cores that read 8-bit and tf32 operands K-major only."""
        return self.sm_major == 9

    @property
    def architecture(self) -> str:
        """``sm_90``-style name of the CUDA target, or the gfx name on AMD."""
        return f"sm_{self.sm[0]}{self.sm[1]}" if self.sm else self.gfx_target or self.vendor

    @property
    def l2_bytes(self) -> float:
        """Bytes of the last cache before memory's own (AMD's Infinity Cache is ``last_level_cache_mb``)."""
        return self.l2_cache_mb * 2**20

    @property
    def kinship(self) -> str:
        """How near the model's measurements are: measured, architecture, vendor, or other (another vendor)."""
        if self.measured or self.residuals:
            return "measured"
        if self.is_hopper:
            return "architecture"
        return "vendor" if self.is_nvidia else "other"

    def __str__(self) -> str:
        return f"{self.id} ({self.name})"


def _bad_file(path: str, reason: str) -> UnknownDevice:
    """Of a file that was given for a device and is none."""
    return UnknownDevice(f"{path} is no device file: {reason}")


#: The form of device files that ``kernlint calibrate`` writes.
_FILE_FORMAT = 1
#: What a device file may say of its card in place of what its base has.
_NUMBERS = frozenset(
    {"sm_count", "l2_cache_mb", "memory_gb", "memory_bandwidth_gb_per_s", "shared_memory_bytes_per_sm",
     "shared_memory_max_bytes_per_block", "boost_clock_mhz", "tensor_clock_mhz"}
)  # fmt: skip


@lru_cache(maxsize=16)
def _from_file(path: str, changed_ns: int) -> Device:
    """The device of the file ``path`` that ``kernlint calibrate`` wrote. Its id is the path, by which it is found again."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _bad_file(path, str(error)) from None
    if not isinstance(data, dict) or data.get("kernlint_device") != _FILE_FORMAT:
        raise _bad_file(path, f'it does not say "kernlint_device": {_FILE_FORMAT}')
    base = _table().get(str(data.get("base")))
    if base is None:
        raise _bad_file(path, f"its base {data.get('base')!r} is no known device")
    changed: dict[str, Any] = {"id": path, "name": str(data.get("name", base.name)), "notes": ""}
    for name, value in data.items():
        if name in _NUMBERS or name.startswith("peak_"):
            if not _is_positive(value) or name not in {field.name for field in fields(Device)}:
                raise _bad_file(path, f"{name} is {value!r}")
            changed[name] = int(value) if isinstance(getattr(base, name), int) else float(value)
    for name in ("factors", "residuals"):
        table = data.get(name, {})
        if not isinstance(table, dict) or not all(_is_positive(value) for value in table.values()):
            raise _bad_file(path, f"{name} are not positive numbers by name")
        changed[name] = {str(key): float(value) for key, value in table.items()}
    return replace(base, **changed, source_factors=str(data.get("source_factors", "")))


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


@lru_cache(maxsize=1)
def _table() -> dict[str, Device]:
    known = {field.name for field in fields(Device)}
    table: dict[str, Device] = {}
    measured = fitted("cards")
    for key, entry in fitted("devices").items():
        if not key.startswith("_"):
            entry = {**entry, **measured.get(key, {})}
            table[key] = Device(id=key, **{name: value for name, value in entry.items() if name in known})
    return table


def devices() -> list[Device]:
    """Every known device, in the order of the data file."""
    return list(_table().values())


def find_device(name: str) -> Device:
    """The device called ``name``: an id, the marketing name, or an unambiguous part of either.

    Case and punctuation do not matter (``H100_SXM``, ``h100 sxm``). A short name stands for the device that ``ALIASES`` says, or the
    first of the data file that it begins. A name that ends in ``.json`` is the path of a device file that ``kernlint calibrate``
    wrote. Raises :class:`UnknownDevice`, with suggestions.
    """
    table = _table()
    if name in table:
        return table[name]
    if name.endswith(".json"):
        try:
            return _from_file(name, os.stat(name).st_mtime_ns)
        except OSError as error:
            raise _bad_file(name, error.strerror or str(error)) from None
    wanted = _plain(name)
    plain_ids = {_plain(key): key for key in table}
    if wanted in plain_ids:
        return table[plain_ids[wanted]]
    for alias, key in ALIASES.items():
        if wanted == _plain(alias):
            return table[key]
    if wanted:
        for device in table.values():
            if wanted == _plain(device.name) or wanted == _plain(device.name.replace("NVIDIA", "").replace("AMD", "")):
                return device
        for key in table:
            parts = key.split("-")
            if wanted in ["".join(parts[:count]) for count in range(1, len(parts))] and wanted != "rtx":
                return table[key]
        # The name torch.cuda.get_device_name() gives, such as "NVIDIA H100 80GB HBM3": the model number decides.
        words = [_plain(word) for word in re.split(r"[\s_/-]+", name)]
        models = {_plain(re.split("-", key)[0] if not key.startswith("rtx") else key): key for key in reversed(table)}
        branded = any(word in _BRANDS for word in words)
        for word in words if branded else ():
            if word in models:
                return table[_variant(models[word], words)]
        for count in range(len(words) - 1 if branded else 0):
            if words[count] + words[count + 1] in models:
                return table[models[words[count] + words[count + 1]]]
    close = _suggestions(wanted, plain_ids)
    raise UnknownDevice(f"unknown device {name!r}{suggestion(close, '`kernlint devices` lists all')}", close)


def chosen(name: str, device: Device) -> str:
    """What to say where ``name`` is that of several devices and ``device`` was taken; empty where it names but one."""
    model = device.id.split("-")[0]
    others = [key for key in _table() if key.split("-")[0] == model and key != device.id and model != "rtx"]
    if not others or _plain(name) != _plain(model):
        return ""
    return f"{name} is taken to be {device}; there is {' and '.join(others)} too"


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _variant(key: str, words: list[str]) -> str:
    """The id of the same model that fits most of the other words (``pcie``, ``sxm``, ``80gb``)."""
    model = key.split("-")[0]
    family = [other for other in _table() if other.split("-")[0] == model]
    return max(family, key=lambda other: sum(part in words for part in other.split("-")[1:]))


def _suggestions(wanted: str, plain_ids: Mapping[str, str]) -> tuple[str, ...]:
    close = difflib.get_close_matches(wanted, list(plain_ids), n=3, cutoff=0.4)
    inside = [plain for plain in plain_ids if wanted[:4] and wanted[:4] in plain]
    return tuple(dict.fromkeys(plain_ids[plain] for plain in [*close, *inside]))[:3]
