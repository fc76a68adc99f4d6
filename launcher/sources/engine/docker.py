"""``docker run`` and ``docker exec``: the container's surroundings and the command inside."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from pd_launch.launcher.sources.engine.docker_options import global_takes_value, short_takes_value, takes_value
from pd_launch.schemas.core.launch import Container
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import HOLE, Node, Origin, Text, Unknown

_PROGRAMS = ("bash", "sh", "vllm", "python", "python3", "env", "nohup")
_ENGINES = ("docker", "podman", "nerdctl")
_VERBS = ("run", "create", "exec")
_MOST_UNKNOWN = 5
"""Options that are in no table of which both readings are tried: twice as many readings with each."""
Judge = Callable[["DockerCommand"], int]
"""Says how surely a reading starts an engine: 0 not at all, 1 after something else, 2 as the container's command."""


@dataclass
class DockerCommand:
    """What a docker command line says."""

    container: Container
    words: list[Text]
    """The command inside the container, after the image."""
    env: dict[str, tuple[Text, Text]] = field(default_factory=dict)
    """Name to value and name, both as they are written."""
    executes_in: str | None = None
    """The container's name, for ``docker exec``."""
    entrypoint: Text | None = None
    env_open: Origin | None = None
    """Where it takes variables from that are not written here."""


def read_docker(words: list[Text], origin: Origin, judge: Judge = lambda _: 0) -> DockerCommand | None:
    """Return what ``docker run …`` or ``docker exec …`` says, or None where the words are neither.

    An option that is in no table may take the next word or not: the reading counts that leaves an image and an engine,
    as ``judge`` sees it.
    """
    at, verb = _verb(words)
    if not at:
        return None
    unknown = _unknown_options(words, at, verb)
    best = _read(words, at, verb, origin, frozenset(unknown))
    if not unknown:
        return best
    score, image = judge(best), best.container.image
    for number in range(1, 2 ** len(unknown)):
        valued = frozenset(place for index, place in enumerate(unknown) if not number >> index & 1)
        other = _read(words, at, verb, origin, valued)
        if (found := judge(other)) > score:
            best, score, image = other, found, other.container.image
        elif found == score and other.container.image != image:
            image = None
    best.container.partial = True
    if image is None and best.container.image is not None:  # the same engine in both, in one image or the other
        best.container.image = replace(best.container.image, value=Unknown(str(best.container.image.value)), text=None)
    return best


def _verb(words: Sequence[Text]) -> tuple[int, str]:
    """Return where the words after ``docker [OPTIONS] [container] run`` begin, and the verb; 0 for another command."""
    if not words or words[0].value.rpartition("/")[2] not in _ENGINES:
        return 0, ""
    at = 1
    while at < len(words) and words[at].value.startswith("-"):
        option = words[at].value
        at += 2 if "=" not in option and global_takes_value(option) else 1
    kind = words[at].value if at < len(words) else ""
    at += kind in ("container", "service")
    verb = words[at].value if at < len(words) else ""
    return (at + 1, verb) if verb in _VERBS and (kind != "service" or verb == "create") else (0, "")


def _read(words: list[Text], at: int, verb: str, origin: Origin, valued: Collection[int]) -> DockerCommand:
    """Read a command; ``valued`` are the places of the options in no table that take the next word."""
    command = DockerCommand(Container("docker", origin), [])
    at = _options(words, at, command, verb, valued)
    if verb == "exec":
        latest = any(word.value in ("-l", "--latest") for word in words[:at])
        at -= latest  # no container is named
        command.executes_in = words[at].value if at < len(words) and not latest else ""
    elif at < len(words):
        command.container.image = words[at].node()
    command.words = words[at + 1 :]
    return command


def _unknown_options(words: Sequence[Text], at: int, verb: str) -> list[int]:
    """Return the places of options in no table before which it is not known whether the next word is theirs."""
    found: list[int] = []
    while at < len(words) and len(found) < _MOST_UNKNOWN:
        option = _option_at(words, at, verb, ())
        if option is None:
            if words[at].value != HOLE and not (found and _more_options(words, at)):
                break
            at += 1
            continue
        if option.known is None and at + 1 < len(words) and not words[at + 1].value.startswith("-"):
            found.append(at)
        at += option.size
    return found


def _more_options(words: Sequence[Text], at: int) -> bool:
    """Whether a word that an option in no table may take is followed by options."""
    return words[at].value != "--" and at + 1 < len(words) and words[at + 1].value.startswith("-")


class _Given(NamedTuple):
    """An option as it is given: its name, its value if it has one, and how many words it is."""

    name: str
    value: Text | None
    size: int
    known: bool | None
    """Whether it takes a value; None where it is in no table."""


