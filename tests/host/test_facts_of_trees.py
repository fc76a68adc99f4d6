"""Facts of prepared trees: cgroups of both versions, limits, devices, leftovers; what is not there stays unknown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pd_launch.launcher.host import all_facts, cgroup_memory, host_facts
from pd_launch.launcher.host.contract import FACTS, MORE, FactsError, read_facts
from tests.host.tree import FIRST, GIB, OWN, ascend_node, namespaces, process, segment, write


def test_a_whole_node(tmp_path: Path) -> None:
    ascend_node(tmp_path)
    facts = all_facts(tmp_path)
    expected = {
        "mem_total": 528280776 * 1024,
        "mem_available": 400 * GIB,
        "cgroup_memory": 100 * GIB,
        "cgroup_version": 2,
        "cgroup_used": 3 * GIB,
        "memlock": 65536,
        "npus": 16,
        "devices": list(range(16)),
        "control_devices": ["davinci_manager", "devmm_svm", "hisi_hdc"],
        "gpus": 0,
        "ports_in_use": [8100, 36000],
        "default_interface": "eth9",
        "hugepages_total": 1024,
        "hugepages_free": 1000,
        "hugepage_size": 2 << 20,
        "cpus_allowed": 7,
        "npu_driver": "24.1.rc3",
        "cann": "8.5.1",
        "kernel": "5.10.0-216.oe2203sp4.aarch64",
        "stale_shm": 0,
        "stale_segments": [],
        "numa_nodes": [
            {"node": 0, "cpus": "0-39", "mem_total": 1000 * 1024, "mem_free": 500 * 1024},
            {"node": 1, "cpus": "40-79"},
            {"node": 10, "cpus": "80-99"},
        ],
    }
    assert {key: facts.get(key) for key in expected} == expected


def test_every_fact_has_its_kind(tmp_path: Path) -> None:
    ascend_node(tmp_path)
    kinds = FACTS | MORE
    for key, value in all_facts(tmp_path).items():
        assert isinstance(value, kinds[key]), key


def test_an_empty_tree_says_nothing(tmp_path: Path) -> None:
    known = set(all_facts(tmp_path))
    of_the_process = {"vllm", "vllm_ascend", "torch", "torch_npu", "mooncake", "pd_launch", "python", "machine"}
    of_the_process.add("vllm_plugins")
    assert known <= {*of_the_process, "interfaces", "cpus", "environment", "container"}


V2 = {
    "no limit": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, None),
    "own": ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1024\n"}, 1024),
    "above": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/memory.max": "max\n",
            "sys/fs/cgroup/a/memory.max": "2048\n",
        },
        2048,
    ),
    "the least": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/memory.max": "4096\n",
            "sys/fs/cgroup/a/memory.max": "2048\n",
        },
        2048,
    ),
    "a path outside of the container": (
        {"proc/self/cgroup": "0::/../../pod7/x\n", "sys/fs/cgroup/memory.max": "512\n"},
        512,
    ),
    "nonsense": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "many\n"}, None),
}
V1 = {
    "v1": (
        {
            "proc/self/cgroup": "9:name=systemd:/\n4:memory:/docker/ab\n0::/\n",
            "sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes": "8192\n",
        },
        8192,
    ),
    "v1 mounted at the container": (
        {
            "proc/self/cgroup": "4:cpu,memory:/docker/ab\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "8192\n",
        },
        8192,
    ),
    "v1 without limit": (
        {
            "proc/self/cgroup": "4:memory:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
        None,
    ),
    "both versions": (
        {
            "proc/self/cgroup": "4:memory:/\n0::/x\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n",
            "sys/fs/cgroup/x/memory.max": "2048\n",
        },
        2048,
    ),
}


@pytest.mark.parametrize("name", [*V2, *V1])
def test_cgroup_limits(tmp_path: Path, name: str) -> None:
    files, limit = {**V2, **V1}[name]
    write(tmp_path, files)
    assert cgroup_memory(tmp_path) == limit


def test_use_of_a_v1_cgroup(tmp_path: Path) -> None:
    folder = "sys/fs/cgroup/memory"
    write(tmp_path, {"proc/self/cgroup": "4:memory:/\n", f"{folder}/memory.usage_in_bytes": "77\n"})
    facts = all_facts(tmp_path)
    assert (facts["cgroup_version"], facts["cgroup_used"]) == (1, 77)


@pytest.mark.parametrize(("written", "limit"), [("unlimited", None), ("65536", 65536), ("", None)])
def test_memlock(tmp_path: Path, written: str, limit: int | None) -> None:
    write(tmp_path, {"proc/self/limits": f"Max locked memory   {written or 'x'}   unlimited   bytes\n"})
    assert host_facts(tmp_path).get("memlock") == limit


def stale(root: Path) -> Any:
    facts = host_facts(root)
    return facts.get("stale_segments")


def leave_segments(root: Path) -> None:
    for name in ("psm_0a1b2c3d", "vllm_offload_e1.mmap", "sem.mine", "notes.txt"):
        segment(root, name, 5000)


@pytest.mark.parametrize("names", [FIRST, OWN])
def test_segments_that_nobody_has_open_are_left_over(tmp_path: Path, names: dict[str, str]) -> None:
    namespaces(tmp_path, names)
    leave_segments(tmp_path)
    process(tmp_path, 7)
    facts = host_facts(tmp_path)
    assert facts["stale_segments"] == ["psm_0a1b2c3d", "vllm_offload_e1.mmap"]
    assert facts["stale_shm"] == sum(
        (tmp_path / "dev/shm" / name).stat().st_blocks * 512 for name in facts["stale_segments"]
    )
    assert facts["stale_shm"] >= 8192


def test_a_segment_that_is_open_or_mapped_is_in_use(tmp_path: Path) -> None:
    namespaces(tmp_path, FIRST)
    leave_segments(tmp_path)
    process(tmp_path, 7, opened=("/dev/null", "/dev/shm/psm_0a1b2c3d"))
    process(tmp_path, 8, maps="7f00-7f01 rw-s 00000000 00:1a 5   /dev/shm/vllm_offload_e1.mmap\n")
    assert stale(tmp_path) == []


def test_a_name_with_blanks_and_colons_is_matched_whole(tmp_path: Path) -> None:
    namespaces(tmp_path, FIRST)
    name = "vllm_dist_02-tp:0-[0-1]-cpushm_0"
    segment(tmp_path, name, 100)
    process(tmp_path, 8, maps=f"7f00-7f01 rw-s 00000000 00:1a 5   /dev/shm/{name}\n")
    assert stale(tmp_path) == []


def test_a_segment_made_just_now_is_not_left_over(tmp_path: Path) -> None:
    namespaces(tmp_path, FIRST)
    segment(tmp_path, "psm_00000001", 100, age=0)
    assert stale(tmp_path) == []


def test_the_hosts_shm_seen_from_a_container_is_unknown(tmp_path: Path) -> None:
    """With --ipc=host the users of a segment may be processes that are not seen here."""
    namespaces(tmp_path, {"pid": OWN["pid"], "ipc": FIRST["ipc"]})
    leave_segments(tmp_path)
    assert stale(tmp_path) is None
    assert "stale_shm" not in host_facts(tmp_path)


def test_namespaces_that_cannot_be_read_leave_it_unknown(tmp_path: Path) -> None:
    leave_segments(tmp_path)
    assert stale(tmp_path) is None


@pytest.mark.skipif(os.getuid() == 0, reason="root may look at everything")
def test_a_process_that_may_not_be_looked_at_leaves_it_unknown(tmp_path: Path) -> None:
    namespaces(tmp_path, FIRST)
    leave_segments(tmp_path)
    (process(tmp_path, 9) / "fd").chmod(0)
    assert stale(tmp_path) is None


def test_a_forbidden_process_leaves_it_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespaces(tmp_path, FIRST)
    leave_segments(tmp_path)
    process(tmp_path, 9)
    monkeypatch.setattr("pd_launch.launcher.host.shm.open_files", lambda _: None)
    assert stale(tmp_path) is None


def test_who_holds_a_device(tmp_path: Path) -> None:
    ascend_node(tmp_path, 2)
    process(tmp_path, 41, opened=("/dev/davinci1", "/dev/davinci0", "/dev/davinci_manager"), comm="VLLM::Worker")
    process(tmp_path, 42, opened=("/dev/davinci_manager", "socket:[1]"))
    process(tmp_path, 43, opened=("/dev/nvidia3", "/dev/nvidiactl"))
    assert host_facts(tmp_path)["device_holders"] == [
        {"pid": 41, "name": "VLLM::Worker", "devices": ["davinci0", "davinci1"]},
        {"pid": 43, "name": "python", "devices": ["nvidia3"]},
    ]


def test_no_npu_is_unknown_to_the_contract_and_none_to_the_list(tmp_path: Path) -> None:
    ascend_node(tmp_path, 0)
    facts = host_facts(tmp_path)
    assert "npus" not in facts
    assert facts["devices"] == []


@pytest.mark.parametrize(
    ("path", "text", "version"),
    [
        ("usr/local/Ascend/cann/version.cfg", "version=9.1.0\n", "9.1.0"),
        ("usr/local/Ascend/cann/compiler/version.info", "Version=8.3.RC1\n", "8.3.RC1"),
        ("opt/cann/version.cfg", "runtime_running_version=[1.2:9.0.1]\n", "9.0.1"),
        ("elsewhere", "version=1\n", None),
    ],
)
def test_cann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, text: str, version: str | None) -> None:
    monkeypatch.delenv("ASCEND_TOOLKIT_HOME", raising=False)
    monkeypatch.setenv("ASCEND_HOME_PATH", "/opt/cann")
    write(tmp_path, {path: text})
    assert all_facts(tmp_path).get("cann") == version


def test_secrets_in_the_environment_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "sk-1234567")
    monkeypatch.setenv("MOONCAKE_MASTER", "redis://user:hunter2@192.0.2.1:6379")
    monkeypatch.setenv("HCCL_BUFFSIZE", "1024")
    monkeypatch.setenv("SHELLY", "unrelated")
    found = all_facts(tmp_path)["environment"]
    assert found["VLLM_API_KEY"] == "***"
    assert found["MOONCAKE_MASTER"] == "redis://***@192.0.2.1:6379"
    assert found["HCCL_BUFFSIZE"] == "1024"
    assert "SHELLY" not in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "not JSON"),
        ("[]", "one JSON object"),
        ('{"mem_total": "1"}', "mem_total must be an integer"),
        ('{"mem_total": true}', "mem_total must be an integer"),
        ('{"vllm": 1}', "vllm must be a string"),
        ('{"interfaces": []}', "interfaces must be an object"),
        ('{"ports_in_use": ["a"]}', "list of integers"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_facts_files_that_cannot_be_used(text: str, message: str) -> None:
    with pytest.raises(FactsError, match=message):
        read_facts(text, "f.json")
