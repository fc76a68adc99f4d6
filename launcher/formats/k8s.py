"""Kubernetes manifests: for each side a StatefulSet on one node, or a LeaderWorkerSet over several, and a Service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.formats.box import Box, Changes, bound, slug
from pd_launch.launcher.formats.group import MASTERS, group_template
from pd_launch.launcher.formats.patch import patched
from pd_launch.launcher.formats.pod import pod_command, pod_environment, pod_template, reachable
from pd_launch.launcher.formats.proxy import proxy_command
from pd_launch.launcher.formats.text import head, yaml_text

WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
"""The label by which the controller says a pod's number in its group."""


def k8s_manifest(boxes: Sequence[Box], name: str, patch: Any = None) -> str:
    """Return the manifest of all nodes of both sides.

    Raises:
        FormatError: nodes of a side differ in what one template cannot hold.
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
        notes.append("Several nodes of a side are a LeaderWorkerSet; its controller names the nodes' ranks, and makes")
        notes.append("the headless Service of the same name by which they find each other before they are ready.")
    proxy = proxy_command(boxes, lambda box: _hosts(box, slug(name)))
    if proxy is not None:
        notes.append(f"A proxy in front of both sides: {proxy}")
    return head(notes) + yaml_text(*patched(documents, patch, "k8s"))


def _hosts(box: Box, name: str) -> list[str]:
    """Return the names in the cluster of the pods that are this box, one for each instance."""
    full = f"{name}-{box.side}"
    number = f"-{box.number}" if box.number else ""
    return [f"{full}-{instance}{number}.{full}" for instance in range(box.replicas)]


def _side(boxes: list[Box], name: str) -> list[Any]:
    full = f"{name}-{boxes[0].side}"
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/component": boxes[0].side}
    if len(boxes) == 1:
        return [_service(full, labels, labels, boxes[0]), _stateful_set(boxes[0], full, labels, name)]
    # The controller makes a Service with the group's own name, unless there is one: that name is not for us.
    serving = labels if bound(boxes[1], "http") else {**labels, WORKER_INDEX: "0"}
    return [_service(f"{full}-http", labels, serving, boxes[0]), _group(boxes, full, labels, name)]


def _service(name: str, labels: dict[str, str], selector: dict[str, str], box: Box) -> dict[str, Any]:
    """Return the Service of the pods that answer HTTP: headless, as a P/D proxy wants each by its own address."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "clusterIP": "None",
            "selector": selector,
            "ports": [{"name": f"http-{port}", "port": port} for port in bound(box, "http")],
        },
    }


def _stateful_set(box: Box, full: str, labels: dict[str, str], name: str) -> dict[str, Any]:
    changes: list[Changes] = [reachable(box, launch, dict.fromkeys(MASTERS)) for launch in box.launches]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": full, "labels": labels},
        "spec": {
            "serviceName": full,
            "replicas": box.replicas,
            # By default, an instance would wait until the one before it has loaded its model, and for ever if it fails.
            **({"podManagementPolicy": "Parallel"} if box.replicas != 1 else {}),
            "selector": {"matchLabels": labels},
            "template": pod_template(box, labels, name, pod_command(box, changes), pod_environment(box, name)),
        },
    }


def _group(boxes: list[Box], full: str, labels: dict[str, str], name: str) -> dict[str, Any]:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": full, "labels": labels},
        "spec": {
            "replicas": boxes[0].replicas,
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": group_template(boxes, labels, name),
        },
    }
