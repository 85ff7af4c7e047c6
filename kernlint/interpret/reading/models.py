"""Models, layers, functions and autograd functions as entries, on the inputs that are meant for them."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import libcst as cst

from kernlint.errors import AnalysisError
from kernlint.interpret.host.annotations import argument
from kernlint.interpret.host.autograd import before_arguments, forward_pass
from kernlint.interpret.host.objects import class_attribute, construct, layer_of
from kernlint.interpret.python.control import OutOfBudget
from kernlint.interpret.reading.calls import CallReading
from kernlint.interpret.reading.launching import may_launch
from kernlint.interpret.torch import layers
from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.shapes import contiguous_strides
from kernlint.interpret.values import Class, Function, Instance, Namespace, Unknown
from kernlint.records import replace
from kernlint.workload import Tensor, Workload

#: More inputs than an autograd function has, and what the host keeps of what checks tell.
_MOST_GRADIENTS = 64


_HINTS = ("size_names", "choices", "dtype_choices", "alike", "same_shape", "axes", "annotated")


class ModelReading(CallReading):
    """Makes objects and calls them."""

    def _model(self, name: str) -> Class | None:
        """The class ``name`` of the module, if it is one with a ``forward``, its own or inherited."""
        value = self.scope.get(name)
        if isinstance(value, Class) and isinstance(class_attribute(self.host, value, "forward", None), Function):
            return value
        return None

    @property
    def _model_replaces(self) -> bool:
        """Whether the class ``Model`` of the module launches kernels itself, on inputs that the module tells: in some
        benchmarks a replacement goes by the name of what it replaces."""
        return "Model" in may_launch(self.kernel_module) and isinstance(self.scope.get("get_inputs"), Function)

    def _of_model(self, cls: Class, method: str = "forward") -> Workload:
        init, arguments, instance = self._instance(cls)
        workload = self._call(cls, method, instance, arguments)
        return replace(workload, reference=self._reference(init, arguments))

    def second_call(self) -> Workload | None:
        """That of the second of two calls of ``ModelNew.forward``."""
        model = self._model("ModelNew")
        if model is None:
            return None
        _, arguments, instance = self._instance(model)
        self._call(model, "forward", instance, arguments)
        return self._call(model, "forward", instance, self._inputs()).first_call()

    def _instance(self, cls: Class) -> tuple[list[Any], list[Any] | None, Any]:
        """The arguments of the constructor, those of ``forward`` where they are told, and an object of ``cls``."""
        self.host.turn_to(cls.name)
        scope = self._inputs_scope()
        init = (self._call_list(scope, "get_init_inputs") or []) if scope is not None else []
        arguments = self._inputs()
        return init, arguments, self._guard(lambda: construct(self.host, cls, list(init), {}), Unknown("model"))

    def _call(self, cls: Class, method: str, instance: Any, arguments: list[Any] | None) -> Workload:
        forward = class_attribute(self.host, cls, method, None)
        if not isinstance(forward, Function):
            raise AnalysisError(f"{self.kernel_module.path}: {cls.name} has no {method}")
        given = self._arguments(forward, arguments, skip=1)
        return self._follow(forward, [instance, *given], f"{cls.name}.{method}", given)

    def _of_class(self, cls: Class, method: str) -> Workload | None:
        """A layer or autograd function that is no ``ModelNew``, or another class: its ``method`` on unknown arguments."""
        forward = cls.scope.vars.get(method)
        if not isinstance(forward, Function):
            return None
        self.host.turn_to(cls.name)
        if is_autograd(cls):
            first = before_arguments(self.host, cls, forward, Instance(None, "torch.autograd.function.FunctionCtx"))
        else:
            init = class_attribute(self.host, cls, "__init__", None)
            made = self._arguments(init, None, skip=1) if isinstance(init, Function) else []
            named = self._settings(cls) if not isinstance(init, Function) else {}
            first = [self._guard(lambda: construct(self.host, cls, made, named), Unknown("layer"))]
        given = self._arguments(forward, None, skip=len(first))
        return self._follow(forward, [*first, *given], f"{cls.name}.{method}", given)

    def _settings(self, cls: Class) -> dict[str, Any]:
        """What the layer of torch is made with that ``cls``, which has no constructor of its own, derives from: as facts say, else
        sizes that are open."""
        known = layers.settings(layer_of(cls))
        self.parameters += known
        said = {f.name: f.value for f in self.question.facts if f.is_value and f.function in ("", cls.name)}
        said = {name: value for name, value in said.items() if name in known or (known and name == "dtype")}
        self.used_facts.update(said)
        return {name: argument(self.host, name, None, True) for name, needed in known.items() if needed} | said

    def _of_backward(self, cls: Class, inputs: list[Any] | None = None) -> Workload:
        """The ``backward`` of an autograd function, after its ``forward`` on ``inputs`` (None: unknown ones): on gradients like the
        results of that, and on what it has saved."""
        self.host.turn_to(cls.name)
        forward, backward = (class_attribute(self.host, cls, name, None) for name in ("forward", "backward"))
        context = Instance(None, "torch.autograd.function.FunctionCtx")
        results: list[Tensor] = []
        if isinstance(forward, Function):
            if inputs is None:
                inputs = self._arguments(forward, None, skip=len(before_arguments(self.host, cls, forward, context)))
            with self.host.recording():  # whose steps another call makes
                self.host.differentiated = True
                passed = partial(forward_pass, self.host, cls, forward, inputs, {})
                context, result = self._guard(passed, (context, None))
                self.host.differentiated = False
                results = list(tensors_in([result]))
        context.attrs["needs_input_grad"] = (True,) * _MOST_GRADIENTS
        assert isinstance(backward, Function)
        first = before_arguments(self.host, cls, backward, context)
        asserted = {name: getattr(self.host, name) for name in _HINTS}
        gradients = self._arguments(backward, None, skip=len(first))
        for name, value in asserted.items():
            setattr(self.host, name, value)
        for place, gradient in enumerate(gradients):
            if isinstance(gradient, Tensor) and place < len(results):
                like = results[place]
                known = gradient.dtype or like.dtype, gradient.shape if gradient.shape is not None else like.shape
                strides = (
                    gradient.strides
                    if gradient.shape is not None
                    else contiguous_strides(known[1])
                    if known[1] is not None
                    else None
                )
                gradients[place] = replace(gradient, dtype=known[0], shape=known[1], strides=strides)
        # Its symbols are those of the forward pass, so what the user says of that counts here too.
        return self._follow(backward, [*first, *gradients], f"{cls.name}.backward", [*gradients, *(inputs or ())])

    def _of_function(self, function: Function) -> Workload:
        self.host.turn_to(function.symbol)
        given = self._arguments(function, None, skip=0)
        return self._follow(function, given, function.symbol, given)

    def _reference(self, init: list[Any], arguments: list[Any] | None) -> Workload | None:
        scope = self.reference_scope if self.reference_scope is not None else self.scope
        model = scope.get("Model")
        if scope is self.scope and self._model_replaces and not isinstance(scope.get("ModelNew"), Class):
            return None
        if self.edited or not isinstance(model, Class) or arguments is None:
            return None
        forward = model.scope.vars.get("forward")
        if not isinstance(forward, Function):
            return None
        self.host.turn_to(model.name)
        instance = self._guard(lambda: construct(self.host, model, list(init), {}), Unknown("model"))
        try:
            return self._follow(forward, [instance, *arguments], f"{model.name}.forward", arguments)
        except OutOfBudget:
            return None

    def _with_inputs(self, function: Function, inputs: list[Any]) -> Workload | None:
        """The workload of ``function`` on what the reference's ``get_inputs`` gives; None where it launches nothing then."""
        self.host.turn_to(function.symbol)
        # It may refuse their types: harnesses cast what get_inputs gives.
        for values in (inputs, [replace(x, dtype=None) if isinstance(x, Tensor) else x for x in inputs]):
            given = self._arguments(function, values, skip=0)
            workload = self._follow(function, given, function.symbol, given)
            if workload.first_call().launches():
                return replace(workload, reference=self._reference([], inputs))
        return None

    def _fitting(self, candidates: list[Any]) -> tuple[Function, list[Any]] | None:
        """The one public function that ``get_inputs`` (the reference's, or the module's own) can be meant for, with what that
        returns in the order of its parameters: the one whose parameters have the names of the reference's, else the only one
        that takes as many."""
        scope = self._inputs_scope() if self.reference_scope is None else self.reference_scope
        public = [c for c in candidates if isinstance(c, Function) and not c.name.startswith("_")]
        if scope is None or any(isinstance(c, Class) for c in candidates):
            self._left_out("the module has a class that is no ModelNew")
            return None
        inputs = self._call_list(scope, "get_inputs")
        if inputs is None:
            self._left_out("it has no get_inputs that can be followed")
            return None
        matched = [(function, self._matched(function, inputs)) for function in public]
        for way in ("name", "order"):
            found = [(function, match[1]) for function, match in matched if match is not None and match[0] == way]
            if len(found) == 1:
                return found[0]
            if found:
                self._left_out(
                    f"{', '.join(function.name for function, _ in found)} all fit its get_inputs; name one with --entry"
                )
                return None
        names = ", ".join(function.name for function in public) or "no public function"
        self._left_out(f"its get_inputs gives {len(inputs)} values, which {names} cannot take")
        return None

    def _left_out(self, why: str) -> None:
        """Say that the reference is of no use, where one was given."""
        if self.reference_scope is not None:
            self.program._without_reference = f"the reference is left out: {why}"

    def _matched(self, function: Function, inputs: list[Any]) -> tuple[str, list[Any]] | None:
        """``inputs`` in the order of the parameters of ``function``, and whether they are so by "name" or by "order"; None where
        they do not fit."""
        node = function.node
        if not isinstance(node, cst.FunctionDef):
            return None
        params = [*node.params.posonly_params, *node.params.params]
        names = [param.name.value for param in params]
        required = sum(param.default is None for param in params)
        model = self.reference_scope.get("Model") if self.reference_scope is not None else None
        forward = class_attribute(self.host, model, "forward", None) if isinstance(model, Class) else None
        if isinstance(forward, Function) and isinstance(forward.node, cst.FunctionDef):
            theirs = [p.name.value for p in (*forward.node.params.posonly_params, *forward.node.params.params)][1:]
            by_name = dict(zip(theirs, inputs))
            leading = [by_name[name] for name in itertools.takewhile(by_name.__contains__, names)]
            if len(theirs) >= len(inputs) and len(leading) >= max(1, required) and len(leading) == len(by_name):
                return "name", leading
        starred = isinstance(node.params.star_arg, cst.Param)
        if required <= len(inputs) and (starred or len(inputs) <= len(params)):
            return "order", inputs
        return None


def is_autograd(cls: Class) -> bool:
    return any(isinstance(base, Namespace) and base.path.endswith("autograd.Function") for base in cls.bases)


def entry_names(value: Function | Class) -> tuple[str, ...]:
    """What the workloads of a function, or of the methods by which a class that is no ``ModelNew`` is entered, are called."""
    if isinstance(value, Function):
        return (value.symbol,)
    functions = ((name, one) for name, one in value.scope.vars.items() if isinstance(one, Function))
    methods = [name for name, one in functions if isinstance(one.node, cst.FunctionDef)]  # a lambda is none
    called = [name for name in ("forward", "__call__") if name in methods][:1]
    return tuple(f"{value.name}.{name}" for name in called or methods if called or not name.startswith("_"))
