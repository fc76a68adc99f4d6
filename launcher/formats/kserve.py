"""An LLMInferenceService of KServe (serving.kserve.io/v1alpha1): its controller makes the pods, and the router.

Read at v0.20.0. The controller's own templates give the model, the ports and certificates, so only what is beside them
is written: the engine's further arguments, by the variable that these templates read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.formats.box import Box, FormatError, pieces, slug
from pd_launch.launcher.formats.llm_d import model_uri, routed_pair
from pd_launch.launcher.formats.patch import patched
from pd_launch.launcher.formats.pod import pod_environment, pod_template
from pd_launch.launcher.formats.text import head, yaml_text
from pd_launch.launcher.formats.words import shell_word

ARGUMENTS = "VLLM_ADDITIONAL_ARGS"
_THEIRS = ("port", "host", "served-model-name", "data-parallel-address", "master-addr")
"""Options that the controller's templates give themselves."""
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


def kserve_service(boxes: Sequence[Box], name: str, patch: Any = None) -> str:
    """Return the object for both sides.

    Raises:
        FormatError: KServe, or its router, cannot do what the profile asks for.
    """
    sides = {side: [box for box in boxes if box.side == side] for side in ("decode", "prefill")}
    for side, mine in sides.items():
        if len(mine) > 1:
            raise FormatError(
                f"kserve: its controller gives the nodes of {side} their ranks by itself; use k8s or llm-d"
            )
    routed_pair(sides, "kserve")
    decode, prefill = sides["decode"][0], sides["prefill"][0]
    model = str(decode.launches[0].model.value) if decode.launches[0].model else ""
    service = {
        "apiVersion": "serving.kserve.io/v1alpha1",
        "kind": "LLMInferenceService",
        "metadata": {"name": slug(name)},
        "spec": {
            "model": {"name": model, "uri": model_uri(decode, model, "kserve")},
            "replicas": decode.replicas,
            "router": {"route": {}, "gateway": {}, "scheduler": {}},
            **_annotations(decode),
            "template": _template(decode, slug(name)),
            "prefill": {
                "replicas": prefill.replicas,
                **_annotations(prefill),
                "template": _template(prefill, slug(name)),
            },
        },
    }
    notes = [
        f"LLMInferenceService of the profile {name}: template is the decode side.",
        "Its controller decides the ports, the certificates, and where the model lies in the pods.",
    ]
    return head(notes) + yaml_text(*patched([service], patch, "kserve"))


def _annotations(box: Box) -> dict[str, Any]:
    """Return the annotations that the controller copies into the pods."""
    return {"annotations": dict(box.section.annotations)} if box.section.annotations else {}


def _template(box: Box, name: str) -> dict[str, Any]:
    """Return the pod's template: what KServe's own says is left to it."""
    if box.asked_words or box.joins:
        asked = next(iter([*box.asked_words, *box.joins]))
        raise FormatError(f"kserve: {asked} would have to be filled in inside the pod, which its template does not do")
    words = [piece.text for piece in pieces(box.launches[0], dict.fromkeys(_THEIRS))]
    behind = words[2:] if words[:1] == ["serve"] and words[1:2] and not words[1].startswith("-") else words[1:]
    environment = pod_environment(box, name)
    text = " ".join(shell_word(word) for word in behind).replace("$", "$$")
    environment.append({"name": ARGUMENTS, "value": text})
    spec = pod_template(box, {}, name, {}, environment)["spec"]
    (container,) = spec["containers"]
    kept = {key: value for key, value in container.items() if key not in (*_PROBES, "ports", "securityContext")}
    # The controller's template has a volume for /dev/shm; a second one could not be mounted there. So that of the
    # profile, whether its own or the usual one, takes the place of the template's.
    mounts: list[dict[str, Any]] = kept["volumeMounts"]
    there = next(mount["name"] for mount in mounts if mount["mountPath"].rstrip("/") == "/dev/shm")
    kept["volumeMounts"] = [mount for mount in mounts if mount["name"] != there]
    volumes: list[dict[str, Any]] = [volume for volume in spec["volumes"] if volume["name"] != there]
    shm = next(volume for volume in spec["volumes"] if volume["name"] == there)
    found = {key: value for key, value in spec.items() if key not in ("containers", "volumes")}
    found["containers"] = [{**{k: v for k, v in kept.items() if v != []}, "name": "main"}]
    found["volumes"] = [{**shm, "name": "dshm"}, *volumes]
    return found
