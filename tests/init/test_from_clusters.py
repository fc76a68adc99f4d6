"""What init makes of manifests, of llm-d's values and of a template alone, and how it says what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.launcher.init.compare import _why

POD = """apiVersion: v1
kind: Pod
metadata: {name: decode, labels: {role: decode}}
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.32.0
    command: [vllm, serve, Qwen/Qwen3-32B, --port, "8200"]
    args: [--kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}']
    volumeMounts:
    - {name: dshm, mountPath: /dev/shm}
    - {name: models, mountPath: /models, readOnly: true}
    - {name: keys, mountPath: /keys}
    - {name: scratch, mountPath: /scratch}
    - {name: hub, mountPath: /hub}
    - {name: code, mountPath: /code}
  volumes:
  - {name: dshm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}
  - {name: models, persistentVolumeClaim: {claimName: models}}
  - {name: keys, secret: {secretName: keys}}
  - {name: scratch, emptyDir: {}}
  - {name: hub, hostPath: {path: /data/hub}}
  - {name: code, configMap: {name: code}}
"""


def init(folder: Path, **files: str) -> tuple[dict[str, Any], str]:
    paths = []
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(text)
        paths += ["--from", str(path)]
    made = folder / "made.yaml"
    result = CliRunner().invoke(cli, ["init", *paths, "-o", str(made)])
    return (yaml.safe_load(made.read_text()) if made.exists() else {}), result.output


def test_volumes_are_carried_or_said(tmp_path: Path) -> None:
    profile, output = init(tmp_path, pod__yaml=POD)
    assert profile["container"]["volumes"] == [
        {"path": "/models", "pvc": "models", "read_only": True},
        {"path": "/keys", "secret": "keys"},
        {"path": "/scratch", "empty": True},
    ]
    assert profile["container"]["mounts"] == ["/data/hub:/hub"] and profile["container"]["shm_size"] == "16Gi"
    assert "the mount on /code (configMap) is not in the profile" in output
    words = ["decode", "--profile", str(tmp_path / "made.yaml"), "--dry-run", "--format", "k8s"]
    objects = list(yaml.safe_load_all(CliRunner().invoke(cli, words).stdout))
    spec = next(o for o in objects if o["kind"] == "StatefulSet")["spec"]["template"]["spec"]
    paths = [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]]
    assert sorted(paths) == ["/dev/shm", "/hub", "/keys", "/models", "/scratch"]


def test_no_path_is_mounted_twice(tmp_path: Path) -> None:
    """The API server refuses it: a profile may mount a driver's file itself, or /dev/shm."""
    path = tmp_path / "p.yaml"
    path.write_text(
        "version: 1\nhardware: a2\ntarget: vllm-ascend==0.25.1rc1\nmodel: /models/m\ndecode: {}\ncontainer:\n"
        "  mounts: [/etc/hccn.conf:/etc/hccn.conf, /shm:/dev/shm]\n"
        "  volumes: [{path: /usr/local/dcmi/, pvc: dcmi}, {path: /models, pvc: models}]\n"
    )
    words = ["decode", "--profile", str(path), "--dry-run", "--format", "k8s"]
    objects = list(yaml.safe_load_all(CliRunner().invoke(cli, words).stdout))
    container = next(o for o in objects if o["kind"] == "StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    paths = [mount["mountPath"].rstrip("/") for mount in container["volumeMounts"]]
    assert len(paths) == len(set(paths)) and "/dev/shm" in paths and "/models" in paths


VALUES = """modelArtifacts: {name: Qwen/Qwen3-32B, uri: "hf://Qwen/Qwen3-32B"}
routing: {servicePort: 8000}
decode:
  parallelism: {tensor: 2}
  containers:
  - name: vllm
    image: ghcr.io/llm-d/llm-d:v0.6.0
    modelCommand: vllmServe
    args: [--kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}', --max-model-len, "8192"]
prefill:
  containers:
  - name: vllm
    image: ghcr.io/llm-d/llm-d-cuda:v0.6.0
    modelCommand: vllmServe
    args: [--kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}', --max-model-len, "8192"]
"""


def test_values_of_llm_d_name_the_model(tmp_path: Path) -> None:
    profile, output = init(tmp_path, values__yaml=VALUES)
    assert profile["model"] == "Qwen/Qwen3-32B", output
    assert profile["hardware"] == "cuda"
    assert profile["decode"]["parallel"] == {"tensor": 2}
    assert profile["engine"]["max-model-len"] == 8192


TEMPLATE = """export HCCL_IF_IP=$5
vllm serve /models/m --host 0.0.0.0 --port $2 --data-parallel-size $3 --data-parallel-rank $4 \\
  --data-parallel-address $5 --data-parallel-rpc-port $6 --tensor-parallel-size $7 \\
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000"}'
"""


def test_a_template_alone_says_which_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "run_dp_template.sh").write_text(TEMPLATE)
    result = CliRunner().invoke(cli, ["init", "--from", str(tmp_path / "run_dp_template.sh")])
    assert "come from the script that calls launch_online_dp.py; give that one as well" in result.output


EXTRA = {"a": 1, "b": "x" * 300}
LONG = {"kv_connector": "NixlConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": EXTRA}


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({**LONG, "kv_role": "kv_both"}, "kv_role: kv_consumer becomes kv_both"),
        ({**LONG, "kv_connector_extra_config": {**EXTRA, "a": 2}}, ".a: 1 becomes 2"),
        ({k: v for k, v in LONG.items() if k != "kv_role"}, "kv_role: kv_consumer becomes nothing"),
    ],
)
def test_a_difference_is_shown_where_it_is(changed: dict[str, Any], shown: str) -> None:
    assert shown in _why("--kv-transfer-config", LONG, changed).en


def test_the_difference_of_long_texts() -> None:
    text = _why("--x", "a" * 300 + "b", "a" * 300 + "c").en
    assert text == f"…{'a' * 20}b becomes …{'a' * 20}c"


def test_what_the_kubernetes_form_writes_comes_back(tmp_path: Path) -> None:
    """The pod's own address is none of the profile's business: the form gives it to each pod."""
    words = ["decode", "--profile", "cuda-nixl", "--dry-run", "--format", "k8s", "--target", "vllm==0.32.0"]
    (tmp_path / "pods.yaml").write_text(CliRunner().invoke(cli, words).stdout)
    _, output = init(tmp_path, pods__yaml=(tmp_path / "pods.yaml").read_text())
    assert "all 2 engines" in output and "VLLM_NIXL_SIDE_CHANNEL_HOST is the machine's own address" in output
