"""What is said of a file as a whole: its line ends, and the limits at which reading stops."""

from __future__ import annotations

from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.schemas.core.launch import Fault, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin, Text

MAX_NESTED = 4
"""How deep scripts may hold each other."""
MAX_ENGINES = 384
"""Engines of one deployment."""
LINE_ENDS = "line-ends"
"""The kind of fault of a file that says nothing of what the file holds."""
NOT_CHECKED = Msg("this file is not checked", "这个文件没有检查")
LESS = Msg("check fewer files in one call", "一次少检查几个文件")
LARGER = Msg("if it is a configuration after all, add --max-size 64MiB", "如果它确实是配置，请加 --max-size 64MiB")


def carriage_returns(whole: Text) -> Fault:
    """Return the one fault of a script with CR LF line ends, with the fix for the whole file."""
    first = whole.value.find("\r\n")
    return Fault(
        LINE_ENDS,
        whole.origin(first, first + 1),
        Msg(
            "the lines end with CR LF, as on Windows: the shell treats each carriage return as part of the last word",
            "各行以 CRLF（Windows 换行）结尾：shell 会把回车符当成每行最后一个词的一部分",
        ),
        fix=whole.to_line_feeds(),
        fix_is_safe=True,
        help=Msg("save the file with LF line ends (dos2unix does that)", "把文件保存为 LF 换行（例如用 dos2unix）"),
    )


def too_many(node: NodeLaunch) -> Fault:
    """Say that the engines from ``node`` on are not checked."""
    return not_followed(
        node.origin,
        Msg(f"more than {MAX_ENGINES} engines", f"超过 {MAX_ENGINES} 个引擎"),
        Msg("those from here on are not checked", "从这里起的引擎没有检查"),
        Msg(
            "check them in several calls, or use --separate for files that do not belong together",
            "分几次检查；互不相关的文件请加 --separate",
        ),
    )


def read_often(origin: Origin) -> Fault:
    """Say that a script is not read once more."""
    from pd_launch.launcher.sources.shell.model import MAX_STEPS

    limit = Msg(f"more than {MAX_STEPS} steps in loops and functions", f"循环和函数超过 {MAX_STEPS} 步")
    return not_followed(origin, limit, Msg("this script is not read again", "这个脚本不再重复读取"))


def too_deep(origin: Origin) -> Fault:
    """Say that a script is not read, as it stands inside too many others."""
    return not_followed(
        origin,
        Msg(f"a script inside more than {MAX_NESTED} others", f"脚本嵌套超过 {MAX_NESTED} 层"),
        Msg("it is not checked", "这一处没有检查"),
        Msg("write it into a separate file and check that", "把它写成单独的文件再检查"),
    )
