"""The dataclass of the house behaves as that of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from kernlint import records
from kernlint.records import dataclass as ours


@ours(frozen=True, order=True)
class Frozen:
    a: int
    b: str = "x"
    c: list[int] = field(default_factory=list)
    d: int = field(default=0, compare=False)
    e: bool = field(default=False, kw_only=True)
    known: ClassVar[int] = 3


@ours(frozen=True)
class Derived(Frozen):
    f: int = 5


@ours
class Plain:
    a: int
    doubled: int = 0

    def __post_init__(self) -> None:
        self.doubled = 2 * self.a


@ours(eq=False)
class Identity:
    a: int


def _make(dataclass: Callable[..., Any]) -> tuple[type[Any], type[Any]]:
    @dataclass(frozen=True, order=True)
    class Point:
        x: int
        y: int = field(default=1, compare=False)
        z: tuple[int, ...] = field(default=(), kw_only=True)

    @dataclass(frozen=True)
    class Empty:
        pass

    return Point, Empty


@pytest.mark.parametrize(
    "question",
    [
        lambda p, e: repr(p(1, 2)).rpartition(".")[2],
        lambda p, e: repr(e()).rpartition(".")[2],
        lambda p, e: (p(1, 2) == p(1, 3), p(1) == p(2), p(1) == 1, e() == e()),
        lambda p, e: (p(1) < p(2), p(1, z=(2,)) >= p(1), sorted([p(2), p(1)]) == [p(1), p(2)]),
        lambda p, e: len({p(1, 2), p(1, 3), p(2)}),
        lambda p, e: [(f.name, f.type, f.default, f.compare, f.kw_only) for f in dataclasses.fields(p)],
        lambda p, e: (p.y, p.z, hasattr(p, "x"), dataclasses.fields(e)),
        lambda p, e: (p.__dataclass_params__.frozen, p.__dataclass_params__.order, p.__dataclass_params__.eq),
        lambda p, e: dataclasses.asdict(p(1, z=(4,))),
        lambda p, e: p.__match_args__,
        lambda p, e: dataclasses.is_dataclass(p),
        lambda p, e: replace(p(1), y=7).y,
    ],
)
def test_answers_as_the_standard_library_does(question: Callable[[Any, Any], Any]) -> None:
    assert question(*_make(ours)) == question(*_make(dataclasses.dataclass))


@pytest.mark.parametrize(
    "action",
    [
        lambda p: p(),
        lambda p: p(1, 2, (3,)),
        lambda p: p(1, w=2),
        lambda p: p(1) < 3,
    ],
)
def test_refuses_what_the_standard_library_refuses(action: Callable[[Any], object]) -> None:
    raised = []
    for dataclass in (ours, dataclasses.dataclass):
        with pytest.raises((TypeError, AttributeError)) as caught:
            action(_make(dataclass)[0])
        raised.append(caught.type)
    assert raised[0] is raised[1]


def test_fields_are_handed_on_to_classes_of_the_standard_library() -> None:
    @dataclasses.dataclass(frozen=True)
    class Below(Derived):
        a: int = 8
        g: int = 7

    assert [field.name for field in dataclasses.fields(Below)] == ["a", "b", "c", "d", "e", "f", "g"]
    assert (Below(e=True).a, Below(1, f=2).f, Below(3).g) == (8, 2, 7)
    with pytest.raises(TypeError, match="frozen"):
        dataclasses.dataclass(type("Thawed", (Frozen,), {}))


@pytest.mark.parametrize("annotation", ["ClassVar[int]", "typing.ClassVar[int]", ClassVar, ClassVar[int]])
def test_what_belongs_to_the_class_is_no_field(annotation: Any) -> None:
    made = ours(type("Made", (), {"__annotations__": {"own": annotation, "field": "int"}, "own": 1}))
    assert [field.name for field in dataclasses.fields(made)] == ["field"]
    assert made.own == 1


def test_slots_are_no_defaults() -> None:
    made: Any = ours(type("Made", (), {"__annotations__": {"x": int, "y": int}, "__slots__": ("x", "y")}))
    assert (made(1, 2).x, made(1, y=2)) == (1, made(1, 2))
    with pytest.raises(TypeError):
        made(1)


@pytest.mark.parametrize("default", [[], {}, field(default=set())])
def test_a_default_that_all_objects_would_change_is_refused(default: Any) -> None:
    for dataclass in (ours, dataclasses.dataclass):
        with pytest.raises(ValueError, match=r"default"):
            dataclass(type("Made", (), {"__annotations__": {"x": list}, "x": default}))


def test_each_object_has_its_own_default() -> None:
    assert Frozen(1).c is not Frozen(1).c
    assert Frozen(1, c=[2]).c == [2]


def test_fields_of_a_base_come_first() -> None:
    derived = Derived(1, "y", e=True, f=6)
    assert (derived.a, derived.b, derived.e, derived.f) == (1, "y", True, 6)
    assert derived != Frozen(1, "y", e=True)


def test_copies_and_pickles() -> None:
    value = Derived(1, "y", [3], f=6)
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value


def test_post_init_runs() -> None:
    assert Plain(4).doubled == 8


def test_mutable_records_have_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Plain(1))


def test_without_eq_objects_are_themselves() -> None:
    one = Identity(1)
    assert one == one and one != Identity(1) and len({one, Identity(1)}) == 2


def test_a_record_that_holds_itself_can_be_shown() -> None:
    value = Frozen(1)
    value.c.append(value)  # type: ignore[arg-type]
    assert "..." in repr(value)


@ours(frozen=True)
class Asked:
    a: int
    b: int = 2

    @cached_property
    def total(self) -> int:
        return self.a + self.b


def test_replace_makes_a_changed_copy_that_knows_nothing_of_kept_answers() -> None:
    old = Asked(1)
    assert old.total == 3
    new = records.replace(old, a=5)
    assert (new, new.total, old, old.total) == (Asked(5), 7, Asked(1), 3)
    assert records.replace(old) == old


def test_replace_refuses_what_is_no_field_or_not_just_fields() -> None:
    with pytest.raises(TypeError, match="no field total"):
        records.replace(Asked(1), total=4)
    with pytest.raises(AssertionError, match="Plain"):
        records.replace(Plain(1), a=2)
