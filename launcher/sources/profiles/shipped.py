"""Which file a profile is: one by its structure, or by its name one that comes with pd-launch."""

from __future__ import annotations

from pathlib import Path

from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.values import Node, SourceFile

SHIPPED = Path(__file__).resolve().parents[3] / "profiles"


class ProfileNotFound(Exception):
    """No such file and no shipped profile of that name; the message names the nearest."""


def is_profile(tree: Node) -> bool:
    """Whether a document is a profile, by its structure."""
    return isinstance(tree.value, dict) and "version" in tree.value and bool({"decode", "prefill"} & set(tree.value))


def shipped_names() -> list[str]:
    """Return the names of the profiles that come with pd-launch."""
    return sorted(path.stem for path in SHIPPED.glob("*.yaml"))


def find_profile(name: str) -> Path:
    """Return the path of a profile: an existing file, else the shipped one of that name with or without ``.yaml``.

    Raises:
        ProfileNotFound: there is neither.
    """
    path = Path(name)
    if path.exists() and not path.is_dir():
        return path
    shipped = _shipped(name)
    if shipped is not None:
        return shipped
    if name and path.is_dir():
        return path  # reading it says that it is a folder
    near = nearest(name.removesuffix(".yaml"), shipped_names(), 0.4)
    hint = f"; did you mean the shipped profile {near}?" if near else f"; shipped: {', '.join(shipped_names())}"
    raise ProfileNotFound(f"no profile {name}: there is no such file{hint}")


def _shipped(name: str) -> Path | None:
    """Return the path of the shipped profile of that name; nothing that leads to another place is one."""
    stem = name.removesuffix(".yaml")
    return SHIPPED / f"{stem}.yaml" if stem in shipped_names() else None


def shipped_profile(name: str) -> SourceFile | None:
    """Return the shipped profile of that name, with or without ``.yaml``, or None."""
    path = _shipped(name)
    return None if path is None else SourceFile(str(path), path.read_text(encoding="utf-8"))
