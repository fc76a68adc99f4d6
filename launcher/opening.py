"""Opening what a user names, without ever waiting for it: a pipe that nobody writes to, or a device, has no end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from pd_launch.schemas.core.lazy import lazy_pattern

_OWN = lazy_pattern(r"/dev/(?:fd/\d+|stdin|null)|/proc/(?:self|thread-self|\d+)/fd/\d+")
"""What a shell hands over: ``<(command)``, standard input; and the device that is empty."""
NO_FILE = "it is a pipe, a socket or a device, not a file; give - and pass it as standard input"
FOLDER = "it is a folder, not a file"


class NoRegularFile(OSError):
    """A path names something that reading may wait for without end."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, NO_FILE)


def open_input(path: str | Path) -> BinaryIO:
    """Open a regular file, or what the shell itself hands over, to read its bytes.

    Raises:
        NoRegularFile: it is a named pipe, a socket or a device.
        OSError: it is a folder, or cannot be opened.
        ValueError: it is no path at all.
    """
    own = _OWN.fullmatch(str(path)) is not None
    _look(Path(path).stat().st_mode, own)  # to open a device may do something
    # It may have been replaced meanwhile: to open a pipe would wait.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        _look(os.fstat(handle).st_mode, own)
        os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def _look(mode: int, own: bool) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, FOLDER)
    if not stat.S_ISREG(mode) and not own:
        raise NoRegularFile
