"""systemd units: what ``ExecStart`` starts, with the unit's ``Environment``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pd_launch.launcher.sources.engines import Found, Nested, keep, read_command, with_variables
from pd_launch.launcher.sources.interpolate import split_words
from pd_launch.launcher.sources.shell import Command
from pd_launch.launcher.sources.wrapped import scripts_inside
from pd_launch.schemas.launch import EnvVar
from pd_launch.schemas.values import SourceFile, Text

_SECTION = re.compile(r"\[(Unit|Service|Install)\]\s*$", re.MULTILINE)
_PREFIXES = "@-:+!|"
"""Characters before the program's path that change how systemd starts it."""


def is_unit(source: SourceFile) -> bool:
    """Whether a file is a unit of a service."""
    return source.path.endswith(".service") or bool(_SECTION.match(source.text.lstrip("# \n")))


def read_unit(source: SourceFile, found: Found) -> None:
    """Add what a unit starts to ``found``."""
    env: dict[str, tuple[Text, str]] = {}
    for key, value in _settings(source):
        if key == "Environment":
            for word in split_words(value)[0]:
                name, _, _ = word.value.partition("=")
                env[name] = (_plain(word.part(len(name) + 1, len(word.value))), "export")
        elif key == "ExecStart":
            words = [_plain(word) for word in split_words(value)[0]]
            if words:
                start = len(words[0].value) - len(words[0].value.lstrip(_PREFIXES))
                words[0] = words[0].part(start, len(words[0].value))
                command = Command(words, dict(env), value.origin(), None)
                if not read_command(command, "shell", source.path, found, keep):
                    given = {name: EnvVar(name, text.node()) for name, (text, _) in env.items()}
                    found.nested += [Nested(script, with_variables(given), given) for script in scripts_inside(command)]


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
    spots = [i for i in range(len(word.value)) if not (i and word.value[i] in "%$" and _doubled(word.value, i))]
    if len(spots) == len(word.value):
        return word
    kept = [word.spots[i] for i in spots]
    return Text("".join(word.value[i] for i in spots), word.source, [*kept, word.spots[-1]])


def _doubled(text: str, index: int) -> bool:
    """Whether the sign at ``index`` is the second of a pair."""
    first = index
    while first and text[first - 1] == text[index]:
        first -= 1
    return (index - first) % 2 == 1
