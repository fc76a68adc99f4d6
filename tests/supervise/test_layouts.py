"""Every layout of ranks and nodes: its golden plan, and a launch of each node that really starts the stand-in.

The golden plans are written anew with PD_LAUNCH_GOLDEN=write.
"""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from tests.ports import free_ports
from tests.supervise.harness import PATIENCE, Bench, wait_for

GOLDEN = Path(__file__).with_name("golden")
PROFILE = """
version: 1
name: {name}
target: {target}
hardware: {hardware}
model: deepseek-ai/DeepSeek-V3.1
engine: {{host: 127.0.0.1}}
{transfer}
decode:
  port: {port}
  rpc_port: {rpc}
  parallel: {{{parallel}}}
  offload: {{per_rank: 1GiB}}
  env: {{STUB_ONLY: kept}}
nodes:
  decode: [{nodes}]
"""
ASCEND = "vllm-ascend==0.25.1rc1"
CUDA = "vllm==0.32.0"
MOONCAKE = "transfer: {connector: MooncakeConnectorV1, kv_port: 36000}\nprefill: {parallel: {tensor: 4, data: 2}}"
NIXL = "transfer: {connector: NixlConnector}\nprefill: {parallel: {tensor: 4, data: 2}}"
TWO = "{address: 192.0.2.11}, {address: 192.0.2.12}"
FOUR = f"{TWO}, {{address: 192.0.2.13}}, {{address: 192.0.2.14}}"
ONE = "{address: 192.0.2.11}"
LAYOUTS: dict[str, dict[str, str]] = {
    "internal": {"parallel": "tensor: 4, data: 2, expert: true", "nodes": ONE},
    "internal-two-nodes": {"parallel": "tensor: 2, data: 4, expert: true", "nodes": TWO},
    "internal-unequal": {"parallel": "tensor: 2, data: 3, expert: true, ranks: [2, 1]", "nodes": TWO},
    "hybrid": {"parallel": "tensor: 2, data: 4, expert: true, launch: hybrid", "nodes": TWO},
    "external": {"parallel": "tensor: 4, data: 2, expert: true, launch: external", "nodes": ONE},
    "external-two-nodes": {"parallel": "tensor: 2, data: 4, expert: true, launch: external", "nodes": TWO},
    "tensor-two-nodes": {"parallel": "tensor: 16", "nodes": TWO, "target": CUDA},
    "pipeline-two-nodes": {"parallel": "tensor: 4, pipeline: 2", "nodes": TWO},
    "engines-four-nodes": {"parallel": "tensor: 16, data: 2, expert: true", "nodes": FOUR, "target": CUDA},
    "external-cuda": {"parallel": "tensor: 2, data: 4, expert: true, launch: external", "nodes": TWO, "target": CUDA},
    "external-cuda-old": {
        "parallel": "data: 2, expert: true, launch: external",
        "nodes": ONE,
        "target": "vllm==0.21.0",
    },
    "external-cuda-context": {
        "parallel": "prefill_context: 2, data: 2, expert: true, launch: external",
        "nodes": ONE,
        "target": CUDA,
    },
}
NODES = [(name, node) for name, layout in LAYOUTS.items() for node in range(layout["nodes"].count("address"))]


def write_profile(folder: Path, name: str, port: int = 8200, rpc: int = 13389) -> str:
    layout = {"target": ASCEND, **LAYOUTS[name]}
    cuda = not layout["target"].startswith("vllm-ascend")
    text = PROFILE.format(
        name=name,
        hardware="cuda" if cuda else "a3",
        transfer=NIXL if cuda else MOONCAKE,
        port=port,
        rpc=rpc,
        **layout,
    )
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return str(path)


def plan(path: str, node: int, *words: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["decode", "--profile", path, "--dry-run", "--node-rank", str(node), *words])
    assert result.exit_code in (0, 1), result.output
    made: dict[str, Any] = json.loads(result.stdout)
    return made


def essentials(made: dict[str, Any]) -> dict[str, Any]:
    """What a layout decides: everything but findings and places, which have tests of their own."""
    kept = {key: made[key] for key in ("role", "target", "argv", "env", "budget", "ports", "devices", "processes")}
    kept["budget"].pop("blocks")  # follows from the model, not from the layout
    kept["errors"] = [f["code"] for f in made["findings"] if f["severity"] == "error"]
    return kept


@pytest.mark.parametrize(("name", "node"), NODES)
def test_golden_plan(tmp_path: Path, name: str, node: int) -> None:
    found = essentials(plan(write_profile(tmp_path, name), node))
    path = GOLDEN / f"{name}-node{node}.json"
    if os.environ.get("PD_LAUNCH_GOLDEN") == "write":
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    assert found == json.loads(path.read_text())


@pytest.mark.parametrize(("name", "node"), NODES)
def test_each_node_really_starts(bench: Bench, name: str, node: int) -> None:
    path = write_profile(bench.folder, name, free_ports(4))
    made = plan(path, node)
    planned = made["processes"]
    force = [word for f in made["findings"] if f["severity"] == "error" for word in ("--force", f["code"])]
    process = bench.start("decode", "--profile", path, "--no-host", "--node-rank", str(node), "--grace", "5", *force)
    for one in planned:
        given = bench.given(_first_rank(one))
        assert ["serve", *given["argv"][1:]] == one["argv"][1:], "what is planned is what is executed"
        for variable, value in one["env"].items():
            assert given["env"][variable] == value
        own = {*given["env"]} - {*os.environ} - {*one["env"]}
        assert own <= {"STUB_LOG", "PYTHONPATH", "LANG", "LC_CTYPE", "PWD"}, "only what the profile names is set"
    if len(planned) == 1:
        assert bench.given(_first_rank(planned[0]))["pid"] == process.pid, "one engine is executed in our place"
    else:
        bench.until_ready(len(planned))
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0, bench.err
    bench.assert_nothing_left()


