"""systemd units: what ``ExecStart`` and its like start, with the unit's ``Environment``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pd_launch.launcher.sources.engine.engines import Found, keep, nest_scripts, read_command, with_variables
from pd_launch.launcher.sources.engine.mounted import Around
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.text.interpolate import SYSTEMD, SYSTEMD_SETTING, expand_command
from pd_launch.schemas.core.launch import EnvVar
from pd_launch.schemas.core.values import Origin, SourceFile, Text

_SECTION = re.compile(r"(?:[ \t]*(?:[#;](?!!)[^\n]*)?\n)*\[(?:Unit|Service|Install)\][ \t\r]*$", re.MULTILINE)
"""The first section of a unit, behind comments."""
_COMMAND = re.compile(r"Exec(?:Start(?:Pre|Post)?|Condition|Reload|Stop(?:Post)?)")
_FURTHER = ("EnvironmentFile", "PassEnvironment")
_PREFIXES = "@-:+!|"
"""Characters before the program's path that change how systemd starts it."""


def is_unit(source: SourceFile) -> bool:
    """Whether a file is a unit of a service."""
    return source.path.endswith(".service") or bool(_SECTION.match(source.text))


def read_unit(source: SourceFile, found: Found) -> None:
    """Add what a unit starts to ``found``. Its variables count for all of its commands, wherever they stand."""
    env: dict[str, tuple[Text, str]] = {}
    names: dict[str, Text] = {}
    env_open: Origin | None = None
    commands: list[tuple[str, Text]] = []
    for key, value in _settings(source):
        if key == "Environment":
            words = expand_command(value, SYSTEMD_SETTING)[0]
            if not words:  # what was set before is taken back
                env, names = {}, {}
            for word in words:
                name, sign, _ = word.value.partition("=")
                if not sign:
                    continue  # systemd passes it over
                env[name] = (word.part(len(name) + 1, len(word.value)), "export")
                names[name] = word.part(0, len(name))
        elif key in _FURTHER:
            env_open = value.origin() if value.value.strip() else None
        elif _COMMAND.fullmatch(key):
            if not value.value.strip():
                commands = [entry for entry in commands if entry[0] != key]
            commands.append((key, value))
    for _, value in commands:
        _start(value, env, names, source, found, env_open)


def _start(
    value: Text,
    env: dict[str, tuple[Text, str]],
    names: dict[str, Text],
    source: SourceFile,
    found: Found,
    env_open: Origin | None,
) -> None:
    """Add what one command of a unit starts."""

    def lookup(name: str) -> str | None:
        return env[name][0].value if name in env else None

    words = expand_command(value, SYSTEMD, lookup)[0]
    if not words:
        return
    start = len(words[0].value) - len(words[0].value.lstrip(_PREFIXES))
    words[0] = words[0].part(start, len(words[0].value))
    command = Command(words, dict(env), value.origin(), None, names=dict(names), env_open=env_open)
    if not read_command(command, "shell", source.path, found, keep):
        given = {name: EnvVar.of(name, text, "export", names[name]) for name, (text, _) in env.items()}
        nest_scripts(words, value.origin(), found, with_variables(given, env_open), Around(env=given))


def _settings(source: SourceFile) -> Iterator[tuple[str, Text]]:
    """Iterate over ``KEY=VALUE`` lines; a backslash at a line's end goes on in the next."""
    at, text = 0, source.text
    while at < len(text):
        end = _line_end(text, at)
        line = text[at:end]
        key, sign, _ = line.partition("=")
        if sign and re.fullmatch(r"\w+", key.strip()):
            yield key.strip(), Text.verbatim(source, at + len(key) + 1, end)
        at = end + 1


def _line_end(text: str, at: int) -> int:
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        if text[end - 1 : end] != "\\":
            return end
        at = end + 1
