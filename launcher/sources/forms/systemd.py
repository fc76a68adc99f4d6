"""systemd units: what ``ExecStart`` and its like start, with the unit's variables and its drop-ins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from pd_launch.launcher.sources.engine.around import Around
from pd_launch.launcher.sources.engine.engines import nest_scripts, read_command, with_variables
from pd_launch.launcher.sources.engine.found import Found, keep
from pd_launch.launcher.sources.forms.env_file import read_env_file
from pd_launch.launcher.sources.forms.systemd_words import (
    BLANKS,
    Names,
    Split,
    arguments,
    command_lines,
    literal,
    specified,
    split,
)
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.text.interpolate import SYSTEMD, Words
from pd_launch.launcher.sources.text.templates import filled, is_gone
from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.launch import EnvVar, Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Origin, SourceFile, Text

_COMMAND = lazy_pattern(r"Exec(?:Start(?:Pre|Post)?|Condition|Reload|Stop(?:Post)?)")
_KEY = lazy_pattern(r"[A-Za-z][\w-]{0,100}")
_PREFIXES = "@-:+!|"
"""Characters before the program's path that change how systemd starts it."""
Opener = Callable[[Text], SourceFile | None]
"""Gives a file that a unit names, where it may be read."""


def is_drop_in(source: SourceFile) -> bool:
    """Whether a file lies where the drop-ins of a service do."""
    return source.path.rpartition("/")[0].endswith("service.d")


def drop_ins(source: SourceFile, others: Sequence[SourceFile]) -> list[SourceFile]:
    """Return the files among ``others`` that change a unit: ``UNIT.d/NAME.conf``, in the order of their names.

    Those of a template (``decode@.service.d``) count for its instances too, before an instance's own.
    """
    unit = source.path.rpartition("/")[2]
    template = re.sub(r"@[^@]{1,255}(?=\.service\Z)", "@", unit)
    found: dict[str, SourceFile] = {}
    for name in dict.fromkeys(("service", template, unit)):
        for other in others:
            folder, _, file = other.path.rpartition("/")
            if file.endswith(".conf") and folder.rpartition("/")[2] == f"{name}.d":
                found[file] = other
    return [found[name] for name in sorted(found)]


@dataclass
class _Unit:
    """What the settings of a unit and its drop-ins add up to."""

    names: Names
    opened: Opener
    env: dict[str, tuple[Text, Text]] = field(default_factory=dict)
    """Name to value and name, both as they are written."""
    files: list[Text] = field(default_factory=list)
    unset: list[str] = field(default_factory=list)
    passed: list[Text] = field(default_factory=list)
    """Variables of the manager that the unit is given."""
    commands: list[tuple[str, Text]] = field(default_factory=list)
    sources: list[SourceFile] = field(default_factory=list)
    """Files of variables that were read."""
    faults: list[Fault] = field(default_factory=list)
    env_open: Origin | None = None
    """Where it may be given further variables: by a file that is not known."""

    def set(self, key: str, value: Text) -> None:
        """Take in one setting. An empty one takes back what was set before."""
        empty = not value.value.strip(BLANKS)
        if key == "Environment":
            if empty:
                self.env = {}
            for word in self.words(value):
                name, sign, _ = word.value.partition("=")
                if sign and name:  # systemd passes any other over
                    self.env[name] = word.part(len(name) + 1, len(word.value)), word.part(0, len(name))
        elif key == "EnvironmentFile":
            self.files = [] if empty else [*self.files, value]
        elif key == "UnsetEnvironment":
            self.unset = [] if empty else [*self.unset, *(word.value for word in self.words(value))]
        elif key == "PassEnvironment":
            self.passed = [] if empty else [*self.passed, *self.words(value)]
        elif _COMMAND.fullmatch(key):
            if empty:
                self.commands = [entry for entry in self.commands if entry[0] != key]
            self.commands.append((key, value))

    def words(self, value: Text) -> list[Text]:
        """Return the words of a setting with their specifiers replaced; none where systemd passes it over."""
        found = split(value)
        if found.unclosed >= 0:
            self.faults.append(_unclosed(value, found.unclosed))
            return []
        return [specified(word, self.names) for word in found.words]

    def variables(self) -> dict[str, tuple[Text, Text]]:
        """Return what the commands are given: the manager's, the unit's, those of its files, less what is unset."""
        env = {word.value: (word.stand_in(HOLE), word) for word in self.passed}
        env.update(self.env)
        for file in self.files:
            name = specified(file.part(_optional(file), len(file.value)), self.names)
            source = self.opened(name) if name.value.startswith("/") else None  # another is no path to systemd
            if source is None:
                self.env_open = file.origin()
            else:
                self.sources.append(source)
                env.update({name.value: (value, name) for name, value in read_env_file(source)})
        for word in self.unset:
            unset, sign, given = word.partition("=")
            if unset in env and (not sign or env[unset][0].value == given):
                del env[unset]
        return env


