"""What was read of a build, kept: reading it again takes as long as looking at its files' sizes and times.

One JSON file a place or archive. A folder's says which files were opened or looked for and which folders were listed:
none of them changed means that reading again gives the same. An archive's is named by its hash; a small one beside it
saves the hashing of a file that did not change. A cache that cannot be read or written is as if there was none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import pd_launch
from pd_launch.launcher.builds.files import Folder
from pd_launch.launcher.cache import cache_root
from pd_launch.launcher.files import write_atomically

FORMAT = 1
_SUM = 64
"""Characters of the sum in front of an entry: one that was cut off or changed does not count."""


def stored(name: str) -> dict[str, Any] | None:
    """Return an entry of the cache; None where there is none of this reader's."""
    with suppress(OSError, ValueError, RecursionError):
        text = _file(name).read_text(encoding="utf-8")
        if text[:_SUM] == hashlib.sha256(text[_SUM:].encode()).hexdigest():
            return cast("dict[str, Any]", json.loads(text[_SUM:]))
    return None


def store(name: str, entry: Mapping[str, Any]) -> None:
    """Put an entry into the cache, where that is possible."""
    text = json.dumps(entry, separators=(",", ":"))
    with suppress(OSError, ValueError):
        file = _file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, hashlib.sha256(text.encode()).hexdigest() + text)


def key_of(*words: str) -> str:
    """Return a name for an entry, the same for the same words and the same reader."""
    return hashlib.sha256("\0".join([*_reader(), *words]).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def fingerprint(files: Folder) -> dict[str, Any]:
    """Return what a reading of a folder depends on, as JSON."""
    return {"seen": files.seen, "listed": files.listed}


def unchanged(root: Path, print_: Mapping[str, Any]) -> bool:
    """Whether everything that a reading depended on is as it was."""
    base = os.fspath(root)
    return all(_file_state(f"{base}/{path}") == state for path, state in print_["seen"].items()) and all(
        _folder_state(f"{base}/{path}") == state for path, state in print_["listed"].items()
    )


def _file_state(path: str) -> list[int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - of hundreds of files, and a Path for each takes longer
    except (OSError, ValueError):
        return None
    return [found.st_size, found.st_mtime_ns]


def _folder_state(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def hash_of(path: Path) -> str:
    """Return the SHA-256 of an archive; of one that was hashed before and did not change, without reading it.

    Raises:
        OSError: it cannot be read.
    """
    found = path.stat()
    state = [found.st_size, found.st_mtime_ns, found.st_ino]
    name = f"hash-{key_of(os.fspath(path.resolve()))}"
    known = stored(name)
    if known is not None and known["state"] == state:
        return str(known["sha256"])
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            sha.update(part)
    store(name, {"state": state, "sha256": sha.hexdigest()})
    return sha.hexdigest()


def _file(name: str) -> Path:
    return cache_root() / "builds" / f"{name}.json"


@cache
def _reader() -> tuple[str, ...]:
    """Return what says which reader it is: its own files change its answers too."""
    states = []
    with suppress(OSError):
        for file in sorted(Path(__file__).parent.glob("*.py")):
            found = file.stat()
            states.append(f"{file.name} {found.st_size} {found.st_mtime_ns}")
    return (str(FORMAT), pd_launch.__version__, *states)
