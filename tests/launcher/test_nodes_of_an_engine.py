"""One engine over several nodes: what is rendered, checked, and counted on each node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pd_launch.launcher.check.run import check
from pd_launch.launcher.cli import cli
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.finding import Finding

PROFILE = """version: 1
hardware: {{kind: cuda, devices: {devices}}}
target: vllm==0.32.0
model: deepseek-ai/DeepSeek-V3
decode: {{parallel: {{{parallel}}}, port: 8200, offload: {{per_node: 128GiB}}}}
nodes: {{decode: [{nodes}]}}
"""
GIB = 1 << 30


def text(parallel: str, nodes: int, devices: int = 8, first: str = "192.0.2.21") -> str:
    addresses = [first, *(f"192.0.2.{22 + number}" for number in range(nodes - 1))]
    listed = ", ".join(f"{{address: {address}}}" for address in addresses)
    return PROFILE.format(parallel=parallel, nodes=listed, devices=devices)


def plan(folder: Path, profile: str, node: int) -> dict[str, Any]:
    path = folder / "p.yaml"
    path.write_text(profile)
    words = ["decode", "--profile", str(path), "--dry-run", "--node-rank", str(node)]
    made: dict[str, Any] = json.loads(CliRunner().invoke(cli, words).stdout)
    return made


def errors(profile: str) -> list[Finding]:
    return [f for f in check(read_texts({"p.yaml": profile})) if f.severity == "error" and f.code != "PD209"]


def option(argv: list[str], name: str) -> str | None:
    return argv[argv.index(name) + 1] if name in argv else None


@pytest.mark.parametrize("parallel", ["tensor: 16", "tensor: 8, pipeline: 2", "pipeline: 16"])
def test_one_engine_over_two_nodes(parallel: str, tmp_path: Path) -> None:
    profile = text(parallel, 2)
    assert not errors(profile)
    for node in (0, 1):
        made = plan(tmp_path, profile, node)
        argv = made["argv"]
        wanted = ("2", str(node), "192.0.2.21", "29501")
        assert tuple(option(argv, n) for n in ("--nnodes", "--node-rank", "--master-addr", "--master-port")) == wanted
        assert ("--headless" in argv) is (node == 1) and (option(argv, "--port") == "8200") is (node == 0)
        assert "--data-parallel-size" not in argv
        assert made["devices"] == list(range(8))
        assert made["budget"]["per_node_bytes"] == 128 * GIB and made["budget"]["per_engine_bytes"] == 256 * GIB
        master = next(port for port in made["ports"] if port["use"] == "master")
        assert master == {"port": 29501, "count": 1, "use": "master", "binds": node == 0}


def test_two_engines_over_four_nodes(tmp_path: Path) -> None:
    profile = text("tensor: 16, data: 2, expert: true", 4)
    assert not errors(profile)
    for node in range(4):
        argv = plan(tmp_path, profile, node)["argv"]
        assert option(argv, "--data-parallel-size-local") == "1"
        assert option(argv, "--data-parallel-start-rank") == ("1" if node > 1 else None)
        assert ("--headless" in argv) is (node > 0)
        assert option(argv, "--data-parallel-address") == option(argv, "--master-addr") == "192.0.2.21"


def test_devices_of_a_node_are_counted() -> None:
    (found,) = errors(text("tensor: 16", 2, devices=4))
    assert found.code == "PD401" and "TP 16 over 2 nodes need 8 devices, but the node has 4" in found.message


def test_nodes_that_do_not_meet() -> None:
    assert [f.code for f in errors(text("tensor: 16", 2, first="127.0.0.1"))] == ["PD408"]


@pytest.mark.parametrize(
    ("parallel", "nodes"),
    [("tensor: 15", 2), ("tensor: 8, data: 2, expert: true", 3), ("tensor: 8, data: 2, launch: external", 4)],
)
def test_what_cannot_be_spread_is_refused(parallel: str, nodes: int) -> None:
    found = errors(text(parallel, nodes))
    assert [f.code for f in found] == ["PD012"] and "cannot be spread over" in found[0].message
    assert "data: 2" not in (found[0].help or "")


def test_the_port_where_nodes_meet_can_be_chosen(tmp_path: Path) -> None:
    profile = text("tensor: 16", 2).replace("port: 8200", "port: 8200, master_port: 29600")
    assert option(plan(tmp_path, profile, 1)["argv"], "--master-port") == "29600"


@pytest.mark.parametrize("flag", ["nnodes", "node-rank", "master-addr", "master-port"])
def test_what_follows_from_nodes_is_not_a_flag(flag: str) -> None:
    profile = text("tensor: 16", 2).replace("port: 8200", f"port: 8200, engine: {{{flag}: 2}}")
    assert [f.code for f in errors(profile)] == ["PD012"]


SCRIPT = """# pd-launch: target vllm==0.32.0
vllm serve m --tensor-parallel-size 16 --nnodes 2 --node-rank {rank} {more}
"""


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("--master-addr 192.0.2.1", []),
        ("--master-addr $HEAD", []),
        ("$MORE", []),
        ("", ["PD408"]),
        ("--master-addr 127.0.0.1", ["PD408"]),
        ("--distributed-executor-backend external_launcher", []),
    ],
)
def test_scripts(more: str, codes: list[str]) -> None:
    for rank in ("0", "1 --headless", "$RANK"):
        found = check(read_texts({"a.sh": SCRIPT.format(rank=rank, more=more)}))
        assert [f.code for f in found if f.severity == "error"] == codes
