"""Library layers (``torch.nn.*``): the parameters that a constructor makes and what a call costs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.elementwise import ACTIVATION_SETTINGS
from kernlint.interpret.torch.functions import torch_function
from kernlint.interpret.torch.shapes import product
from kernlint.interpret.values import Builtin, Function, Instance, Unknown
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState

#: Layers that are not called as their functions are.
_OTHER_NAMES = {
    "ReLU": "relu",
    "LeakyReLU": "leaky_relu",
    "ReLU6": "relu6",
    "SiLU": "silu",
    "LogSigmoid": "logsigmoid",
    "CrossEntropyLoss": "cross_entropy",
    "KLDivLoss": "kl_div",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
}
_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_REDUCED = ("size_average", "reduce", "reduction")
#: What losses take behind their tensors, by place; the constructors of their layers take the same.
LOSS_SETTINGS: dict[str, tuple[str, ...]] = {
    "cross_entropy": ("weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"),
    "nll_loss": ("weight", "size_average", "ignore_index", "reduce", "reduction"),
    "mse_loss": (*_REDUCED, "weight"),
    "l1_loss": (*_REDUCED, "weight"),
    "kl_div": (*_REDUCED, "log_target"),
    "smooth_l1_loss": (*_REDUCED, "beta"),
    "huber_loss": ("reduction", "delta", "weight"),
    "binary_cross_entropy": ("weight", *_REDUCED),
    "binary_cross_entropy_with_logits": ("weight", *_REDUCED, "pos_weight"),
    "triplet_margin_loss": ("margin", "p", "eps", "swap", *_REDUCED),
    "margin_ranking_loss": ("margin", *_REDUCED),
    "soft_margin_loss": _REDUCED,
    "hinge_embedding_loss": ("margin", *_REDUCED),
    "poisson_nll_loss": ("log_input", "full", "size_average", "eps", "reduce", "reduction"),
    "gaussian_nll_loss": ("full", "eps", "reduction"),
}
#: Losses that compare three tensors.
LOSSES_OF_THREE = frozenset({"triplet_margin_loss", "margin_ranking_loss", "gaussian_nll_loss"})
_GEOMETRY = frozenset({"kernel_size", "stride", "padding", "dilation", "output_padding"})
_UPSAMPLED: dict[str, dict[str, Any]] = {
    "Upsample": {},
    "UpsamplingNearest2d": {},
    "UpsamplingBilinear2d": {"mode": "bilinear", "align_corners": True},
}
_METHODS_THAT_RETURN_SELF = frozenset("cuda to eval train requires_grad_ cpu".split())
_CASTS = {"half": dt.FLOAT16, "float": dt.FLOAT32, "double": dt.FLOAT64, "bfloat16": dt.BFLOAT16}


def construct(h: HostState, path: str, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
    """``torch.nn.X(...)``: an instance with the parameters that the layer creates."""
    name = path.rsplit(".", 1)[-1]
    if name in ("Parameter", "Buffer"):
        data = args[0] if args else kwargs.get("data")
        if isinstance(data, Tensor):
            h.forget_numbers(data.storage.id)  # others may be loaded
            return replace(data, storage=replace(data.storage, origin="parameter"))
        return Unknown("parameter")
    instance = Instance(None, path, {"_args": args, "_kwargs": kwargs, "training": True})
    if name in ("Sequential", "ModuleList"):
        items = args
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            items = list(args[0])
        instance.attrs["_items"] = list(items)
        return instance
    if name in ("ModuleDict", "ParameterDict"):
        return dict(args[0]) if args and isinstance(args[0], dict) else Unknown(name)
    if name == "ParameterList":
        instance.attrs["_items"] = list(args[0]) if args and isinstance(args[0], (list, tuple)) else []
        return instance
    make = _PARAMETERS.get(name)
    if make is not None:
        dtype = kwargs.get("dtype") if isinstance(kwargs.get("dtype"), Dtype) else h.float_type
        given = _arguments(name, args, kwargs)
        for attr, shape in make(given).items():
            if shape is None:
                instance.attrs[attr] = None
            elif isinstance(given.get(attr), Unknown):
                instance.attrs[attr] = given[attr]  # the flag that decides whether there is one
            elif all(isinstance(s, (int, Expr)) for s in shape):
                kind = dt.INT64 if attr == "num_batches_tracked" else dtype
                tensor = h.allocate(kind, tuple(shape), "parameter", None, name=attr)
                instance.attrs[attr] = tensor
                if h.detailed and "Norm" in name:
                    first = "ones" if attr in ("weight", "running_var") else "zeros"
                    with h.inside(first, [tuple(shape)], {}):
                        h.torch_op(first, "fill", (), (tensor,), node)
            else:
                # Of open size, but a tensor: the flag of its name (`bias=True`) must not stand in for it.
                tensor = h.allocate(dtype, None, "parameter", None)
                instance.attrs[attr] = replace(tensor, name=f"{attr}_{tensor.storage.id}")
    instance.attrs.update({k: v for k, v in _arguments(name, args, kwargs).items() if k not in instance.attrs})
    if name.startswith("Conv") and name[-2:-1].isdigit():
        # These layers keep their geometry as one number for each dimension.
        for attr in _GEOMETRY & instance.attrs.keys():
            value = instance.attrs[attr]
            if isinstance(value, (int, Expr, list)):
                instance.attrs[attr] = tuple(_tuple(value, int(name[-2])))
    return instance


def is_made_by_name(path: str) -> bool:
    """Whether :func:`construct` knows what the constructor of the class at ``path`` gives its object."""
    package, _, name = path.rpartition(".")
    return package.startswith("torch.nn") and (name in _ARGUMENTS or name in ("Sequential", "ModuleList"))


def settings(path: str) -> dict[str, bool]:
    """What the constructor of the layer at ``path`` takes, and whether it has to be given."""
    name = path.rpartition(".")[2]
    usual = {**_DEFAULTS, **_OWN_DEFAULTS.get(name, {})}
    return {one: one not in usual for one in _ARGUMENTS.get(name, ())}


#: The attribute that keeps what is called before ``forward``.
PRE_HOOKS = "_forward_pre_hooks"


def attribute(h: HostState, instance: Instance, name: str) -> Any:
    """An attribute that neither the instance nor its class defines: a method of ``nn.Module``."""
    if name in ("train", "eval"):
        return Builtin(
            name, lambda a, k, n: _switched(h, instance, name == "train" and [*a, *k.values(), True][0] is not False)
        )
    if name in _METHODS_THAT_RETURN_SELF:
        return Builtin(
            name, lambda a, k, n: _cast(instance, next((x for x in [*a, *k.values()] if isinstance(x, Dtype)), None))
        )
    if name in _CASTS:
        return Builtin(name, lambda a, k, n: _cast(instance, _CASTS[name]))
    if name in ("register_buffer", "register_parameter"):
        return Builtin(name, lambda a, k, n: _register(h, instance, a, k))
    if name == "register_forward_pre_hook":
        return Builtin(name, lambda a, k, n: instance.attrs.setdefault(PRE_HOOKS, []).append(a[0]) if a else None)
    if name == "append" and "_items" in instance.attrs:
        return Builtin(name, lambda a, k, n: instance.attrs["_items"].append(a[0]) if a else None)
    if name == "save_for_backward":
        return Builtin(name, lambda a, k, n: _save(h, instance, a))
    if name in ("mark_dirty", "mark_non_differentiable", "set_materialize_grads"):
        return Builtin(name, lambda a, k, n: None)
    if name in ("parameters", "named_parameters", "buffers", "modules", "children"):
        return Builtin(name, lambda a, k, n: [])
    if name in ("forward", "__call__"):
        return Builtin(name, lambda a, k, n: call(h, instance, a, k, n))
    return Unknown(f"attribute {name}")


def _save(h: HostState, context: Instance, args: list[Any]) -> None:
    """``ctx.save_for_backward(...)``."""
    h.save(tensors_in(args))
    context.attrs["saved_tensors"] = tuple(args)


def changes(name: str) -> bool:
    """Whether the method ``name`` of ``nn.Module`` may change the module."""
    return name in (
        "append",
        "register_buffer",
        "register_parameter",
        "register_forward_pre_hook",
        *_METHODS_THAT_RETURN_SELF,
        *_CASTS,
    )


def _register(h: HostState, instance: Instance, args: list[Any], kwargs: dict[str, Any]) -> None:
    name = args[0] if args else kwargs.get("name")
    value = args[1] if len(args) > 1 else kwargs.get("tensor", kwargs.get("param"))
    if isinstance(name, str):
        if isinstance(value, Tensor):
            h.forget_numbers(value.storage.id)  # others may be loaded
            value = replace(value, name=name, storage=replace(value.storage, origin="parameter"))
        instance.attrs[name] = value


def in_training(h: HostState, instance: Instance) -> Any:
    """Whether ``instance`` is in training, as it is until somebody says otherwise. It is noted that the call depends on it."""
    mode = instance.attrs.setdefault("training", True)
    if isinstance(mode, bool):
        h.modes.append((instance, mode))
    return mode


def _switched(h: HostState, instance: Instance, training: bool) -> Instance:
    """``instance`` and all layers in it in training, or not."""
    in_training(h, instance)
    instance.attrs["training"] = training
    for value in [*instance.attrs.values(), *instance.attrs.get("_items", [])]:
        if isinstance(value, Instance):
            _switched(h, value, training)
    return instance


def _cast(instance: Instance, target: Dtype | None) -> Instance:
    if target is not None:
        for name, value in instance.attrs.items():
            if isinstance(value, Tensor) and value.dtype is not None and value.dtype.is_float:
                instance.attrs[name] = replace(value, dtype=target)
            elif isinstance(value, Instance):
                _cast(value, target)
        for item in instance.attrs.get("_items", []):
            if isinstance(item, Instance):
                _cast(item, target)
    return instance


def _function_of(layer: str) -> str:
    """The function that a layer is called for: ``max_pool2d`` for ``MaxPool2d``."""
    return _OTHER_NAMES.get(layer) or _WORD_ENDS.sub("_", layer).lower()


def _settings(names: tuple[str, ...], attrs: dict[str, Any]) -> dict[str, Any]:
    """What the constructor of a layer without parameters was given, by the ``names`` that it has there."""
    return {**dict(zip(names, attrs["_args"] or ())), **(attrs["_kwargs"] or {})}


def _given(attrs: dict[str, Any], place: int, name: str) -> Any:
    """An argument of a layer's constructor."""
    args = attrs.get("_args") or []
    return args[place] if len(args) > place else (attrs.get("_kwargs") or {}).get(name)


