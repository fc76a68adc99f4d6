"""llm-d, KServe, Slurm and ssh; replicas, volumes and patches: valid, read back as they were meant, or refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner

from pd_launch.launcher.check.run import check
from pd_launch.launcher.cli import cli
from pd_launch.launcher.formats.box import FormatError
from pd_launch.launcher.formats.choose import TEXTS, WHOLE
from pd_launch.launcher.formats.patch import merged
from pd_launch.launcher.init.canonical import canonical
from pd_launch.launcher.launch.prepare import Launch, LaunchOptions, prepare
from pd_launch.launcher.sources.read import read_texts
from tests.formats.cluster import Cluster

HERE = Path(__file__).parent
PROFILE = """version: 1
name: full
hardware: {kind: cuda, devices: 8}
target: vllm==0.32.0
model: /models/Qwen3-32B
engine: {served-model-name: it's $5}
transfer: {connector: NixlConnector}
prefill: {parallel: {tensor: 4}, port: 8000, replicas: 3}
decode: {parallel: {tensor: 4}, port: 8200, offload: {per_rank: 4GiB}, replicas: 2}
nodes:
  prefill: [{address: 192.0.2.11}]
  decode: [{address: 192.0.2.21}]
container:
  image: example/vllm-pd:1
  volumes: [{path: /models, pvc: models, read_only: true}, {path: /scratch, empty: 10GiB}, {path: /keys, secret: keys}]
  resources: {rdma/hca: 1, cpu: 16}
  node_selector: {gpu: h200}
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  annotations: {k8s.v1.cni.cncf.io/networks: roce}
"""
ONE = PROFILE.replace(", replicas: 3", "").replace(", replicas: 2", "").replace("pvc: models", "host: /models")
ONE = ONE.replace(", {path: /keys, secret: keys}", "")
WIDE = ONE.replace("[{address: 192.0.2.21}]", "[{address: 192.0.2.21}, {address: 192.0.2.22}]").replace(
    "decode: {parallel: {tensor: 4}", "decode: {parallel: {tensor: 16}"
)
HYBRID = PROFILE.replace("decode: {parallel: {tensor: 4}", "decode: {parallel: {data: 4, expert: true, launch: hybrid}")
HYBRID = HYBRID.replace("[{address: 192.0.2.21}]", "[{address: 192.0.2.21}, {address: 192.0.2.22}]")


def launch_of(folder: Path, form: str, profile: str, side: Any = "decode") -> Launch:
    path = folder / "full.yaml"
    path.write_text(profile)
    return prepare(LaunchOptions(side, str(path), dry_run=True, whole=form in WHOLE))


def text_of(folder: Path, form: str, profile: str, side: Any = "decode") -> str:
    return TEXTS[form](launch_of(folder, form, profile, side))


PINNED = {
    "kserve": ("KServe v0.20.0", "4377745d253c5c6407ccd46aecdfadcea160ba77a0976dd2d112f0ca9a1ac53f"),
    "leaderworkerset": ("LeaderWorkerSet v0.10.0", "c5dcad8ed943e495490241f00b9a1b45d51203b6d484020db3636d5bf553568e"),
    "llm_d_modelservice": (
        "llm-d-modelservice v0.4.12",
        "cf1c751fdc6fc294b65f69c1f1b07fba8cd593a2049e3981ff39b75d56221623",
    ),
}
"""The published schemas that the forms are held against: their version, and the digest of the file they come from."""


@pytest.mark.parametrize("name", PINNED)
def test_the_schemas_say_what_they_are(name: str) -> None:
    said = json.loads((HERE / f"{name}.schema.json").read_text())["$comment"]
    assert all(word in said for word in PINNED[name])


def as_pod(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}


@pytest.mark.parametrize("profile", [PROFILE, HYBRID], ids=["one-node", "several-nodes"])
def test_values_of_llm_d_fit_the_charts_schema(profile: str, tmp_path: Path) -> None:
    schema = json.loads((HERE / "llm_d_modelservice.schema.json").read_text())
    values = yaml.safe_load(text_of(tmp_path, "llm-d", profile))
    jsonschema.validate(values, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**values, "routing": {**values["routing"], "serviceprt": 1}}, schema)
    assert values["multinode"] is (profile is HYBRID)
    assert (values["decode"]["replicas"], values["prefill"]["replicas"]) == (2, 3)
    assert values["decode"]["parallelism"]["workers"] == (2 if profile is HYBRID else 1)
    assert values["routing"]["servicePort"] == 8000 and values["routing"]["proxy"]["targetPort"] == 8200
    assert values["modelArtifacts"]["uri"] == "pvc://models/Qwen3-32B"
    for side in ("prefill", "decode"):
        (container,) = values[side]["containers"]
        own = {key: value for key, value in container.items() if key not in ("modelCommand", "mountModelVolume")}
        kubernetes_validate.validate(
            as_pod({"containers": [own], "volumes": values[side]["volumes"]}), "1.31", strict=True
        )


def test_service_of_kserve(tmp_path: Path) -> None:
    service = yaml.safe_load(text_of(tmp_path, "kserve", PROFILE))
    schema = json.loads((HERE / "kserve.schema.json").read_text())
    jsonschema.validate(service, schema)
    for wrong in ({"replica": 1}, {"template": {"containers": [{"name": "main", "imag": "x"}]}}, {"replicas": "two"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**service, "spec": {**service["spec"], **wrong}}, schema)
    spec = service["spec"]
    assert (spec["replicas"], spec["prefill"]["replicas"]) == (2, 3)
    for template in (spec["template"], spec["prefill"]["template"]):
        kubernetes_validate.validate(as_pod(template), "1.31", strict=True)
        (container,) = template["containers"]
        given = next(entry["value"] for entry in container["env"] if entry["name"] == "VLLM_ADDITIONAL_ARGS")
        out = subprocess.check_output(["bash", "-c", "eval \"printf '%s\\n' $VLLM_ADDITIONAL_ARGS\""], text=True,
                                      env={**os.environ, "VLLM_ADDITIONAL_ARGS": given.replace("$$", "$")})  # fmt: skip
        assert "--tensor-parallel-size\n4\n" in out and "--port" not in out and "/models" not in out
        assert json.loads(out.splitlines()[-1])["kv_connector"] in ("NixlConnector", "MultiConnector")


@pytest.mark.parametrize(("form", "missing"), [("k8s", False), ("slurm", False), ("ssh", True), ("shell", True)])
def test_an_address_that_the_form_fills_in_is_not_missing(form: str, missing: bool, tmp_path: Path) -> None:
    """PD703 is for those that start the engine as it is written; a pod gets its own address, once."""
    (tmp_path / "full.yaml").write_text(WIDE)
    node = ["--node-rank", "0"] if form == "shell" else []
    words = ["decode", "--profile", str(tmp_path / "full.yaml"), "--dry-run", "--format", form, "--no-host", *node]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    assert ("PD703" in result.output) is missing
    if form == "k8s":
        one = next(found for found in yaml.safe_load_all(result.stdout) if found["kind"] == "StatefulSet")
        variables = one["spec"]["template"]["spec"]["containers"][0]["env"]
        assert [variable["name"] for variable in variables] == ["VLLM_NIXL_SIDE_CHANNEL_HOST"]


@pytest.mark.parametrize("form", ["k8s", "llm-d", "kserve", "slurm", "ssh"])
def test_forms_are_clean_and_equal_when_they_are_read_again(form: str, tmp_path: Path) -> None:
    profile = ONE if form in ("slurm", "ssh") else PROFILE
    prepared = launch_of(tmp_path, form, profile)
    file = tmp_path / {"slurm": "job.sh", "ssh": "start.sh"}.get(form, "objects.yaml")
    file.write_text(TEXTS[form](prepared))
    deployment = read_texts({str(file): file.read_text()})[0]
    shown = [f for f in check([deployment]) if f.severity != "info" and "SIDE_CHANNEL" not in f.message]
    assert not shown, shown
    read = {node.role: node for node in deployment.nodes}
    wanted = {node.role: node for node in (prepared.whole or prepared.deployment).nodes}
    assert set(read) == ({"kv_consumer"} if form == "slurm" else {"kv_consumer", "kv_producer"})
    theirs = {"port", "served-model-name"} if form == "kserve" else set()
    for role, node in read.items():
        mine, found = canonical(wanted[role]).args, canonical(node).args
        found.pop("", None)  # that more may come, from KServe's own template
        assert found == {name: value for name, value in mine.items() if name not in theirs}


def test_instances_of_a_side(tmp_path: Path) -> None:
    cluster = Cluster(text_of(tmp_path, "k8s", PROFILE), tmp_path)
    cluster.settle()
    assert all(pod.ready for pod in cluster.pods)
    assert sorted(pod.name for pod in cluster.pods) == [
        *(f"full-decode-{n}" for n in range(2)),
        *(f"full-prefill-{n}" for n in range(3)),
    ]
    sets = [found["spec"] for found in cluster.objects if found["kind"] == "StatefulSet"]
    assert [spec["podManagementPolicy"] for spec in sets] == ["Parallel", "Parallel"]  # none waits for another's model
    wide = Cluster(text_of(tmp_path, "k8s", WIDE.replace("port: 8200", "port: 8200, replicas: 2")), _folder(tmp_path))
    wide.settle()
    assert len(wide.endpoints("full-decode-http")) == 2 and all(pod.ready for pod in wide.pods)


def _folder(folder: Path) -> Path:
    made = folder / "second"
    made.mkdir()
    return made


def test_what_a_site_adds_to_pods(tmp_path: Path) -> None:
    objects = list(yaml.safe_load_all(text_of(tmp_path, "k8s", PROFILE)))
    template = next(o for o in objects if o["kind"] == "StatefulSet")["spec"]["template"]
    spec, container = template["spec"], template["spec"]["containers"][0]
    assert template["metadata"]["annotations"] == {"k8s.v1.cni.cncf.io/networks": "roce"}
    assert spec["nodeSelector"] == {"gpu": "h200"} and spec["tolerations"][0]["operator"] == "Exists"
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 4, "rdma/hca": 1}
    assert container["resources"]["requests"]["cpu"] == 16
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes[mounts["/models"]["name"]]["persistentVolumeClaim"] == {"claimName": "models"}
    assert mounts["/models"]["readOnly"] and volumes[mounts["/scratch"]["name"]]["emptyDir"] == {"sizeLimit": "10Gi"}
    assert volumes[mounts["/keys"]["name"]]["secret"] == {"secretName": "keys"}


def test_devices_by_another_name(tmp_path: Path) -> None:
    profile = ONE.replace("{kind: cuda, devices: 8}", "a2").replace("vllm==0.32.0", "vllm-ascend==0.25.1rc1")
    profile = profile.replace("{connector: NixlConnector}", "{connector: MooncakeConnectorV1, kv_port: 36000}")
    profile = profile.replace("rdma/hca: 1, cpu: 16", "huawei.com/ascend-1980: 4")
    objects = list(yaml.safe_load_all(text_of(tmp_path, "k8s", profile)))
    template = next(o for o in objects if o["kind"] == "StatefulSet")["spec"]["template"]
    assert template["spec"]["containers"][0]["resources"]["limits"] == {"huawei.com/ascend-1980": 4}


def test_volumes_and_devices_of_docker(tmp_path: Path) -> None:
    text = text_of(tmp_path, "docker", ONE.replace("resources:", "devices: [/dev/infiniband]\n  resources:"))
    assert "-v /models:/models:ro" in text and "-v /scratch" in text and "--device /dev/infiniband" in text
    with pytest.raises(FormatError, match="/models is a claim"):
        text_of(tmp_path, "docker", PROFILE)


@pytest.mark.parametrize(
    ("form", "old", "new", "message"),
    [
        ("compose", "", "", "names each node"),
        ("slurm", "", "", "names each node"),
        ("ssh", "", "", "names each node"),
        ("llm-d", "port: 8200", "port: 8000", "give decode another"),
        ("llm-d", "NixlConnector", "MooncakeConnector", "NixlConnector's protocol"),
        ("llm-d", "pvc: models", "host: /models", "on no claim"),
        ("kserve", "pvc: models", "host: /models", "on no claim"),
        ("kserve", "{address: 192.0.2.11}", "{address: 192.0.2.11}, {address: 192.0.2.12}", "their ranks by itself"),
        ("llm-d", "{address: 192.0.2.11}", "{address: 192.0.2.11}, {address: 192.0.2.12}", "are headless"),
    ],
)
def test_what_a_form_cannot_do_is_refused(form: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        text_of(tmp_path, form, PROFILE.replace(old, new) if old else PROFILE)
    if form == "ssh":
        with pytest.raises(FormatError, match="address of every node"):
            text_of(tmp_path, form, ONE.replace("192.0.2.21", "auto"))


def test_a_job_starts_each_node_once_and_ends_with_the_first(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(text_of(tmp_path, "slurm", WIDE))
    assert "#SBATCH --nodes=2\n" in script.read_text() and "#SBATCH --gpus-per-node=8\n" in script.read_text()
    stubs = {
        "scontrol": "#!/bin/sh\necho nodeA\necho nodeB\n",
        "srun": '#!/bin/bash\nwhile [ "${1#--}" != "$1" ]; do '
        '[ "${1#--nodelist=}" = "$1" ] || NODE=${1#*=}; shift; done\n'
        'export NODE; exec "$@"\n',
        "vllm": '#!/bin/bash\necho "$*" > "$OUT/$NODE"; [ "$NODE" = nodeA ] && sleep 1 && exit 5; exec sleep 60\n',
    }
    for name, text in stubs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    out = _folder(tmp_path)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "OUT": str(out), "SLURM_JOB_NODELIST": "node[A-B]"}
    assert subprocess.run(["bash", str(script)], env=env, timeout=60, check=False).returncode == 5
    for rank, node in enumerate(("nodeA", "nodeB")):
        words = (out / node).read_text()
        assert f"--node-rank {rank} --master-addr nodeA" in words and ("--headless" in words) is bool(rank)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "-S", "warning", "-e", "SC2207", str(script)], check=True)


def test_commands_over_ssh(tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text(text_of(tmp_path, "ssh", WIDE))
    hosts = [line.split()[1] for line in script.read_text().splitlines() if line.startswith("ssh ")]
    assert hosts == ["192.0.2.11", "192.0.2.21", "192.0.2.22"]
    (tmp_path / "ssh").write_text('#!/bin/bash\ncd "$OUT"; shift; eval "$1"; wait\n')
    (tmp_path / "ssh").chmod(0o755)
    out = _folder(tmp_path)
    text = script.read_text()
    launched = text.partition("nohup ")[2].partition(" ")[0]
    stub = out / "stand-in"
    stub.write_text('#!/bin/sh\necho "$*"\n')
    stub.chmod(0o755)
    script.write_text(text.replace(launched, str(stub)))
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "OUT": str(out)}
    subprocess.run(["sh", str(script)], env=env, check=True, timeout=60)
    assert (out / "full-decode-1.log").read_text().strip().endswith(f"{tmp_path / 'full.yaml'} --node-rank 1")
    assert (out / "full-prefill.pid").read_text().strip().isdecimal()


def test_the_proxy_in_front_is_named_with_every_server(tmp_path: Path) -> None:
    """Its hosts are those that a pod of the cluster can resolve."""
    text = text_of(tmp_path, "k8s", PROFILE)
    (line,) = [line for line in text.splitlines() if "toy_proxy_server.py" in line]
    words = line.split()
    hosts = words[words.index("--decoder-hosts") + 1 : words.index("--decoder-ports")]
    cluster = Cluster(text, tmp_path)
    cluster.settle()
    assert [pod.name for host in hosts for pod in cluster.resolve(host)] == ["full-decode-0", "full-decode-1"]
    assert words[words.index("--prefiller-ports") + 1 : words.index("--decoder-hosts")] == ["8000"] * 3
    ssh = text_of(tmp_path, "ssh", ONE)
    assert "--prefiller-hosts 192.0.2.11 --prefiller-ports 8000 --decoder-hosts 192.0.2.21 --decoder-ports 8200" in ssh


def test_patches_are_merged_by_name(tmp_path: Path) -> None:
    change = (
        "patch:\n  k8s:\n    - {kind: StatefulSet, metadata: {name: full-decode}, spec: {template: {spec: {containers: "
        "[{name: decode, env: [{name: EXTRA, value: '1'}], livenessProbe: null}, {name: side, image: b}]}}}}\n"
        "  llm-d: {routing: {proxy: {image: example/sidecar:1}}}\n"
    )
    objects = [o for o in yaml.safe_load_all(text_of(tmp_path, "k8s", PROFILE + change)) if o["kind"] == "StatefulSet"]
    containers = {o["metadata"]["name"]: o["spec"]["template"]["spec"]["containers"] for o in objects}
    assert [c["name"] for c in containers["full-decode"]] == ["decode", "side"]
    engine = containers["full-decode"][0]
    assert {"name": "EXTRA", "value": "1"} in engine["env"] and len(engine["env"]) > 1
    assert "livenessProbe" not in engine and "livenessProbe" in containers["full-prefill"][0]
    values = yaml.safe_load(text_of(tmp_path, "llm-d", PROFILE + change))
    assert values["routing"]["proxy"]["image"] == "example/sidecar:1" and values["routing"]["proxy"]["enabled"] is True
    with pytest.raises(FormatError, match="there are Service full-prefill"):
        text_of(tmp_path, "k8s", PROFILE + "patch: {k8s: {kind: Deployment}}\n")


def test_merging() -> None:
    assert merged({"a": [1, 2]}, {"a": [3]}) == {"a": [3]}
    assert merged({"a": [{"name": "x", "v": 1}]}, {"a": [{"name": "x", "w": 2}]}) == {
        "a": [{"name": "x", "v": 1, "w": 2}]
    }
    assert merged([{"mountPath": "/a", "name": "v"}], [{"mountPath": "/b", "name": "v"}])[0]["mountPath"] == "/b"


@pytest.mark.parametrize(
    "volume", ["{path: /a}", "{path: /a, pvc: x, host: /b}", "{path: /a, empty: false}", "{pvc: x}"]
)
def test_volumes_that_are_none(volume: str) -> None:
    profile = ONE.replace("{path: /models, host: /models, read_only: true}", volume)
    assert [f.code for f in check(read_texts({"p.yaml": profile}))].count("PD012") == 1
