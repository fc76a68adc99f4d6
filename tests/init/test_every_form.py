"""Profile, form, init, profile: what is printed of the second profile is what was printed of the first."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from pd_launch.launcher.cli import cli
from pd_launch.launcher.sources.profiles.shipped import SHIPPED, shipped_names
from tests.sampling import sample

WHOLE = ("compose", "k8s", "kserve", "llm-d", "ssh")
FORMS = (*WHOLE, "shell", "docker", "systemd", "slurm")
NAMED = ("systemd", "ssh")
"""Forms that start the profile by its name."""
EXTENSIONS = {"systemd": "service", "shell": "sh", "docker": "sh", "slurm": "sh", "ssh": "sh"}
LOST = {("cpu-tiny", "k8s"): ("VLLM_HOST_IP is the machine's own address",)}
"""What no form can give back, and init says: a loopback address, which becomes that of the pod."""
FULL = """version: 1
name: full
hardware: {kind: cuda, devices: 8}
target: vllm==0.32.0
model: /models/Qwen3-32B
engine: {max-num-seqs: 64}
env: {HF_HOME: /hub, LD_LIBRARY_PATH: {prepend: /opt/lib}}
transfer: {connector: NixlConnector}
prefill: {parallel: {tensor: 4}, port: 8000, replicas: 3}
decode: {parallel: {tensor: 4}, port: 8001, offload: {per_rank: 4GiB}, replicas: 2}
nodes:
  prefill: [{address: 192.0.2.11}]
  decode: [{address: 192.0.2.21}]
container:
  image: example/vllm-pd:1
  volumes: [{path: /models, pvc: models, read_only: true}, {path: /scratch, empty: 10GiB}, {path: /keys, secret: keys}]
  mounts: ["/data/hub:/hub:ro"]
  resources: {rdma/hca: 1, cpu: 16}
  node_selector: {gpu: h200}
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  annotations: {k8s.v1.cni.cncf.io/networks: roce}
patch:
  k8s:
    - kind: StatefulSet
      metadata: {name: NAME-decode}
      spec:
        template:
          spec: {priorityClassName: high, containers: [{name: decode, env: [{name: NCCL_DEBUG, value: INFO}]}]}
  kserve: {spec: {scaling: {minReplicas: 1}}}
  llm-d: {routing: {proxy: {zapEncoder: json}}, decode: {hostIPC: true}}
  compose: {services: {decode: {cpus: 32}}}
"""
PLAIN = FULL.replace("env: {HF_HOME: /hub, LD_LIBRARY_PATH: {prepend: /opt/lib}}", "env: {HF_HOME: /hub}")
ONE = PLAIN.replace(", replicas: 3", "").replace(", replicas: 2", "").replace("pvc: models", "host: /models")
ONE = ONE.replace(", {path: /keys, secret: keys}", "").replace(
    "  resources:", "  devices: [/dev/infiniband]\n  resources:"
)
WIDE = """version: 1
name: wide
hardware: {kind: cuda, devices: 8}
target: vllm==0.32.0
model: org/model
transfer: {connector: NixlConnector}
prefill: {parallel: {tensor: 8}, port: 8100}
decode: {parallel: {tensor: 16}, port: 8200, master_port: 29555, replicas: 2}
nodes:
  prefill: [{address: 192.0.2.11, env: {VLLM_NIXL_SIDE_CHANNEL_HOST: 192.0.2.11}}]
  decode:
    - {address: 192.0.2.21, env: {VLLM_NIXL_SIDE_CHANNEL_HOST: 192.0.2.21}}
    - {address: 192.0.2.22, env: {VLLM_NIXL_SIDE_CHANNEL_HOST: 192.0.2.22, NCCL_IB_HCA: mlx5_2}}
"""
THREE = """version: 1
name: three
hardware: a3
target: vllm-ascend==0.25.1rc1
model: /models/m
transfer: {connector: MooncakeConnectorV1, kv_port: 36000}
network: {interface: auto}
prefill: {parallel: {tensor: 8, data: 6, expert: true}, port: 8100}
decode: {parallel: {tensor: 8, data: 2, expert: true}, port: 8200}
container: {resources: {huawei.com/ascend-1980: 16}}
nodes:
  prefill: [{address: auto}, {address: auto, transfer: {kv_port: 36100}}, {address: auto, env: {HCCL_BUFFSIZE: 512}}]
  decode: [{address: auto}]
