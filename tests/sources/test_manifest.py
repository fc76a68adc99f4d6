"""Kubernetes manifests: pods whatever the kind around them, scripts in them, and what they say of the container."""

from __future__ import annotations

import textwrap

import pytest
from reading import at, deployment, flag, launch, value, variables

from pd_launch.launcher.sources.read import read_texts

CONTAINER = """\
containers:
  - name: vllm
    image: quay.io/ascend/vllm-ascend:v0.25.1rc1
    command: [vllm, serve, /models/m]
    args: [--port, "8100"]
"""


def wrapped(kind: str, api: str, path: list[str], name: str = "decode", inner: str = CONTAINER) -> str:
    """Return a manifest of ``kind`` whose pod spec stands at ``path``."""
    text = f"apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {name}\n"
    for depth, key in enumerate(path):
        text += "  " * depth + f"{key}:\n"
    return text + textwrap.indent(inner, "  " * len(path))


KINDS = [
    ("Pod", "v1", ["spec"]),
    ("Deployment", "apps/v1", ["spec", "template", "spec"]),
    ("StatefulSet", "apps/v1", ["spec", "template", "spec"]),
    ("Job", "batch/v1", ["spec", "template", "spec"]),
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", ["spec", "leaderWorkerTemplate", "leaderTemplate", "spec"]),
    ("LLMInferenceService", "serving.kserve.io/v1alpha1", ["spec", "template"]),
]


@pytest.mark.parametrize(("kind", "api", "path"), KINDS, ids=[kind for kind, _, _ in KINDS])
def test_a_pod_in_any_kind(kind: str, api: str, path: list[str]) -> None:
    text = wrapped(kind, api, path)
    node, found = launch(text, "m.yaml")
    assert (node.form, node.side, value(node, "port")) == ("manifest", "decode", "8100")
    line = text[: text.index('"8100"')].count("\n") + 1
    assert at(found, flag(node, "port").origin)[0] == line
    assert at(found, flag(node, "port").origin)[1].strip('"') == "8100"
    assert node.container is not None and node.container.image is not None
    assert node.container.image.value == "quay.io/ascend/vllm-ascend:v0.25.1rc1"


def test_roles_of_a_model_serving_are_the_sides() -> None:
    text = """\
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: {name: m}
spec:
  template:
    roles:
      - name: prefill
        entryTemplate:
          spec:
            containers:
              - {name: vllm, image: vllm-ascend, command: [vllm, serve, /m, --port, "1"]}
      - name: decode
        entryTemplate:
          spec:
            containers:
              - {name: vllm, image: vllm-ascend, command: [vllm, serve, /m, --port, "2"]}
"""
    found = deployment({"m.yaml": text})
    assert [(node.side, value(node, "port")) for node in found.nodes] == [("prefill", "1"), ("decode", "2")]


def test_leader_and_worker_of_a_set_are_two_nodes() -> None:
    text = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: decode}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
          - {name: leader, image: vllm-ascend, command: [vllm, serve, /m, --data-parallel-start-rank, "0"]}
    workerTemplate:
      spec:
        containers:
          - {name: worker, image: vllm-ascend, command: [vllm, serve, /m, --headless, --data-parallel-start-rank, "1"]}
"""
    found = deployment({"m.yaml": text})
    assert [value(node, "data-parallel-start-rank") for node in found.nodes] == ["0", "1"]
    assert {node.side for node in found.nodes} == {"decode"}
    assert found.nodes[1].switch("headless")


def test_a_label_gives_the_side() -> None:
    text = wrapped("Deployment", "apps/v1", ["spec", "template", "spec"], name="qwen").replace(
        "  name: qwen\n", "  name: qwen\n  labels: {app: qwen, role: prefill}\n"
    )
    node, _ = launch(text, "m.yaml")
    assert node.side == "prefill"


SCRIPTED = """\
containers:
  - name: vllm
    image: quay.io/ascend/vllm-ascend:v0.25.1rc1
    command: ["/bin/bash", "-c"]
    args:
      - |
        export GLOO_SOCKET_IFNAME=eth0
        vllm serve /models/m \\
          --port 8100 \\
          --kv-transfer-config '{
            "kv_role": "kv_consumer",
            "kv_port": 36000
          }'
    env:
      - {name: HCCL_BUFFSIZE, value: "1024"}
