"""What is said where reading stops at a limit: what lies after is not checked, and silence would look like a result.

Only what can matter counts against a limit: what starts engines, what sets variables, and values that engines get.
"""

from __future__ import annotations

from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin

MAX_SIZE = 2 * 1024 * 1024
"""Bytes of a file: no configuration is larger."""
NOT_PYTHON = "not-python"
"""The kind of fault of a Python file that cannot be parsed: for this Python; a newer one may run it."""
NOT_FOLLOWED = "not-followed"
"""The kind of these faults; PD014 turns them into findings."""
_BEHIND = Msg("nothing after this point is checked", "此处之后的内容没有检查")
_SPLIT = Msg(
    "check the rest in a separate file, or make it shorter",
    "把其余部分放进单独的文件检查，或者写短一些",
)


def not_followed(
    origin: Origin,
    limit: Msg,
    left: Msg = _BEHIND,
    help_: Msg = _SPLIT,
) -> Fault:
    """Return the fault of a limit that was met at ``origin``.

    Args:
        origin: where reading stopped.
        limit: which limit it is, with its number.
        left: what is not checked, where it is not all that lies after.
        help_: what to do.
    """
    return Fault(NOT_FOLLOWED, origin, Msg(f"{limit.en}: {left.en}", f"{limit.zh}：{left.zh}"), help=help_)
