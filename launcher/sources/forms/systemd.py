"""systemd units: what ``ExecStart`` and its like start, with the unit's ``Environment``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pd_launch.launcher.sources.engine.engines import Found, keep, nest_scripts, read_command, with_variables
from pd_launch.launcher.sources.engine.mounted import Around
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.text.interpolate import split_words
from pd_launch.launcher.sources.text.weave import Stretch, Weaver
from pd_launch.schemas.core.launch import EnvVar
from pd_launch.schemas.core.values import SourceFile, Text

_SECTION = re.compile(r"(?:[ \t]*(?:[#;](?!!)[^\n]*)?\n)*\[(?:Unit|Service|Install)\][ \t\r]*$", re.MULTILINE)
"""The first section of a unit, behind comments."""
_DOUBLED = re.compile(r"%%|\$\$")
_COMMAND = re.compile(r"Exec(?:Start(?:Pre|Post)?|Condition|Reload|Stop(?:Post)?)")
_PREFIXES = "@-:+!|"
"""Characters before the program's path that change how systemd starts it."""


def is_unit(source: SourceFile) -> bool:
    """Whether a file is a unit of a service."""
    return source.path.endswith(".service") or bool(_SECTION.match(source.text))


def read_unit(source: SourceFile, found: Found) -> None:
    """Add what a unit starts to ``found``. Its variables count for all of its commands, wherever they stand."""
    env: dict[str, tuple[Text, str]] = {}
    names: dict[str, Text] = {}
    commands: list[tuple[str, Text]] = []
    for key, value in _settings(source):
        if key == "Environment":
            words = split_words(value, "systemd")[0]
            if not words:  # what was set before is taken back
                env, names = {}, {}
            for word in words:
                name, sign, _ = word.value.partition("=")
                if not sign:
                    continue  # systemd passes it over
                env[name] = (_plain(word.part(len(name) + 1, len(word.value))), "export")
                names[name] = _plain(word.part(0, len(name)))
        elif _COMMAND.fullmatch(key):
            if not value.value.strip():
                commands = [entry for entry in commands if entry[0] != key]
            commands.append((key, value))
    for _, value in commands:
        _start(value, env, names, source, found)


def _start(
    value: Text, env: dict[str, tuple[Text, str]], names: dict[str, Text], source: SourceFile, found: Found
) -> None:
    """Add what one command of a unit starts."""
    words = [_plain(word) for word in split_words(value, "systemd")[0]]
    if not words:
        return
    start = len(words[0].value) - len(words[0].value.lstrip(_PREFIXES))
    words[0] = words[0].part(start, len(words[0].value))
    command = Command(words, dict(env), value.origin(), None, names=dict(names))
    if not read_command(command, "shell", source.path, found, keep):
        given = {name: EnvVar.of(name, text, "export", names[name]) for name, (text, _) in env.items()}
        nest_scripts(words, value.origin(), found, with_variables(given), Around(env=given))


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


def _plain(word: Text) -> Text:
    """Return a word with ``%%`` and ``$$`` as the single signs that they stand for."""
    weaver, stretch = Weaver(word), Stretch("specifier", word.spots[0])
    at = 0
    for pair in _DOUBLED.finditer(word.value):
        weaver.take(at, pair.start(), stretch)
        weaver.put(pair.group()[0], *pair.span(), stretch)
        at = pair.end()
    if not at:
        return word.quoted(*stretch)
    weaver.take(at, len(word.value), stretch)
    return weaver.text(len(word.value))
