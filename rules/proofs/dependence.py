"""How values depend on what they are made of: on what a loop carries, on what a program loads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kernlint.workload.values import Value, Values

#: How a value depends on another: it is that one, that one plus (times) something free of it, ``a * v + b``, an extremum of
#: it and something else; or in another way.
SAME, SUM, PRODUCT, LINEAR, EXTREMUM, OTHER = "same", "sum", "product", "linear", "extremum", "other"
AFFINE = frozenset({SAME, SUM, PRODUCT, LINEAR})
_SCALED = {SAME: PRODUCT, PRODUCT: PRODUCT, SUM: LINEAR, LINEAR: LINEAR}
_SHIFTED = {SAME: SUM, SUM: SUM, PRODUCT: LINEAR, LINEAR: LINEAR}
#: Casts between these round and do no more.
_WIDE = frozenset({"float32", "float64"})

#: Of each of the values in question that a value depends on, by its id, how it does.
Form = Mapping[int, str]


class Dependence:
    """How values depend on ``starts``, of which those with the ids ``reached`` are made, with what lies between. Where
    ``rounded``, any cast leaves a value what it is."""

    def __init__(
        self, values: Values, starts: Collection[Value], reached: Collection[int], rounded: bool = False
    ) -> None:
        self.values = values
        self.reached = reached
        self.rounded = rounded
        self._starts = [start.id for start in starts]
        self._forms: dict[int, Form] = {start.id: {start.id: SAME} for start in starts}

    def of(self, value: Value) -> Form:
        if value.id not in self.reached:
            return {}
        if value.id not in self._forms:
            left = [value]  # without recursion: a chain of statements may be long
            while left:
                top = left[-1]
                needed = [one for one in self.values.operands(top) if one.id in self.reached]
                waiting = [one for one in needed if one.id not in self._forms]
                if waiting and top.op != "phi":
                    left += waiting
                    continue
                left.pop()
                if top.op == "phi":
                    # What an inner loop makes of them may be anything.
                    self._forms[top.id] = dict.fromkeys(self._starts, OTHER)
                elif top.id not in self._forms:
                    self._forms[top.id] = self._made(
                        top, [self._forms.get(o.id, {}) for o in self.values.operands(top)]
                    )
        return self._forms[value.id]

    def _made(self, value: Value, forms: Sequence[Form]) -> Form:
        op = value.op
        if op in ("+", "-", "*", "/"):
            return _combined(op, *forms)
        if op == "negative":
            return _combined("-", {}, forms[0])
        if op in ("maximum", "minimum") and len(forms) == 2:
            return _combined("extremum", *forms)
        if op == "fma":
            return _combined("+", _combined("*", forms[0], forms[1]), forms[2])
        if op == "where":
            return _chosen(*forms)
        if op == "cast" and (self.rounded or str(value.dtype) in _WIDE):
            return forms[0]
        if op == "dot" and not forms[0] and not forms[1] and "acc" in value.roles:
            return _combined("+", forms[value.roles.index("acc")], {})
        return dict.fromkeys((id for form in forms for id in form), OTHER)


def _combined(operator: str, left: Form, right: Form) -> Form:
    return {id: _kind(operator, left.get(id), right.get(id)) for id in {**left, **right}}


def _kind(operator: str, left: str | None, right: str | None) -> str:
    """How ``left operator right`` depends on a value on which its sides depend so (None: not at all)."""
    if left is not None and right is not None:
        if operator not in ("+", "-") or not {left, right} <= AFFINE:
            return OTHER
        return PRODUCT if {left, right} <= {SAME, PRODUCT} else LINEAR
    one = left or right or OTHER
    if operator == "+" or (operator == "-" and right is None):
        return _SHIFTED.get(one, OTHER)
    if operator == "-":
        return LINEAR if one in AFFINE else OTHER
    if operator == "*" or (operator == "/" and right is None):
        return _SCALED.get(one, OTHER)
    return EXTREMUM if operator == "extremum" and one in (SAME, EXTREMUM) else OTHER


def _chosen(condition: Form, one: Form, other: Form) -> Form:
    """The form of ``tl.where(condition, one, other)``."""
    found = {}
    for id in {**condition, **one, **other}:
        kinds = [form[id] for form in (one, other) if id in form]
        if id in condition or OTHER in kinds:
            found[id] = OTHER
        elif SAME in kinds and len(kinds) == 2:
            # The lanes that the condition leaves out do not change.
            found[id] = kinds[0] if kinds[1] == SAME else kinds[1]
        else:
            found[id] = LINEAR if set(kinds) <= AFFINE else OTHER
    return found
