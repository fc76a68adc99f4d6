"""Which version a build is, and which row of the tables its facts are taken from where no file says them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from packaging.version import Version

from pd_launch.launcher.builds.files import Files, Folder, Limit
from pd_launch.launcher.builds.find import PACKAGES
from pd_launch.launcher.builds.tables import FAULTS
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.pairing import ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.core.target import Target, TargetError, ascend_target, release, vllm_target
from pd_launch.schemas.releases.vllm_tables import ascend_table, vllm_table

_FIELD = lazy_pattern(r"^(Name|Version):[ \t]*([^\s]{1,100})[ \t]*$", re.MULTILINE)
_OWN_NAME = lazy_pattern(r"vllm(?![-_.]?ascend)([-_.].+)?", re.IGNORECASE)
_METADATA = lazy_pattern(r"vllm.*\.(dist|egg)-info|PKG-INFO", re.IGNORECASE)
_MOST_HEAD = 64 * 1024


def version_of(project: str, files: Files, metadata: Callable[[], Iterable[str]]) -> str | None:
    """Return the version that a build says it has: in its ``_version.py``, else in its metadata.

    The first that says something counts: ``0.1.dev1``, as a checkout without tags calls itself, says nothing. Where
    none does, the first is returned. ``metadata`` is asked only where it is needed.
    """
    own = _written(project, files)
    if own is not None and says_something(project, own):
        return own
    found = [version for version in (own, *_named(project, metadata())) if version is not None]
    return next((version for version in found if says_something(project, version)), found[0] if found else None)


def says_something(project: str, version: str) -> bool:
    """Whether a version tells how old a build is: a development version older than every row does not."""
    try:
        parsed, first = Version(version), next(iter(_rows(project)))
        is_old = release(version) < release(first)
        return not is_old or not (parsed.is_devrelease or release(version) == Version("0.0.0"))
    except (TargetError, ValueError):
        return False


def row_of(project: str, version: str | None, sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the row whose facts count for a build, where its own files do not say them.

    It is the row that its version belongs to. Without a version that says something it is the row whose table is most
    like the build's own; of several, the newest.
    """
    if version is not None and says_something(project, version):
        target = ascend_target(version, "path") if project == "vllm-ascend" else vllm_target(version, "path")
        return target.vllm_ascend or target.vllm
    return max(reversed(_rows(project)), key=lambda row: _likeness(project, row, sections))


def _rows(project: str) -> list[str]:
    return list(ASCEND_PAIRS) if project == "vllm-ascend" else VLLM_RELEASES


def _likeness(project: str, row: str, sections: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the share of entries that are in both, from 0 to 1."""
    if project == "vllm-ascend":
        table = ascend_table(Target(row, ASCEND_PAIRS[row], "path"))
    else:
        table = vllm_table(Target(None, row, "path"))
    assert table is not None
    own = {(s, name, json.dumps(v)) for s, entries in sections.items() for name, v in entries.items()}
    theirs = {(s, name, json.dumps(table.entry(s, name))) for s in sections for name in table.names(s)}
    return len(own & theirs) / (len(own | theirs) or 1)


def _written(project: str, files: Files) -> str | None:
    """Return the version in a package's ``_version.py``, as setuptools-scm writes it."""
    try:
        tree = ast.parse(files.text(f"{PACKAGES[project]}/_version.py") or "")
    except FAULTS:
        return None
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
            if names & {"version", "__version__"} and isinstance(statement.value.value, str):
                return _valid(statement.value.value)
    return None


def _named(project: str, metadata: Iterable[str]) -> Iterator[str | None]:
    """Iterate over the versions in the metadata of a project; other packages' metadata is passed over."""
    for text in metadata:
        fields = dict(_FIELD.findall(text.partition("\n\n")[0]))
        name = fields.get("Name", "")
        is_own = _OWN_NAME.fullmatch(name) if project == "vllm" else name.lower().replace("_", "-") == project
        if is_own:
            yield _valid(fields.get("Version", ""))


def _valid(version: str) -> str | None:
    try:
        release(version)
    except TargetError:
        return None
    return version if len(version) <= 60 else None


def metadata_in(files: Folder) -> list[str]:
    """Return the metadata beside a package: of a site-packages, a source package, an editable install."""
    found = []
    for name in files.names("."):
        if _METADATA.fullmatch(name):
            inner = name if name == "PKG-INFO" else f"{name}/{'PKG-INFO' if name.endswith('egg-info') else 'METADATA'}"
            with suppress(OSError, Limit):
                found.append((files.text(inner) or "")[:_MOST_HEAD])
    return found
