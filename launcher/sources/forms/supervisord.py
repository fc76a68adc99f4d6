"""supervisord's configuration: what each program's ``command`` starts, without a shell, in its ``environment``.

``%(ENV_NAME)s`` is a variable of supervisord's own environment, which ``[supervisord]`` may set; ``%%`` is a per cent
sign. A value goes on in the lines below that are indented, and a semicolon or a hash after a blank begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pd_launch.launcher.sources.engine.around import Around
from pd_launch.launcher.sources.engine.engines import nest_scripts, read_command, with_variables
from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.text.interpolate import SUPERVISORD, Words, split_words
from pd_launch.launcher.sources.text.templates import filled
from pd_launch.launcher.sources.text.weave import Stretch, Weaver
from pd_launch.schemas.core.launch import EnvVar, Fault, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, SourceFile, Text
from pd_launch.schemas.engine.sides import spoken_side

_SECTION = lazy_pattern(r"^\[([^\]\n]{1,200})\][^\n]*$", re.MULTILINE)
_BEGINS = lazy_pattern(r"\ufeff?(?:[ \t\r]{0,40}(?:[;#][^\n]*)?\n){0,2000}\[")
_PROGRAM = lazy_pattern(r"(?:fcgi-)?program:(.{1,190})")
_OWN = "supervisord"
_COMMENT = lazy_pattern(r"(?<=[ \t])[;#][^\n]*")
_MAY_HOLD = lazy_pattern(r"[;#\n]")
_PLAIN_LINE = lazy_pattern(r"[ \t]{0,40}[;#][^\n]*")
_EXPANSION = lazy_pattern(r"%%|%\((?P<name>\w{1,200})\)(?:[sd]|\d{1,3}d)")
_ENTRY = lazy_pattern(r"\s{0,40}(?P<name>[A-Za-z_]\w{0,200})\s{0,40}=\s{0,40}")
Given = dict[str, tuple[Text, str]]
Settings = dict[str, Text]


def recognise(source: SourceFile) -> bool:
    """Whether a file begins with a section, and has sections of programs."""
    if _BEGINS.match(source.text) is None:
        return False
    return any(_PROGRAM.fullmatch(section[1]) for section in _SECTION.finditer(source.text))


def read(given: SourceFile, source: SourceFile, found: Found) -> None:
    """Add what each program starts."""
    sections = _sections(source)
    shared, _ = _environment(sections.get(_OWN, {}).get("environment"), {})
    known = {f"ENV_{name}": text.value for name, (text, _) in shared.items()}
    for name, settings in sections.items():
        program, command = _PROGRAM.fullmatch(name), settings.get("command")
        if program is not None and command is not None:
            _start(program[1].strip(), command, settings.get("environment"), (shared, known), source, found)


def _start(
    name: str,
    command: Text,
    environment: Text | None,
    surroundings: tuple[Given, Mapping[str, str]],
    source: SourceFile,
    found: Found,
) -> None:
    shared, known = surroundings
    known = {**known, "program_name": name, "group_name": name}
    own, names = _environment(environment, known)
    words, unclosed = split_words(_expanded(command, known))
    if unclosed >= 0:
        place = command.origin(unclosed, unclosed + 1)
        found.add_faults([Fault("shell", place, Msg("this quote is never closed", "这个引号没有闭合"))])
    if not words:
        return
    env = {**shared, **own}

    def finish(node: NodeLaunch) -> None:
        node.side = node.side or spoken_side(name)
        node.host = node.host or f"host of {source.path}"

    given_words = Words(words, SUPERVISORD)
    started = Command(given_words, env, command.origin(), None, names=names)
    if not read_command(started, "shell", name, found, finish):
        given = {key: EnvVar.of(key, text, "export", names.get(key)) for key, (text, _) in env.items()}

        def complete(node: NodeLaunch) -> None:
            with_variables(given)(node)
            finish(node)

        nest_scripts(given_words, command.origin(), found, complete, Around(env=given))


def _sections(source: SourceFile) -> dict[str, Settings]:
    """Return the settings of each section by name; a later setting of the same name counts."""
    found: dict[str, Settings] = {}
    heads = list(_SECTION.finditer(source.text))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        end = following.start() if following is not None else len(source.text)
        found.setdefault(head[1].strip(), {}).update(_settings(source, head.end(), end))
    return found


def _settings(source: SourceFile, at: int, end: int) -> Settings:
    """Return the settings between two offsets: a key, ``=`` or ``:``, and a value with the indented lines below."""
    found: Settings = {}
    key, begun = "", -1
    while at < end:
        stop = source.text.find("\n", at, end)
        stop = end if stop < 0 else stop
        line = source.text[at:stop]
        if begun >= 0 and line[:1] in (" ", "\t") and line.strip():
            found[key] = Text.verbatim(source, begun, stop)
        elif not _PLAIN_LINE.match(line) and (cut := _cut(line)) > 0:
            key, begun = line[:cut].strip().lower(), at + cut + 1
            found[key] = Text.verbatim(source, begun, stop)
        elif line.strip():
            begun = begun if _PLAIN_LINE.match(line) else -1
        at = stop + 1
    return {name: _without_comments(text) for name, text in found.items()}


def _cut(line: str) -> int:
    """Return where a setting's name ends, or -1."""
    return min((at for sign in "=:" if (at := line.find(sign)) > 0), default=-1)


