"""What starts engines in Kubernetes objects beside a container's own command: jobs' entry points, steps, scripts."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from pd_launch.launcher.sources.engine.around import Around
from pd_launch.launcher.sources.engine.found import Finish, Found, Nested
from pd_launch.launcher.sources.engine.unfollowed import not_started
from pd_launch.launcher.sources.engine.wrapped import STARTS
from pd_launch.launcher.sources.forms.relocate import read_inside
from pd_launch.launcher.sources.text.limits import NOT_PYTHON
from pd_launch.schemas.core.launch import EnvVar, NodeLaunch
from pd_launch.schemas.core.values import Node, Text

_LISTS = ("steps", "sidecars")
_SINGLE = ("container", "script")
_SCRIPTS = ("source", "script")
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_ENTRY_POINTS = {"RayJob": ("spec", "entrypoint")}
_ENCODED = {"Secret": "data", "ConfigMap": "binaryData"}


def probed_ports(pod: Node, container: Node, maps: Iterable[Node]) -> list[Node]:
    """Return the ports at which a container's probes ask it, by number; of a name, what the container calls so.

    One that something else in the pod, or in the ConfigMaps ``maps``, speaks of is left out: another container or
    program may answer there.
    """
    named = named_ports(container)
    found = []
    for probe in PROBES:
        for way in ("httpGet", "tcpSocket"):
            port = container.get(probe, way, "port")
            if port is not None and isinstance(port.value, str) and not port.value.isdecimal():
                port = named.get(port.value)
            number = port.integer() if port is not None else None
            if port is not None and number is not None and not spoken_of(number, [pod, *maps], container):
                found.append(port)
    return found


def named_ports(container: Node) -> dict[str, Node | None]:
    """Return the ports that a container gives a name."""
    entries = [(entry.get("name"), entry.get("containerPort")) for entry in _entries(container, "ports")]
    return {str(name.value): port for name, port in entries if name is not None}


def spoken_of(port: int, trees: list[Node], container: Node) -> bool:
    """Whether a word of the trees beside this container's ports and probes has the number in it."""
    word = re.compile(rf"(?<!\d){port}(?!\d)")
    own = {id(container.get(key)) for key in ("ports", *PROBES)}
    waiting = list(trees)
    while waiting:
        node = waiting.pop()
        if id(node) in own:
            continue
        if node.text is not None and word.search(node.text.value):
            return True
        waiting += [child for _, child in node.items()] + list(node.elements())
    return False


def _entries(node: Node, key: str) -> list[Node]:
    listed = node.get(key)
    return list(listed.elements()) if listed is not None else []


def steps_of(template: Node) -> list[Node]:
    """Return what Argo Workflows and Tekton run as containers: ``container``, ``script``, ``steps``, ``sidecars``."""
    found = [template.get(key) for key in _SINGLE]
    for key in _LISTS:
        listed = template.get(key)
        found += list(listed.elements()) if listed is not None else []
    return [part for part in found if part is not None and part.get("image") is not None]


def read_script(container: Node, program: str, around: Around, finish: Finish, found: Found) -> None:
    """Add what the script of a step starts; ``program`` is the first word of its command, if it has one."""
    node = next((part for key in _SCRIPTS if (part := container.get(key)) is not None and part.text is not None), None)
    if node is None or node.text is None:
        return
    first = node.text.value.lstrip().partition("\n")[0] if node.text.value.lstrip().startswith("#!") else program
    if "python" in first:
        read_program(node.text, finish, found, around.env)
    else:
        found.nested.append(Nested(node.text, finish, around.env, around))


def read_program(text: Text, finish: Finish, found: Found, env: Mapping[str, EnvVar] | None = None) -> None:
    """Add what a Python program inside another form starts."""
    from pd_launch.launcher.sources.python.file import read_python

    nodes, nested, faults = len(found.nodes), len(found.nested), len(found.faults)
    read_inside(text, found, read_python)
    # A template's text may be no Python before it is filled in.
    found.faults[faults:] = [fault for fault in found.faults[faults:] if fault.kind != NOT_PYTHON]
    for node in found.nodes[nodes:]:
        finish(node)
    found.nested[nested:] = [
        item._replace(finish=partial(_both, item.finish, finish), env={**(env or {}), **item.env})
        for item in found.nested[nested:]
    ]


def _both(first: Finish, second: Finish, node: NodeLaunch) -> None:
    first(node)
    second(node)


def read_entry_point(tree: Node, found: Found) -> None:
    """Add what the entry point of a job starts, which the cluster runs as a line of a shell."""
    kind = tree.get("kind")
    path = _ENTRY_POINTS.get(str(kind.value)) if kind is not None else None
    line = tree.get(*path) if path is not None else None
    if line is None or line.text is None:
        return
    place = line.origin

    def finish(node: NodeLaunch) -> None:
        node.env_open = node.env_open or place  # the job's runtime environment, and that of the cluster

    found.nested.append(Nested(line.text, finish))


def read_files(tree: Node, found: Found) -> None:
    """Add what Python programs in a ConfigMap or a Secret start, and say of what is encoded that it is not followed."""
    kind = tree.get("kind")
    name = str(kind.value) if kind is not None else ""
    for key, node in _plain(tree, name):
        if key.endswith(".py") and node.text is not None and "vllm" in node.text.value:
            read_program(node.text, _nothing, found)
    encoded = tree.get(_ENCODED[name]) if name in _ENCODED else None
    for _, node in encoded.items() if encoded is not None else ():
        decoded = _decoded(node)
        if node.text is not None and decoded is not None and STARTS.search(decoded):
            found.add_faults(list(not_started(node.text.stand_in(decoded))))


def _plain(tree: Node, kind: str) -> Iterator[tuple[str, Node]]:
    data = tree.get({"ConfigMap": "data", "Secret": "stringData"}.get(kind, "kind"))
    yield from data.items() if data is not None else ()


def _decoded(node: Node) -> str | None:
    text = node.string()
    if text is None:
        return None
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _nothing(_: NodeLaunch) -> None:
    pass
