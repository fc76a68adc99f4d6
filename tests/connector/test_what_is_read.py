"""A name that a class sets is seen, whoever has wrapped its constructor."""

from __future__ import annotations

import functools
from typing import Any

from pd_launch.connector.canaries import has


class Request:
    def __init__(self) -> None:
        self.resumable = False


def test_what_a_constructor_sets_is_seen() -> None:
    assert has(Request, "resumable")
    assert not has(Request, "renamed")


def test_a_wrapped_constructor_is_looked_through() -> None:
    class Patched(Request):
        pass

    original = Request.__init__

    @functools.wraps(original)
    def patched(self: Any, *args: Any) -> None:
        original(self, *args)

    Patched.__init__ = patched  # type: ignore[assignment]
    assert has(Patched, "resumable")
    assert not has(Patched, "renamed"), "what wraps it is of the same module here"


def test_of_a_constructor_from_elsewhere_nothing_is_said_to_be_missing() -> None:
    foreign: dict[str, Any] = {"__name__": "plugin"}
    exec("def init(self): pass", foreign)
    made = type("Made", (), {"__init__": foreign["init"], "__module__": __name__})
    assert has(made, "resumable")
