"""Every shipped profile in every form: valid by the schemas that others publish, and clean when it is checked again."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from pd_launch.launcher.check.run import check
from pd_launch.launcher.formats.box import FormatError
from pd_launch.launcher.formats.choose import TEXTS, WHOLE
from pd_launch.launcher.launch.prepare import Launch, LaunchOptions, prepare
from pd_launch.launcher.sources.profiles.shipped import find_profile, shipped_names
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.release.release_words import target_comment
from pd_launch.schemas.core.target import parse_target
from tests.supervise.harness import wait_for, zombie

HERE = Path(__file__).parent
FILES = {
    "shell": "run.sh",
    "docker": "start.sh",
    "compose": "compose.yaml",
    "k8s": "pods.yaml",
    "systemd": "engines.service",
}
PER_NODE = ("docker", "systemd")
PROFILES = shipped_names()


def launch(profile: str, form: str, side: Any = "decode", **options: Any) -> Launch:
    return prepare(LaunchOptions(side, profile, dry_run=True, whole=form in WHOLE, **options))


@cache
def written(profile: str) -> Any:
    """Return a profile's file as it is: this is asked while tests are collected."""
    return yaml.safe_load(find_profile(profile).read_text(encoding="utf-8"))


def nodes_of(profile: str, side: str) -> int:
    """Return the nodes that a side names."""
    return max(1, len((written(profile).get("nodes") or {}).get(side) or []))


def rendered() -> list[tuple[str, str, str, int]]:
    found = []
    for profile in PROFILES:
        for form in FILES:
            if form in WHOLE:
                found.append((profile, form, "decode", 0))
            else:
                for side in ("prefill", "decode"):
                    found += [(profile, form, side, node) for node in range(nodes_of(profile, side))]
    return found


def text_of(profile: str, form: str, side: str = "decode", node: int = 0, **options: Any) -> str:
    return TEXTS[form](launch(profile, form, side, node_rank=node, **options))


@pytest.mark.parametrize(("profile", "form", "side", "node"), rendered())
def test_what_is_rendered_is_clean(profile: str, form: str, side: str, node: int) -> None:
    text = text_of(profile, form, side, node)
    deployments = read_texts({FILES[form]: text})
    assert sum(len(d.nodes) for d in deployments), "the check found no engine in it"
    shown = [f for d in deployments for f in check([d]) if f.severity != "info"]
    assert not shown, [(f.code, f.line, f.message) for f in shown]


@pytest.mark.parametrize("name", ["", "<stdin>"], ids=["file", "stdin"])
@pytest.mark.parametrize(("profile", "form", "side", "node"), rendered())
def test_what_is_rendered_says_its_release(profile: str, form: str, side: str, node: int, name: str) -> None:
    """Each form carries its target as a comment, by which the text alone, under any name, is read as it was meant."""
    prepared = launch(profile, form, side, node_rank=node)
    text, target = TEXTS[form](prepared), prepared.deployment.target
    assert text.count(target_comment(target)) == 1
    deployments = read_texts({name or FILES[form]: text})
    assert sum(len(d.nodes) for d in deployments)
    followed = form == "systemd" and target.decided_by == "profile"  # what the profile itself says goes before
    for found in deployments:
        assert str(found.target) == str(target)
        assert found.target.decided_by == ("profile" if followed and found.nodes else "comment")
    shown = [f for d in deployments for f in check([d]) if f.severity != "info"]
    assert not shown, [(f.code, f.line, f.message) for f in shown]


@pytest.mark.parametrize("form", FILES)
def test_a_target_that_was_asked_for_is_carried(form: str) -> None:
    """Also one that is no row of the tables."""
    target = parse_target("vllm==0.31.0.post1")
    text = text_of("cuda-nixl", form, target=target)
    assert "# pd-launch: target vllm==0.31.0" in text
    found = [d for d in read_texts({FILES[form]: text}) if d.nodes]
    assert {str(d.target) for d in found} == {"vLLM 0.31.0"}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("path", ["plan.json", "<stdin>"])
def test_a_plan_says_its_release(profile: str, path: str) -> None:
    """A plan is JSON and has no comments: its key ``target`` counts as they do."""
    prepared = launch(profile, "json", node_rank=0)
    assert prepared.plan is not None
    deployments = [d for d in read_texts({path: prepared.plan.model_dump_json(by_alias=True, indent=2)}) if d.nodes]
    assert deployments
    for found in deployments:
        assert str(found.target) == str(prepared.deployment.target)
        assert found.target.decided_by == "plan"


