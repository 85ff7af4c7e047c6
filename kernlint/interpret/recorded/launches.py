"""Traced launches: the kernel read with the arguments that were seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import libcst as cst

from kernlint.interpret.edits import Literal
from kernlint.interpret.host.launches import launch_one
from kernlint.interpret.host.tuners import repeating, swept
from kernlint.interpret.recorded.places import HERE, NotTold, Place
from kernlint.interpret.recorded.tensors import Tensors
from kernlint.interpret.values import Config, Jit, Unknown
from kernlint.records import replace
from kernlint.workload import Launch, Span, Tuning


class Launches(Tensors):
    """Makes launches."""

    def _launch(self, step: Mapping[str, Any], place: Place) -> Launch:
        variants = [step, *step.get("alternatives", ())]
        shift = self.host.configuration % len(variants)
        variants = [*variants[shift:], *variants[:shift]]
        tuner = step.get("tuner")
        jit = self._function(step["kernel"])
        if not isinstance(jit, Jit):
            raise ValueError(f"no kernel {step['kernel']['name']}")
        tuned = [str(name) for config in (tuner or {}).get("configurations", ()) for name in config["kwargs"]]
        aside = {*tuned, *jit.heuristics} | ({"num_warps", "num_stages", "num_ctas", "maxnreg"} if tuner else set())
        tuning = self._tuning(tuner, jit, place.span) if tuner else None
        plain = replace(jit, configs=(), heuristics={}, autotuned=bool(tuner), tuning=tuning)
        launches = [self._variant(variant, plain, aside, place) for variant in variants]
        return replace(launches[0], alternatives=tuple(launches[1:]))

    def _variant(self, step: Mapping[str, Any], jit: Jit, aside: set[str], place: Place) -> Launch:
        values = {str(name): self._value(value) for name, value in step["values"].items()}
        options = {str(name): self._value(value) for name, value in step["options"].items()}
        given = {str(name) for name in step["given"]} - aside
        literals = self._literals(place, values, options)
        changed = False
        for name, literal in literals.items():
            if name in given:
                new = self.host.new_literals.get(literal.span, int(literal))
                changed |= new != literal
                (values if name in values else options)[name] = Literal(new, literal.span)
        hidden = {name: value for name, value in values.items() if name not in given}
        warps, stages = (options.get(name, values.get(name)) for name in ("num_warps", "num_stages"))
        config = Config(hidden, warps, stages)
        kwargs = {name: value for name, value in {**values, **options}.items() if name in given}
        grid = tuple(self._value(extent) for extent in step["grid"])
        edited = self.edits.literals or self.edits.options
        if edited and (changed or self.host.new_options.get(place.span)):
            raise NotTold  # of the grid all that is known is how it came out, perhaps from what an edit changes
        node: Any = place.call if place.call is not None else HERE
        return launch_one(self.host, jit, config, grid, [], kwargs, node)

    def _literals(self, place: Place, values: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Literal]:
        """The arguments that the call writes out as integers."""
        found: dict[str, Literal] = {}
        for argument in place.call.args if place.call is not None else ():
            if argument.keyword is not None and isinstance(argument.value, cst.Integer):
                name, number = argument.keyword.value, int(argument.value.value.replace("_", ""), 0)
                if {**options, **values}.get(name) == number:
                    found[name] = Literal(number, place.module.span(argument.value))
        return found

    def _tuning(self, tuner: Mapping[str, Any], jit: Jit, span: Span) -> Tuning:
        found = tuple(
            Config(dict(one["kwargs"]), one["num_warps"], one["num_stages"], Unknown("hook") if one["hooked"] else None)
            for one in tuner["configurations"]
        )
        known = jit.tuning
        return Tuning(
            tuple(map(str, tuner["key"])),
            len(found),
            swept(found),
            bool(tuner["pruned"]),
            known.kept if known is not None else False,
            known.span if known is not None else span,
            repeating(found),
            frozenset(str(name) for one in found for name in one.kwargs),
            frozenset(map(str, tuner["restored"])),
            frozenset(map(str, tuner["zeroed"])),
            any(one.hook is not None for one in found),
        )
