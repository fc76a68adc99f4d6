"""The pod of one node: its container, volumes, devices, probes and variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.formats.box import ADDRESS, Box, Changes, bound, has_connector, pieces, script
from pd_launch.launcher.formats.docker import DRIVER_MOUNTS, RUNTIME, model_path
from pd_launch.launcher.formats.text import health_words
from pd_launch.launcher.formats.words import shell_word
from pd_launch.launcher.launch.start import health_addresses
from pd_launch.schemas.core.hardware import HARDWARE
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.units import GIB
from pd_launch.schemas.engine.connector_ports import NIXL_HOST
from pd_launch.schemas.engine.sides import is_loopback
from pd_launch.schemas.profile import VolumeSection

INTERFACES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
_PERIOD = 30
_STARTUP_PROBES = 120
"""An hour for loading the model."""
_DEFAULT_ROUTE = (
    'while read -r name to _; do if [ "$to" = 00000000 ]; then break; fi; done < /proc/net/route',
    "export {}",
)


def pod_template(
    box: Box, labels: dict[str, str], name: str, command: dict[str, Any], environment: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the template of a pod that runs one box.

    ``name`` is that of the Secret; ``command`` has the container's ``command`` and ``args``.
    """
    spec: dict[str, Any] = {}
    if _on_the_node(box):
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    section = box.section
    if section.runtime:
        spec["runtimeClassName"] = section.runtime
    if section.node_selector:
        spec["nodeSelector"] = dict(section.node_selector)
    if section.tolerations:
        spec["tolerations"] = [dict(toleration) for toleration in section.tolerations]
    volumes, volume_mounts = _volumes(box)
    container = {
        "name": box.side,
        "image": box.image,
        **command,
        "env": environment,
        "ports": [{"name": f"http-{port}", "containerPort": port} for port in bound(box, "http")],
        "resources": pod_resources(box),
        **_probes(box),
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "volumeMounts": volume_mounts,
    }
    spec["terminationGracePeriodSeconds"] = box.stop
    spec["containers"] = [{key: value for key, value in container.items() if value not in ([], {})}]
    spec["volumes"] = volumes
    metadata: dict[str, Any] = {"labels": labels}
    if section.annotations:
        metadata["annotations"] = dict(section.annotations)
    return {"metadata": metadata, "spec": spec}


def _on_the_node(box: Box) -> bool:
    """Whether the pod is in the node's network, and not in one of its own."""
    return box.ascend


def reachable(box: Box, launch: NodeLaunch, change: Changes) -> Changes:
    """Let a server that would listen to its own pod only listen to all."""
    host = launch.value("host")
    if _on_the_node(box) or host is None or not is_loopback(host.string() or ""):
        return change
    return {**change, "host": None}


def pod_command(box: Box, changes: Sequence[Changes]) -> dict[str, Any]:
    """Return the container's command: plain words where nothing in it is known only inside, else a script."""
    found = [pieces(launch, change) for launch, change in zip(box.launches, changes, strict=True)]
    before = interface_lines(box)
    if len(found) == 1 and not before and not box.joins and not any(piece.raw for piece in found[0]):
        return _behind(box, "vllm", [piece.text for piece in found[0]])
    return script_command(box, script(box, shell_word, changes, before))


def script_command(box: Box, text: str) -> dict[str, Any]:
    """Return the command of a container that runs a script."""
    return _behind(box, "bash", ["-c", text])


def _behind(box: Box, program: str, words: Sequence[str]) -> dict[str, Any]:
    """Return what the container runs: on Ascend after the image's own entrypoint, which sources CANN."""
    escaped = [_escaped(word) for word in words]
    return {"args": [program, *escaped]} if box.ascend else {"command": [program], "args": escaped}


def interface_lines(box: Box) -> list[str]:
    """Return the lines that take the default route's interface for each one that is ``auto``."""
    interfaces = [name for name in box.asked if box.asked[name] == "auto" and name in INTERFACES]
    if not interfaces:
        return []
    names = " ".join(f'{interface}="$name"' for interface in interfaces)
    return [_DEFAULT_ROUTE[0], _DEFAULT_ROUTE[1].format(names)]


def _escaped(text: str) -> str:
    """Return text that Kubernetes passes on as it is: of ``$(NAME)`` it would make a variable's value."""
    return text.replace("$", "$$")


