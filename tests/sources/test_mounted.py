"""Scripts that containers find as files: ConfigMaps that pods mount, ``configs`` of a compose file."""

from __future__ import annotations

import pytest
from reading import at, deployment, flag, launch, value, variables

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import Deployment, NodeLaunch

MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data:
  run.sh: |
    #!/bin/bash
    export HCCL_IF_IP=$POD_IP
    vllm serve $MODEL --port ${1:-8100} --tensor-parallel-size $TP
  notes.txt: vllm serve /models/other
"""

POD = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: decode}
spec:
  template:
    spec:
      containers:
      - name: engine
        image: quay.io/ascend/vllm-ascend:v0.23.0-a3
        command: COMMAND
        env:
        - {name: MODEL, value: /models/m}
        - {name: TP, value: "8"}
        - name: POD_IP
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
        resources: {limits: {huawei.com/Ascend910: 8, memory: 64Gi}}
        volumeMounts:
        - {name: shm, mountPath: /dev/shm}
        - MOUNT
      volumes:
      - {name: shm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}
      - VOLUME
"""
MOUNT = "{name: files, mountPath: /scripts}"
VOLUME = "{name: files, configMap: {name: scripts, defaultMode: 0755}}"


def pod(command: str = '["/bin/bash", "/scripts/run.sh"]', mount: str = MOUNT, volume: str = VOLUME) -> str:
    """Return a manifest of a pod that mounts a volume."""
    return POD.replace("COMMAND", command).replace("MOUNT", mount).replace("VOLUME", volume)


def is_the_pods(node: NodeLaunch) -> None:
    """The engine has what its pod is given."""
    assert node.container is not None and node.side == "decode"
    assert node.container.image is not None and node.container.image.value == "quay.io/ascend/vllm-ascend:v0.23.0-a3"
    assert set(node.container.resources) == {"huawei.com/Ascend910"}
    assert node.container.memory is not None and node.container.memory.value == "64Gi"
    assert node.container.shm_size is not None and node.container.shm_size.value == "16Gi"
    assert {"MODEL", "TP", "POD_IP", "HCCL_IF_IP"} <= set(node.env)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_script_of_a_mounted_map_is_its_pods(order: tuple[int, int]) -> None:
    """Whichever stands first."""
    documents = (MAP, pod())
    text = "---\n".join(documents[number] for number in order)
    node, found = launch(text, "m.yaml")
    is_the_pods(node)
    assert node.model is not None and node.model.value == "/models/m"
    assert int(value(node, "tensor-parallel-size")) == 8
    line = text[: text.index("vllm serve $MODEL")].count("\n") + 1
    assert node.origin.line == line
    assert at(found, flag(node, "port").origin)[0] == line
    assert str(found.target) == "vllm-ascend 0.23.0"


@pytest.mark.parametrize(
    ("command", "port"),
    [
        ('["/scripts/run.sh"]', "8100"),
        ('["bash", "/scripts/run.sh", "8200"]', "8200"),
        ('["bash", "-euo", "pipefail", "/scripts/run.sh", "8200"]', "8200"),
        ('["tini", "--", "/bin/sh", "/scripts/run.sh"]', "8100"),
        ('["/bin/bash", "-c", "/scripts/run.sh 8200"]', "8200"),
        ('["/bin/bash", "-c", "bash /scripts/../scripts/run.sh 8200 2>&1 | tee /tmp/log"]', "8200"),
        ('["/bin/bash", "-c", "PORT=8300; exec bash /scripts/run.sh $PORT"]', "8300"),
        ('["/bin/bash", "-c", "source /scripts/run.sh"]', "8100"),
        ('["bash", "/scripts/run.sh", "$(TP)"]', "8"),
    ],
)
def test_commands_that_run_it(command: str, port: str) -> None:
    """By its path, by a shell, inside another script; what stands behind it are its parameters."""
    node, _ = launch(f"{MAP}---\n{pod(command)}", "m.yaml")
    is_the_pods(node)
    assert str(value(node, "port")) == port
    assert int(value(node, "tensor-parallel-size")) == 8


@pytest.mark.parametrize(
    ("command", "mount", "volume"),
    [
        (
            '["bash", "/opt/bin/start.sh"]',
            "{name: files, mountPath: /opt}",
            "{name: files, configMap: {name: scripts, items: [{key: run.sh, path: bin/start.sh, mode: 0755}]}}",
        ),
        ('["/start.sh"]', "{name: files, mountPath: /start.sh, subPath: run.sh}", VOLUME),
        (
            '["/etc/engine/start.sh"]',
            "{name: files, mountPath: /etc/engine, subPath: bin}",
            "{name: files, configMap: {name: scripts, items: [{key: run.sh, path: bin/start.sh}]}}",
        ),
        (
            '["sh", "/scripts/run.sh"]',
            "{name: files, mountPath: /scripts/}",
            "{name: files, projected: {sources: [{secret: {name: x}}, {configMap: {name: scripts}}]}}",
        ),
    ],
    ids=["items", "sub-path", "sub-path-of-items", "projected"],
)
def test_where_a_map_is_mounted(command: str, mount: str, volume: str) -> None:
    """Items, one key, a part of a volume, several sources in one volume."""
    node, _ = launch(f"{MAP}---\n{pod(command, mount, volume)}", "m.yaml")
    is_the_pods(node)


