"""Dockerfiles: what a container of the image starts, ``ENTRYPOINT`` with ``CMD`` after it.

The list form starts a program, and no shell fills anything in; the other form is a script for ``/bin/sh -c``. Arguments
alone go to the entry point of the image that the stage builds on. Only stages on which no other is built are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import NamedTuple

from pd_launch.launcher.sources.engine.around import Around
from pd_launch.launcher.sources.engine.engines import add_engine, image_engine, nest_scripts
from pd_launch.launcher.sources.engine.found import Finish, Found
from pd_launch.launcher.sources.engine.unfollowed import not_started
from pd_launch.launcher.sources.engine.wrapped import STARTS
from pd_launch.launcher.sources.text.interpolate import DOCKERFILE, GIVEN, Words, expand_value, split_words
from pd_launch.launcher.sources.text.templates import filled
from pd_launch.launcher.sources.text.weave import concat
from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.schemas.core.launch import Container, EnvVar, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Origin, SourceFile, Text
from pd_launch.schemas.engine.sides import spoken_side

_WORD = lazy_pattern(r"[ \t]{0,40}(?P<word>[A-Za-z]{2,20})(?=[ \t\\\r\n])")
_RUNS = lazy_pattern(r"\b(?:CMD|ENTRYPOINT|RUN)[ \t]{1,40}", re.IGNORECASE)
"""The instruction inside of another one."""
_FROM = lazy_pattern(
    r"(?:--platform=\S{1,200}[ \t]{1,40})?(?P<image>\S{1,1000})(?:[ \t]{1,40}[Aa][Ss][ \t]{1,40}(?P<name>\S{1,200}))?"
)
_ESCAPE = lazy_pattern(r"#[ \t]{0,40}escape[ \t]{0,40}=[ \t]{0,40}`", re.IGNORECASE)
_HEREDOC = lazy_pattern(r"<<-?[\"']?(?P<word>\w{1,100})[\"']?(?:[ \t]{1,40}(?P<target>/\S{1,500}))?")
_FLAG = lazy_pattern(r"[ \t]{0,40}--[a-z]{1,30}(?:=\S{0,500})?(?=[ \t])")
_INSTRUCTIONS = frozenset(
    {"FROM", "ARG", "ENV", "RUN", "CMD", "ENTRYPOINT", "COPY", "ADD", "LABEL", "EXPOSE", "USER", "VOLUME", "WORKDIR"}
    | {"SHELL", "STOPSIGNAL", "HEALTHCHECK", "ONBUILD", "MAINTAINER"}
)
MAX_INSTRUCTIONS = 5000


class Instruction(NamedTuple):
    """One instruction: its word in capitals, what follows it as one text, and where its here-document is."""

    word: str
    text: Text
    heredoc: tuple[str, Text] | None = None


@dataclass
class Stage:
    """What one ``FROM`` and what follows it say of the containers of its image."""

    image: Text
    name: str = ""
    env: dict[str, EnvVar] = field(default_factory=dict)
    entrypoint: Text | None = None
    command: Text | None = None
    files: dict[str, Text] = field(default_factory=dict)
    folder: str = "/"
    others: list[Text] = field(default_factory=list)
    """What further instructions run that speak of an engine: ``RUN``, ``HEALTHCHECK``, ``ONBUILD``."""


def recognise(source: SourceFile) -> bool:
    """Whether the first instruction of a file that is no ``ARG`` is ``FROM``."""
    first = next((one for one in _instructions(source) if one.word != "ARG"), None)
    return first is not None and first.word == "FROM" and _FROM.fullmatch(first.text.value.strip()) is not None


def read(given: SourceFile, source: SourceFile, found: Found) -> None:
    """Add what the containers of each image start."""
    stages, built_on = _stages(source)
    for one in _instructions(source):
        if not one.word:  # what is after a line that is no instruction is not read
            found.add_faults(list(not_started(one.text)))
    for stage in stages:
        if stage.name not in built_on:
            _start(stage, source, found)


def _stages(source: SourceFile) -> tuple[list[Stage], set[str]]:
    """Return the stages of a file, each with what it has from the one that it is built on, and the names of those."""
    stages: list[Stage] = []
    named: dict[str, Stage] = {}
    arguments: dict[str, str] = {}
    built_on: set[str] = set()
    for one in _instructions(source):
        if one.word == "FROM":
            stage = _begun(one.text, arguments, len(stages))
            base = named.get(stage.image.value)
            if base is not None:  # with its entry point and all
                built_on.add(base.name)
                stage = replace(base, name=stage.name, env=dict(base.env), files=dict(base.files), others=[])
            stages.append(stage)
            named[stage.name] = stage
        elif one.word == "ARG":
            name, sign, _ = one.text.value.strip().partition("=")
            if sign and not stages:
                arguments[name] = one.text.value.partition("=")[2].strip().strip("\"'")
        elif stages and one.word:
            _note(one, stages[-1])
    return stages, built_on


def _begun(text: Text, arguments: Mapping[str, str], number: int) -> Stage:
    start = len(text.value) - len(text.value.lstrip())
    match = _FROM.match(text.value, start)
    if match is None:
        return Stage(text.part(start, len(text.value)))
    image = expand_value(text.part(*match.span("image")), DOCKERFILE, arguments.get)
    return Stage(image, match["name"] or f"#{number}")


def _note(one: Instruction, stage: Stage) -> None:
    if one.word == "ENV":
        stage.env.update(_variables(one.text, stage))
    elif one.word == "ENTRYPOINT":
        stage.entrypoint, stage.command = one.text, None  # what was inherited to be after another one does not stay
    elif one.word == "CMD":
        stage.command = one.text
    elif one.word == "WORKDIR":
        stage.folder = one.text.value.strip()
    elif one.word in ("COPY", "ADD") and one.heredoc is not None:
        stage.files[one.heredoc[0]] = one.heredoc[1]
    elif one.word == "RUN":
        run = one.heredoc[1] if one.heredoc is not None else one.text
        stage.others += [run] if STARTS.search(run.value) else []
    elif one.word in ("HEALTHCHECK", "ONBUILD") and STARTS.search(_plain(one.text.value)):
        runs = _RUNS.search(one.text.value)
        stage.others += [one.text.part(runs.end(), len(one.text.value))] if runs else []


def _plain(value: str) -> str:
    """Return the words of a list form with blanks between them; of the other form, the text."""
    return re.sub(r"[\[\]\"',]+[ \t]{0,40}", " ", value)


def _variables(text: Text, stage: Stage) -> Iterator[tuple[str, EnvVar]]:
    """Iterate over what ``ENV A=b C=d``, or the older ``ENV A b``, sets."""

    def lookup(name: str) -> str | None:
        variable = stage.env.get(name)
        return variable.value.string() if variable is not None else None

    words, _ = split_words(text)
    if words and "=" not in words[0].value:
        start = text.value.find(words[0].value) + len(words[0].value)
        behind = text.part(start, len(text.value))
        lead = len(behind.value) - len(behind.value.lstrip())
        yield (
            words[0].value,
            EnvVar.of(words[0].value, behind.part(lead, len(behind.value.rstrip())), "docker", words[0]),
        )
        return
    for word in words:
        name, sign, _ = word.value.partition("=")
        if sign:
            value = expand_value(word.part(len(name) + 1, len(word.value)), DOCKERFILE, lookup)
            yield name, EnvVar.of(name, value, "docker", word.part(0, len(name)))


def _start(stage: Stage, source: SourceFile, found: Found) -> None:
    """Add what a container of a stage's image starts."""
    origin = (stage.entrypoint or stage.command or stage.image).origin()
    image = stage.image.node()
    container = Container("docker", origin, image=image, partial=True)  # its options are docker run's

    def finish(node: NodeLaunch) -> None:
        node.container = container
        node.env_open = node.env_open or origin  # docker run gives more
        node.env = {**stage.env, **node.env}
        node.side = node.side or spoken_side(stage.name) or spoken_side(source.path.rpartition("/")[2])

    around = Around(stage.files, stage.folder, stage.env)
    for other in stage.others:
        given = _listed(other)
        if given is None:
            _shell(other, other.origin(), found, finish, around)
        elif given and not add_engine(Words(given, GIVEN), "docker", stage.name, other.origin(), found, finish):
            nest_scripts(Words(given, GIVEN), other.origin(), found, finish, around)
    words = _listed(stage.entrypoint)
    if stage.entrypoint is not None and words is None:
        _shell(stage.entrypoint, origin, found, finish, around)
        return
    behind = _listed(stage.command)
    if stage.command is not None and behind is None:
        if words is None:
            _shell(stage.command, origin, found, finish, around)
            return
        place = stage.command
        behind = [place.stand_in("/bin/sh"), place.stand_in("-c"), _script(place)]
    whole = image_engine(Words([*(words or []), *(behind or [])], GIVEN), image, words is not None)
    if whole and not add_engine(whole, "docker", stage.name, origin, found, finish):
        nest_scripts(whole, origin, found, finish, around)


