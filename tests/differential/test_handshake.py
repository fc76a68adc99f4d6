"""NIXL's handshake as the checker sees it, against the engine's own functions, on generated pairs."""

from __future__ import annotations

import json
from importlib import metadata
from inspect import signature
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

pytestmark = pytest.mark.engine
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 64,
    "max_position_embeddings": 256, "torch_dtype": "bfloat16",
}  # fmt: skip
DTYPES = ("bfloat16", "float32", "float")
CACHES = ("fp8", "fp8_e4m3")
MANAGERS = ("--disable-hybrid-kv-cache-manager", "--no-disable-hybrid-kv-cache-manager")
BLOCKS = (16, 32, 48, 64)
RANKS = (1, 2, 3, 4, 6, 8)


def _hash(folder: Path, dtype: str, cache: str, manager: str) -> str:
    from vllm.config import CacheConfig, ModelConfig
    from vllm.distributed.kv_transfer.kv_connector.v1.nixl.metadata import compute_nixl_compatibility_hash

    whole: Any = SimpleNamespace(
        model_config=ModelConfig(model=str(folder), dtype=dtype, skip_tokenizer_init=True),
        cache_config=CacheConfig(cache_dtype=cache),
        speculative_config=None,
        scheduler_config=SimpleNamespace(disable_hybrid_kv_cache_manager=manager == MANAGERS[0]),
    )
    also = (
        ["cross_layers_blocks"]
        if "cross_layers_blocks" in signature(compute_nixl_compatibility_hash).parameters
        else []
    )
    return str(compute_nixl_compatibility_hash(whole, "FLASH_ATTN", **dict.fromkeys(also, False)))


def _version() -> str:
    return metadata.version("vllm").partition("+")[0]


def _line(role: str, flags: str, connector: str = "NixlConnector") -> str:
    return f"vllm serve {flags} --kv-transfer-config '" + json.dumps({"kv_connector": connector, "kv_role": role}) + "'"


def _errors(left: str, right: str, connector: str = "NixlConnector") -> set[str]:
    texts = {"prefill.sh": _line("kv_producer", left, connector), "decode.sh": _line("kv_consumer", right, connector)}
    found = check(read_texts(texts, target=f"vllm=={_version()}"))
    return {finding.code for finding in found if finding.severity == "error"} & {"PD603", "PD604"}


def test_the_hash(tmp_path: Path) -> None:
    folders = [tmp_path / name / "m" for name in ("one", "two")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    sides = list(product(folders, DTYPES, CACHES, MANAGERS))
    hashes = {side: _hash(*side) for side in sides}
    wrong = []
    for left, right in product(sides[:4], sides):
        lines = [f"{f} --dtype {d} --kv-cache-dtype {c} {m}" for f, d, c, m in (left, right)]
        if (hashes[left] != hashes[right]) != bool(_errors(lines[0], lines[1])):
            wrong.append(lines)
    assert not wrong


@pytest.mark.parametrize("connector", ["NixlConnector", "NixlPushConnector"])
def test_the_direction_of_blocks(connector: str) -> None:
    from vllm.distributed.kv_transfer.kv_connector.utils import TransferTopology

    for left, right in product(BLOCKS, BLOCKS):
        own, other = (right, left) if connector == "NixlConnector" else (left, right)
        topology: Any = SimpleNamespace(block_size=own)
        try:
            TransferTopology.block_size_ratio(topology, other)
            works = True
        except AssertionError:
            works = False
        assert bool(_errors(f"m --block-size {left}", f"m --block-size {right}", connector)) != works


@pytest.mark.parametrize("connector", ["NixlConnector", "MooncakeConnector"])
def test_tensor_parallel_sizes(connector: str) -> None:
    from vllm.distributed.kv_transfer.kv_connector.utils import TransferTopology
    from vllm.distributed.kv_transfer.kv_connector.v1.mooncake.mooncake_connector import _get_tp_ratio

    for left, right in product(RANKS, RANKS):
        topology: Any = SimpleNamespace(tp_size=right)
        try:
            TransferTopology.tp_ratio(topology, left) if "Nixl" in connector else _get_tp_ratio(right, left)
            works = True
        except AssertionError:
            works = False
        assert bool(_errors(f"m -tp {left}", f"m -tp {right}", connector)) != works