def _first_rank(process: dict[str, Any]) -> int:
    words = process["argv"]
    for flag in ("--data-parallel-rank", "--data-parallel-start-rank"):
        if flag in words:
            return int(words[words.index(flag) + 1])
    return 0


@pytest.mark.parametrize("name", ["external", "external-two-nodes", "external-cuda"])
def test_one_rank_for_an_orchestrator(bench: Bench, name: str) -> None:
    path = write_profile(bench.folder, name, free_ports(4))
    rank = 1 if name == "external" else 3
    process = bench.start("decode", "--profile", path, "--no-host", "--dp-rank", str(rank))
    given = bench.given(rank)
    assert given["pid"] == process.pid
    assert given["argv"][given["argv"].index("--data-parallel-rank") + 1] == str(rank)
    assert "--data-parallel-multi-port-external-lb" not in given["argv"]
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("internal", ["--dp-rank", "0"], "only external DP"),
        ("external", ["--dp-rank", "2"], "has the ranks 0 to 1"),
        ("external-two-nodes", ["--dp-rank", "3", "--node-rank", "0"], "runs on node 1"),
        ("external-two-nodes", ["--node-rank", "2"], "has the nodes 0 to 1"),
        ("internal-two-nodes", [], "say which it is with --node-rank"),
    ],
)
def test_ranks_and_nodes_that_are_not_there(bench: Bench, name: str, words: list[str], message: str) -> None:
    path = write_profile(bench.folder, name)
    assert bench.run("decode", "--profile", path, "--no-host", *words) == 78
    assert message in bench.err


def test_ports_devices_and_kv_ports_do_not_overlap(tmp_path: Path) -> None:
    for node in (0, 1):
        processes = plan(write_profile(tmp_path, "external-two-nodes"), node)["processes"]
        devices = [device for one in processes for device in one["devices"]]
        assert sorted(devices) == [0, 1, 2, 3]
        for use, width in (("http", 1), ("kv", 2)):
            ports = [p for one in processes for p in one["ports"] if p["use"] == use]
            assert [p["count"] for p in ports] == [width] * 2
            assert ports[1]["port"] == ports[0]["port"] + width
        assert [one["dp_rank"] for one in processes] == [2 * node, 2 * node + 1]


def both_on_one_host(folder: Path, decode: str) -> str:
    path = folder / "both.yaml"
    path.write_text(f"""
version: 1
target: {ASCEND}
hardware: a3
model: deepseek-ai/DeepSeek-V3.1
transfer: {{connector: MooncakeConnectorV1, kv_port: 36000}}
prefill:
  parallel: {{tensor: 2, data: 2, expert: true, launch: external}}
decode:
  parallel: {{tensor: 2, data: 2, expert: true, launch: external}}
{decode}
nodes:
  prefill: [{{address: 192.0.2.11}}]
  decode: [{{address: 192.0.2.11}}]
""")
    return str(path)


def test_both_sides_on_one_host_share_neither_ports_nor_devices(tmp_path: Path) -> None:
    codes = {f["code"] for f in plan(both_on_one_host(tmp_path, ""), 0)["findings"]}
    assert {"PD401", "PD405"} <= codes
    apart = "  port: 8100\n  rpc_port: 13400\n  env: {ASCEND_RT_VISIBLE_DEVICES: '4,5,6,7'}"
    made = plan(both_on_one_host(tmp_path, apart), 0)
    assert not {"PD401", "PD405"} & {f["code"] for f in made["findings"]}
    assert [one["devices"] for one in made["processes"]] == [[4, 5], [6, 7]]


def test_a_variable_that_is_set_otherwise_is_reported(bench: Bench) -> None:
    path = write_profile(bench.folder, "external", free_ports(4))
    process = bench.start("decode", "--profile", path, "--no-host", STUB_ONLY="other", UNTOUCHED="as it was")
    given = bench.given(1)
    assert given["env"]["STUB_ONLY"] == "kept"
    assert given["env"]["UNTOUCHED"] == "as it was"
    assert bench.err.count("STUB_ONLY is already set differently; the profile's value is used") == 1
    assert "UNTOUCHED" not in bench.err
    process.terminate()
    process.wait(PATIENCE)


def test_show_origin(tmp_path: Path) -> None:
    path = write_profile(tmp_path, "external")
    words = ["decode", "--profile", path, "--dry-run", "--show-origin", "--set", "decode.rpc_port=13999"]
    result = CliRunner().invoke(cli, words, env={"HF_TOKEN": "x"})
    lines = {line.rsplit("  ", 1)[0].strip(): line.rsplit("  ", 1)[-1] for line in result.stderr.splitlines()}
    text = Path(path).read_text().splitlines()
    port = next(i for i, line in enumerate(text, 1) if "port: 8200" in line)
    assert lines["--port 8201"] == f"{path}:{port}:9"
    assert lines["--data-parallel-rpc-port 13999"].startswith("<command line>:1:")
    assert re.fullmatch(rf"{re.escape(path)}:\d+:\d+.*", lines["STUB_ONLY=kept"])
    row = next(name for name in lines if name.endswith("cpu_bytes_to_use_per_rank: 1073741824"))
    assert lines[row].startswith(path)
    assert json.loads(result.stdout)["processes"]


def test_the_shutdown_timeout_of_the_engine_is_added_to_the_grace_period(bench: Bench) -> None:
    path = write_profile(bench.folder, "external", free_ports(4))
    process = bench.start("decode", "--profile", path, "--no-host", "--", "--shutdown-timeout", "40")
    bench.until_ready(2)
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err
    assert wait_for(lambda: "KILL follows in 60 s" in bench.err, bench.err)
