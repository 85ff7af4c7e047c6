"""Catches launches where Triton would compile: what a kernel is given, in which grid, under which configurations of its tuner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch

from kernlint.verify.child.fakes import Below
from kernlint.verify.child.recorder import Doubtful, Recorder

#: Of one tuner; as many as are read from source.
MAX_CONFIGS = 48


def intercept(recorder: Recorder, below: Below, device: Mapping[str, Any]) -> None:
    """Record launches in place of making them, for the rest of the process."""
    import triton
    from triton.runtime import autotuner, jit

    _stand_in_driver(device)

    def run(self: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        recorder.begin_call()
        for hook in getattr(self, "pre_run_hooks", ()):
            hook(*args, **kwargs)
        if not recorder.paused:
            _launched(recorder, below, self, args, kwargs, grid, warmup)
        return _compiled(kwargs)

    def tuned(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.nargs = dict(zip(self.arg_names, args))
        configs = list(self.configs)
        if len(configs) > 1:
            try:
                configs = list(self.prune_configs(kwargs)) or configs
            except Exception as error:
                recorder.doubt(f"how the configurations of {_name(self)} are pruned ({type(error).__name__})")
        self.best_config = configs[0]
        if getattr(configs[0], "pre_hook", None) is not None:
            configs[0].pre_hook({**self.nargs, **kwargs, **configs[0].all_kwargs()})
        outer, recorder.launches = recorder.launches, []
        try:
            result = None
            for config in configs[:MAX_CONFIGS]:
                found = self.fn.run(*args, **kwargs, **config.all_kwargs())
                result = found if result is None else result
            launches = recorder.launches
        finally:
            recorder.launches = outer
            self.nargs = None
        if launches and not recorder.paused:
            whole = {**launches[0], "alternatives": launches[1:], "tuner": _tuner(self, configs)}
            _kept(recorder, whole)
        return result

    # What Python says of arguments that do not fit names the function.
    run.__qualname__ = "JITFunction.run"
    jit.JITFunction.run = run
    autotuner.Autotuner.run = tuned
    triton.testing.do_bench = _once(recorder)


def _tuner(tuner: Any, configs: list[Any]) -> dict[str, Any]:
    return {
        "key": [str(name) for name in tuner.keys],
        "configurations": [
            {"kwargs": {k: v for k, v in c.kwargs.items() if isinstance(v, (int, float, str, bool)) or v is None},
             "num_warps": c.num_warps, "num_stages": c.num_stages, "hooked": getattr(c, "pre_hook", None) is not None}
            for c in configs
        ],
        "all": len(tuner.configs),
        "restored": [str(name) for name in getattr(tuner, "restore_value", None) or ()],
        "zeroed": [str(name) for name in getattr(tuner, "reset_to_zero", None) or ()],
        "pruned": bool(getattr(tuner, "early_config_prune", None) or getattr(tuner, "perf_model", None)),
    }  # fmt: skip


def _launched(
    recorder: Recorder, below: Below, kernel: Any, args: Any, kwargs: dict[str, Any], grid: Any, warmup: bool
) -> None:
    signature = kernel.signature
    names = list(signature.parameters)
    options = {k: v for k, v in kwargs.items() if k not in signature.parameters}
    bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in signature.parameters})
    explicit = sorted({*bound.arguments, *options})
    bound.apply_defaults()
    values = dict(bound.arguments)
    callable_grid = callable(grid)
    if callable_grid:
        grid = grid(dict(values))
    extents = list(grid) if isinstance(grid, (tuple, list)) else [grid]
    if any(isinstance(extent, Doubtful) for extent in extents):
        recorder.doubt("the launch grid, which a value read from a tensor decides")
    launch = {
        "kind": "launch",
        "kernel": recorder.function(kernel.fn),
        "values": {name: recorder.value(values[name]) for name in names if name in values},
        "given": explicit,
        "options": {name: recorder.value(value) for name, value in options.items()},
        "grid": [recorder.value(extent) for extent in extents],
        "computed": callable_grid,
        "warmup": bool(warmup),
    }
    for value in values.values():
        base = getattr(value, "base", value)
        if isinstance(base, torch.Tensor):
            below.written(base)
    _kept(recorder, launch)


def _kept(recorder: Recorder, launch: dict[str, Any]) -> None:
    if recorder.launches is not None:
        recorder.launches.append(launch)
    else:
        recorder.step(**launch)


def _compiled(options: Mapping[str, Any]) -> Any:
    """What stands for a compiled kernel: programs ask it how many registers it takes."""
    metadata = SimpleNamespace(shared=0, num_warps=options.get("num_warps", 4), num_stages=options.get("num_stages", 3))
    return SimpleNamespace(
        n_regs=64, n_spills=0, shared=0, metadata=metadata, asm={}, function=0, _init_handles=lambda: None,
        run=lambda *args, **kwargs: None,
    )  # fmt: skip


def _once(recorder: Recorder) -> Callable[..., Any]:
    def do_bench(fn: Callable[[], Any], *args: Any, **kwargs: Any) -> float:
        fn()
        recorder.doubt("how long something takes, which the program measures")
        return 1.0

    return do_bench


def _name(tuner: Any) -> str:
    return str(getattr(getattr(tuner, "base_fn", None), "__name__", "a kernel"))


def _stand_in_driver(device: Mapping[str, Any]) -> None:
    """A driver for programs that ask Triton about the device."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    target = device["target"]
    properties = {
        "multiprocessor_count": device["sm_count"],
        "max_shared_mem": device["shared_bytes"],
        "warpSize": device["warp_size"],
        "max_num_regs": 65536,
        "sm_clock_rate": 1_500_000,
        "mem_clock_rate": 2_000_000,
        "mem_bus_width": 5120,
    }
    stand_in = SimpleNamespace(
        get_current_device=lambda: 0,
        get_current_stream=lambda *_: 0,
        set_current_device=lambda *_: None,
        get_device_capability=lambda *_: tuple(device["capability"]),
        get_current_target=lambda: GPUTarget(target["backend"], target["arch"], target["warp_size"]),
        get_active_torch_device=lambda: torch.device("cuda", 0),
        get_device_interface=lambda: torch.cuda,
        get_benchmarker=lambda: lambda fn, *_, **__: [1.0, 1.0, 1.0],
        get_empty_cache_for_benchmark=lambda: torch.empty(1),
        clear_cache=lambda *_: None,
        utils=SimpleNamespace(get_device_properties=lambda *_: properties),
        launcher_cls=lambda *_, **__: lambda *a, **k: None,
        is_active=lambda: True,
    )
    driver.set_active(stand_in)