@pytest.mark.parametrize("said", ['"vllm": 1', '"vllm": "x y"', '"vllm_ascend": [], "vllm": null', ""])
def test_a_plan_whose_release_is_none_says_nothing(said: str) -> None:
    text = f'{{"format_version": 2, "target": {{{said}}}, "processes": [{{"argv": ["vllm", "serve", "/models/m"]}}]}}'
    found = [d for d in read_texts({"plan.json": text}) if d.nodes]
    assert found and {d.target.decided_by for d in found} <= {"unknown", "assumed"}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("form", ["docker", "compose", "k8s"])
def test_the_engines_get_what_the_plan_says(profile: str, form: str) -> None:
    """What is read back from a form has the arguments of the plan, except those that the form must change."""
    options: dict[str, Any] = {} if form in WHOLE else {"node_rank": 0}
    prepared = launch(profile, form, **options)
    nodes = read_texts({FILES[form]: TEXTS[form](prepared)})[0].nodes
    found = [node for node in nodes if node.role == "kv_consumer"]
    wanted = [node for node in prepared.launches if node.role == "kv_consumer"]
    assert len(found) >= len(wanted) >= 1
    skipped = {"data-parallel-address"}
    if (profile, form) == ("cpu-tiny", "k8s"):
        skipped.add("host")  # that profile's machine is a pod for each side here: a server on loopback is out of reach
    for mine, theirs in zip(wanted, found, strict=False):
        told = {a.name: a.value and a.value.plain() for a in mine.args if a.name not in skipped}
        read = {a.name: a.value and a.value.plain() for a in theirs.args if a.name not in skipped}
        assert json.dumps(read, sort_keys=True, default=str) == json.dumps(told, sort_keys=True, default=str)


def test_compose_files_fit_their_schema(tmp_path: Path) -> None:
    files = []
    for profile in PROFILES:
        path = tmp_path / f"{profile}.yaml"
        path.write_text(text_of(profile, "compose"))
        files.append(str(path))
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", *files]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    Path(files[0]).write_text("services: {decode: {image: a, shm_sise: 1g}}")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize("profile", PROFILES)
def test_manifests_fit_their_schemas(profile: str) -> None:
    import jsonschema
    import kubernetes_validate

    schema = json.loads((HERE / "leaderworkerset.schema.json").read_text())
    objects = list(yaml.safe_load_all(text_of(profile, "k8s")))
    for found in objects:
        if found["kind"] == "LeaderWorkerSet":
            jsonschema.validate(found, schema)
            template = found["spec"]["leaderWorkerTemplate"]
            for name in ("leaderTemplate", "workerTemplate"):
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": template[name]["spec"]}
                kubernetes_validate.validate(pod, "1.31", strict=True)
        else:
            kubernetes_validate.validate(found, "1.31", strict=True)
    kinds = sorted(found["kind"] for found in objects)
    assert kinds.count("Service") == 2 and len(kinds) == 4


def test_the_schema_of_ours_can_fail() -> None:
    import jsonschema

    schema = json.loads((HERE / "leaderworkerset.schema.json").read_text())
    found = next(o for o in yaml.safe_load_all(text_of("a3-moe-external", "k8s")) if o["kind"] == "LeaderWorkerSet")
    found["spec"]["leaderWorkerTemplate"]["restartpolicy"] = "None"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema)


def pods(profile: str, **options: Any) -> dict[str, Any]:
    """Return the pod specs by the name of their object, with the template's name for a LeaderWorkerSet."""
    found: dict[str, Any] = {}
    for item in yaml.safe_load_all(text_of(profile, "k8s", **options)):
        name = item["metadata"]["name"]
        if item["kind"] == "LeaderWorkerSet":
            for key in ("leaderTemplate", "workerTemplate"):
                found[f"{name} {key}"] = item["spec"]["leaderWorkerTemplate"][key]["spec"]
        elif item["kind"] == "StatefulSet":
            found[name] = item["spec"]["template"]["spec"]
    return found


