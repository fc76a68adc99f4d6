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

from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.hardware import HARDWARE
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.engine.budget import host_blocks
from pd_launch.schemas.memory.kv_geometry import Geometry, known_geometry
from pd_launch.schemas.memory.kv_layers import KVLayoutError
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.cpu_blocks import PROCESSORS, Processor, processor_of
from tests.sampling import sample

HERE = Path(__file__).parent


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"size_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tiny = _module("tiny")
AS_IT_IS = [name for name, case in tiny.CASES.items() if case.processor is None]
PRETENDED = [name for name in tiny.CASES if name not in AS_IT_IS]
ASKED = sample(AS_IT_IS, 0.5, "as it is") + sample(PRETENDED, 0.3)
"""The cases that engines are asked, seven seconds each: on the processor that is here more than on others."""


def installed() -> str:
    return metadata.version("vllm").partition("+")[0]


def computed(name: str, version: str, processor: Processor | None, most: bool = False) -> Geometry | None:
    """Return the geometry that pd-launch computes for a case; None where it says that the engine refuses."""
    case = tiny.CASES[name]
    flags = [f"--block-size {case.block}"] if case.block is not None else []
    for flag, value in case.flags.items():
        text = "" if value is True else shlex.quote(json.dumps(value) if isinstance(value, dict) else str(value))
        flags.append(f"--{flag} {text}")
    line = f"vllm serve /models/tiny {' '.join(flags)}\n"
    deployment = read_texts({"d.sh": line}, target=f"vllm=={version}")[0]
    node: NodeLaunch = deployment.nodes[0]
    node.model_config, node.hardware = case.config, HARDWARE["cpu"]
    try:
        return known_geometry(node, model_of(node), deployment.target, processor, most)
    except KVLayoutError:
        return None


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the engines of all cases have; one process that forks once for each."""
    folder = tmp_path_factory.mktemp("size")
    wanted = {
        name: {
            "arguments": tiny.engine_arguments(case, tiny.write(case, folder / name.replace(" ", "-"))),
            "processor": case.processor,
        }
        for name, case in ((name, tiny.CASES[name]) for name in ASKED)
        if Version(installed()) >= Version(case.since)
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
@pytest.mark.parametrize("name", ASKED)
def test_blocks_are_the_engines(name: str, engines: dict[str, Any]) -> None:
    version, case = installed(), tiny.CASES[name]
    if Version(version) < Version(case.since):
        pytest.skip(f"the CPU build of vLLM {version} cannot run it")
    engine = engines[name]
    geometry = computed(name, version, here(engine, case))
    if geometry is None:
        assert "No common block size" in engine["error"], "pd-launch says that vLLM refuses it"
        return
    assert "error" not in engine, engine["error"]
    assert geometry.exact == (Version(version) >= Version(case.exact_since))
    if not geometry.exact:
        return
    assert_same(geometry, engine)
    if case.offload:
        assert host_blocks(tiny.BUDGET, geometry.block_bytes) == engine["host_blocks"]


def here(engine: dict[str, Any], case: Any) -> Processor:
    """Return the processor that the engine saw."""
    return processor_of(*(engine.get("processor") or case.processor or (False, False)))


def assert_same(geometry: Geometry, engine: dict[str, Any]) -> None:
    assert geometry.block_bytes == engine["pool_bytes"] // engine["num_blocks"]
    assert tiny.CACHE_BYTES // geometry.block_bytes == engine["num_blocks"]
    assert geometry.block_tokens == engine["block_size"]
    assert geometry.layout is not None
    assert sorted(len(g.pages) for g in geometry.layout.groups) == sorted(layers for layers, _ in engine["groups"])


@pytest.mark.parametrize("version", ["0.27.1", "0.32.0"])
@pytest.mark.parametrize("name", list(tiny.CASES))
def test_nothing_is_called_exact_that_the_processor_decides(name: str, version: str) -> None:
    each = [computed(name, version, processor) for processor in PROCESSORS]
    found = computed(name, version, None)
    started = [geometry for geometry in each if geometry is not None]
    if not started:
        assert found is None
        return
    largest = computed(name, version, None, most=True)
    assert found is not None and largest is not None
    assert found.block_bytes == min(geometry.block_bytes for geometry in started)
    assert largest.block_bytes == max(geometry.block_bytes for geometry in started)
    if all(geometry == each[0] for geometry in each):
        assert found == each[0]
        return
    assert not found.exact
    for geometry in each:
        told = f"{geometry.block_tokens} tokens, {human_size(geometry.block_bytes)}" if geometry else "vLLM refuses"
        assert told in found.note.en