"""


def test_bash_with_a_block_scalar_keeps_places() -> None:
    text = wrapped("Pod", "v1", ["spec"], inner=SCRIPTED)
    node, found = launch(text, "m.yaml")
    lines = text.split("\n")
    assert at(found, flag(node, "port").origin) == (lines.index("            --port 8100 \\") + 1, "8100")
    assert node.kv_transfer is not None
    place = at(found, node.kv_transfer.value["kv_port"].origin)
    assert place == (next(i for i, line in enumerate(lines, 1) if "kv_port" in line), "36000")
    assert variables(node) == {"HCCL_BUFFSIZE": "1024", "GLOO_SOCKET_IFNAME": "eth0"}
    assert node.container is not None and node.side == "decode"


def test_kubernetes_variables_in_words() -> None:
    inner = """\
containers:
  - name: vllm
    image: vllm-ascend
    command: [vllm, serve, /m, --port, $(PORT), --host, $(POD_IP), --served-model-name, $$(PORT)]
    env:
      - {name: PORT, value: "8100"}
      - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
"""
    node, _ = launch(wrapped("Pod", "v1", ["spec"], inner=inner), "m.yaml")
    assert value(node, "port") == "8100" and not flag(node, "host").known
    assert value(node, "served-model-name") == "$(PORT)"
    assert variables(node) == {"PORT": "8100", "POD_IP": None}


def test_memory_volume_network_and_resources_with_places() -> None:
    inner = """\
hostNetwork: true
runtimeClassName: ascend
containers:
  - name: vllm
    image: vllm-ascend
    command: [vllm, serve, /m]
    securityContext: {privileged: true}
    resources:
      requests: {huawei.com/Ascend910: 8, memory: 1Gi}
      limits:
        huawei.com/Ascend910: 8
        memory: 512Gi
    ports:
      - containerPort: 8000
    volumeMounts:
      - {name: shm, mountPath: /dev/shm}
      - {name: hccn, mountPath: /etc/hccn.conf}
volumes:
  - name: shm
    emptyDir: {medium: Memory, sizeLimit: 64Gi}
  - name: hccn
    hostPath: {path: /etc/hccn.conf}
"""
    node, found = launch(wrapped("Pod", "v1", ["spec"], inner=inner), "m.yaml")
    box = node.container
    assert box is not None
    assert (box.host_network, box.privileged, box.runtime) == (True, True, "ascend")
    assert box.shm_size is not None and at(found, box.shm_size.origin)[1] == "64Gi" and box.shm_shared is None
    assert box.memory is not None and at(found, box.memory.origin)[1] == "512Gi"
    assert box.resources["huawei.com/Ascend910"].integer() == 8
    assert [m.value for m in box.mounts] == [":/dev/shm", "/etc/hccn.conf:/etc/hccn.conf"]
    assert [p.value for p in box.published] == [8000]


@pytest.mark.parametrize(
    ("volume", "spec"),
    [("emptyDir: {medium: Memory}", ""), ("hostPath: {path: /dev/shm}", ""), ("", "hostIPC: true\n")],
)
def test_shared_memory_without_a_size_of_its_own(volume: str, spec: str) -> None:
    mounts = "    volumeMounts:\n      - {name: shm, mountPath: /dev/shm/}\n" if volume else ""
    volumes = f"volumes:\n  - name: shm\n    {volume}\n" if volume else ""
    node, _ = launch(wrapped("Pod", "v1", ["spec"], inner=spec + CONTAINER + mounts + volumes), "m.yaml")
    assert node.container is not None
    assert node.container.shm_shared is not None and node.container.shm_size is None


def test_a_pod_that_says_nothing_of_shared_memory() -> None:
    node, _ = launch(wrapped("Pod", "v1", ["spec"]), "m.yaml")
    assert node.container is not None
    assert node.container.shm_size is None and node.container.shm_shared is None


def test_scripts_in_a_config_map() -> None:
    text = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data:
  decode.sh: |
    #!/bin/bash
    export HCCL_IF_IP=192.0.2.1
    vllm serve /models/m --port 8100
  notes.txt: vllm serve /models/other
"""
    node, found = launch(text, "m.yaml")
    assert at(found, flag(node, "port").origin) == (8, "8100")
    assert variables(node) == {"HCCL_IF_IP": "192.0.2.1"}


def test_several_documents_and_objects_without_engines() -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: decode}\nspec: {ports: [{port: 8000}]}\n"
    found = deployment({"m.yaml": service + "---\n" + wrapped("Pod", "v1", ["spec"])})
    assert len(found.nodes) == 1 and found.forms == {"manifest"} and not found.faults


