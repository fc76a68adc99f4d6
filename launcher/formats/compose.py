"""A compose file with both sides: one service for each node, started together where the nodes are one machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.formats.box import Box, needs_shell, one_instance, pieces, script
from pd_launch.launcher.formats.docker import RUNTIME, device_paths, gib, mounts, program
from pd_launch.launcher.formats.patch import patched
from pd_launch.launcher.formats.text import head, yaml_text
from pd_launch.launcher.formats.words import shell_word
from pd_launch.schemas.engine.ports import http_port

STARTUP_SECONDS = 3600
"""A large model takes long to load; until then an engine that does not answer is not called unhealthy."""


def compose_file(boxes: Sequence[Box], name: str, patch: Any = None) -> str:
    """Return the compose file of all nodes of both sides.

    Raises:
        FormatError: a side has several instances, whose machines the profile does not know.
    """
    one_instance(boxes, "compose")
    apart = not one_machine(boxes)
    services = {_key(box): _service(box, apart) for box in boxes}
    notes = [f"Compose file of the profile {name}."]
    if apart:
        notes.append("Each node starts its own service: docker compose --profile SERVICE up")
    asked = sorted({n for box in boxes for n, ask in box.asked.items() if ask == "auto"})
    if asked:
        notes.append(f"Taken from the environment, as it differs between nodes: {', '.join(asked)}")
    for box in boxes:
        if box.secrets:
            notes.append(f"{box.name}.env, beside this file, sets {', '.join(box.secrets)}")
    return head(notes) + yaml_text(*patched([{"services": services}], patch, "compose"))


def _key(box: Box) -> str:
    return box.side + (f"-{box.number}" if box.nodes > 1 else "")


def one_machine(boxes: Sequence[Box]) -> bool:
    """Whether the boxes fit together on one machine: one for each side, on CPUs or on devices of their own."""
    if len({box.side for box in boxes}) < len(boxes):
        return False
    if len(boxes) == 1 or all(box.hardware == "cpu" for box in boxes):
        return True
    named = [box.devices for box in boxes]
    taken = [device for devices in named if devices is not None for device in devices]
    return None not in named and len(taken) == len(set(taken))


def _service(box: Box, apart: bool) -> dict[str, Any]:
    section = box.section
    service: dict[str, Any] = {"image": _escaped(box.image), "container_name": box.name}
    if apart:
        service["profiles"] = [_key(box)]
    service |= {
        "network_mode": "host",
        "shm_size": gib(box.shm),
        "ulimits": {"memlock": -1},
        "restart": "unless-stopped",
        "stop_grace_period": f"{box.stop}s",
        "init": True,
    }
    if box.limit is not None:
        service["mem_limit"] = gib(box.limit)
    if section.runtime:
        service["runtime"] = _escaped(section.runtime)
    for key, entries in (("devices", device_paths(box)), ("volumes", mounts(box))):
        if entries:
            service[key] = [_escaped(entry) for entry in entries]
    if box.hardware == "cuda":
        service["deploy"] = {"resources": {"reservations": {"devices": [_gpus(box)]}}}
    environment = _environment(box)
    if environment:
        service["environment"] = environment
    if box.secrets:
        service["env_file"] = [f"{box.name}.env"]
    words = [piece.text for piece in pieces(box.launches[0], {})]
    if needs_shell(box):
        words = ["-c", script(box, shell_word, [{}] * len(box.launches))]
    own = {"command": [program(box), *words]} if box.ascend else {"entrypoint": [program(box)], "command": words}
    service |= {key: [_escaped(word) for word in value] for key, value in own.items()}
    check = _health(box)
    if check:
        service["healthcheck"] = check
    return service


def _gpus(box: Box) -> dict[str, Any]:
    named = any("CUDA_VISIBLE_DEVICES" in launch.env for launch in box.launches) and box.devices is not None
    which = {"device_ids": [str(number) for number in box.devices or ()]} if named else {"count": box.ranks}
    return {"driver": "nvidia", **which, "capabilities": ["gpu"]}


def _environment(box: Box) -> dict[str, str]:
    values = {name: _escaped(v.value) for name, v in box.variables.items() if not v.ask}
    values |= {name: f"${{{name}:?}}" for name, ask in box.asked.items() if ask == "auto"}
    if box.section.runtime == RUNTIME and box.devices is not None:
        values["ASCEND_VISIBLE_DEVICES"] = ",".join(map(str, box.devices))
    return values


def _health(box: Box) -> dict[str, Any] | None:
    if all(http_port(launch) is None for launch in box.launches):
        return None
    from pd_launch.launcher.formats.text import health_words

    return {
        "test": ["CMD", *(_escaped(word) for word in health_words(box))],
        "interval": "30s",
        "timeout": "10s",
        "retries": 3,
        "start_period": f"{STARTUP_SECONDS}s",
    }


def _escaped(text: str) -> str:
    return text.replace("$", "$$")