def test_a_working_directory() -> None:
    """A path that is no whole one begins there."""
    text = pod('["bash", "run.sh"]').replace("        env:", "        workingDir: /scripts\n        env:", 1)
    node, _ = launch(f"{MAP}---\n{text}", "m.yaml")
    is_the_pods(node)


@pytest.mark.parametrize(
    ("command", "mount", "volume"),
    [
        ('["sleep", "infinity"]', MOUNT, VOLUME),
        ('["bash", "/scripts/other.sh"]', MOUNT, VOLUME),
        ('["bash", "/elsewhere/run.sh"]', MOUNT, VOLUME),
        ('["bash", "/scripts/run.sh"]', MOUNT, "{name: files, configMap: {name: others}}"),
        ('["bash", "/scripts/run.sh"]', MOUNT, "{name: files, configMap: {name: scripts, items: []}}"),
        ('["bash", "/scripts/run.sh"]', "{name: others, mountPath: /scripts}", VOLUME),
    ],
)
def test_a_script_that_no_pod_runs_is_read_alone(command: str, mount: str, volume: str) -> None:
    """As before: what it is given is not known."""
    node, _ = launch(f"{MAP}---\n{pod(command, mount, volume)}", "m.yaml")
    assert node.container is None and node.side is None
    assert variables(node) == {"HCCL_IF_IP": None}


def test_two_pods_with_one_map() -> None:
    """Each runs it with its own variables, and each is an engine."""
    prefill = pod().replace("name: decode", "name: prefill").replace("/models/m", "/models/p")
    found = deployment({"m.yaml": f"{MAP}---\n{pod()}---\n{prefill}"})
    models = {node.side: node.model.value for node in found.nodes if node.model is not None}
    assert models == {"decode": "/models/m", "prefill": "/models/p"}
    assert len(found.nodes) == 2


def test_scripts_of_a_map_that_run_each_other() -> None:
    """The first sets what the second takes from its environment."""
    text = MAP.replace(
        "  notes.txt",
        "  main.sh: |\n    export TP=4\n    cd /scripts && bash /scripts/run.sh 8400\n  notes.txt",
    )
    node, _ = launch(f"{text}---\n{pod('[bash, /scripts/main.sh]')}", "m.yaml")
    is_the_pods(node)
    assert (str(value(node, "port")), int(value(node, "tensor-parallel-size"))) == ("8400", 4)


def test_a_script_that_runs_itself_ends() -> None:
    """No deeper than scripts may be."""
    text = MAP.replace("    #!/bin/bash\n", "    #!/bin/bash\n    bash /scripts/run.sh\n")
    found = deployment({"m.yaml": f"{text}---\n{pod()}"})
    assert found.nodes and any(fault.kind == "not-followed" for fault in found.faults)


@pytest.mark.parametrize("order", [("map.yaml", "pod.yaml"), ("pod.yaml", "map.yaml")])
def test_a_map_in_another_file_of_the_call(order: tuple[str, str]) -> None:
    """Whichever is given first; checked apart, each is alone."""
    texts = {"map.yaml": MAP, "pod.yaml": pod()}
    files = {name: texts[name] for name in order}
    found = deployment(files)
    (node,) = found.nodes
    is_the_pods(node)
    assert node.origin.file == "map.yaml" and set(found.sources) == set(files)
    apart = read_texts(files, separate=True)
    assert [[node.container is None for node in d.nodes] for d in apart if d.nodes] == [[True]]


def test_both_sides_in_one_file_and_their_scripts_in_another() -> None:
    """The file is a deployment of its own, and shows where its scripts stand."""
    prefill = pod().replace("name: decode", "name: prefill")
    found = read_texts({"map.yaml": MAP, "pods.yaml": f"{pod()}---\n{prefill}"})
    (own,) = [d for d in found if d.nodes]
    assert {node.side for node in own.nodes} == {"prefill", "decode"} and set(own.sources) == {"pods.yaml", "map.yaml"}


def test_a_map_in_a_list() -> None:
    """As kubectl prints them."""
    import textwrap

    items = [textwrap.indent(text, "    ").replace("    apiVersion", "  - apiVersion", 1) for text in (MAP, pod())]
    node, _ = launch(f"apiVersion: v1\nkind: List\nitems:\n{''.join(items)}", "m.yaml")
    is_the_pods(node)


SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {HCCL_BUFFSIZE: "1024", TP: "4", SIZE: "2"}
"""


def test_variables_from_a_map() -> None:
    """``envFrom`` and ``configMapKeyRef``; what the container sets itself goes first."""
    text = pod("[vllm, serve, m, --tensor-parallel-size, $(TP), --data-parallel-size, $(DP)]").replace(
        "        env:\n",
        "        envFrom:\n        - configMapRef: {name: settings}\n"
        "        - {prefix: X_, configMapRef: {name: settings}}\n"
        "        - secretRef: {name: others}\n        env:\n"
        "        - {name: DP, valueFrom: {configMapKeyRef: {name: settings, key: SIZE}}}\n"
        "        - {name: ABSENT, valueFrom: {configMapKeyRef: {name: others, key: SIZE}}}\n",
    )
    node, found = launch(f"{SETTINGS}---\n{text}", "m.yaml")
    assert variables(node) | {"POD_IP": None} == {
        **{"HCCL_BUFFSIZE": "1024", "SIZE": "2", "X_HCCL_BUFFSIZE": "1024", "X_TP": "4", "X_SIZE": "2"},
        **{"MODEL": "/models/m", "TP": "8", "POD_IP": None, "DP": "2", "ABSENT": None},
    }
    assert (int(value(node, "tensor-parallel-size")), int(value(node, "data-parallel-size"))) == (8, 2)
    assert at(found, node.env["HCCL_BUFFSIZE"].value.origin) == (4, '"1024"')
    apart = deployment({"a.yaml": text, "b.yaml": SETTINGS})
    assert apart.nodes[0].variable("HCCL_BUFFSIZE") == "1024" and "b.yaml" in apart.sources


def of_code(found: list[Deployment], code: str) -> list[int]:
    """Return the lines of a rule's findings."""
    return [f.line for d in found for f in check([d]) if f.code == code]


def test_rules_see_the_pods_surroundings() -> None:
    """Too few devices for what the script starts are found."""
    text = f"{MAP}---\n{pod()}".replace("huawei.com/Ascend910: 8", "huawei.com/Ascend910: 4")
    assert of_code(read_texts({"m.yaml": text}), "PD802")
    assert not of_code(read_texts({"m.yaml": f"{MAP}---\n{pod()}"}), "PD802")


COMPOSE = """\
services:
  decode:
    image: quay.io/ascend/vllm-ascend:v0.23.0-a3
    shm_size: 16g
    environment: {TP: "8"}
    command: ["bash", "/scripts/run.sh", "8200"]
    configs:
      - source: run
        target: /scripts/run.sh
configs:
  run:
    content: |
      vllm serve /models/m --port $$1 --tensor-parallel-size $$TP
"""


def test_configs_of_a_compose_file() -> None:
    """Compose writes ``$$`` for a dollar sign of the script."""
    node, _ = launch(COMPOSE, "compose.yaml")
    assert node.side == "decode" and node.container is not None and node.container.shm_size is not None
    assert (str(value(node, "port")), int(value(node, "tensor-parallel-size"))) == ("8200", 8)
    short = COMPOSE.replace("      - source: run\n        target: /scripts/run.sh\n", "      - run\n")
    node, _ = launch(short.replace("/scripts/run.sh", "/run"), "compose.yaml")
    assert node.side == "decode"


STRANGE = """\
apiVersion: v1
kind: Pod
metadata: {name: {a: b}}
spec:
  containers:
  - name: [q]
    command: [bash, /s/run.sh]
    workingDir: [x]
    envFrom: [{configMapRef: {name: [a]}, prefix: {b: c}}, 3, {configMapRef: x}]
    env: [{name: A, valueFrom: {configMapKeyRef: {name: {}, key: []}}}]
    volumeMounts: [{name: {a: b}, mountPath: [c], subPath: {}}, {name: v, mountPath: /s, subPath: [1]}, 4]
  volumes: [{name: {a: b}}, {name: [1]}, {name: v, configMap: {name: m, items: {a: b}}}, {name: v, configMap: [1]}]
---
apiVersion: v1
kind: ConfigMap
metadata: 3
data: {run.sh: [vllm serve m], b.sh: "vllm serve m --port 8100"}
---
apiVersion: v1
kind: List
items: {a: {kind: ConfigMap}}
"""


def test_manifests_of_other_types() -> None:
    """Mappings and lists where names belong are no fault of the reader."""
    node, _ = launch(STRANGE, "m.yaml")
    assert node.container is None


@pytest.mark.parametrize(("run", "found"), [("cd /scripts && ./run.sh", True), ("cd x; bash ./sub/run.sh", False)])
def test_a_script_behind_cd(run: str, found: bool) -> None:
    node, _ = launch(f"{MAP}---\n{pod(f'[bash, -c, {run!r}]')}", "m.yaml")
    assert (node.container is not None) == found
