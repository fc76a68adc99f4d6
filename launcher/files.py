"""Writing files in one step: a reader sees the old text or the new one, never half of it."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replace a file's text in one step. A link stays a link, and the file keeps its mode.

    What is there and is no regular file (a device, a pipe) is written to and stays what it is.

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
