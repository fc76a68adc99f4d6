"""Errors whose reason is shown to people: in English and in Chinese."""

from __future__ import annotations


class ValueFault(ValueError):
    """A value that cannot be used. ``str(error)`` is the English reason; the Chinese one stands beside it.

    ``help`` and ``help_zh`` say what to write instead, where the reason does not. ``at`` leads from the value that was
    looked at to the part of it that is wrong.
    """

    def __init__(self, en: str, zh: str, help: str = "", help_zh: str = "", at: tuple[str | int, ...] = ()) -> None:
        super().__init__(en)
        self.zh = zh
        self.help = help
        self.help_zh = help_zh
        self.at = at


def written(value: object) -> str:
    """Return a scalar as it stands in YAML and JSON: ``true``, ``null``, ``8``, ``'8'``."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)
