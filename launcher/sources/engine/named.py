"""Files that an input names: a profile, a ``--config``. They are opened only where they cannot be anything else.

Whoever checks a file did not choose what it names. So only a regular file is read, below the folder of the file that
names it or below the working folder, links followed, within the limit of inputs; nothing else is even looked at.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pd_launch.launcher import unsaved
from pd_launch.launcher.sources.text.limits import MAX_SIZE
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.core.values import SourceFile, Text

COMMAND_LINE = "<command line>"
KINDS = ("unread", "elsewhere")
"""Faults that leave something unknown and say nothing of the input itself."""
BENCHMARK = "benchmark"
"""The kind of the fault of a benchmark's engine; PD014 turns it into a finding."""
_OUTSIDE = Msg(
    "it is outside both the folder of the file that names it and the working folder",
    "它不在写有它的文件所在的目录之下，也不在当前目录之下",
)
_IRREGULAR = Msg("it is not a regular file", "它不是普通文件")
_CLOSED = Msg("it cannot be opened", "无法打开它")


class Named(NamedTuple):
    """What became of a name: the file that was read, or why it is not read; neither where there is no such file."""

    source: SourceFile | None = None
    refused: Msg | None = None


def named_file(name: str, named_in: str, most: int = MAX_SIZE) -> Named:
    """Return the file that ``name`` means in the input ``named_in``: beside it, else in the working folder.

    On the command line, whoever runs the call names it: there it may lie anywhere.
    """
    own = named_in == COMMAND_LINE
    outside = False
    for path in _places(name, named_in):
        try:
            if not own and not _below(Path(os.path.normpath(path.absolute())), named_in):
                outside = True
                continue
            real = path.resolve(strict=True)
            if not own and not _below(real, named_in):
                return Named(refused=_OUTSIDE)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, RuntimeError, ValueError):  # a loop of links, a NUL, a name that is too long
            return Named(refused=_CLOSED)
        return _read(real, str(path), most)
    return Named(refused=_OUTSIDE if outside else None)


def _places(name: str, named_in: str) -> Iterator[Path]:
    if not named_in.startswith("<"):
        yield Path(named_in).parent / name
    yield Path(name)


def _below(path: Path, named_in: str) -> bool:
    """Whether an absolute path lies below the input's folder or the working folder, as named or links followed."""
    folders = [Path.cwd(), *([] if named_in.startswith("<") else [Path(named_in).parent.absolute()])]
    return any(path.is_relative_to(root) for folder in folders for root in (folder, folder.resolve()))


def _read(path: Path, name: str, most: int) -> Named:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # to open a device may do something
            return Named(refused=_IRREGULAR)
        # It may have been replaced meanwhile: to open a pipe would wait.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return Named(refused=_IRREGULAR)
            data = file.read(most + 1)
    except OSError:
        return Named(refused=_CLOSED)
    held = unsaved.text_of(str(path))
    if held is not None:
        data = held.encode("utf-8", "replace")
    if len(data) > most:
        size = human_size(most)
        return Named(refused=Msg(f"it is larger than {size}", f"它大于 {size}"))
    text = data.decode("utf-8", "replace")
    return Named(SourceFile(name, text, exact=text.encode("utf-8") == data))


def unread(what: Msg, name: Text, reason: Msg) -> Fault:
    """Return the fault that says why a named file is not read; ``what`` is what it is, as in "the profile".

    Of its kinds ``elsewhere`` is no mistake: in a container or on another machine the file may well lie there.
    """
    return Fault(
        "elsewhere" if reason is _OUTSIDE else "unread",
        name.origin(),
        Msg(f"{what.en} {name.value} is not read: {reason.en}", f"没有读取{what.zh} {name.value}：{reason.zh}"),
        help=Msg(
            "pass it in the same call as this file; otherwise its content is unknown",
            "请在同一次调用里和这个文件一起给出；否则其中的内容未知",
        ),
    )