def test_pod_of_the_guides_deployment() -> None:
    spec = pods("a3-dp2tp8")["a3-dp2tp8-decode"]
    container = spec["containers"][0]
    assert spec["hostNetwork"] is True
    shm = next(v for v in spec["volumes"] if v["name"] == "shm")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "1024Gi"}
    assert {"name": "shm", "mountPath": "/dev/shm"} in container["volumeMounts"]
    assert container["resources"]["limits"] == {"huawei.com/Ascend910": 16}
    # 16 ranks × 16 GiB, two engines with 160 + 240 × 8 MiB of rings, and 8 GiB for each rank's own process
    assert (
        container["resources"]["requests"]["memory"]
        == f"{-(-(256 * 1024 + 2 * (160 + 240 * 8) + 16 * 8192) // 1024)}Gi"
    )
    assert container["readinessProbe"]["httpGet"] == {"path": "/health", "port": 8200}
    address = next(v for v in container["env"] if v["name"] == "HCCL_IF_IP")
    assert address["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}


def test_ranks_come_from_the_controller() -> None:
    found = pods("a3-moe-external")
    worker = found["a3-moe-external-decode workerTemplate"]["containers"][0]
    script = worker["args"][-1].replace("$$", "$")
    ranks = re.findall(r"--data-parallel-rank (.+?) \\\n", script)
    for index in (1, 2):
        values = [
            subprocess.check_output(["bash", "-c", f"LWS_WORKER_INDEX={index}; echo {r}"], text=True) for r in ranks
        ]
        assert list(map(int, values)) == list(range(16 * index, 16 * (index + 1)))
    assert script.count('--data-parallel-address "$LWS_LEADER_ADDRESS"') == 16
    leader = found["a3-moe-external-decode leaderTemplate"]["containers"][0]["args"][-1]
    assert re.findall(r"--data-parallel-rank (\d+)", leader) == [str(rank) for rank in range(16)]


def test_start_rank_of_internal_workers(tmp_path: Path) -> None:
    text = (HERE.parents[1] / "profiles" / "a3-dp2tp8.yaml").read_text().replace("data: 2", "data: 6")
    text = re.sub(
        r"  (prefill|decode): \[\{address: auto\}\]",
        r"  \1: [{address: 192.0.2.1}, {address: 192.0.2.2}, {address: 192.0.2.3}]",
        text,
    )
    path = tmp_path / "wide.yaml"
    path.write_text(text)
    worker = pods(str(path))["a3-dp2tp8-decode workerTemplate"]["containers"][0]
    script = worker["args"][-1].replace("$$", "$")
    rank = re.findall(r"--data-parallel-start-rank (.+?) \\", script)[0]
    value = subprocess.check_output(["bash", "-c", f"LWS_WORKER_INDEX=2; echo {rank}"], text=True)
    assert int(value) == 4 and "--headless" in script and "startupProbe" not in worker


def test_unequal_workers_are_refused(tmp_path: Path) -> None:
    text = (HERE.parents[1] / "profiles" / "a3-moe-external.yaml").read_text()
    text = text.replace(
        "data: 32, expert: true, launch: external}", "data: 24, expert: true, launch: external, ranks: [8, 8, 4, 4]}"
    )
    text = text.replace(
        "decode: [{address: 192.0.2.21}, {address: 192.0.2.22}]",
        "decode: [{address: 192.0.2.21}, {address: 192.0.2.22}, {address: 192.0.2.23}, {address: 192.0.2.24}]",
    )
    path = tmp_path / "unequal.yaml"
    path.write_text(text)
    with pytest.raises(FormatError, match="equal ranks"):
        text_of(str(path), "k8s")


def test_docker_of_external_ranks_gives_each_its_devices() -> None:
    words = shlex.split(text_of("a3-moe-external", "docker", "decode", 1), comments=True)
    devices = [words[i + 1] for i, word in enumerate(words) if word == "--device"]
    assert devices[:16] == [f"/dev/davinci{i}" for i in range(16)]
    assert devices[16:] == ["/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"]
    script = words[-1]
    assert re.findall(r"ASCEND_RT_VISIBLE_DEVICES=(\S+);", script) == [str(i) for i in range(16)]
    assert re.findall(r"--port (\S+)", script) == [str(8200 + i) for i in range(16)]
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_a_container_with_some_devices_counts_its_own(tmp_path: Path) -> None:
    words = shlex.split(text_of("a2-one-card", "docker"), comments=True)
    assert next(words[i + 1] for i, w in enumerate(words) if w == "--device") == "/dev/davinci1"
    assert not any("ASCEND_RT_VISIBLE_DEVICES" in word for word in words)


def test_the_first_engine_that_ends_ends_the_container(tmp_path: Path) -> None:
    """The script of several ranks runs with a stand-in for vllm: its status is that of the first rank to end."""
    words = shlex.split(text_of("a3-moe-external", "docker", "prefill", 0), comments=True)
    (tmp_path / "vllm").write_text('#!/bin/sh\ncase "$*" in *"--data-parallel-rank 1"*) exit 7;; esac\nexec sleep 30\n')
    (tmp_path / "vllm").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "DATA_PARALLEL_ADDRESS": "192.0.2.1"}
    run = subprocess.Popen(["bash", "-c", words[-1]], env=environment, start_new_session=True)
    try:
        assert run.wait(20) == 7
    finally:
        subprocess.run(["kill", "-KILL", "--", f"-{run.pid}"], check=False, capture_output=True)


