"""``pd-launch.toml``, or ``[tool.pd-launch]`` in pyproject.toml, found from the first input's folder upward."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

from pd_launch.launcher.opening import open_input
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import RANK, Severity

FILE = "pd-launch.toml"
KEYS = (
    "target",
    "require-target",
    "select",
    "ignore",
    "fail-on",
    "severity",
    "per-file-ignores",
    "lang",
    "exclude",
    "baseline",
    "deployment",
)


MAX_FILE = 1024 * 1024


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the key."""


@dataclass(frozen=True)
class Config:
    """What a configuration file says; options on the command line win over it."""

    path: Path | None = None
    target: str | None = None
    require_target: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: Severity | None = None
    lang: str | None = None
    severity: dict[str, Severity] = field(default_factory=dict)
    per_file_ignores: dict[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    """What is left out in folders, as patterns of ``.gitignore``."""
    baseline: str | None = None
    deployments: tuple[tuple[str, ...], ...] = ()
    """Patterns of the files that form a deployment each, where a folder is checked."""

    def codes(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Iterate over the keys that name rules, with what they name."""
        yield "select", self.select
        yield "ignore", self.ignore
        for pattern, words in self.per_file_ignores.items():
            yield f"per-file-ignores.{pattern}", words

    def shown(self) -> str:
        """Return the effective configuration as JSON."""
        return json.dumps(
            {
                "file": str(self.path) if self.path else None,
                "target": self.target,
                "require-target": self.require_target,
                "select": list(self.select),
                "ignore": list(self.ignore),
                "fail-on": self.fail_on or "error",
                "lang": self.lang,
                "severity": self.severity,
                "per-file-ignores": {pattern: list(codes) for pattern, codes in self.per_file_ignores.items()},
                "exclude": list(self.exclude),
                "baseline": self.baseline,
                "deployment": [{"files": list(patterns)} for patterns in self.deployments],
            },
            indent=2,
            ensure_ascii=False,
        )


def find_config(start: Path) -> Config:
    """Return the configuration that counts for ``start`` (a file or folder); an empty one where there is none.

    Raises:
        ConfigError: the nearest file cannot be read or used.
    """
    folder = start if start.is_dir() else start.parent
    for place in (folder, *Path(os.path.normpath(folder.absolute())).parents):
        own = place / FILE
        if _is_there(own) or os.path.lexists(own):  # what is no file is refused: to pass it over would look obeyed
            return _config(own, _load(own))
        project = place / "pyproject.toml"
        if _is_there(project):
            table = _load(project).get("tool", {})
            if isinstance(table, dict) and "pd-launch" in table:
                return _config(project, table["pd-launch"])
    return Config()


def _load(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        with open_input(path) as file:
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise ConfigError(f"{path} is larger than 1 MiB: this is not a configuration")
        table: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
        return table
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except RecursionError:
        raise ConfigError(f"{path} is not TOML that can be read: it is nested too deep") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    except ValueError:  # more digits than Python converts
        raise ConfigError(f"{path} is not TOML that can be read: a number has too many digits") from None


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def _config(path: Path, table: Any) -> Config:
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: pd-launch must be a table")
    for key in table:
        if key not in KEYS:
            near = nearest(key, KEYS, 0.6)
            hint = f"did you mean {near}?" if near else f"known keys: {', '.join(KEYS)}"
            raise ConfigError(f"{path}: unknown key {key!r}; {hint}")
    return Config(
        path,
        _text(path, table, "target"),
        _flag(path, table, "require-target"),
        _list(path, "select", table.get("select", [])),
        _list(path, "ignore", table.get("ignore", [])),
        _severity(path, "fail-on", table["fail-on"]) if "fail-on" in table else None,
        _language(path, table),
        _severities(path, table.get("severity", {})),
        _per_file(path, table.get("per-file-ignores", {})),
        _patterns(path, "exclude", table.get("exclude", [])),
        _text(path, table, "baseline"),
        _deployments(path, table.get("deployment", [])),
    )


def _text(path: Path, table: dict[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{path}: {key} must be a string, not {_shown(value)}")
    if value is not None and "\0" in value:
        raise ConfigError(f"{path}: {key} must not have a NUL character")
    return value


def _flag(path: Path, table: dict[str, Any], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f"{path}: {key} must be true or false, not {_shown(value)}")
    return value


def _language(path: Path, table: dict[str, Any]) -> str | None:
    value = _text(path, table, "lang")
    if value not in (None, "en", "zh"):
        raise ConfigError(f"{path}: lang must be en or zh, not {_shown(value)}")
    return value


def _list(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ConfigError(f'{path}: {key} must be a list of codes, such as ["PD406"]')
    return tuple(value)


def _severity(path: Path, key: str, value: Any) -> Severity:
    if not isinstance(value, str) or value not in RANK:
        raise ConfigError(f"{path}: {key} must be error, warning or info, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """Return a value of the file for a message: a text as it is, of others the kind: they may be huge."""
    kinds = {list: "a list", dict: "a table", int: "a number"}
    if isinstance(value, (str, bool, float)):
        return repr(value)
    return kinds.get(type(value), "a date or time")


def _severities(path: Path, table: Any) -> dict[str, Severity]:
    if not isinstance(table, dict):
        raise ConfigError(f'{path}: severity must be a table of codes, such as PD406 = "error"')
    return {code.upper(): _severity(path, f"severity.{code}", value) for code, value in table.items()}


def _per_file(path: Path, table: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: per-file-ignores must be a table of patterns with lists of codes")
    return {pattern: _list(path, f"per-file-ignores.{pattern}", codes) for pattern, codes in table.items()}


def _patterns(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ConfigError(f'{path}: {key} must be a list of patterns, such as ["examples/*.sh"]')
    return tuple(value)


def _deployments(path: Path, value: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list) or not all(isinstance(table, dict) and set(table) == {"files"} for table in value):
        raise ConfigError(f'{path}: each deployment must have only files: [[deployment]] files = ["prod/*.sh"]')
    return tuple(_patterns(path, "deployment.files", table["files"]) for table in value)