def _shell(text: Text, origin: Origin, found: Found, finish: Finish, around: Around) -> None:
    words = [text.stand_in("/bin/sh"), text.stand_in("-c"), _script(text)]
    nest_scripts(Words(words, GIVEN), origin, found, finish, around)


def _script(text: Text) -> Text:
    start = len(text.value) - len(text.value.lstrip())
    return text.part(start, len(text.value))


def _listed(text: Text | None) -> list[Text] | None:
    """Return the words of the list form; None for the other form."""
    if text is None or not text.value.lstrip().startswith("["):
        return None
    tree, faults = parse_json(_script(text))
    texts = [part.text for part in tree.elements() if part.text is not None]
    return None if faults or not isinstance(tree.value, list) or len(texts) < len(tree.value) else texts


def _instructions(source: SourceFile) -> Iterator[Instruction]:
    """Iterate over the instructions of a file; after a line that is no instruction, the rest is one without a word."""
    text = source.text
    at = 1 if text.startswith("\ufeff") else 0
    escape = "`" if _ESCAPE.match(text, at) else "\\"
    for _ in range(MAX_INSTRUCTIONS):
        at = _next(text, at)
        match = _WORD.match(text, at)
        if match is None or match["word"].upper() not in _INSTRUCTIONS:
            break
        body, at = _body(source, match.end(), escape)
        flag = _FLAG.match(body.value) if match["word"].upper() not in ("FROM", "ENV", "ARG") else None
        if flag is not None:
            body = body.part(flag.end(), len(body.value))
        heredoc = None
        if match["word"].upper() in ("RUN", "COPY", "ADD"):
            heredoc, at = _heredoc(source, body, at)
        yield Instruction(match["word"].upper(), body, heredoc)
    if at < len(text):
        yield Instruction("", Text.verbatim(source, at, len(text)))


