"""Kubernetes manifests: for each side a StatefulSet on one node, or a LeaderWorkerSet over several, and a Service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.formats.box import (
    ADDRESS,
    Box,
    Changes,
    FormatError,
    Piece,
    bound,
    has_connector,
    pieces,
    script,
    slug,
)
from pd_launch.launcher.formats.docker import DRIVER_MOUNTS, RUNTIME, model_path
from pd_launch.launcher.formats.text import head, health_words, yaml_text
from pd_launch.launcher.formats.words import shell_word
from pd_launch.launcher.launch.start import health_address
from pd_launch.schemas.core.hardware import HARDWARE
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.units import GIB
from pd_launch.schemas.engine.port_range import first_rank
from pd_launch.schemas.engine.sides import is_loopback

INDEX = "LWS_WORKER_INDEX"
LEADER = "LWS_LEADER_ADDRESS"
_MASTER = "data-parallel-address"
_START = "data-parallel-start-rank"
_RANK = "data-parallel-rank"
_PERIOD = 30
_STARTUP_PROBES = 120
"""An hour for loading the model."""
_DEFAULT_ROUTE = (
    'while read -r name to _; do if [ "$to" = 00000000 ]; then break; fi; done < /proc/net/route',
    "export {}",
)


def k8s_manifest(boxes: Sequence[Box], name: str) -> str:
    """Return the manifest of all nodes of both sides.

    Raises:
        FormatError: nodes of a side differ in more than their rank.
    """
    notes = [f"Kubernetes manifest of the profile {name}: one object for each side."]
    documents: list[Any] = []
    secrets = sorted({secret for box in boxes for secret in box.secrets})
    if secrets:
        notes.append(f"The Secret {slug(name)} has the keys {', '.join(secrets)}.")
    for side in ("prefill", "decode"):
        mine = [box for box in boxes if box.side == side]
        if mine:
            documents += _side(mine, slug(name))
    if any(document["kind"] == "LeaderWorkerSet" for document in documents):
        notes.append("Several nodes of a side are a LeaderWorkerSet; its controller names the nodes' ranks.")
    return head(notes) + yaml_text(*documents)


def _side(boxes: list[Box], name: str) -> list[Any]:
    full = f"{name}-{boxes[0].side}"
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/component": boxes[0].side}
    ports = bound(boxes[0], "http")
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": full, "labels": labels},
        "spec": {
            "clusterIP": "None",
            "selector": labels,
            "ports": [{"name": f"http-{port}", "port": port} for port in ports],
        },
    }
    return [
        service,
        _stateful_set(boxes[0], full, labels, name) if len(boxes) == 1 else _group(boxes, full, labels, name),
    ]


def _stateful_set(box: Box, full: str, labels: dict[str, str], name: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": full, "labels": labels},
        "spec": {
            "serviceName": full,
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": _pod(box, labels, name, [{_MASTER: None}] * len(box.launches)),
        },
    }


def _group(boxes: list[Box], full: str, labels: dict[str, str], name: str) -> dict[str, Any]:
    _equal_workers(boxes[1:])
    leader, worker = boxes[0], boxes[1]
    address = Piece(f'"${LEADER}"', True)
    worker_changes = [{_MASTER: address, **_rank(launch, len(worker.launches))} for launch in worker.launches]
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": full, "labels": labels},
        "spec": {
            "replicas": 1,
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": {
                "size": len(boxes),
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": _pod(leader, labels, name, [{_MASTER: address}] * len(leader.launches)),
                "workerTemplate": _pod(worker, {**labels, "role": "worker"}, name, worker_changes),
            },
        },
    }


def _equal_workers(boxes: Sequence[Box]) -> None:
    """All workers come from one template: they may differ in their ranks only."""
    engines = {tuple(launch.local_engines for launch in box.launches) for box in boxes}
    if len(engines) > 1:
        raise FormatError("a LeaderWorkerSet has one template for all nodes but the first; give them equal ranks")


def _rank(launch: NodeLaunch, local: int) -> dict[str, Piece]:
    """Return the launch's rank as it follows from the worker's index; ``launch`` is one of worker 1, of ``local``."""
    first = first_rank(launch)
    if not first:
        return {}
    if not launch.external_dp:
        return {_START: Piece(f'"$(({INDEX} * {first}))"', True)}
    return {_RANK: Piece(f'"$(({INDEX} * {local} + {first - local}))"', True)}


def _pod(box: Box, labels: dict[str, str], name: str, changes: Sequence[Changes]) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if _on_the_node(box):
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if box.section.runtime:
        spec["runtimeClassName"] = box.section.runtime
    volumes, volume_mounts = _volumes(box)
    container = {
        "name": box.side,
        "image": box.image,
        **_command(box, [_reachable(box, *pair) for pair in zip(box.launches, changes, strict=True)]),
        "env": _environment(box, name),
        "ports": [{"name": f"http-{port}", "containerPort": port} for port in bound(box, "http")],
        "resources": _resources(box),
        **_probes(box),
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "volumeMounts": volume_mounts,
    }
    spec["terminationGracePeriodSeconds"] = 60
    spec["containers"] = [{key: value for key, value in container.items() if value not in ([], {})}]
    spec["volumes"] = volumes
    return {"metadata": {"labels": labels}, "spec": spec}


def _on_the_node(box: Box) -> bool:
    """Whether the pod is in the node's network, and not in one of its own."""
    return box.ascend


