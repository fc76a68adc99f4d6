"""Writing files in one step: a reader sees the old text or the new one, never half of it."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.msg import Msg


class NotRewritten(ValueFault):
    """A file that is left as it is; the message says why."""


def rewrite(path: Path, before: str, after: str) -> None:
    """Replace the text of a user's file, which is ``before``, by ``after``; its mode and owner stay.

    Raises:
        NotRewritten: somebody changed it meanwhile, it is write-protected, has other hard links, or cannot be written.
    """
    real = path.resolve()
    try:
        if real.read_bytes() != before.encode("utf-8"):
            raise NotRewritten(
                Msg("it changed meanwhile and was not fixed; run again", "文件在此期间被修改，没有修复；请重新运行")
            )
        found = real.stat()
        if not found.st_mode & 0o222:
            raise NotRewritten(Msg("it is write-protected and was not fixed", "文件是只读的，没有修复"))
        if found.st_nlink > 1:
            raise NotRewritten(
                Msg(
                    "it has other hard links, which would keep the old text, and was not fixed",
                    "文件还有别的硬链接，它们会保留旧内容，因此没有修复",
                ),
            )
        write_atomically(real, after, owner=(found.st_uid, found.st_gid))
    except OSError as error:
        raise NotRewritten(Msg(f"it could not be written: {error.strerror}", f"无法写入：{error.strerror}")) from None


def write_atomically(path: Path, text: str, owner: tuple[int, int] | None = None) -> None:
    """Replace a file's text in one step. A link stays a link, and the file keeps its mode.

    What is there and is no regular file (a device, a pipe) is written to and stays what it is. ``owner`` is the user
    and group that the new file is given.

    Raises:
        OSError: the file's folder cannot be written; the file is then as it was.
    """
    import tempfile

    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
        return
    real = path.resolve()
    mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else None
    handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if mode is None:
            mode = 0o666 & ~_umask()
        if owner is not None and hasattr(os, "geteuid") and owner != (os.geteuid(), os.getegid()):
            os.chown(name, *owner)
        Path(name).chmod(mode)
        Path(name).replace(real)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
