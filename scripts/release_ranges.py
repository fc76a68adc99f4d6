"""The data files: every entry once, with the ranges of releases that have it.

``{"format", "project", "releases": {release: {"file", "read"}}, section: {name: [[first, last, value], …], …}, …}``
where ``first`` and ``last`` are releases, and ``last`` is null where the newest one still has the entry: one more
release changes only the lines of what it changed. One release, and one entry, stands on one line.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from packaging.version import Version

FORMAT = 2
DATA = Path(__file__).resolve().parent.parent / "schemas" / "releases" / "data"
_HEAD = ("format", "project", "releases")
Table = dict[str, dict[str, Any]]


def store(folder: Path, project: str, release: str, file: str, table: Table) -> bool:
    """Put one release's table into its project's data file; return whether anything changed.

    The day of reading changes only where what was read is new.
    """
    path = folder / f"{project}.json"
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"releases": {}}
    tables = unfold(data)
    known = data["releases"].get(release)
    table = json.loads(json.dumps(table))
    if known is not None and known["file"] == file and tables[release] == _complete(table, tables[release]):
        return False
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    releases = {**data["releases"], release: {"file": file, "read": today}}
    tables[release] = table
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(render(project, releases, tables), encoding="utf-8")
    return True


def _complete(table: Table, old: Table) -> Table:
    return {**{section: {} for section in old}, **table}


def differences(table: Table, read: Table) -> list[str]:
    """Return, a line each, the entries that differ between a release's table and what was read of it."""
    found = []
    for section in sorted({*table, *read}):
        old, new = table.get(section, {}), read.get(section, {})
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name) or (name in old) != (name in new):
                found.append(f"{section} {name}: {_json(old.get(name))} in the table, {_json(new.get(name))} read")
    return found


def unfold(data: dict[str, Any]) -> dict[str, Table]:
    """Return one table for each release of a data file."""
    names = list(data["releases"])
    tables: dict[str, Table] = {name: {} for name in names}
    for section, entries in data.items():
        if section in _HEAD:
            continue
        for name in names:
            tables[name][section] = {}
        for key, ranges in entries.items():
            for first, last, value in ranges:
                end = None if last is None else names.index(last) + 1
                for name in names[names.index(first) : end]:
                    tables[name][section][key] = value
    return tables


def render(project: str, releases: dict[str, dict[str, str]], tables: dict[str, Table]) -> str:
    """Return the data file's text for these releases' tables."""
    names = sorted(releases, key=Version)
    read = ",\n".join(f"{_json(name)}:{_json(releases[name])}" for name in names)
    parts = [f'"format":{FORMAT}', f'"project":{_json(project)}', f'"releases":{{\n{read}\n}}']
    for section in sorted({section for table in tables.values() for section in table}):
        keys = sorted({key for table in tables.values() for key in table.get(section, ())})
        lines = [f"{_json(key)}:{_json(_ranges(section, key, names, tables))}" for key in keys]
        parts.append(f"{_json(section)}:{{\n" + ",\n".join(lines) + "\n}")
    return "{" + ",\n".join(parts) + "}\n"


def _ranges(section: str, key: str, names: list[str], tables: dict[str, Table]) -> list[list[Any]]:
    found: list[list[Any]] = []
    before = ""
    for name in names:
        entries = tables[name].get(section, {})
        if key in entries:
            if found and found[-1][1] == before and found[-1][2] == entries[key]:
                found[-1][1] = name
            else:
                found.append([name, name, entries[key]])
        before = name
    if found and found[-1][1] == names[-1]:
        found[-1][1] = None
    return found


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
