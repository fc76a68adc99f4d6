"""Values for llm-d's chart llm-d-modelservice (read at v0.4.12): both sides, and the sidecar in front of decode.

The chart makes a Deployment of a side, or a LeaderWorkerSet with one template for all nodes; the gateway and its
InferencePool come from charts of their own, and find the pods by the labels given here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.formats.box import Box, FormatError, bound, has_connector, slug
from pd_launch.launcher.formats.group import MASTERS, one_template
from pd_launch.launcher.formats.patch import patched
from pd_launch.launcher.formats.pod import pod_command, pod_environment, pod_template, reachable
from pd_launch.launcher.formats.text import head, yaml_text

CHART = "llm-d-modelservice v0.4.12"
_SERVING = "llm-d.ai/inference-serving"
_MODEL = "llm-d.ai/model"


def llm_d_values(boxes: Sequence[Box], name: str, patch: Any = None) -> str:
    """Return the values for both sides.

    Raises:
        FormatError: the chart, or llm-d's router, cannot do what the profile asks for.
    """
    sides = {side: [box for box in boxes if box.side == side] for side in ("decode", "prefill")}
    routed_pair(sides, "llm-d")
    ports = {side: bound(mine[0], "http")[0] for side, mine in sides.items()}
    model = str(boxes[0].launches[0].model.value) if boxes[0].launches[0].model else ""
    label = slug(model.rpartition("/")[2])
    values: dict[str, Any] = {
        "fullnameOverride": slug(name),
        "multinode": any(len(mine) > 1 for mine in sides.values()),
        "modelArtifacts": {
            "name": model,
            "uri": model_uri(boxes[0], model, "llm-d"),
            "labels": {_SERVING: "true", _MODEL: label},
        },
        "routing": {
            "servicePort": ports["prefill"],
            "proxy": {"enabled": True, "connector": "nixlv2", "secure": False, "targetPort": ports["decode"]},
        },
    }
    for side, mine in sides.items():
        values[side] = _side(mine, slug(name))
    notes = [
        f"Values of the profile {name} for {CHART}: helm install {slug(name)} llm-d-modelservice/llm-d-modelservice -f",
        f"The InferencePool selects {_SERVING}: 'true' and {_MODEL}: {label}, with the port {ports['prefill']}.",
    ]
    secrets = sorted({secret for box in boxes for secret in box.secrets})
    if secrets:
        notes.append(f"The Secret {slug(name)} has the keys {', '.join(secrets)}.")
    return head(notes) + yaml_text(*patched([values], patch, "llm-d"))


def routed_pair(sides: dict[str, list[Box]], form: str) -> None:
    """Refuse what llm-d's router, which KServe uses too, does not do.

    Raises:
        FormatError: it says what, and which form does it.
    """
    lacking = [side for side, mine in sides.items() if not mine]
    if lacking:
        raise FormatError(f"{form} routes between two sides, and the profile has no section {lacking[0]}; use k8s")
    for side, mine in sides.items():
        if not all(has_connector(box, "NixlConnector") for box in mine):
            raise FormatError(f"{form}: the router speaks NixlConnector's protocol, which {side} does not use; use k8s")
        if any(len(box.launches) > 1 or len(bound(box, "http")) > 1 for box in mine):
            raise FormatError(f"{form} has one server a pod, and {side} has several: write launch: hybrid, or use k8s")
        if any(not bound(box, "http") for box in mine):
            raise FormatError(
                f"{form} sends requests to every pod of a side, and some of {side} are headless: write launch: hybrid, "
                "or use k8s, whose Service leaves them out"
            )
    if bound(sides["decode"][0], "http")[0] == bound(sides["prefill"][0], "http")[0]:
        port = bound(sides["prefill"][0], "http")[0]
        raise FormatError(f"{form}: the router's sidecar takes the port {port} in decode's pods: give decode another")


def model_uri(box: Box, model: str, form: str) -> str:
    """Return where the platform gets the model from: a claim that holds it, else the hub.

    Raises:
        FormatError: the model is a path on no claim.
    """
    for volume in box.section.volumes:
        if volume.pvc is not None and model.startswith(f"{volume.path.rstrip('/')}/"):
            return f"pvc://{volume.pvc}/{model[len(volume.path.rstrip('/')) + 1 :]}"
    if model.startswith("/"):
        raise FormatError(f"{form}: the model {model} lies on no claim: write container.volumes: [{{path: …, pvc: …}}]")
    return f"hf://{model}"


def _side(boxes: list[Box], name: str) -> dict[str, Any]:
    box = boxes[0]
    if len(boxes) > 1:
        command, environment = one_template(boxes, name)
    else:
        changes = [reachable(box, launch, dict.fromkeys(MASTERS)) for launch in box.launches]
        command, environment = pod_command(box, changes), pod_environment(box, name)
    template = pod_template(box, {}, name, command, environment)
    spec = template["spec"]
    (container,) = spec["containers"]
    side: dict[str, Any] = {
        "create": True,
        "replicas": box.replicas,
        "parallelism": {"tensor": box.ranks, "data": 1, "dataLocal": 1, "workers": len(boxes)},  # of a pod: its devices
        "terminationGracePeriodSeconds": spec["terminationGracePeriodSeconds"],
        "containers": [{**container, "name": "vllm", "modelCommand": "custom", "mountModelVolume": False}],
        "volumes": spec["volumes"],
    }
    for key in ("nodeSelector", "tolerations"):
        if key in spec:
            side[key] = spec[key]
    if "annotations" in template["metadata"]:
        side["podAnnotations"] = template["metadata"]["annotations"]
    return side