def test_a_list_of_objects() -> None:
    pod = textwrap.indent(wrapped("Pod", "v1", ["spec"]), "    ").replace("    apiVersion", "  - apiVersion", 1)
    found = deployment({"m.yaml": f"apiVersion: v1\nkind: List\nitems:\n{pod}"})
    assert len(found.nodes) == 1


def test_init_containers_and_side_cars_are_no_engines() -> None:
    inner = (
        CONTAINER
        + "  - {name: proxy, image: envoy, args: [--port=1]}\ninitContainers:\n  - {name: i, image: busybox}\n"
    )
    node, _ = launch(wrapped("Pod", "v1", ["spec"], inner=inner), "m.yaml")
    assert value(node, "port") == "8100"


def test_what_the_cluster_adds_to_a_command_is_not_known() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: prefill, labels: {lmcache.ai/lmcache-inject: 'true'}}\n"
        "spec:\n  containers:\n  - {name: a, command: [vllm, serve, m]}\n"
    )
    assert launch(text, "pod.yaml")[0].partial
    assert not launch(text.replace("'true'", "'false'"), "pod.yaml")[0].partial


def test_a_pods_script_has_the_variables_of_its_container() -> None:
    text = """apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: decode}
spec:
  leaderWorkerTemplate:
    workerTemplate:
      spec:
        containers:
          - name: vllm
            image: vllm/vllm-openai:v0.30.0
            command: [bash, -c]
            args:
              - >-
                vllm serve m --data-parallel-size-local $LOCAL --host "${POD_IP:-0.0.0.0}" --port $PORT
                --data-parallel-start-rank $(( ${LWS_WORKER_INDEX:-0} * LOCAL ))
            env:
              - {name: LOCAL, value: "8"}
              - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
"""
    node, found = launch(text, "lws.yaml")
    assert value(node, "data-parallel-size-local") == "8"
    assert at(found, flag(node, "data-parallel-size-local").origin) == (17, "8")
    for name in ("host", "port", "data-parallel-start-rank"):
        assert not flag(node, name).known, name


def test_a_variable_takes_in_those_before_it() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: engine}
spec:
  containers:
    - name: engine
      image: vllm/vllm-openai:v0.30.0
      command: [vllm, serve, m, --port, $(PORT)]
      env:
        - {name: BASE, value: "81"}
        - {name: PORT, value: "$(BASE)00"}
        - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: VLLM_HOST_IP, value: $(IP)}
        - {name: PRICE, value: "5$$(BASE)"}
"""
    node, _ = launch(text, "pod.yaml")
    assert str(value(node, "port")) == "8100"
    assert variables(node) == {"BASE": "81", "PORT": "8100", "IP": None, "VLLM_HOST_IP": None, "PRICE": "5$(BASE)"}


GROUP = """apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: decode}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 3
    leaderTemplate: {spec: {containers: [{name: vllm, command: [bash, -c, LEADER]}]}}
    workerTemplate:
      metadata: {annotations: {net: roce}}
      spec:
        nodeSelector: {gpu: h200}
        tolerations: [{key: gpu, operator: Exists}]
        containers:
        - name: vllm
          command: [bash, -c]
          args:
          - |
            case $LWS_WORKER_INDEX in
            1) PORT=8101 ;;
            2) PORT=8102 ;;
            *) exit 78 ;;
            esac
            vllm serve m --port $PORT --data-parallel-size 6 --data-parallel-start-rank $((LWS_WORKER_INDEX * 2))
"""


def test_workers_of_a_group_are_read_one_by_one() -> None:
    (found,) = read_texts({"lws.yaml": GROUP.replace("LEADER", "vllm serve m --data-parallel-size 6")})
    ranks = [node.number("data-parallel-start-rank", 0) for node in found.nodes]
    ports = [value(node, "port") if node.arg("port") else None for node in found.nodes]
    assert sorted(zip(ranks, map(str, ports), strict=True)) == [(0, "None"), (2, "8101"), (4, "8102")]
    worker = next(node for node in found.nodes if node.arg("port") is not None).container
    assert worker is not None and worker.replicas == 2
    assert worker.placement == {
        "node_selector": {"gpu": "h200"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "annotations": {"net": "roce"},
    }


def test_a_group_of_unknown_size_is_read_once() -> None:
    text = GROUP.replace("LEADER", "vllm serve m").replace("size: 3", "size: '{{ .Values.size }}'")
    (found,) = read_texts({"lws.yaml": text})
    starts = [node.value("data-parallel-start-rank") for node in found.nodes if node.arg("port")]
    assert starts and all(start is not None and not start.known for start in starts)
