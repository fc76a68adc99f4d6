"""Plays the rules of a cluster on rendered objects: those of the LeaderWorkerSet controller, DNS and the kubelet.

Sources of the rules: the controller makes a headless Service of the group's name only where there is none, and
publishes pods there before they are ready; LWS_LEADER_ADDRESS is LEADER.GROUP.NAMESPACE; DNS has a pod under a
headless Service only if it is ready or the Service publishes those that are not; a pod without a readiness probe is
ready at once; a Service sends traffic to all ready pods that its selector fits.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

LWS = "leaderworkerset.sigs.k8s.io"
SPACE = "default"
# The first of several engines that ends ends the others: one that is asked to end still writes what it was given.
_STUB = """#!/bin/sh
trap '' TERM
{ printf '%s\\0' "$@" ""; env -0; } > "$ENGINES/$$"
"""


@dataclass
class Pod:
    """A pod: ``index`` is its number in its group of ``size``; ``engines`` what its command really starts."""

    name: str
    group: str
    index: int
    size: int
    labels: dict[str, str]
    spec: dict[str, Any]
    subdomain: str
    leader: str
    ready: bool = False
    engines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def container(self) -> dict[str, Any]:
        found: dict[str, Any] = self.spec["containers"][0]
        return found

    def options(self, name: str) -> list[str]:
        """Return the values of an option on all engines; an empty text where the option is bare."""
        found = []
        for engine in self.engines:
            words = engine["argv"]
            if name in words:
                at = words.index(name) + 1
                found.append(words[at] if at < len(words) and not words[at].startswith("--") else "")
        return found


class Cluster:
    """Objects that were applied in their order, and the pods that follow."""

    def __init__(self, text: str, folder: Path) -> None:
        self.objects = [found for found in yaml.safe_load_all(text) if found]
        self.services = {o["metadata"]["name"]: o["spec"] for o in self.objects if o["kind"] == "Service"}
        self.folder = folder
        self.pods: list[Pod] = []
        for program, text in (("vllm", _STUB), ("sleep", "#!/bin/sh\n")):
            (folder / program).write_text(text)
            (folder / program).chmod(0o755)
        for item in self.objects:
            if item["kind"] == "LeaderWorkerSet":
                self._group(item)
            elif item["kind"] == "StatefulSet":
                self._set(item)
        for pod in self.pods:
            pod.engines = self._engines(pod)

    def _group(self, item: dict[str, Any]) -> None:
        name, template = item["metadata"]["name"], item["spec"]["leaderWorkerTemplate"]
        pods = []
        for group in range(item["spec"].get("replicas", 1)):
            leader = f"{name}-{group}"
            for index in range(template["size"]):
                made = (
                    template["workerTemplate"] if index else template.get("leaderTemplate", template["workerTemplate"])
                )
                labels = {
                    **made["metadata"]["labels"],
                    f"{LWS}/name": name,
                    f"{LWS}/group-index": str(group),
                    f"{LWS}/worker-index": str(index),
                }
                pod_name = f"{leader}-{index}" if index else leader
                pods.append(Pod(pod_name, leader, index, template["size"], labels, made["spec"], name, leader))
        if name not in self.services:
            self.services[name] = {
                "clusterIP": "None",
                "selector": {f"{LWS}/name": name},
                "publishNotReadyAddresses": True,
            }
        self.pods += pods

    def _set(self, item: dict[str, Any]) -> None:
        name, spec = item["metadata"]["name"], item["spec"]
        assert spec["serviceName"] in self.services, "a StatefulSet's Service must be there"
        assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
        for number in range(spec.get("replicas", 1)):
            labels = {
                **spec["template"]["metadata"]["labels"],
                "statefulset.kubernetes.io/pod-name": f"{name}-{number}",
            }
            pod_name = f"{name}-{number}"
            self.pods.append(
                Pod(pod_name, pod_name, 0, 1, labels, spec["template"]["spec"], spec["serviceName"], pod_name)
            )

    def _engines(self, pod: Pod) -> list[dict[str, Any]]:
        """Run the container's own command with a stand-in for vllm, with the variables that the pod would have."""
        given = {
            "LWS_LEADER_ADDRESS": f"{pod.leader}.{pod.subdomain}.{SPACE}",
            "LWS_GROUP_SIZE": str(pod.size),
            "LWS_WORKER_INDEX": str(pod.index),
        }
        out = self.folder / f"engines of {pod.name}"
        out.mkdir()
        environment = {"PATH": f"{self.folder}:{os.environ['PATH']}", "ENGINES": str(out), **given}
        for entry in pod.container.get("env", ()):
            if "value" in entry:
                environment[entry["name"]] = _expanded(entry["value"], environment)
            elif "fieldRef" in entry["valueFrom"]:
                environment[entry["name"]] = f"address of {pod.name}"
            else:
                environment[entry["name"]] = "secret"
        words = [_expanded(word, environment) for word in (*pod.container.get("command", ()), *pod.container["args"])]
        run = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)
        found = [_engine(path.read_text()) for path in sorted(out.iterdir())]
        assert found, (pod.name, words, run.stdout, run.stderr)
        return found

    def resolve(self, host: str) -> list[Pod]:
        """Return the pods that a name leads to."""
        name, _, rest = host.partition(".")
        service = self.services.get(rest.partition(".")[0])
        if service is None or service.get("clusterIP") != "None":
            return []
        early = service.get("publishNotReadyAddresses", False)
        return [p for p in self.selected(service) if p.name == name and (early or p.ready)]

    def selected(self, service: dict[str, Any]) -> list[Pod]:
        return [pod for pod in self.pods if service["selector"].items() <= pod.labels.items()]

    def endpoints(self, name: str) -> list[Pod]:
        """Return the pods to which a Service sends traffic."""
        return [pod for pod in self.selected(self.services[name]) if pod.ready]

    def settle(self) -> None:
        """Let pods get ready until nothing changes."""
        changed = True
        while changed:
            changed = False
            for pod in self.pods:
                if not pod.ready and self._is_ready(pod):
                    pod.ready = changed = True

    def _is_ready(self, pod: Pod) -> bool:
        if "readinessProbe" not in pod.container:
            return True
        return all(self._joined(mate) for mate in self.pods if mate.group == pod.group)

    def _joined(self, pod: Pod) -> bool:
        """Whether a pod of several reaches the leader by the address that its engines are given."""
        if pod.size == 1:
            return True
        masters = {*pod.options("--data-parallel-address"), *pod.options("--master-addr")}
        return len(masters) == 1 and [p.name for p in self.resolve(masters.pop())] == [pod.leader]


def _engine(text: str) -> dict[str, Any]:
    words = text.split("\0")
    end = words.index("")
    return {"argv": words[:end], "env": dict(word.split("=", 1) for word in words[end + 1 :] if word)}


def serves(pod: Pod) -> bool:
    return bool(pod.engines) and not pod.options("--headless")


def _expanded(text: str, environment: dict[str, str]) -> str:
    """Expand $(NAME) as the kubelet does; $$ is one dollar."""

    def one(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else environment.get(match[1], match[0])

    return re.sub(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)", one, text)