def pod_environment(box: Box, name: str) -> list[dict[str, Any]]:
    """Return the entries of ``env``; ``name`` is the Secret that secrets are keys of."""
    entries: list[dict[str, Any]] = []
    variables = {n: v.value for n, v in box.variables.items() if not v.ask}
    if has_connector(box, "NixlConnector") and not is_loopback(variables.get(NIXL_HOST, "")):
        variables[NIXL_HOST] = box.address or "auto"
    for variable, value in variables.items():
        # The one machine of a loopback address is a pod here, and the other side is in another one.
        elsewhere = not _on_the_node(box) and is_loopback(value)
        if variable in ADDRESS and (elsewhere or value in (box.address, "auto")):
            entries.append(_own_address(variable))
        else:
            entries.append({"name": variable, "value": _escaped(value)})
    for variable, ask in box.asked.items():
        if ask == "secret":
            key = {"secretKeyRef": {"name": name, "key": variable}}
            entries.append({"name": variable, "valueFrom": key})
        elif variable in ADDRESS and variable not in variables:
            entries.append(_own_address(variable))
    return entries


def _own_address(variable: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def pod_resources(box: Box) -> dict[str, Any]:
    """Return what the container asks of its node."""
    kinds = HARDWARE[box.hardware].resources if box.hardware in HARDWARE else ()
    named = {name: value for name, value in box.section.resources.items() if name not in ("memory", "cpu")}
    devices: dict[str, Any] = {kinds[0]: box.ranks} if kinds and not set(kinds) & set(named) else {}
    devices |= named
    asked: dict[str, Any] = {key: box.section.resources[key] for key in ("cpu",) if key in box.section.resources}
    limits: dict[str, Any] = dict(devices)
    if box.limit is not None:
        limits["memory"] = _quantity(box.limit)
    memory = box.memory if box.limit is None else min(box.memory, box.limit)
    requests = {**asked, "memory": box.section.resources.get("memory", _quantity(memory)), **devices}
    return {"requests": requests, **({"limits": limits} if limits else {})}


def _quantity(size: int) -> str:
    return f"{size // GIB}Gi" if size % GIB == 0 else str(size)


def _probes(box: Box) -> dict[str, Any]:
    addresses = [address for launch in box.launches for address in health_addresses(launch)]
    if not addresses:
        return {}
    ports = bound(box, "http")
    if len(addresses) == 1 and addresses[0].startswith("http://127.0.0.1:") and box.launches[0].value("host") is None:
        ask: dict[str, Any] = {"httpGet": {"path": "/health", "port": ports[0]}}
    else:
        ask = {"exec": {"command": [_escaped(word) for word in health_words(box)]}}
    return {
        "startupProbe": {**ask, "periodSeconds": _PERIOD, "timeoutSeconds": 10, "failureThreshold": _STARTUP_PROBES},
        "readinessProbe": {**ask, "periodSeconds": _PERIOD, "timeoutSeconds": 10},
        "livenessProbe": {**ask, "periodSeconds": _PERIOD, "timeoutSeconds": 10, "failureThreshold": 10},
    }


def _volumes(box: Box) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    volumes: list[dict[str, Any]] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": _quantity(box.shm)}}]
    mounted: list[dict[str, Any]] = [{"name": "shm", "mountPath": "/dev/shm"}]
    driver = DRIVER_MOUNTS if box.ascend and box.section.runtime != RUNTIME else ()
    wanted = [(path, path, True) for path in driver]
    model = model_path(box)
    if model is not None:
        wanted.append((model, model, True))
    for mount in box.section.mounts:
        source, _, rest = mount.partition(":")
        target, _, mode = rest.partition(":")
        wanted.append((source, target or source, mode == "ro"))
    for volume in box.section.volumes:
        if volume.host is not None:
            wanted.append((volume.host, volume.path, volume.read_only))
    last = {target.rstrip("/"): (source, target, read_only) for source, target, read_only in wanted}
    own = {path.rstrip("/") for path in (*last, *(volume.path for volume in box.section.volumes))}
    if "/dev/shm" in own:  # the profile's own; two volumes on one path are refused
        volumes, mounted = [], []
    elsewhere = {volume.path.rstrip("/") for volume in box.section.volumes if volume.host is None}
    wanted = [entry for target, entry in last.items() if target not in elsewhere]
    for number, (source, target, read_only) in enumerate(wanted):
        volumes.append({"name": f"host-{number}", "hostPath": {"path": source}})
        entry: dict[str, Any] = {"name": f"host-{number}", "mountPath": target}
        mounted.append({**entry, "readOnly": True} if read_only else entry)
    for number, volume in enumerate(v for v in box.section.volumes if v.host is None):
        name = f"volume-{number}"
        volumes.append({"name": name, **_source(volume)})
        entry = {"name": name, "mountPath": volume.path}
        mounted.append({**entry, "readOnly": True} if volume.read_only else entry)
    return volumes, mounted


def _source(volume: VolumeSection) -> dict[str, Any]:
    if volume.pvc is not None:
        return {"persistentVolumeClaim": {"claimName": volume.pvc}}
    if volume.secret is not None:
        return {"secret": {"secretName": volume.secret}}
    sized = isinstance(volume.empty, int) and not isinstance(volume.empty, bool)
    return {"emptyDir": {"sizeLimit": _quantity(int(volume.empty or 0))} if sized else {}}
