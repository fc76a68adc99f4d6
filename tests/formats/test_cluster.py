"""Rendered objects in a cluster that is played: they come up, and each node gets what is its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pd_launch.launcher.formats.box import FormatError
from pd_launch.launcher.formats.choose import TEXTS
from pd_launch.launcher.launch.prepare import LaunchOptions, prepare
from tests.formats.cluster import Cluster, serves

CUDA = """
version: 1
name: {name}
hardware: cuda
target: vllm==0.32.0
model: deepseek-ai/DeepSeek-V3
transfer: {{connector: NixlConnector}}
prefill: {{parallel: {{tensor: 8, data: 6, expert: true{more}}}, port: 8100}}
decode: {{parallel: {{tensor: 8, data: 2, expert: true{more}}}, port: 8200, engine: {{shutdown-timeout: 300}}}}
nodes:
  prefill: [{{address: 192.0.2.11}}, {{address: 192.0.2.12{second}}}, {{address: 192.0.2.13{third}}}]
  decode: [{{address: 192.0.2.21}}, {{address: 192.0.2.22}}]
"""
ASCEND = CUDA.replace("hardware: cuda", "hardware: a3").replace("vllm==0.32.0", "vllm-ascend==0.25.1rc1")
ASCEND = ASCEND.replace("{{connector: NixlConnector}}", "{{connector: MooncakeConnectorV1, kv_port: 36000}}")
PROFILES = {
    "internal": CUDA.format(name="wide", more="", second="", third=""),
    "hybrid": CUDA.format(name="wide", more=", launch: hybrid", second="", third=""),
    "external": CUDA.format(name="wide", more=", launch: external", second="", third=""),
    "ascend-external": ASCEND.format(name="wide", more=", launch: external", second="", third=""),
    "long-name": CUDA.format(name="3 " + "x" * 80, more="", second="", third=""),
    "one-engine": CUDA.format(name="one", more="", second="", third="")
    .replace("tensor: 8, data: 6, expert: true", "tensor: 24")
    .replace("tensor: 8, data: 2, expert: true", "tensor: 16"),
    "engines-over-nodes": CUDA.format(
        name="big", more="", second="", third="}, {{address: 192.0.2.14".replace("{{", "{")
    ).replace("tensor: 8, data: 6", "tensor: 16, data: 2"),
    "differing": ASCEND.format(
        name="nt",
        more="",
        second=", transfer: {kv_port: 36100}",
        third=', transfer: {kv_port: 36200}, env: {HCCL_IF_IP: 10.0.0.3, TEXT: "it\'s $5"}',
    ),
}
SHIPPED = ("a3-dp2tp8", "a3-moe-external", "a3-hybrid", "cuda-nixl", "cpu-tiny")


def text_of(profile: str, folder: Path, **options: Any) -> str:
    if profile in PROFILES:
        path = folder / "profile.yaml"
        path.write_text(PROFILES[profile])
        profile = str(path)
    return TEXTS["k8s"](prepare(LaunchOptions("decode", profile, dry_run=True, whole=True, **options)))


@pytest.mark.parametrize("profile", [*PROFILES, *SHIPPED])
def test_it_comes_up(profile: str, tmp_path: Path) -> None:
    cluster = Cluster(text_of(profile, tmp_path), tmp_path)
    cluster.settle()
    assert [pod.name for pod in cluster.pods if not pod.ready] == []
    for name, service in cluster.services.items():
        if service.get("ports"):
            chosen = cluster.endpoints(name)
            assert chosen and all(map(serves, chosen)), (name, [p.name for p in chosen])
            asked = {port for pod in chosen for port in pod.options("--port")}
            assert asked <= {str(port["port"]) for port in service["ports"]}
    names_are_ones_that_the_api_takes(cluster)
    the_kubelet_waits_longer_than_the_engines(cluster)
    every_rank_is_there_once(cluster)


def names_are_ones_that_the_api_takes(cluster: Cluster) -> None:
    kinds = [(o["kind"], o["metadata"]["name"]) for o in cluster.objects]
    assert len(set(kinds)) == len(kinds)
    groups = {name for kind, name in kinds if kind == "LeaderWorkerSet"}
    assert not groups & {name for kind, name in kinds if kind == "Service"}, "the controller needs that name"
    for name in {*cluster.services, *(pod.name for pod in cluster.pods)}:
        assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name), name
    for pod in cluster.pods:
        assert all(len(value) <= 63 for value in pod.labels.values())
        assert len(f"{pod.subdomain}-0123456789") <= 63, "the controllers' label with a hash"
        paths = [mount["mountPath"] for mount in pod.container["volumeMounts"]]
        assert len(set(paths)) == len(paths)
        assert {mount["name"] for mount in pod.container["volumeMounts"]} == {v["name"] for v in pod.spec["volumes"]}


def the_kubelet_waits_longer_than_the_engines(cluster: Cluster) -> None:
    for pod in cluster.pods:
        drain = max([float(value) for value in pod.options("--shutdown-timeout")], default=0.0)
        assert pod.spec["terminationGracePeriodSeconds"] == drain + 30
        assert pod.spec.get("restartPolicy", "Always") == "Always"  # status 0 of an engine is no success


def every_rank_is_there_once(cluster: Cluster) -> None:
    groups: dict[str, list[int]] = {}
    for pod in cluster.pods:
        for engine in pod.engines:
            words = engine["argv"]
            option = {word: after for word, after in zip(words, [*words[1:], ""], strict=True) if word.startswith("--")}
            size = int(option.get("--data-parallel-size", 1))
            first = int(option.get("--data-parallel-rank") or option.get("--data-parallel-start-rank") or 0)
            if "--nnodes" in option:
                at = groups.setdefault(pod.group, [])
                assert int(option["--node-rank"]) == pod.index and int(option["--nnodes"]) == pod.size
                assert first == pod.index * size // pod.size
                at += [] if first in at else [first]
                continue
            count = 1 if "--data-parallel-rank" in option else int(option.get("--data-parallel-size-local", size))
            groups.setdefault(pod.group, []).extend(range(first, first + count))
            assert first + count <= size
    for ranks in groups.values():
        assert sorted(ranks) == list(range(len(ranks)))


def test_each_node_gets_what_is_its_own(tmp_path: Path) -> None:
    cluster = Cluster(text_of("differing", tmp_path), tmp_path)
    nodes = [pod for pod in cluster.pods if pod.group == "nt-prefill-0"]
    ports = [json.loads(pod.options("--kv-transfer-config")[0])["kv_port"] for pod in nodes]
    assert ports == [36000, 36100, 36200]
    addresses = [pod.engines[0]["env"]["HCCL_IF_IP"] for pod in nodes]
    assert addresses == ["address of nt-prefill-0", "address of nt-prefill-0-1", "10.0.0.3"]
    assert [pod.engines[0]["env"].get("TEXT") for pod in nodes] == [None, None, "it's $5"]
    assert [pod.options("--data-parallel-start-rank") for pod in nodes] == [[], ["2"], ["4"]]


def test_ranks_follow_from_the_workers_own_count(tmp_path: Path) -> None:
    """Where node 0 has more ranks than the others, the second worker's first rank is not a multiple of the first's."""
    text = PROFILES["internal"].replace("data: 6, expert: true", "data: 4, expert: true, ranks: [2, 1, 1]")
    path = tmp_path / "unequal.yaml"
    path.write_text(text)
    cluster = Cluster(text_of(str(path), tmp_path), tmp_path)
    nodes = [pod for pod in cluster.pods if "prefill" in pod.name]
    assert [pod.options("--data-parallel-start-rank") for pod in nodes] == [[], ["2"], ["3"]]


def test_every_server_of_a_pod_is_probed(tmp_path: Path) -> None:
    cluster = Cluster(text_of("external", tmp_path), tmp_path)
    pod = next(pod for pod in cluster.pods if "prefill" in pod.name)
    assert pod.options("--data-parallel-multi-port-external-lb") == [""]
    for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
        asked = pod.container[probe]["exec"]["command"][-1]
        assert re.findall(r":(\d+)/health", asked) == ["8100", "8101"]


def test_what_one_template_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "unequal.yaml"
    path.write_text(PROFILES["internal"].replace("data: 6, expert: true", "data: 5, expert: true, ranks: [2, 2, 1]"))
    with pytest.raises(FormatError, match="equal ranks"):
        text_of(str(path), tmp_path)
