"""What a profile merges into a rendered object, for what it has no word for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pd_launch.launcher.formats.box import FormatError

_KEYS = ("name", "mountPath", "containerPort", "key")
"""By which of these the entries of two lists are the same, the first that all of them have."""


def patched(documents: Sequence[Any], patch: Any, form: str) -> list[Any]:
    """Return the objects with what the profile's ``patch`` of that form merges into them.

    A patch with a ``kind`` is for the objects of that kind, and with ``metadata.name`` for that one alone; without,
    for all. Mappings are merged, null takes a key away, and lists of mappings are merged by name.

    Raises:
        FormatError: no object is of that kind and name.
    """
    found = list(documents)
    for one in patch if isinstance(patch, list) else [patch] if patch else []:
        chosen = [number for number, document in enumerate(found) if _meant(document, one)]
        if not chosen:
            kinds = ", ".join(f"{d.get('kind')} {d['metadata']['name']}" for d in found if d.get("kind"))
            raise FormatError(
                f"patch.{form}: no object is of that kind and name" + (f"; there are {kinds}" * bool(kinds))
            )
        for number in chosen:
            found[number] = merged(found[number], one)
    return found


def _meant(document: Mapping[str, Any], patch: Mapping[str, Any]) -> bool:
    name = (patch.get("metadata") or {}).get("name")
    own = (document.get("metadata") or {}).get("name")
    return patch.get("kind") in (None, document.get("kind")) and name in (None, own)


def merged(value: Any, patch: Any) -> Any:
    """Return ``value`` with ``patch`` merged into it."""
    if isinstance(value, dict) and isinstance(patch, dict):
        result = dict(value)
        for key, change in patch.items():
            if change is None:
                result.pop(key, None)
            else:
                result[key] = merged(result.get(key), change)
        return result
    if isinstance(value, list) and isinstance(patch, list):
        key = next((k for k in _KEYS if all(_is_named(entry, k) for entry in (*value, *patch))), None)
        return list(patch) if key is None else _merged_lists(value, patch, key)
    return patch


def _is_named(entry: Any, key: str) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get(key), (str, int))


def _merged_lists(value: Sequence[Any], patch: Sequence[Any], key: str) -> list[Any]:
    changes = {entry[key]: entry for entry in patch}
    result = [merged(entry, changes.pop(entry[key])) if entry[key] in changes else entry for entry in value]
    return result + list(changes.values())
