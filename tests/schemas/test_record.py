"""Our dataclasses are those of the standard library in everything that a user of one can notice."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 2
    note: str = field(default="", compare=False, repr=False)
    more: list[int] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Deep(Point):
    z: float = 0.0


@dataclass(frozen=True)
class Single:
    only: float


@dataclass(frozen=True)
class Empty:
    pass


@dataclass
class Plain:
    items: list[Any] = field(default_factory=list)


@dataclass(kw_only=True)
class Named:
    name: str


@dataclass(frozen=True)
class Own:
    x: int

    def __repr__(self) -> str:
        return "own"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7


def test_equality_and_hash_look_at_what_is_compared() -> None:
    assert Point(1, note="a") == Point(1, 2, "b") and hash(Point(1, note="a")) == hash(Point(1))
    assert Point(1) != Point(2) and Point(1) != Deep(1) and Point(1) != (1, 2)
    assert Deep(1, z=1.0) != Deep(1, z=2.0)
    nan = float("nan")
    assert Single(nan) == Single(nan) and Empty() == Empty() and len({Empty(), Empty()}) == 1


def test_a_plain_one_has_no_hash_and_can_be_changed() -> None:
    one = Plain()
    one.items = [1]
    assert one == Plain([1])
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_it_is_shown_as_the_standard_shows_it() -> None:
    assert repr(Point(1, note="hidden")) == "Point(x=1, y=2, more=[])"
    assert repr(Empty()) == "Empty()" and repr(Named(name="n")) == "Named(name='n')"
    one = Plain()
    one.items.append(one)
    assert repr(one) == "Plain(items=[...])"


def change(one: Any) -> None:
    one.x = 5


def remove(one: Any) -> None:
    del one.x


def add(one: Any) -> None:
    one.unknown = 5


@pytest.mark.parametrize("what", [change, remove, add])
@pytest.mark.parametrize("one", [Point(1), Deep(1)])
def test_a_frozen_one_stays_as_it_is(one: Point, what: Callable[[Any], None]) -> None:
    with pytest.raises(FrozenInstanceError):
        what(one)
    assert one.x == 1


def test_the_functions_of_dataclasses_and_copies_work() -> None:
    one = Point(1, note="n", more=[3])
    assert dataclasses.replace(one, x=4) == Point(4) and dataclasses.asdict(one)["more"] == [3]
    assert [field.name for field in dataclasses.fields(Deep)] == ["x", "y", "note", "more", "z"]
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == one and other.note == "n"
    assert Point.__match_args__ == ("x", "y", "note", "more")
    with pytest.raises(TypeError):
        Named("n")  # type: ignore[misc]


def test_what_a_class_writes_itself_stays() -> None:
    assert repr(Own(1)) == "own" and Own(1) == Own(2) and hash(Own(1)) == 7
