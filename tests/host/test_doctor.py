"""``doctor``: prepared hosts against profiles, this machine, both languages, and the exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.launcher.host import all_facts
from pd_launch.launcher.launch.program import Refused
from pd_launch.schemas.core.msg import Msg
from tests.host.tree import GIB, OWN, ascend_node, namespaces, segment

PROFILE = """
version: 1
target: vllm-ascend==0.25.1rc1
hardware: a3
model: deepseek-ai/DeepSeek-V3.1
transfer: {connector: MooncakeConnectorV1, kv_port: 36000}
network: {interface: eth0}
prefill:
  parallel: {tensor: 8, data: 2, expert: true}
  port: 8100
decode:
  parallel: {tensor: 8, data: 2, expert: true}
  port: 8200
  offload: {per_rank: 16GiB}
nodes:
  prefill: [{address: 192.0.2.10}]
  decode: [{address: 192.0.2.11}]
"""
FITS: dict[str, Any] = {
    "mem_total": 1024 * GIB,
    "mem_available": 900 * GIB,
    "shm_total": 1024 * GIB,
    "shm_free": 1000 * GIB,
    "stale_shm": 0,
    "stale_segments": [],
    "devices": list(range(16)),
    "npus": 16,
    "control_devices": ["davinci_manager", "devmm_svm", "hisi_hdc"],
    "device_holders": [],
    "interfaces": {"lo": ["127.0.0.1"], "eth0": ["192.0.2.11"]},
    "ports_in_use": [22],
    "vllm": "0.25.1",
    "vllm_ascend": "0.25.1rc1",
    "cpus_allowed": 320,
}


def doctor(tmp_path: Path, facts: dict[str, Any] | None, *words: str, profile: str | None = PROFILE) -> Any:
    options = list(words)
    if profile is not None:
        (tmp_path / "p.yaml").write_text(profile)
        options += ["--profile", str(tmp_path / "p.yaml")]
    if facts is not None:
        (tmp_path / "facts.json").write_text(json.dumps(facts))
        options += ["--host-facts", str(tmp_path / "facts.json")]
    result = CliRunner().invoke(cli, ["doctor", *options], env={"LANG": "C"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result


def findings(tmp_path: Path, changes: dict[str, Any], *words: str) -> tuple[int, set[str]]:
    result = doctor(tmp_path, {**FITS, **changes}, "--format", "json", *words)
    return result.exit_code, {f["code"] for f in json.loads(result.stdout)["findings"]}


def test_a_host_that_fits(tmp_path: Path) -> None:
    result = doctor(tmp_path, FITS)
    assert result.exit_code == 0, result.output
    assert "900 GiB available of 1 TiB; the offload needs 256 GiB" in result.output
    assert "the engines need 4.06 GiB" in result.output
    assert "nothing to report" in result.output


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"mem_available": 100 * GIB}, "PD305"),
        ({"cgroup_memory": 100 * GIB}, "PD305"),
        ({"shm_total": 1 * GIB, "shm_free": 1 * GIB}, "PD306"),
        ({"shm_total": 64 << 20, "shm_free": 64 << 20}, "PD306"),
        ({"stale_shm": 30 * GIB, "stale_segments": ["psm_00"]}, "PD310"),
        ({"ports_in_use": [8200]}, "PD407"),
        ({"interfaces": {"lo": [], "bond0": []}}, "PD412"),
        ({"devices": list(range(8))}, "PD413"),
        ({"control_devices": ["davinci_manager"]}, "PD413"),
        ({"device_holders": [{"pid": 7, "name": "VLLM::Worker", "devices": ["davinci3"]}]}, "PD414"),
        ({"vllm": "0.26.0"}, "PD901"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    assert findings(tmp_path, changes) == (1, {code})


def test_pinned_memory_above_the_limit(tmp_path: Path) -> None:
    builtin = PROFILE.replace("{per_rank: 16GiB}", "{per_rank: 16GiB, connector: builtin}")
    result = doctor(tmp_path, {**FITS, "memlock": 65536}, "--format", "json", profile=builtin)
    assert [f["code"] for f in json.loads(result.stdout)["findings"]] == ["PD307"]


def test_unknown_facts_are_no_findings(tmp_path: Path) -> None:
    result = doctor(tmp_path, {}, "--format", "json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["findings"] == []
    status = {row["name"]: row["status"] for row in report["checks"]}
    assert set(status.values()) == {"unknown"}


def test_one_side_alone(tmp_path: Path) -> None:
    taken = {"ports_in_use": [8100]}
    assert findings(tmp_path, taken, "--side", "prefill") == (1, {"PD407"})
    assert findings(tmp_path, taken, "--side", "decode") == (0, set())


@pytest.mark.parametrize(
    ("words", "profile"),
    [
        (["--node-rank", "3"], PROFILE),
        (["--side", "prefill"], PROFILE.split("prefill:")[0] + "decode: {}\n"),
        ([], "version: 1\n"),
        ([], "version: [\n"),
    ],
)
def test_what_cannot_be_compared(tmp_path: Path, words: list[str], profile: str) -> None:
    assert doctor(tmp_path, FITS, *words, profile=profile).exit_code == 2


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for words in (["--profile", "/nowhere.yaml"], ["--host-facts", "/nowhere.json"], ["--profile", "no-such"]):
        command = [sys.executable, "-m", "pd_launch", "doctor", *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_chinese(tmp_path: Path) -> None:
    result = doctor(tmp_path, {**FITS, "mem_available": 100 * GIB}, "--lang", "zh")
    assert "内存" in result.output
    assert "错误[PD305]" in result.output
    assert "卸载需要 256 GiB" in result.output


def test_json_has_facts_checks_and_findings(tmp_path: Path) -> None:
    report = json.loads(doctor(tmp_path, {**FITS, "vllm": "0.26.0"}, "--format", "json").stdout)
    assert report["format_version"] == 1
    assert report["target"] == {"vllm_ascend": "0.25.1rc1", "vllm": "0.25.1", "from": "profile"}
    assert report["facts"]["npus"] == 16
    assert report["summary"]["error"] == 1
    (finding,) = report["findings"]
    assert finding["file"].endswith("p.yaml")
    assert finding["line"] > 1


def rows(tmp_path: Path, changes: dict[str, Any], *words: str, profile: str | None = PROFILE) -> dict[str, Any]:
    report = json.loads(doctor(tmp_path, {**FITS, **changes}, "--format", "json", *words, profile=profile).stdout)
    return {row["name"]: (row["status"], row["text"]) for row in report["checks"]}


@pytest.mark.parametrize(
    ("changes", "row", "status"),
    [
        ({"devices": [], "npus": None}, "devices", "error"),
        ({"devices": list(range(8))}, "devices", "error"),
        ({"devices": None, "npus": 0}, "devices", "error"),
        ({"devices": None, "npus": 15}, "devices", "error"),
        ({"devices": None, "npus": 16}, "devices", "ok"),
        ({"devices": None, "npus": None}, "devices", "unknown"),
        ({"mem_available": 100 * GIB}, "memory", "error"),
        ({"cgroup_memory": 100 * GIB}, "cgroup", "error"),
        ({"cgroup_memory": 300 * GIB}, "cgroup", "ok"),
        ({"ports_in_use": [8200]}, "ports", "error"),
        ({"interfaces": {"lo": [], "bond0": []}}, "interfaces", "warning"),
        ({"control_devices": ["davinci_manager"]}, "control_devices", "warning"),
        ({"device_holders": [{"pid": 7, "name": "VLLM::Worker", "devices": ["davinci3"]}]}, "holders", "warning"),
        ({"vllm": "0.26.0"}, "vllm", "error"),
        ({"shm_total": GIB, "shm_free": GIB}, "shm", "error"),
        ({"stale_shm": 30 * GIB, "stale_segments": ["psm_00"]}, "leftovers", "warning"),
    ],
)
def test_no_tick_beside_what_does_not_fit(tmp_path: Path, changes: dict[str, Any], row: str, status: str) -> None:
    found = rows(tmp_path, changes)[row]
    assert found[0] == status, found
    assert rows(tmp_path, {})[row][0] in ("ok", "unknown")


def test_too_few_devices_are_named_with_the_need(tmp_path: Path) -> None:
    text = doctor(tmp_path, {**FITS, "devices": [], "npus": None}).output
    line = next(line for line in text.splitlines() if "NPUs" in line)
    assert line.split() == ["✗", "NPUs", "0,", "but", "the", "profile", "needs", "16"]
    zh = rows(tmp_path, {"devices": [0]}, "--lang", "zh")["devices"]
    assert zh == ("error", "1，而配置文件需要 16 个")


def test_pinned_memory_marks_its_line(tmp_path: Path) -> None:
    builtin = PROFILE.replace("{per_rank: 16GiB}", "{per_rank: 16GiB, connector: builtin}")
    assert rows(tmp_path, {"memlock": 65536}, profile=builtin)["memlock"][0] == "warning"
    assert rows(tmp_path, {"memlock": 65536})["memlock"][0] == "ok"


def test_devices_that_nobody_needs(tmp_path: Path) -> None:
    cpu = "version: 1\nhardware: cpu\nmodel: m\ndecode: {parallel: {tensor: 2}}\n"
    assert rows(tmp_path, {"gpus": 0}, profile=cpu)["devices"] == ("info", "0")
    cuda = cpu.replace("cpu", "cuda")
    assert rows(tmp_path, {"gpus": 1}, profile=cuda)["devices"] == ("error", "1, but the profile needs 2")
    assert rows(tmp_path, {"gpus": 2}, profile=cuda)["devices"] == ("ok", "2")


@pytest.mark.parametrize(("npus", "code"), [(8, "PD413"), (0, "PD413"), (16, None)])
def test_a_number_of_npus_counts_without_a_list(tmp_path: Path, npus: int, code: str | None) -> None:
    changes = {"devices": None, "npus": npus}
    found = findings(tmp_path, changes)
    assert found == ((1, {code}) if code else (0, set()))


def test_docker_default_shm_without_a_profile(tmp_path: Path) -> None:
    result = doctor(tmp_path, {"shm_total": 64 << 20, "shm_free": 60 << 20}, profile=None)
    assert result.exit_code == 1
    assert "Docker's default: start with --shm-size" in result.output


def test_a_host_by_itself(tmp_path: Path) -> None:
    leftovers = {"stale_shm": 30 * GIB, "stale_segments": ["psm_00"]}
    for facts, code in ((leftovers, "PD310"), ({"vllm": "0.26.0"}, "PD901"), ({"control_devices": []}, "PD413")):
        result = doctor(tmp_path, {**FITS, **facts}, "--format", "json", profile=None)
        assert {f["code"] for f in json.loads(result.stdout)["findings"]} == {code}
        assert {f["file"] for f in json.loads(result.stdout)["findings"]} == {"<host>"}


@pytest.mark.parametrize(
    ("lang", "said", "nothing"),
    [
        ("en", "1 problem, marked in the list above; the rules report nothing else (checked for", "nothing to report"),
        ("zh", "1 个问题，见上表中的标记；规则没有报告其他问题（检查目标：", "没有发现问题"),
    ],
)
def test_a_host_without_the_engine_is_not_called_clean(
    lang: str, said: str, nothing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> str:
        raise Refused(Msg("vllm is nowhere", "没有 vllm"))

    monkeypatch.setattr("pd_launch.launcher.doctor.examine.find_program", none)
    result = doctor(tmp_path, FITS, "--lang", lang, profile=None)
    assert result.exit_code == 1
    assert said in result.output and nothing not in result.output


def test_secrets_of_the_profile_are_masked(tmp_path: Path) -> None:
    text = PROFILE.replace("  port: 8200\n", "  port: 8200\n  env: {HF_TOKEN: hf_very_secret}\n")
    for form in ("text", "json"):
        result = doctor(tmp_path, {**FITS, "ports_in_use": [8200]}, "--format", form, profile=text)
        assert result.exit_code == 1
        assert "hf_very_secret" not in result.output


def test_facts_of_a_prepared_tree_go_through(tmp_path: Path) -> None:
    root = tmp_path / "root"
    ascend_node(root)
    segment(root, "psm_0a1b2c3d", 1000)
    result = doctor(tmp_path, all_facts(root), "--format", "json")
    codes = {f["code"] for f in json.loads(result.stdout)["findings"]}
    assert "PD305" in codes, "the cgroup leaves 100 GiB"
    assert result.exit_code == 1


def test_a_v1_tree_too(tmp_path: Path) -> None:
    root = tmp_path / "root"
    namespaces(root, OWN)
    folder = root / "sys/fs/cgroup/memory/kubepods"
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text(str(50 * GIB))
    (root / "proc/self/cgroup").write_text("3:memory:/kubepods/pod1\n")
    facts = {**FITS, "cgroup_memory": all_facts(root)["cgroup_memory"]}
    assert findings(tmp_path, facts) == (1, {"PD305"})


def test_this_machine(tmp_path: Path) -> None:
    result = doctor(tmp_path, None, "--format", "json", profile=None)
    report = json.loads(result.stdout)
    rows = {row["name"]: row for row in report["checks"]}
    assert rows["memory"]["status"] == "ok"
    assert result.exit_code in (0, 1)
    tiny = doctor(tmp_path, None, "--format", "json", "--profile", "cpu-tiny", profile=None)
    assert json.loads(tiny.stdout)["facts"]["mem_total"] == report["facts"]["mem_total"]