def _optional(file: Text) -> int:
    """Return the length of the sign that lets a file be missing."""
    return 1 if file.value.startswith("-") else 0


def read_unit(
    source: SourceFile, found: Found, more: Sequence[SourceFile] = (), opened: Opener = lambda _: None
) -> list[SourceFile]:
    """Add what a unit starts to ``found``. Its variables count for all of its commands, wherever they are.

    Args:
        source: the unit.
        found: takes in its engines.
        more: its drop-ins, in order.
        opened: gives the files of variables that it names, where they may be read.

    Returns:
        The files of variables that were read.
    """
    unit = _Unit(Names.of(source.path), opened)
    for part in (source, *more):
        for key, value in _settings(part):
            unit.set(key, value)
    env = unit.variables()
    for _, value in unit.commands:
        for words in command_lines(value):
            if words.unclosed >= 0:  # systemd passes the line over
                unit.faults.append(_unclosed(value, words.unclosed))
            _start(words, unit, env, source, found)
    found.add_faults(unit.faults)
    return unit.sources


def _start(line: Split, unit: _Unit, env: dict[str, tuple[Text, Text]], source: SourceFile, found: Found) -> None:
    """Add what one command line of a unit starts."""
    given, names = list(line.words), unit.names
    if not given:
        return
    start = len(given[0].value) - len(given[0].value.lstrip(_PREFIXES))
    prefixes = given[0].value[:start]
    program = literal(given[0].part(start, len(given[0].value)), names)
    if "@" in prefixes:
        del given[1:2]  # the name that the program is told to have
    texts = {name: text for name, (text, _) in env.items()}
    if ":" in prefixes:
        rest = [literal(word, names) for word in given[1:]]
    else:
        rest = [argument for word in given[1:] for argument in arguments(word, names, texts)]
    words = Words([program, *rest], SYSTEMD)
    origin = _span(line.words)
    command = Command(
        words,
        {name: (text, "export") for name, (text, _) in env.items()},
        origin,
        None,
        names={name: written for name, (_, written) in env.items()},
        env_open=unit.env_open,
    )
    if not read_command(command, "systemd", source.path, found, keep):
        around = {name: EnvVar.of(name, text, "export", written) for name, (text, written) in env.items()}
        nest_scripts(words, origin, found, with_variables(around, unit.env_open), Around(env=around))


def _span(words: Sequence[Text]) -> Origin:
    first, last = words[0], words[-1]
    return first.source.origin(first.spots[0], last.spots[-1])


def _unclosed(value: Text, at: int) -> Fault:
    return Fault("shell", value.origin(at, at + 1), Msg("this quote is never closed", "这个引号没有闭合"))


def _settings(source: SourceFile) -> Iterator[tuple[str, Text]]:
    """Iterate over the settings of the section of the service: ``KEY=VALUE``, lines that go on put together."""
    section = ""
    for line in _lines(source):
        head = line.value.strip(BLANKS)
        if head.startswith("["):
            section = head
            continue
        key, sign, _ = line.value.partition("=")
        if sign and section == "[Service]" and _KEY.fullmatch(key.strip(BLANKS)):
            behind = line.value[len(key) + 1 :]
            start = len(line.value) - len(behind.lstrip(BLANKS))
            yield key.strip(BLANKS), filled(line.part(start, max(start, len(line.value.rstrip(BLANKS)))))


def _lines(source: SourceFile) -> Iterator[Text]:
    """Iterate over lines; one that ends with a backslash goes on in the next, after comments between the two."""
    parts: list[Text] = []
    at, text = 1 if source.text.startswith("\ufeff") else 0, source.text
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        written = text[at:end].rstrip(BLANKS)
        start, stop = at + len(written) - len(written.lstrip(BLANKS)), at + len(written)
        at = end + 1
        if (text[start : start + 1] in ("#", ";") and start < stop) or is_gone(source, start):
            continue
        if start < stop and _goes_on(text, start, stop):
            parts += [Text.verbatim(source, start, stop - 1), Text(" ", source, [stop - 1, stop])]
            continue
        line = Text.verbatim(source, start, stop)
        yield concat([*parts, line], source, start) if parts else line
        parts = []
    if parts:
        yield concat(parts, source, at)


def _goes_on(text: str, start: int, stop: int) -> bool:
    """Whether a line ends with a backslash that is not itself after one."""
    signs = len(text[start:stop]) - len(text[start:stop].rstrip("\\"))
    return signs % 2 == 1
