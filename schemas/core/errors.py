"""Errors whose reason is shown to people: in English and in Chinese."""

from __future__ import annotations

from pd_launch.schemas.core.msg import Msg


class ValueFault(ValueError):
    """A value that cannot be used. ``said`` is the reason, ``str(error)`` its English.

    ``help`` says what to write instead, where the reason does not. ``at`` leads from the value that was looked at to
    the part of it that is wrong.
    """

    def __init__(self, said: Msg, help: Msg | None = None, at: tuple[str | int, ...] = ()) -> None:
        super().__init__(said.en)
        self.said = said
        self.help = help
        self.at = at


def written(value: object) -> str:
    """Return a scalar as it is written in YAML and JSON: ``true``, ``null``, ``8``, ``'8'``."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)
