"""Bytes of a KV block on one rank: MLA, GQA, hybrid; TP and PP; dtypes; and what stays unknown."""

from __future__ import annotations

import pytest

from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.engine.lengths import longest_request
from pd_launch.schemas.engine.offload import budget_of, served
from pd_launch.schemas.memory.kv_geometry import Geometry, geometry_of
from pd_launch.schemas.models.known import model_of


def _geometry(model: str, flags: str = "", target: str = "0.26.0rc1") -> Geometry | None:
    deployment = read_texts({"d.sh": f"vllm serve {model} {flags}\n"}, target=target)[0]
    node = deployment.nodes[0]
    return geometry_of(node, model_of(node), deployment.target)


@pytest.mark.parametrize(
    ("model", "flags", "expected"),
    [
        ("Qwen/Qwen3-32B", "--tensor-parallel-size 4", 64 * 2 * 2 * 128 * 2 * 128),
        ("Qwen/Qwen3-32B", "--tensor-parallel-size 16", 64 * 2 * 1 * 128 * 2 * 128),
        ("Qwen/Qwen3-32B", "--tensor-parallel-size 4 --kv-cache-dtype fp8", 64 * 2 * 2 * 128 * 1 * 128),
        ("Qwen/Qwen3-32B", "--tensor-parallel-size 4 --dtype float32", 64 * 2 * 2 * 128 * 4 * 128),
        ("Qwen/Qwen3-32B", "--tensor-parallel-size 4 --pipeline-parallel-size 2", 32 * 2 * 2 * 128 * 2 * 128),
        ("/models/deepseek-v3.1-w8a8", "--tensor-parallel-size 8", 61 * 576 * 2 * 128),
        ("/models/deepseek-v3.1-w8a8", "", 61 * 576 * 2 * 128),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "--tensor-parallel-size 2", 12 * 2 * 1 * 256 * 2 * 128),
    ],
)
def test_block_bytes(model: str, flags: str, expected: int) -> None:
    geometry = _geometry(model, flags)
    assert geometry is not None and geometry.block_bytes == expected


def test_what_is_exact() -> None:
    exact = _geometry("Qwen/Qwen3-32B")
    assert exact is not None and exact.exact
    for model, flags in [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", ""),
        ("/models/deepseek-v3.2", ""),
        ("Qwen/Qwen3-32B", "--kv-cache-dtype fp8"),
        ("Qwen/Qwen3-32B", '--speculative-config \'{"method": "eagle3"}\''),
    ]:
        geometry = _geometry(model, flags)
        assert geometry is not None and not geometry.exact, (model, flags)


@pytest.mark.parametrize(
    ("model", "flags"),
    [
        ("/models/m", ""),
        ("openai/gpt-oss-20b", ""),
        ("deepseek-ai/DeepSeek-V4-Flash", ""),
        ("Qwen/Qwen3-32B", "--tensor-parallel-size $1"),
        ("Qwen/Qwen3-32B", "--kv-cache-dtype $1"),
        ("Qwen/Qwen3-32B", "--block-size $1"),
    ],
)
def test_unknown(model: str, flags: str) -> None:
    assert _geometry(model, flags) is None


def test_block_size_of_the_target() -> None:
    raised, kept = (
        _geometry("Qwen/Qwen3-32B", "--block-size 16"),
        _geometry("Qwen/Qwen3-32B", "--block-size 16", "vllm==0.32.0"),
    )
    assert raised is not None and raised.block_tokens == 128
    assert kept is not None and kept.block_tokens == 16 and kept.exact


def test_blocks_for_a_request() -> None:
    geometry = Geometry(128, 1, True)
    assert (geometry.blocks_for(128), geometry.blocks_for(129), geometry.blocks_for(1024, 4)) == (1, 2, 2)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", 40960),
        ("--max-model-len 32768", 32768),
        ("--max-model-len 32k", 32000),
        ("--max-model-len 32K", 32768),
        ("--max-model-len 1.5m", 1500000),
        ("--max-model-len 1.5M", None),  # the engine refuses it
        ("--max-model-len auto", None),
        ("--max-model-len -1", None),
        ("--max-model-len $1", None),
    ],
)
def test_longest_request(flags: str, expected: int | None) -> None:
    node = read_texts({"d.sh": f"vllm serve Qwen/Qwen3-32B {flags}\n"}, target="0.26.0rc1")[0].nodes[0]
    assert longest_request(node, model_of(node)) == expected


def _budget(extra: str, target: str, name: str = "RecomputeCPUOffloadConnector", module: str = "") -> int | str | None:
    config = f'{{"kv_connector": "{name}", "kv_role": "kv_consumer"{module}, "kv_connector_extra_config": {extra}}}'
    text = f"vllm serve /models/m --tensor-parallel-size 8 --kv-transfer-config '{config}'\n"
    deployment = read_texts({"d.sh": text}, target=target)[0]
    node = deployment.nodes[0]
    found = served(node, deployment.target)
    if not found:
        return "not served"
    budget = budget_of(node, found[0], deployment.target)
    return budget.per_rank_bytes if budget else "unusable"


BUNDLED = ', "kv_connector_module_path": "pd_launch.connector"'


def test_the_budget_that_a_release_reads() -> None:
    assert _budget("{}", "0.23.0") == 2**30
    assert _budget('{"offload_host_memory_ratio": 1.0}', "0.23.0") == 2**30
    assert _budget('{"offload_host_memory_ratio": 1.0}', "vllm==0.32.0", module=BUNDLED) is None
    assert _budget("{}", "0.28.0rc1", "PreemptOffloadConnector") is None
    assert _budget('{"cpu_bytes_to_use": "17179869184"}', "0.26.0rc1") == 2**31
    assert _budget('{"cpu_bytes_to_use": "16GiB"}', "0.26.0rc1") == "unusable"
    assert _budget("{}", "0.22.1rc1") == "not served"
    assert _budget("{}", "0.28.0rc1") is None, "read as under the new name: as many blocks as the device has"
    assert _budget("{}", "vllm==0.32.0") == 2**30, "on vLLM the name alone is the bundled connector's"