def _next(text: str, at: int) -> int:
    """Return where the next line begins that is neither empty nor a comment."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip()
        if line and not line.startswith("#"):
            return at
        at = end + 1
    return at


def _body(source: SourceFile, start: int, escape: str) -> tuple[Text, int]:
    """Return what follows an instruction's word, its lines joined, and where the next one may begin."""
    text, pieces, at = source.text, [], start
    while True:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        stop = at + len(text[at:end].rstrip(" \t\r"))
        goes_on = text.endswith(escape, at, stop) and end < len(text)
        pieces.append(Text.verbatim(source, at, stop - 1 if goes_on else stop))
        if not goes_on:
            return filled(concat(pieces, source, start)), min(end + 1, len(text))
        at = _next(text, end + 1)


def _heredoc(source: SourceFile, body: Text, at: int) -> tuple[tuple[str, Text] | None, int]:
    """Return the path and the text of a here-document after an instruction, and where the next one may begin."""
    match = _HEREDOC.search(body.value)
    if match is None:
        return None, at
    end = re.compile(rf"^\t*{re.escape(match['word'])}[ \t\r]{{0,40}}$", re.MULTILINE).search(source.text, at)
    if end is None:
        return None, at
    text = Text.verbatim(source, at, end.start())
    return (match["target"] or "", text), min(end.end() + 1, len(source.text))
