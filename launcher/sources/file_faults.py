"""What is said of a file as a whole: its line ends, and the limits at which reading stops."""

from __future__ import annotations

from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.schemas.core.launch import Fault, NodeLaunch
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.values import Origin, SourceFile, Splice, Text

MAX_NESTED = 4
"""How deep scripts may hold each other."""
MAX_ENGINES = 384
"""Engines of one deployment."""
LINE_ENDS = "line-ends"
MARK, MARK_ALONE = "byte-order-mark", "byte-order-mark-alone"
"""The kinds of fault of a script that begins with a byte order mark: at its first command, or where there is none."""
OF_NO_ENGINE = (LINE_ENDS, MARK, MARK_ALONE)
"""Kinds of fault that say nothing of what a script holds."""
NOT_TEXT = "not-text"
"""The kind of fault of a file of which nothing is read, whatever it may hold."""
NOT_CHECKED = Msg("this file is not checked", "这个文件没有检查")
LESS = Msg("check fewer files in one call", "一次少检查几个文件")
LARGER = Msg("if it is a configuration after all, add --max-size 64MiB", "如果它确实是配置，请加 --max-size 64MiB")


def shell_faults(whole: Text) -> list[Fault]:
    """Return what a shell stumbles over in a whole script: its line ends, and a byte order mark."""
    faults = [carriage_returns(whole)] if "\r\n" in whole.value else []
    return [*faults, byte_order_mark(whole.source)] if whole.value.startswith("\ufeff") else faults


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


def byte_order_mark(source: SourceFile) -> Fault:
    """Return the fault of a script with a byte order mark, which no shell skips."""
    place = source.origin(0, 1)
    alone = source.text[1:2] in ("", "#", "\n", "\r")
    if alone:
        said = Msg(
            "this script begins with a byte order mark: the shell runs its first line as an unknown command, and a "
            "`#!` line does not count",
            "脚本以字节顺序标记（BOM）开头：shell 会把第一行当成未知命令来执行，`#!` 行也不起作用",
        )
    else:
        said = Msg(
            "this script begins with a byte order mark: to the shell it is part of the first word, and there is no "
            "such command",
            "脚本以字节顺序标记（BOM）开头：shell 把它当成第一个词的一部分，因此找不到这个命令",
        )
    return Fault(
        MARK_ALONE if alone else MARK,
        place,
        said,
        fix=(Splice(place, ""),),
        fix_is_safe=True,
        help=Msg("save the file as UTF-8 without a byte order mark", "把文件保存为不带 BOM 的 UTF-8"),
    )


def not_text(source: SourceFile) -> Fault:
    """Return the fault of a file with NUL characters: bash leaves them out and starts the engine all the same."""
    at = source.text.index("\0")
    if is_utf16(source.text):
        said = Msg(
            "this file is UTF-16, not UTF-8: nothing in it was checked",
            "这个文件是 UTF-16 而不是 UTF-8：其中的内容没有检查",
        )
        help = Msg("save it as UTF-8", "请用 UTF-8 保存")
    else:
        said = Msg(
            "this is not a text file, it has a NUL character here: nothing in it was checked",
            "这个文件不是文本文件，此处有 NUL 字符：其中的内容没有检查",
        )
        help = NOTHING if is_packed(source.text) else _WITHOUT
    return Fault(NOT_TEXT, source.origin(at, at + 1), said, help=help)


_WITHOUT = Msg(
    "if it should be text, remove the NUL characters (tr -d '\\0')", "如果它本来是文本，请删掉 NUL 字符（tr -d '\\0'）"
)


def is_utf16(text: str) -> bool:
    """Whether bytes that were read as UTF-8 are UTF-16, in which every other byte of Latin letters is NUL."""
    head = text[:200]
    return len(head) > 8 and head.count("\0") > len(head) // 3 and any("\0" not in head[first::2] for first in (0, 1))


def is_packed(text: str) -> bool:
    """Whether a file begins as what gzip, zip, zstd or xz packed: no character is to be removed from it."""
    return text.startswith(("\x1f\ufffd", "PK\x03\x04", "(\ufffd/\ufffd", "\ufffd7zXZ"))


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
    """Say that a script is not read, as it is inside too many others."""
    return not_followed(
        origin,
        Msg(f"a script inside more than {MAX_NESTED} others", f"脚本嵌套超过 {MAX_NESTED} 层"),
        Msg("it is not checked", "这一处没有检查"),
        Msg("write it into a separate file and check that", "把它写成单独的文件再检查"),
    )