def _reachable(box: Box, launch: NodeLaunch, change: Changes) -> Changes:
    """Let a server that would listen to its own pod only listen to all."""
    host = launch.value("host")
    if _on_the_node(box) or host is None or not is_loopback(host.string() or ""):
        return change
    return {**change, "host": None}


def _command(box: Box, changes: Sequence[Changes]) -> dict[str, Any]:
    interfaces = [name for name in box.asked if box.asked[name] == "auto" and name.endswith("_IFNAME")]
    found = [pieces(launch, change) for launch, change in zip(box.launches, changes, strict=True)]
    if len(found) == 1 and not interfaces and not any(piece.raw for piece in found[0]):
        return {"command": ["vllm"], "args": [_escaped(piece.text) for piece in found[0]]}
    before = []
    if interfaces:
        names = " ".join(f'{interface}="$name"' for interface in interfaces)
        before = [_DEFAULT_ROUTE[0], _DEFAULT_ROUTE[1].format(names)]
    return {"command": ["bash", "-c"], "args": [_escaped(script(box, shell_word, changes, before))]}


def _escaped(text: str) -> str:
    """Return text that Kubernetes passes on as it is: of ``$(NAME)`` it would make a variable's value."""
    return text.replace("$", "$$")


def _environment(box: Box, name: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    variables = {n: v.value for n, v in box.variables.items() if not v.ask}
    if has_connector(box, "NixlConnector") and not is_loopback(variables.get(ADDRESS[2], "")):
        variables[ADDRESS[2]] = box.address or "auto"
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
        elif variable in ADDRESS:
            entries.append(_own_address(variable))
    return entries


def _own_address(variable: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def _resources(box: Box) -> dict[str, Any]:
    kinds = HARDWARE[box.hardware].resources if box.hardware in HARDWARE else ()
    devices = {kinds[0]: box.ranks} if kinds else {}
    limits: dict[str, Any] = dict(devices)
    if box.limit is not None:
        limits["memory"] = _quantity(box.limit)
    memory = box.memory if box.limit is None else min(box.memory, box.limit)
    return {"requests": {"memory": _quantity(memory), **devices}, **({"limits": limits} if limits else {})}


def _quantity(size: int) -> str:
    return f"{size // GIB}Gi" if size % GIB == 0 else str(size)


def _probes(box: Box) -> dict[str, Any]:
    addresses = [a for launch in box.launches if (a := health_address(launch)) is not None]
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
    for number, (source, target, read_only) in enumerate(wanted):
        volumes.append({"name": f"host-{number}", "hostPath": {"path": source}})
        entry: dict[str, Any] = {"name": f"host-{number}", "mountPath": target}
        mounted.append({**entry, "readOnly": True} if read_only else entry)
    return volumes, mounted