SECRET = "sesame-open-81"


@pytest.fixture
def secret_profile(tmp_path: Path) -> str:
    text = (HERE.parents[1] / "profiles" / "cuda-nixl.yaml").read_text()
    text = text.replace(
        "engine:\n  max-model-len", f"env:\n  HF_TOKEN: {SECRET}\nengine:\n  api-key: {SECRET}\n  max-model-len", 1
    )
    path = tmp_path / "secret.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("form", ["docker", "compose", "k8s", "systemd", "shell"])
def test_secrets_are_named_never_written(form: str, secret_profile: str) -> None:
    text = text_of(secret_profile, form)
    assert SECRET not in text
    if form == "k8s":
        container = pods(secret_profile)["cuda-nixl-decode"]["containers"][0]
        keys = {
            v["name"]: v["valueFrom"]["secretKeyRef"]
            for v in container["env"]
            if "secretKeyRef" in v.get("valueFrom", {})
        }
        assert keys == {n: {"name": "cuda-nixl", "key": n} for n in ("HF_TOKEN", "API_KEY")}
        assert '"$${API_KEY:?}"' in container["args"][-1]
    elif form == "compose":
        service = yaml.safe_load(text)["services"]["decode"]
        assert service["env_file"] == ["cuda-nixl-decode.env"] and "HF_TOKEN" not in service["environment"]
        assert '"$${API_KEY:?}"' in service["command"][-1]
    elif form == "systemd":
        assert "EnvironmentFile=/etc/pd-launch/cuda-nixl.env" in text
    else:
        assert "HF_TOKEN:?" in text and "API_KEY:?" in text


def test_unit_does_not_repeat_a_refused_start() -> None:
    text = text_of("a3-moe-external", "systemd", "decode", 1, settings=("decode.port=8300",), extra=("--seed", "50%"))
    assert "RestartPreventExitStatus=78\n" in text and "Restart=always\n" in text
    line = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    assert line.endswith('decode --profile a3-moe-external --node-rank 1 --set decode.port=8300 -- --seed 50%%"')


def exec_start(**options: Any) -> list[str]:
    text = text_of("a3-dp2tp8", "systemd", **options)
    line = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    return shlex.split(line)[2].partition("; exec ")[2].split()


def own(path: Path) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_unit_starts_the_pd_launch_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behind = ["decode", "--profile", "a3-dp2tp8"]
    python = tmp_path / "bin/python"
    monkeypatch.setattr("sys.executable", str(python))
    monkeypatch.setattr("sys.argv", ["/usr/bin/pytest"])
    assert exec_start() == [str(python), "-m", "pd_launch", *behind], "without a program of its own"
    beside = own(tmp_path / "bin/pd-launch")
    assert exec_start() == [beside, *behind], "python -m pd_launch"
    elsewhere = own(tmp_path / "other/pd-launch")
    monkeypatch.setattr("sys.argv", [elsewhere])
    assert exec_start() == [elsewhere, *behind], "by its path"
    monkeypatch.setattr("sys.argv", ["pd-launch"])
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    assert exec_start() == [elsewhere, *behind], "by its name"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["other/pd-launch"])
    assert exec_start() == [elsewhere, *behind], "by a relative path"


def test_the_unit_carries_over_how_the_engines_are_started() -> None:
    text = text_of("a3-dp2tp8", "systemd", grace=45.5, host=False)
    assert exec_start(grace=45.5, host=False)[-3:] == ["--grace", "45.5", "--no-host"]
    assert "TimeoutStopSec=56\n" in text, "no shorter than the grace"
    assert "TimeoutStopSec=30\n" in text_of("a3-dp2tp8", "systemd")