def _option_at(words: Sequence[Text], at: int, verb: str, valued: Collection[int]) -> _Given | None:
    """Return the option at ``at``; None where there is none."""
    word = words[at]
    if not word.value.startswith("-") or word.value in ("-", "--"):
        return None
    behind = words[at + 1] if at + 1 < len(words) else None
    if word.value.startswith("--"):
        name, sign, _ = word.value.partition("=")
        known = takes_value(name)
        if sign:
            return _Given(name, word.part(len(name) + 1, len(word.value)), 1, known if known is not None else False)
    else:
        letters = word.value[1:]
        place = next((i for i, letter in enumerate(letters) if short_takes_value(letter, verb) is not False), None)
        if place is None:
            return _Given(f"-{letters[-1:]}", None, 1, False)
        name, known = f"-{letters[place]}", short_takes_value(letters[place], verb)
        if known and place + 1 < len(letters):
            start = place + 2 + letters.startswith("=", place + 1)
            return _Given(name, word.part(start, len(word.value)), 1, True)
        if known is None and place + 1 < len(letters):
            return _Given(name, None, 1, False)
    takes = known or (known is None and at in valued)
    return _Given(name, behind, 2, known) if takes and behind is not None else _Given(name, None, 1, known)


def _options(words: list[Text], at: int, command: DockerCommand, verb: str, valued: Collection[int]) -> int:
    """Read options up to the image; return its index."""
    while at < len(words):
        word = words[at]
        if word.value == HOLE:
            if verb == "exec" and at + 1 < len(words) and words[at + 1].value.rpartition("/")[2] in _PROGRAMS:
                return at  # the container's name
            command.container.partial = True  # an unquoted variable: further options, most likely
            at += 1
            continue
        option = _option_at(words, at, verb, valued)
        if option is None:
            return at + 1 if word.value == "--" else at
        at += option.size
        if option.value is None or takes_value(option.name) is False:
            _switch(option.name, option.value is not None, word, command)
        else:
            _option(option.name, option.value, word, command)
    return at


def _switch(name: str, sign: bool, word: Text, command: DockerCommand) -> None:
    if name == "--env-host":
        command.env_open = word.origin()
    elif name == "--privileged":
        command.container.privileged = not sign or word.value.endswith("true")


def _option(name: str, value: Text, word: Text, command: DockerCommand) -> None:
    container, node = command.container, value.node()
    if name == "--env-file":
        command.env_open = word.origin()
    elif name in ("-e", "--env"):
        key, sign, _ = value.value.partition("=")
        given = value.part(len(key) + 1, len(value.value)) if sign else value.stand_in(HOLE)
        command.env[key] = given, value.part(0, len(key))
    elif name == "--shm-size":
        container.shm_size = node
    elif name in ("-m", "--memory"):
        container.memory = node
    elif name == "--device":
        container.devices.append(node)
    elif name in ("-v", "--volume"):
        add_mount(container, node)
    elif name == "--mount":
        add_mount(container, _mount(value))
    elif name == "--tmpfs":
        if value.value.startswith("/dev/shm"):
            _tmpfs(container, value)
    elif name == "--ipc":
        if value.value != "private" and value.value != "shareable":
            container.shm_shared = word.origin()
    elif name in ("--net", "--network"):
        shared = HOLE in value.value or value.value.startswith("container:")
        container.host_network = None if shared else value.value == "host"
    elif name in ("-p", "--publish"):
        container.published.append(node)
    elif name == "--runtime":
        container.runtime = node.string()
    elif name == "--name":
        container.name = node.string()
    elif name == "--entrypoint":
        command.entrypoint = value
    elif name == "--gpus":
        container.resources["nvidia.com/gpu"] = node


def add_mount(container: Container, node: Node) -> None:
    """Add a mount ``HOST:CONTAINER[:MODE]``; one on /dev/shm decides its size elsewhere."""
    container.mounts.append(node)
    if isinstance(node.value, str) and node.value.split(":")[1:2] == ["/dev/shm"]:
        container.shm_shared = node.origin


def _mount(value: Text) -> Node:
    """Turn ``type=bind,source=A,target=B`` into ``A:B``."""
    parts = dict(part.partition("=")[::2] for part in value.value.split(","))
    source = parts.get("source") or parts.get("src") or ""
    target = parts.get("target") or parts.get("destination") or parts.get("dst") or ""
    return Node(f"{source}:{target}", value.origin())


def _tmpfs(container: Container, value: Text) -> None:
    match = re.search(r"size=(\w+)", value.value)
    if match:
        container.shm_size = value.part(match.start(1), match.end(1)).node()
    else:
        container.shm_shared = value.origin()
