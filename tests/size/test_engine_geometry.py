"""What size computes against what real engines on CPU have: blocks of the device cache and of the host pool."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from pd_launch.schemas.budget import host_blocks
from pd_launch.schemas.hardware import HARDWARE
from pd_launch.schemas.kv_geometry import Geometry, geometry_of
from pd_launch.schemas.launch import NodeLaunch
from pd_launch.schemas.models import model_of

HERE = Path(__file__).parent


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"size_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tiny = _module("tiny")


def computed(name: str, version: str = "0.32.0") -> Geometry:
    """Return the geometry that pd-launch computes for a case."""
    from pd_launch.launcher.sources.read import read_texts

    case = tiny.CASES[name]
    flags = [f"--block-size {case.block}"]
    for flag, value in case.flags.items():
        text = "" if value is True else shlex.quote(json.dumps(value) if isinstance(value, dict) else str(value))
        flags.append(f"--{flag} {text}")
    line = f"vllm serve /models/tiny {' '.join(flags)}\n"
    deployment = read_texts({"d.sh": line}, target=f"vllm=={version}")[0]
    node: NodeLaunch = deployment.nodes[0]
    node.model_config, node.hardware = case.config, HARDWARE["cpu"]
    geometry = geometry_of(node, model_of(node), deployment.target)
    assert geometry is not None, name
    assert geometry.exact == (Version(version) >= Version(case.exact_since)), name
    return geometry


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the engines of all cases have; one process that forks once for each."""
    folder = tmp_path_factory.mktemp("size")
    wanted = {
        name: tiny.engine_arguments(case, tiny.write(case, folder / name.replace(" ", "-")))
        for name, case in tiny.CASES.items()
    }
    target = folder / "found.json"
    command = [sys.executable, str(HERE / "engine_layout.py"), str(target)]
    run = subprocess.run(command, input=json.dumps(wanted), text=True, capture_output=True, timeout=1800, check=False)
    assert target.exists(), run.stderr[-3000:]
    found: dict[str, Any] = json.loads(target.read_text())
    if os.environ.get("PD_LAUNCH_SHOW"):
        print(json.dumps(found, indent=1))
    return found


@pytest.mark.engine
@pytest.mark.parametrize("name", list(tiny.CASES))
def test_blocks_are_the_engines(name: str, engines: dict[str, Any]) -> None:
    version = metadata.version("vllm").partition("+")[0]
    if Version(version) < Version(tiny.CASES[name].since):
        pytest.skip(f"the CPU build of vLLM {version} cannot run it")
    engine, geometry = engines[name], computed(name, version)
    assert engine is not None, f"the engine of {name!r} did not start"
    if not geometry.exact:
        return
    assert geometry.block_bytes == engine["pool_bytes"] // engine["num_blocks"]
    assert tiny.CACHE_BYTES // geometry.block_bytes == engine["num_blocks"]
    assert geometry.block_tokens == engine["block_size"]
    assert geometry.layout is not None
    assert sorted(len(g.pages) for g in geometry.layout.groups) == sorted(layers for layers, _ in engine["groups"])
    if tiny.CASES[name].offload:
        assert host_blocks(tiny.BUDGET, geometry.block_bytes) == engine["host_blocks"]
