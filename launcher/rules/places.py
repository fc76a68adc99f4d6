"""Places of arguments, for findings about layout and sizes."""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin


def at(node: NodeLaunch, *flags: str) -> Origin:
    """Return the place of the first of ``flags`` that is given (of its value, or the flag itself), else the launch."""
    for flag in flags:
        arg = node.arg(flag)
        if arg is not None:
            return arg.value.origin if arg.value is not None else arg.origin
    return node.origin


def seen(node: NodeLaunch, flag: str, en: str, zh: str) -> tuple[tuple[Origin, Msg], ...]:
    """Return the place of an argument as a related place; nothing where it is not given."""
    return ((at(node, flag), Msg(en, zh)),) if node.arg(flag) is not None else ()


def surely_absent(node: NodeLaunch, name: str) -> bool:
    """Whether a flag is not given, and nothing that is unknown can give it."""
    return not node.partial and node.arg(name) is None
