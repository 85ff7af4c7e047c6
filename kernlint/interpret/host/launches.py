"""Launches: `kernel[grid](...)` under each configuration of its tuner, with what binds its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.edits import Literal
from kernlint.interpret.host import checks
from kernlint.interpret.host.binding import grid_fault, launch_faults
from kernlint.interpret.host.kernels import inside_kernel, kernel_of, refused_by_front_end, unread_kernel
from kernlint.interpret.host.values import HostDescriptor, ShapeOf
from kernlint.interpret.jit_source import may_be_constexpr
from kernlint.interpret.python.evaluator import spread
from kernlint.interpret.swapped_kernels import KernelCall
from kernlint.interpret.values import (
    Builtin,
    Condition,
    Config,
    Function,
    Guess,
    Instance,
    Jit,
    Presumed,
    Rest,
    Unknown,
)
from kernlint.records import dataclass, replace
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import parameters
from kernlint.workload import Atomic, Expr, Fault, Launch, Size, Span, Store, Symbol, Tensor
from kernlint.workload.access import Access
from kernlint.workload.kernel import ANY_TENSOR

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


#: Launch options that are no kernel parameters.
_OPTIONS = frozenset(
    "num_warps num_stages num_ctas maxnreg enable_fp_fusion waves_per_eu matrix_instr_nonkdim kpack warmup stream "
    "ctas_per_cga launch_cooperative_grid launch_pdl ir_override".split()
)


@dataclass(frozen=True)
class _Passed:
    """What a launch is given: ``values`` by parameter and launch ``options``; ``explicit`` are those of both that the call
    itself gives, ``presumed`` the parameters that are flags of which only the type is known."""

    values: dict[str, Any]
    options: dict[str, Any]
    explicit: frozenset[str]
    presumed: frozenset[str]


@dataclass(frozen=True)
class _Bound:
    """The parameters of a kernel in one launch; ``opened`` and ``premises`` are as ``open_constexprs`` and ``premises`` of a
    :class:`~kernlint.workload.Launch`, ``guessed`` the numbers that may be others."""

    arguments: dict[str, Any]
    constexprs: dict[str, Any]
    opened: dict[str, Expr]
    premises: dict[str, tuple[Expr, ...]]
    guessed: dict[str, int]


def launch(h: HostEvaluator, kernel: Jit, grid: Any, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
    """``kernel[grid](*args, **kwargs)``: one Launch, with the further autotune configurations beside it."""
    if not h.sinks:
        return Unknown("launch outside a call")
    configs = configurations(h, kernel) or (Config({}, None, None),)
    number = Unknown("a number of NumPy's")
    kwargs = {name: number if h.is_array(one) else one for name, one in kwargs.items()}
    args = _filled(h, kernel, configs[0], [number if h.is_array(one) else one for one in args], kwargs)
    launches = [launch_one(h, kernel, config, grid, list(args), dict(kwargs), node) for config in configs]
    first = launches[0]
    if len(launches) > 1:
        first = replace(first, alternatives=tuple(launches[1:]))
    h.record(first)
    if h.journal is not None:
        h.journal.launched(first)
    _forget_numbers(h, node)
    for one in launches:
        h.overwritten(_written(one))
    return Unknown("launch result")


def _written(launched: Launch) -> list[Tensor]:
    """The tensors that a launch may write: any, where its kernel was not followed to the end."""
    stored = {access.base for access in launched.kernel.nodes((Store, Atomic))}
    return [
        tensor
        for name, tensor in launched.arguments.items()
        if isinstance(tensor, Tensor) and (name in stored or ANY_TENSOR in stored or not launched.kernel.complete)
    ]


def _filled(h: HostEvaluator, kernel: Jit, config: Config, args: list[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """``args`` with the strides of a tensor of unknown rank (``*x.stride()``) spread over the parameters that nothing else fills."""
    rests = [place for place, value in enumerate(args) if isinstance(value, Rest)]
    if len(rests) != 1 or not isinstance(args[rests[0]].of, ShapeOf):
        return args
    made = {*kwargs, *config.kwargs, *kernel.heuristics}
    wanted = [param for param in parameters(kernel.function.node) if param.name.value not in made]
    rank, place = len(wanted) - len(args) + 1, rests[0]
    if any(param.default is not None for param in wanted) or not 0 < rank <= checks.MOST_RANKS:
        return args
    return [*args[:place], *(h.unpack(args[place].of, rank, False) or ()), *args[place + 1 :]]


def configurations(h: HostEvaluator, kernel: Jit) -> tuple[Config, ...]:
    """The configurations of the tuner that are followed, the one that is asked about first."""
    place = h.configuration % max(1, len(kernel.configs))
    every = (*kernel.configs[place:], *kernel.configs[:place])
    return every if h.follows_tuners else every[:1]


def best_config(h: HostEvaluator, kernel: Jit) -> Config:
    """What the tuner of ``kernel`` settled on: taken to be the one of its configurations that is asked about."""
    if len(kernel.configs) > 1:
        h.assume(f"the tuner of {kernel.function.name} settles on the first of its configurations")
    return configurations(h, kernel)[0]


def warm_up(
    h: HostEvaluator, kernel: Jit, grid: Any, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode
) -> Any:
    """``kernel.warmup(...)`` compiles for these arguments and launches nothing."""
    with h.once():
        h.launch(kernel, grid, args, kwargs, node)
    return Unknown("compiled kernel")


def bare_launch(h: HostEvaluator, kernel: Jit) -> Launch:
    """A launch of ``kernel`` that nobody wrote: arguments and grid are open, constexprs those of its defaults and its
    first autotune configuration, the rest unknown."""
    node = kernel.function.node
    grid = tuple(Expr.atom(Symbol(f"grid[{axis}]")) for axis in range(3))
    config = kernel.configs[0] if kernel.configs else Config({}, None, None)
    assert isinstance(node, cst.FunctionDef)
    h.modules.append(kernel.function.module)
    try:
        with h.silent():
            return launch_one(h, kernel, config, grid, [], {}, node.name)
    finally:
        h.modules.pop()


def launch_one(
    h: HostEvaluator, jit: Jit, config: Config, grid: Any, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode
) -> Launch:
    """The launch of ``jit`` under one configuration of its autotuner."""
    function = jit.function
    assert isinstance(function.node, cst.FunctionDef)
    args = spread(args, [p.name.value for p in parameters(function.node)], kwargs)
    passed = _passed(h, jit, config, args, kwargs, node)
    values, options, presumed = passed.values, passed.options, passed.presumed
    bound = _by_parameter(h, function, values, _told_constants(function.node, node))
    arguments, constexprs = bound.arguments, bound.constexprs
    for name, value in (*arguments.items(), *bound.opened.items()):
        h.name_size(name, value)
    span = h.span(node)
    for name, value in h.new_options.get(span, {}).items():
        if name in constexprs:
            constexprs[name] = values[name] = value
        else:
            options[name] = value
    literals = {n: (v.span,) for n, v in {**constexprs, **options}.items() if isinstance(v, Literal)}
    constexprs = {n: int(v) if isinstance(v, Literal) else v for n, v in constexprs.items()}
    warps = options.get("num_warps", config.num_warps)
    stages = options.get("num_stages", config.num_stages)
    h.used_as_integers(values[name] for name in constexprs if name in values)
    grid_function = grid
    computed = isinstance(grid, (Function, Builtin))
    meta = _Meta({**values, **options})
    if computed:
        grid = h.call(grid, [meta], {}, node)  # type: ignore[arg-type]
    extents = _grid(h, grid, node)
    draft = not h.reads_kernels or h.is_draft()
    faults: tuple[Fault, ...] = ()
    if h.target is not None and not draft and isinstance(node, cst.Call):
        faults = launch_faults(jit, config, args, kwargs, node, h.target, span, h.symbol)
        bad_grid = grid_fault(grid, grid_function, span, h.symbol)
        faults = faults if bad_grid is None else (*faults, bad_grid)
    if any(fault.kind == "launch-missing" or fault.name == function.name for fault in faults):
        arguments = dict.fromkeys(arguments, Unknown("perhaps another argument"))
    kernel = unread_kernel(function) if draft else kernel_of(h, jit, arguments, constexprs, extents, span)
    if bound.guessed:
        guesses = (f"{name} = {number}" for name, number in bound.guessed.items())
        kernel = replace(kernel, assumed=(*kernel.assumed, *guesses))
    if kernel.complete:
        # What the kernel never points into is no tensor.
        pointers = kernel.perhaps_pointers.union(a.base for a in kernel.nodes(Access))
        h.used_as_integers(v for n, v in arguments.items() if n not in pointers)
    else:
        # What is only taken for a tensor may be a number: the uses that would tell may be among those not followed.
        tensors = {n for n, v in arguments.items() if isinstance(v, Tensor) and v.dtype is not None}
        sure = tuple(f for f in kernel.faults if f.kind != "seed-address" or f.name in tensors)
        kernel = kernel if sure == kernel.faults else replace(kernel, faults=sure)
    told = {n: Unknown("presumed") if n in presumed or n in bound.guessed else v for n, v in constexprs.items()}
    written = isinstance(node, cst.Call)
    if h.target is not None and not draft:
        refused = refused_by_front_end(h, jit, arguments, told, h.target, not written)
        if refused:
            kernel = replace(kernel, faults=(*kernel.faults, *refused))
    if h.kernel_calls is not None and not draft and (not jit.configs or config is configurations(h, jit)[0]):
        call = KernelCall(jit, arguments, inside_kernel(arguments), constexprs, told, h.target, not written)
        h.kernel_calls[id(kernel)] = kernel, call
    plain = {k: v for k, v in arguments.items() if v is None or isinstance(v, (Tensor, int, float, Expr))}
    plain.update({k: h.with_expected(v) for k, v in plain.items() if isinstance(v, Tensor)})
    plain.update({k: v.tensor for k, v in arguments.items() if isinstance(v, HostDescriptor)})
    return Launch(
        kernel,
        extents,
        plain,
        constexprs,
        warps if isinstance(warps, int) and warps > 0 else 4,
        stages if isinstance(stages, int) and stages > 0 else 3,
        span,
        h.symbol,
        jit.autotuned,
        explicit=passed.explicit,
        literals=literals,
        numbers=_numbers(h, grid_function),
        grid_follows=computed and (meta.read or not isinstance(grid_function, Function)),
        tuning=jit.tuning,
        open_constexprs=bound.opened,
        premises=bound.premises,
        unspecialised=jit.unspecialised,
        faults=faults,
        tried=h.tried > 0,
    )


def _passed(
    h: HostEvaluator, jit: Jit, config: Config, args: list[Any], kwargs: Mapping[str, Any], node: cst.CSTNode
) -> _Passed:
    """What the call, ``config``, heuristics and defaults give, each over what is before it but for the defaults."""
    function = jit.function
    params = parameters(function.node)
    names = [p.name.value for p in params]
    values: dict[str, Any] = dict(zip(names, args))
    # The launcher takes warps and stages for itself even where the kernel has parameters of these names.
    own = {*_OPTIONS.difference(names), "num_warps", "num_stages"}
    options = {name: value for name, value in kwargs.items() if name in own}
    values.update({name: value for name, value in kwargs.items() if name in names})
    explicit = frozenset({*options, *values})
    values.update(config.kwargs)
    for name, chosen in (("num_warps", config.num_warps), ("num_stages", config.num_stages)):
        if name in names and (jit.configs or name in config.kwargs):
            values[name] = chosen  # a tuner passes its own option to a parameter of that name
    for name, rule in jit.heuristics.items():
        chosen = h.call(rule, [dict(values)], {}, node)  # type: ignore[arg-type]
        (values if name in names else options)[name] = chosen
    for param in params:
        if param.name.value not in values and param.default is not None:
            values[param.name.value] = h.default(param, function)
    presumed = frozenset(name for name, value in values.items() if isinstance(value, Presumed))
    values.update({name: bool(values[name]) for name in presumed})
    if config.hook is not None:
        values.update(_hooked(h, config.hook, values, node))
    return _Passed(values, options, explicit, presumed)


def _hooked(h: HostEvaluator, hook: Any, values: Mapping[str, Any], node: cst.CSTNode) -> dict[str, Any]:
    """The descriptors among ``values`` with the blocks that the ``hook`` of a configuration sets before it is launched."""
    descriptors = {name: value for name, value in values.items() if isinstance(value, HostDescriptor)}
    if not descriptors:
        return {}
    seen = {name: Instance(None, "TensorDescriptor", {"block_shape": Unknown("block")}) for name in descriptors}
    with h.silent():
        h.call(hook, [{**values, **seen}], {}, node)  # type: ignore[arg-type]
    blocks = {name: one.attrs["block_shape"] for name, one in seen.items()}
    return {
        name: replace(one, block=tuple(blocks[name])) if isinstance(blocks[name], (list, tuple)) else one
        for name, one in descriptors.items()
    }


def _told_constants(function: cst.FunctionDef, launch: cst.CSTNode) -> frozenset[str]:
    """The parameters that a launch gives a ``tl.constexpr(...)``: the compiler takes such an argument for a constant, whatever the
    kernel says of the parameter."""
    names = [param.name.value for param in parameters(function)]
    args = launch.args if isinstance(launch, cst.Call) and not any(arg.star == "*" for arg in launch.args) else ()
    told = (
        (arg.keyword.value if arg.keyword else name) for arg, name in zip(args, names) if may_be_constexpr(arg.value)
    )
    return frozenset(told)


def _by_parameter(h: HostEvaluator, function: Function, values: Mapping[str, Any], told: AbstractSet[str]) -> _Bound:
    """``values`` by parameter, as the kernel ``function`` gets them; those in ``told`` are constants."""
    bound = _Bound({}, {}, {}, {}, {})
    for param in parameters(function.node):
        name = param.name.value
        value = values.get(name, Unknown("missing argument"))
        if isinstance(value, Guess):
            bound.guessed[name] = value = int(value)
        if not (name in told or _is_constexpr(param)):
            bound.arguments[name] = _argument(h, value)
            continue
        if isinstance(value, Expr) and value.value is None:
            bound.opened[name] = value
        if isinstance(value, Condition):
            bound.premises[name], value = value.zeros, True
        bound.constexprs[name] = _constexpr(h, function.name, name, value)
    return bound


def _argument(h: HostEvaluator, value: Any) -> Any:
    if isinstance(value, Tensor):
        return h.current(value)
    if isinstance(value, Builtin) and value.name == "data_ptr":
        return Unknown("address")
    return value


def _constexpr(h: HostEvaluator, kernel: str, name: str, value: Any) -> Any:
    if isinstance(value, Expr):
        number = value.value
        if number is not None:
            return number
        h.unknown(f"constexpr {name} of {kernel} is {value}")
        return Unknown(str(value))
    return value


def _grid(h: HostEvaluator, grid: Any, node: cst.CSTNode) -> tuple[Size, ...]:
    """The extents of a grid that no function is left to compute."""
    if isinstance(grid, (int, Expr)) and not isinstance(grid, bool):
        grid = (grid,)
    if isinstance(grid, list):
        grid = tuple(grid)
    if not isinstance(grid, tuple) or not 1 <= len(grid) <= 3:
        h.unknown(f"launch grid at line {h.span(node).line}")
        return (h.open_number("grid[0]"),)
    h.used_as_integers(grid)
    extents: list[Size] = []
    for axis, extent in enumerate(grid):
        if isinstance(extent, (int, Expr)) and not isinstance(extent, bool):
            extents.append(extent)
        elif isinstance(extent, float) and extent.is_integer():
            extents.append(int(extent))
        else:
            h.unknown(f"extent {axis} of the launch grid at line {h.span(node).line}")
            extents.append(h.open_number(f"grid[{axis}]"))
    return tuple(extents)


def _numbers(h: HostEvaluator, grid: Any) -> dict[Span, int]:
    """The integer literals that the function at hand came by, and ``grid`` where that is one."""
    found = h.numbers.get(h.calls[-1].node, {}).copy() if h.calls else {}
    if isinstance(grid, Function):
        found.update(h.numbers.get(grid.node, {}))
    return found


def _forget_numbers(h: HostEvaluator, node: cst.CSTNode) -> None:
    """Forget the integer literals that the expression ``node`` of one launch came by: they say nothing to another."""
    numbers = h.numbers.get(h.calls[-1].node) if h.calls else None
    whole = h.span(node)
    while numbers and whole.contains(next(reversed(numbers))):
        numbers.popitem()


def _is_constexpr(param: cst.Param) -> bool:
    if param.annotation is None:
        return False
    annotation = param.annotation.annotation
    if isinstance(annotation, cst.SimpleString):
        return "constexpr" in annotation.value
    name = dotted_name(annotation.value if isinstance(annotation, cst.Subscript) else annotation)
    return name is not None and name.split(".")[-1] == "constexpr"


class _Meta(dict[str, Any]):
    """What a grid function is given, and whether it has ``read`` any of it."""

    read = False

    def __getitem__(self, key: str) -> Any:
        self.read = True
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.read = True
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self.read = True
        return super().__iter__()

    def items(self) -> Any:
        self.read = True
        return super().items()

    def values(self) -> Any:
        self.read = True
        return super().values()
