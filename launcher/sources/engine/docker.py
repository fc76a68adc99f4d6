"""``docker run`` and ``docker exec``: the container's surroundings and the command inside."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pd_launch.schemas.core.launch import Container
from pd_launch.schemas.core.values import HOLE, Node, Origin, Text

_SWITCHES = frozenset(
    [
        "--detach", "--interactive", "--tty", "--rm", "--privileged", "--init", "--read-only", "--publish-all",
        "--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--quiet", "--disable-content-trust",
    ]
)  # fmt: skip
_SHORT_SWITCHES = re.compile(r"-[ditPq]+")
_PROGRAMS = ("bash", "sh", "vllm", "python", "python3", "env", "nohup")
_ENGINES = ("docker", "podman", "nerdctl")


@dataclass
class DockerCommand:
    """What a docker command line says."""

    container: Container
    words: list[Text]
    """The command inside the container, behind the image."""
    env: dict[str, tuple[Text, Text]] = field(default_factory=dict)
    """Name to value and name, both as they are written."""
    executes_in: str | None = None
    """The container's name, for ``docker exec``."""
    entrypoint: Text | None = None
    env_open: Origin | None = None
    """Where it takes variables from that are not written here."""


def read_docker(words: list[Text], origin: Origin) -> DockerCommand | None:
    """Return what ``docker run …`` or ``docker exec …`` says, or None where the words are neither."""
    values = [word.value for word in words[:3]]
    if not values or values[0].rpartition("/")[2] not in _ENGINES:
        return None
    at = (
        2
        if values[1:2] in (["run"], ["exec"])
        else 3
        if values[1:3] in (["container", "run"], ["container", "exec"])
        else 0
    )
    if not at:
        return None
    command = DockerCommand(Container("docker", origin), [])
    verb = values[at - 1]
    at = _options(words, at, command, verb)
    if verb == "exec":
        command.executes_in = words[at].value if at < len(words) else None
    elif at < len(words):
        command.container.image = words[at].node()
    command.words = words[at + 1 :]
    return command


def _options(words: list[Text], at: int, command: DockerCommand, verb: str) -> int:
    """Read options up to the image; return its index."""
    while at < len(words):
        word = words[at]
        at += 1
        if word.value == HOLE:
            if verb == "exec" and at < len(words) and words[at].value.rpartition("/")[2] in _PROGRAMS:
                return at - 1  # the container's name
            command.container.partial = True  # an unquoted variable: further options, most likely
            continue
        if not word.value.startswith("-"):
            return at - 1
        name, sign, _ = word.value.partition("=")
        if name in _SWITCHES or _SHORT_SWITCHES.fullmatch(word.value):
            _switch(name, sign, word, command.container)
            continue
        if sign and name.startswith("--"):
            value = word.part(len(name) + 1, len(word.value))
        elif not name.startswith("--") and len(name) > 2 and name[:2] in ("-e", "-v", "-p", "-m", "-w", "-u"):
            name, value = name[:2], word.part(2, len(word.value))
        elif at < len(words):
            value = words[at]
            at += 1
        else:
            return at
        _option(name, value, word, command)
    return at


def _switch(name: str, sign: str, word: Text, container: Container) -> None:
    if name == "--privileged":
        container.privileged = not sign or word.value.endswith("true")


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
        container.host_network = None if HOLE in value.value else value.value == "host"
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
