"""The table of ports against real engines: what their processes listen on while they run.

A process also opens ports that the system picks for it. Those say nothing of the table, and none of ours may be there.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path

import pytest

if importlib.util.find_spec("vllm") is None or importlib.util.find_spec("nixl") is None:
    pytest.skip("needs the CPU build of vLLM and nixl", allow_module_level=True)

import psutil

from pd_launch.launcher.inputs import SourceFile
from pd_launch.launcher.sources.profiles.tiny_model import ensure_tiny_model
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.schemas.engine.ports import bound_ports
from tests.engine.harness import ENVIRONMENT
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from demo_engines import Engine  # noqa: E402

pytestmark = pytest.mark.engine
LIMIT = 180
PICKED = 32768
"""From here on ports may be ones that the system picked."""
COMMON = [
    "--max-model-len",
    "128",
    "--max-num-seqs",
    "2",
    "--enforce-eager",
    "--skip-tokenizer-init",
    "--dtype",
    "float",
]


def table(words: list[str], env: dict[str, str]) -> dict[int, str]:
    """Return the ports that our table says such an engine binds, and for what."""
    lines = [f"export {name}={value}" for name, value in env.items()]
    quoted = " ".join(f"'{word}'" for word in ["vllm", "serve", "m", *words])
    (deployment,) = read(Inputs([SourceFile("serve.sh", "\n".join([*lines, quoted, ""]))]))
    (node,) = deployment.nodes
    return {port: ports.use for ports in bound_ports(node) for port in ports.ports}


def listening(pid: int) -> set[int]:
    """Return the TCP ports on which a process and its children listen."""
    found: set[int] = set()
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        try:
            found |= {c.laddr.port for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
        except psutil.Error:
            continue  # it has ended meanwhile
    return found


def opened(words: list[str], env: dict[str, str], wanted: set[int], port: int, log: Path) -> set[int]:
    """Start an engine and return what it listens on as soon as ``wanted`` is there, or when the time is over."""
    command = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(ensure_tiny_model()), *COMMON, *words]
    with Engine("engine", command, ENVIRONMENT | {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"} | env, port, log) as engine:
        deadline, seen = time.monotonic() + LIMIT, set[int]()
        while time.monotonic() < deadline and not wanted <= seen:
            engine.check()
            seen |= listening(engine._process.pid)  # type: ignore[union-attr]
            time.sleep(0.2)
        return seen


def test_one_engine_opens_what_the_table_says(tmp_path: Path) -> None:
    first = free_ports(4)
    events = {
        "enable_kv_cache_events": True,
        "endpoint": f"tcp://*:{first + 1}",
        "replay_endpoint": f"tcp://*:{first + 2}",
    }
    transfer = {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_buffer_device": "cpu"}
    words = [
        "--port",
        str(first),
        "--kv-events-config",
        json.dumps(events),
        "--kv-transfer-config",
        json.dumps(transfer),
    ]
    env = {"VLLM_NIXL_SIDE_CHANNEL_PORT": str(first + 3)}
    ours = table(words, env)
    assert ours == {first: "http", first + 1: "kv_events", first + 2: "kv_events_replay", first + 3: "side_channel"}
    seen = opened(words, env, set(ours), first, tmp_path / "log")
    assert set(ours) <= seen
    assert {port for port in seen - set(ours) if port < PICKED} == set()


def test_the_first_of_two_nodes_opens_the_master(tmp_path: Path) -> None:
    first = free_ports(2)
    words = ["--port", str(first), "--data-parallel-size", "2", "--data-parallel-size-local", "1"]
    words += ["--data-parallel-address", "127.0.0.1", "--data-parallel-rpc-port", str(first + 1)]
    ours = table(words, {})
    assert ours == {first: "http", first + 1: "dp_rpc"}
    seen = opened(words, {}, {first + 1}, first, tmp_path / "log")  # it answers HTTP when the second node has come
    assert first + 1 in seen
    assert {port for port in seen - set(ours) if port < PICKED} == set()