def _without_comments(text: Text) -> Text:
    """Return a value without the comments at the ends of its lines, and without lines that are one."""
    if not _MAY_HOLD.search(text.value):
        return text
    weaver, at = Weaver(text), 0
    for start, end in _comments(text.value):
        weaver.take(at, start, None)
        at = end
    weaver.take(at, len(text.value), None)
    return weaver.text(len(text.value))


def _comments(value: str) -> list[tuple[int, int]]:
    found, at = [], 0
    for number, line in enumerate(value.split("\n")):
        whole = _PLAIN_LINE.fullmatch(line) if number else None
        comment = whole or _COMMENT.search(line)
        if comment is not None:
            found.append((at + comment.start(), at + comment.end()))
        at += len(line) + 1
    return found


def _environment(value: Text | None, known: Mapping[str, str]) -> tuple[Given, dict[str, Text]]:
    """Return what ``KEY="value",OTHER=value`` sets, and the names as they are written."""
    env: Given = {}
    names: dict[str, Text] = {}
    text = _expanded(value, known) if value is not None else None
    at = 0
    while text is not None and (match := _ENTRY.match(text.value, at)) is not None:
        start = match.end()
        mark = text.value[start : start + 1]
        if mark in ('"', "'"):
            start, end = start + 1, text.value.find(mark, start + 1)
        else:
            end = next((i for i in range(start, len(text.value)) if text.value[i] in ",\n"), len(text.value))
        if end < 0:
            break
        name = match["name"]
        part = text.part(start, end)
        env[name] = (part if mark in ('"', "'") else part.part(0, len(part.value.rstrip())), "export")
        names[name] = text.part(*match.span("name"))
        at = text.value.find(",", end)
        at = len(text.value) if at < 0 else at + 1
    return env, names


def _expanded(text: Text, known: Mapping[str, str]) -> Text:
    """Return a value with ``%(NAME)s`` filled in, as a hole where it is not known, and ``%%`` as one sign."""
    text = filled(text)
    weaver, stretch, at = Weaver(text), Stretch("percent", text.spots[0]), 0
    for match in _EXPANSION.finditer(text.value):
        weaver.take(at, match.start(), stretch)
        if match["name"] is None:
            weaver.put("%", *match.span(), stretch)
        else:
            weaver.fill(known.get(match["name"], HOLE), match.start())
        at = match.end()
    if not at:
        return text.quoted(*stretch)
    weaver.take(at, len(text.value), stretch)
    return weaver.text(len(text.value))