def test_gpus() -> None:
    assert "--gpus 4" in text_of("cuda-nixl", "docker")
    service = yaml.safe_load(text_of("cuda-nixl", "compose"))["services"]["decode"]
    device = service["deploy"]["resources"]["reservations"]["devices"][0]
    assert device == {"driver": "nvidia", "count": 4, "capabilities": ["gpu"]}
    container = pods("cuda-nixl")["cuda-nixl-decode"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 4}
    host = next(v for v in container["env"] if v["name"] == "VLLM_NIXL_SIDE_CHANNEL_HOST")
    assert host["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}


def test_images() -> None:
    assert "vllm-ascend-pd-launch:v0.23.0-a3" in text_of("a3-dp2tp8", "docker", target=_target("0.23.0"))
    assert "quay.io/ascend/vllm-ascend:v0.27.1rc1-a3" in text_of("a3-hybrid", "docker")
    assert "example/mine:1" in text_of("a3-dp2tp8", "docker", settings=("container.image=example/mine:1",))


def _target(text: str) -> Any:
    return parse_target(text)


def test_the_ascend_runtime_brings_devices_and_drivers() -> None:
    text = text_of("a3-dp2tp8", "docker", settings=("container.runtime=ascend",))
    assert "--runtime=ascend" in text and "--device" not in text and "hccn.conf" not in text
    assert f"ASCEND_VISIBLE_DEVICES={','.join(map(str, range(16)))}" in text


def test_pods_of_one_machines_profile_reach_each_other() -> None:
    pods = [d for d in yaml.safe_load_all(text_of("cpu-tiny", "k8s")) if d and d["kind"] == "StatefulSet"]
    containers = [pod["spec"]["template"]["spec"]["containers"][0] for pod in pods]
    assert len(containers) == 2
    for container in containers:
        assert "--host" not in container["args"] and "127.0.0.1" not in container["args"]
        own = {"fieldRef": {"fieldPath": "status.podIP"}}
        found = {entry["name"]: entry.get("valueFrom") for entry in container["env"]}
        assert found["VLLM_NIXL_SIDE_CHANNEL_HOST"] == found["VLLM_HOST_IP"] == own


def test_one_machine_or_two() -> None:
    apart = yaml.safe_load(text_of("a3-dp2tp8", "compose"))["services"]
    assert [service["profiles"] for service in apart.values()] == [["prefill"], ["decode"]]
    together = yaml.safe_load(text_of("a2-one-card", "compose"))["services"]
    assert not any("profiles" in service for service in together.values())


@pytest.mark.parametrize("text", ["50% $HOME 'a' \"b\"", "back\\slash", "plain", "a;b"])
def test_units_read_back_what_was_written(text: str) -> None:
    from pd_launch.launcher.formats.systemd import quoted

    unit = f"[Service]\nExecStart=/usr/bin/vllm serve /models/m --served-model-name {quoted(text)}\n"
    node = read_texts({"a.service": unit})[0].nodes[0]
    value = node.value("served-model-name")
    assert value is not None and value.value == text


EXTERNAL = """version: 1
hardware: a2
target: vllm-ascend==0.25.1rc1
model: deepseek-ai/DeepSeek-V3
transfer: {connector: MooncakeConnectorV1, kv_port: 36000}
prefill: {parallel: {tensor: 4}}
decode: {parallel: {tensor: 4, data: 2, launch: external}}
"""


def test_script_of_several_ranks_ends_however_early_a_signal_comes(tmp_path: Path) -> None:
    (tmp_path / "ranks.yaml").write_text(EXTERNAL)
    engine = tmp_path / "vllm"
    engine.write_text(f"#!/bin/bash\necho $$ >> {tmp_path}/pids\nkill -TERM $PPID\nexec sleep 60\n")
    engine.chmod(0o755)
    script = tmp_path / "start.sh"
    script.write_text(text_of(str(tmp_path / "ranks.yaml"), "shell").replace('engines="', 'sleep 0.3; engines="'))
    assert script.read_text().count("sleep 0.3") == 2  # now the signal comes before the number is taken
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert subprocess.run(["bash", str(script)], env=environment, timeout=30).returncode == 143
    for pid in (tmp_path / "pids").read_text().split():
        assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(("signal_after", "status"), [(None, 7), ("TERM", 143)])
def test_script_of_several_ranks_ends_with_the_first(signal_after: str | None, status: int, tmp_path: Path) -> None:
    """A rank that fails, or a signal to the script, ends all ranks, and the status says so."""
    (tmp_path / "ranks.yaml").write_text(EXTERNAL)
    fails = "true" if signal_after is None else "false"
    engine = tmp_path / "vllm"
    engine.write_text(
        f'#!/bin/bash\n{fails} && case "$*" in *--data-parallel-rank\\ 1*) exit 7;; esac\n'
        f"echo $$ >> {tmp_path}/pids\nexec sleep 60\n"
    )
    engine.chmod(0o755)
    script = tmp_path / "start.sh"
    script.write_text(text_of(str(tmp_path / "ranks.yaml"), "shell"))
    started = subprocess.Popen(["bash", str(script)], env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    pids = tmp_path / "pids"
    if signal_after is not None:
        end = time.monotonic() + 20
        while time.monotonic() < end and (not pids.exists() or len(pids.read_text().split()) < 2):
            time.sleep(0.02)
        started.terminate()
    assert started.wait(30) == status
    for pid in pids.read_text().split() if pids.exists() else ():
        assert not Path(f"/proc/{pid}").exists()


STUBBORN = """#!/bin/bash
case "$*" in *--data-parallel-rank\\ 1*)
  until [ -s {folder}/pids ]; do sleep 0.1; done
  {one} ;;
esac
{other}
setsid sleep 61 &
echo $$ $! >> {folder}/pids
while :; do sleep 0.1; done
"""


@pytest.mark.parametrize(
    ("one", "other", "signals", "status"),
    [
        ("exit 0", ":", (), 1),
        ("exit 7", "trap '' TERM", (), 7),
        (":", "trap '' TERM", ("TERM",), 143),
        (":", ":", ("INT",), 130),
        (":", "trap '' TERM", ("TERM", "INT"), 143),
        (":", ":", ("HUP",), 129),
    ],
)
def test_script_of_several_ranks_leaves_nothing(
    one: str, other: str, signals: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    """An engine that ignores TERM is killed, what it started with it, and an engine that ends is never a success."""
    (tmp_path / "ranks.yaml").write_text(EXTERNAL)
    engine = tmp_path / "vllm"
    engine.write_text(STUBBORN.format(one=one, other=other, folder=tmp_path))
    engine.chmod(0o755)
    text = text_of(str(tmp_path / "ranks.yaml"), "shell", grace=60 if len(signals) > 1 else 1.2)
    assert f"SECONDS + {60 if len(signals) > 1 else 2}" in text
    (tmp_path / "start.sh").write_text(text)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    started = subprocess.Popen(["bash", str(tmp_path / "start.sh")], env=environment)
    pids = tmp_path / "pids"
    want = 4 if signals else 2
    end = time.monotonic() + 20
    while time.monotonic() < end and (not pids.exists() or len(pids.read_text().split()) < want):
        time.sleep(0.02)
    for number, name in enumerate(signals):
        if number:
            time.sleep(1.0)
        started.send_signal(getattr(signal, f"SIG{name}"))
    assert started.wait(30) == status
    assert len(pids.read_text().split()) >= want
    for pid in map(int, pids.read_text().split()):
        wait_for(lambda pid=pid: not psutil.pid_exists(pid) or zombie(pid), f"{pid} is left", 5.0)


@pytest.mark.parametrize("form", ["docker", "compose", "systemd"])
def test_whoever_stops_it_waits_for_the_engines(form: str) -> None:
    settings = ("decode.engine.shutdown-timeout=300",)
    said = {"docker": "--stop-timeout=330", "compose": "stop_grace_period: 330s", "systemd": "TimeoutStopSec=330"}
    assert said[form] in text_of("cuda-nixl", form, settings=settings)
    asked = {"docker": "--stop-timeout=56", "compose": "stop_grace_period: 56s", "systemd": "TimeoutStopSec=56"}
    assert asked[form] in text_of("cuda-nixl", form, settings=settings, grace=45.5)


def test_an_engine_that_ends_is_started_again() -> None:
    """An engine that dies of a fault inside ends with status 0: only an operator's stop is one."""
    assert "Restart=always\n" in text_of("cuda-nixl", "systemd")
    assert yaml.safe_load(text_of("cuda-nixl", "compose"))["services"]["decode"]["restart"] == "unless-stopped"