"""
ONE_WIDE = WIDE.replace(", replicas: 2", "")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def printed(profile: str, form: str, sides: dict[str, int]) -> dict[str, str] | None:
    """Return all texts of a form by file name, or None where the form cannot express the profile."""
    found = {}
    for side, nodes in sides.items():
        count = nodes if form in ("shell", "docker", "systemd") else 1
        for number in range(count):
            which = ["--node-rank", str(number)] if count > 1 else []
            result = run(side, "--profile", profile, "--dry-run", "--format", form, *which)
            if result.exit_code != 0 and "Error:" in result.stderr:
                return None
            found[f"{form}-{side}-{number}.{EXTENSIONS.get(form, 'yaml')}"] = result.stdout
        if form in WHOLE:
            break
    return found


def sides_of(text: str) -> dict[str, int]:
    profile: dict[str, Any] = yaml.safe_load(text)
    nodes = profile.get("nodes") or {}
    return {side: len(nodes.get(side) or [0]) for side in ("decode", "prefill") if side in profile}


def there_and_back(folder: Path, profile: str, text: str, form: str) -> Result | None:
    sides = sides_of(text)
    before = printed(profile, form, sides)
    if before is None:
        return None
    for name, file in before.items():
        (folder / name).write_text(file)
    made = folder / f"{yaml.safe_load(text)['name']}.yaml"
    given = [word for name in before for word in ("--from", str(folder / name))]
    result = run("init", *given, "-o", str(made))
    assert result.exit_code == 0, result.stderr
    after = printed(str(made), form, sides)
    assert after is not None, run("decode", "--profile", str(made), "--dry-run", "--format", form).stderr
    if form in NAMED:
        assert made.read_text() == text
        return result
    for lost in LOST.get((profile, form), ()):
        assert lost in result.stderr
        return result
    for name in before:
        one, other = (comparable(texts[name]) for texts in (before, after))
        assert one == other, "\n".join(difflib.unified_diff(one, other, lineterm=""))
    return result


def comparable(text: str) -> list[str]:
    """Return the lines of a form, or its objects, without the order of what is told apart by its name."""
    if not text.lstrip("# ").startswith("pd-launch") or "\n#!" in text or text.startswith("#!"):
        return sorted_environment([line for line in text.splitlines() if not line.startswith("# ")])
    objects = [ordered(one) for one in yaml.safe_load_all(text)]
    return yaml.safe_dump_all(objects, sort_keys=True).splitlines()


def ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: ordered(one) for key, one in value.items()}
    if isinstance(value, list):
        entries = [ordered(one) for one in value]
        named = all(isinstance(one, dict) and "name" in one for one in entries)
        return sorted(entries, key=lambda one: str(one["name"])) if named else entries
    return value


def sorted_environment(lines: list[str]) -> list[str]:
    """Order of variables, options and mounts makes no difference: each block of lines is compared as a set."""
    return sorted(line.strip().removesuffix("\\").strip() for line in lines)


CASES = [(name.removesuffix(".yaml"), form) for name in shipped_names() for form in FORMS]


@pytest.mark.parametrize(("name", "form"), sample(CASES, 0.2))
def test_shipped_profiles(name: str, form: str, tmp_path: Path) -> None:
    text = (SHIPPED / f"{name}.yaml").read_text()
    there_and_back(tmp_path, name, text, form)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        *((FULL, form) for form in ("k8s", "llm-d")),
        (PLAIN, "kserve"),
        *((ONE, form) for form in ("compose", "docker", "slurm", "ssh", "systemd")),
        *((WIDE, form) for form in ("k8s",)),
        *((ONE_WIDE, form) for form in ("shell", "docker", "compose", "slurm", "ssh")),
        *((THREE, form) for form in ("k8s", "shell", "slurm")),
    ],
)
def test_what_a_cluster_asks_for(text: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "given.yaml"
    text = text.replace("NAME", yaml.safe_load(text)["name"])
    path.write_text(text)
    assert there_and_back(tmp_path, str(path), text, form) is not None