def call(h: HostState, instance: Instance, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    """``layer(x)``."""
    name = instance.kind.rsplit(".", 1)[-1]
    x = args[0] if args else None
    attrs = instance.attrs
    if name == "Sequential":
        for layer in attrs["_items"]:
            if isinstance(layer, (Instance, Function)):
                x = h.call(layer, [x], {}, node)
        return x
    function = _function_of(name)
    if function in LOSS_SETTINGS:
        return torch_function(h, function, args, _settings(LOSS_SETTINGS[function], attrs), node)
    if function in ACTIVATION_SETTINGS:
        return torch_function(h, function, [x], _settings(ACTIVATION_SETTINGS[function], attrs), node)
    if name == "Identity":
        return x
    if name.startswith("Dropout"):
        return (
            x
            if _given(attrs, 0, "p") == 0 or not in_training(h, instance)
            else torch_function(h, "dropout", [x], {}, node)
        )
    if name == "Flatten":
        return torch_function(h, "flatten", [x, *(attrs["_args"] or [1])], {}, node)
    if name == "Linear":
        return torch_function(h, "linear", [x, attrs.get("weight"), attrs.get("bias")], {}, node)
    if name in ("Conv1d", "Conv2d", "Conv3d"):
        return _convolution(h, name, x, attrs, node)
    if name.startswith("ConvTranspose"):
        given = (attrs.get(k) for k in ("weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"))
        return torch_function(h, function, [x, *given], {}, node)
    if name in ("LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm2d"):
        keeps = any(isinstance(attrs.get(key), Tensor) for key in ("running_mean", "running_var"))
        if keeps and in_training(h, instance) and name.startswith("BatchNorm"):
            count = attrs["num_batches_tracked"]
            with h.inside("add_", [count, 1], {}):
                h.torch_op("add_", "elementwise", (count,), (count,), node, flops=1)
        return _normalised(h, name, x, attrs, node)
    if name == "Embedding" and _given(attrs, 3, "max_norm") is None:
        return torch_function(h, "embedding", [x, attrs.get("weight")], {}, node)
    if name == "EmbeddingBag":
        settings = {k: attrs.get(k) for k in ("max_norm", "mode", "padding_idx") if attrs.get(k) is not None}
        return torch_function(h, "embedding_bag", [x, attrs.get("weight"), *args[1:2]], {**settings, **kwargs}, node)
    if name in _UPSAMPLED:
        names = ("size", "scale_factor", "mode", "align_corners", "recompute_scale_factor")
        return torch_function(h, "interpolate", [x], _settings(names, attrs) | _UPSAMPLED[name], node)
    if name.startswith(("Unfold", "MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool")):
        return torch_function(h, function, [x, *attrs["_args"]], attrs["_kwargs"], node)
    if name in ("GRU", "LSTM", "RNN"):
        return _recurrent(h, name, attrs, x, node)
    h.unknown(f"layer {instance.kind or 'of unknown class'}")
    return Unknown(name)


def _convolution(h: HostState, name: str, x: Any, attrs: dict[str, Any], node: Any) -> Any:
    """A convolution, whose edges may be padded otherwise than with zeros."""
    padding, mode = attrs.get("padding"), _given(attrs, 8, "padding_mode")
    if mode not in (None, "zeros"):
        if not isinstance(padding, tuple):
            h.unknown(f"{name} with padding {padding!r}")
            return Unknown(name)
        around = [width for width in reversed(padding) for _ in range(2)]
        x, padding = torch_function(h, "pad", [x, around], {"mode": mode}, node), 0
    given = (
        padding if k == "padding" else attrs.get(k)
        for k in ("weight", "bias", "stride", "padding", "dilation", "groups")
    )
    return torch_function(h, name.lower(), [x, *given], {}, node)


def _normalised(h: HostState, name: str, x: Any, attrs: dict[str, Any], node: Any) -> Any:
    """A layer that normalises, as the function that it calls."""
    weight, bias, eps = (attrs.get(key) for key in ("weight", "bias", "eps"))
    if name in ("LayerNorm", "RMSNorm"):
        shape = attrs.get("normalized_shape")
        affine = [weight, bias] if name == "LayerNorm" else [weight]
        shape = shape if isinstance(shape, (tuple, list)) else (shape,)
        return torch_function(h, _function_of(name), [x, shape, *affine, eps], {}, node)
    if name == "GroupNorm":
        return torch_function(h, "group_norm", [x, attrs.get("num_groups"), weight, bias, eps], {}, node)
    statistics = [attrs.get("running_mean"), attrs.get("running_var")]
    function = "instance_norm" if name.startswith("Instance") else "batch_norm"
    options = {"eps": eps, "training": attrs["training"]}
    if "momentum" in attrs:
        options["momentum"] = attrs["momentum"]
    return torch_function(h, function, [x, *statistics, weight, bias], options, node)


def _recurrent(h: HostState, name: str, attrs: dict[str, Any], x: Any, node: Any) -> Any:
    """What a recurrent layer gives for each step, with the last state of each of its layers and directions."""
    hidden, layers = attrs.get("hidden_size"), attrs.get("num_layers")
    if not isinstance(hidden, (int, Expr)) or not isinstance(layers, (int, Expr)) or attrs.get("proj_size"):
        return Unknown(name)
    if not isinstance(x, Tensor) or x.shape is None or len(x.shape) not in (2, 3):
        return Unknown(name)
    directions = 2 if attrs.get("bidirectional") else 1
    batch = x.shape[:1] if attrs.get("batch_first") else x.shape[1:2]
    output = h.allocate(x.dtype, (*x.shape[:-1], product((hidden, directions))), "result", node)
    ends = (product((layers, directions)), *(batch if len(x.shape) == 3 else ()), hidden)
    state = h.allocate(x.dtype, ends, "result", node)
    # A gate multiplies what comes in, which is the states below from the second layer on, and its own last state.
    below = ex.lift(product((hidden, directions)))
    inner = ex.lift(layers) * (below + hidden) + x.shape[-1] - below
    flops = product((2 * _GATES[name], *x.shape[:-1], directions, hidden, inner))
    steps = ex.concrete(product((layers, x.shape[1 if attrs.get("batch_first") and len(x.shape) == 3 else 0])))
    dims = {"tf32": 1, **({"steps": steps * _GATES[name]} if steps is not None else {})}
    h.torch_op(name.lower(), "rnn", (x,), (output,), node, flops=ex.concrete(flops), dims=dims)
    return (output, (state, state) if name == "LSTM" else state)


#: How many sums a step makes of what comes in and its state.
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


#: What recurrent layers are given, with what only one of them takes in between or behind.
_LAYERS = ("input_size", "hidden_size", "num_layers")
_STEPS = ("bias", "batch_first", "dropout", "bidirectional")

_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "Linear": ("in_features", "out_features", "bias"),
    "Bilinear": ("in1_features", "in2_features", "out_features", "bias"),
    **{
        f"Conv{d}d": ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias")
        for d in (1, 2, 3)
    },
    **{
        f"ConvTranspose{d}d": tuple(
            "in_channels out_channels kernel_size stride padding output_padding groups bias dilation".split()
        )
        for d in (1, 2, 3)
    },
    "LayerNorm": ("normalized_shape", "eps", "elementwise_affine", "bias"),
    "RMSNorm": ("normalized_shape", "eps", "elementwise_affine"),
    "GroupNorm": ("num_groups", "num_channels", "eps", "affine"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "EmbeddingBag": tuple(
        "num_embeddings embedding_dim max_norm norm_type scale_grad_by_freq mode sparse _weight include_last_offset padding_idx".split()
    ),
    **{
        f"{kind}Norm{d}d": ("num_features", "eps", "momentum", "affine", "track_running_stats")
        for kind in ("Batch", "Instance")
        for d in (1, 2, 3)
    },
    **dict.fromkeys(("LSTM", "GRU"), (*_LAYERS, *_STEPS, "proj_size")),
    "RNN": (*_LAYERS, "nonlinearity", *_STEPS),
}

_DEFAULTS = {
    "stride": 1,
    "padding": 0,
    "dilation": 1,
    "groups": 1,
    "output_padding": 0,
    "bias": True,
    "elementwise_affine": True,
    "affine": True,
    "eps": 1e-5,
    "momentum": 0.1,
    "track_running_stats": True,
}
#: Where a layer differs.
_OWN_DEFAULTS: dict[str, dict[str, Any]] = {
    "RMSNorm": {"eps": None},
    **{name: {"num_layers": 1} for name in ("RNN", "LSTM", "GRU")},
    **{f"InstanceNorm{d}d": {"affine": False, "track_running_stats": False} for d in (1, 2, 3)},
}


def _arguments(name: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = _ARGUMENTS.get(name, ())
    return {
        **{k: _DEFAULTS[k] for k in names if k in _DEFAULTS},
        **_OWN_DEFAULTS.get(name, {}),
        **dict(zip(names, args)),
        **{k: v for k, v in kwargs.items() if k in names},
    }


def _tuple(value: Any, rank: int) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value] * rank


def _linear_parameters(a: dict[str, Any]) -> dict[str, Any]:
    n = a.get("out_features")
    return {"weight": (n, a.get("in_features")), "bias": (n,) if a.get("bias") is not False else None}


def _conv_parameters(rank: int) -> Any:
    def make(a: dict[str, Any]) -> dict[str, Any]:
        channels, groups = a.get("in_channels"), a.get("groups")
        inner = channels
        if isinstance(channels, (int, Expr)) and isinstance(groups, (int, Expr)) and groups != 0:
            inner = ex.floordiv(channels, groups)
        out = a.get("out_channels")
        return {
            "weight": (out, inner, *_tuple(a.get("kernel_size"), rank)),
            "bias": (out,) if a.get("bias") is not False else None,
        }

    return make


def _transposed_conv_parameters(rank: int) -> Any:
    def make(a: dict[str, Any]) -> dict[str, Any]:
        out, groups = a.get("out_channels"), a.get("groups")
        per_group = out // groups if isinstance(out, int) and isinstance(groups, int) and groups else out
        bias = (out,) if a.get("bias") is not False else None
        return {"weight": (a.get("in_channels"), per_group, *_tuple(a.get("kernel_size"), rank)), "bias": bias}

    return make


def _norm_parameters(key: str, with_bias: bool = True) -> Any:
    def make(a: dict[str, Any]) -> dict[str, Any]:
        shape = tuple(_tuple(a.get(key), 1))
        affine = a.get("elementwise_affine", a.get("affine", True)) is not False
        bias = affine and with_bias and a.get("bias", True) is not False
        return {"weight": shape if affine else None, "bias": shape if bias else None}

    return make


def _batch_norm_parameters(a: dict[str, Any]) -> dict[str, Any]:
    """The weight and bias, and the buffers with the statistics of former batches."""
    kept = a.get("track_running_stats") is not False
    shape = (a.get("num_features"),) if kept else None
    statistics = {"running_mean": shape, "running_var": shape, "num_batches_tracked": () if kept else None}
    return {**_norm_parameters("num_features")(a), **statistics}


_PARAMETERS: dict[str, Any] = {
    "Linear": _linear_parameters,
    **{f"Conv{d}d": _conv_parameters(d) for d in (1, 2, 3)},
    **{f"ConvTranspose{d}d": _transposed_conv_parameters(d) for d in (1, 2, 3)},
    "LayerNorm": _norm_parameters("normalized_shape"),
    "RMSNorm": _norm_parameters("normalized_shape", False),
    "GroupNorm": _norm_parameters("num_channels"),
    **dict.fromkeys(
        ("Embedding", "EmbeddingBag"), lambda a: {"weight": (a.get("num_embeddings"), a.get("embedding_dim"))}
    ),
    **{f"{kind}Norm{d}d": _batch_norm_parameters for kind in ("Batch", "Instance") for d in (1, 2, 3)},
}
