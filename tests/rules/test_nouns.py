"""Budgets are said of a card, and on CPUs, where there is none, of a rank; memory in whole sentences."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.profiles.deployment import profile_deployment
from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.schemas.core.units import GIB
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import Finding

MODEL = "Qwen/Qwen3-32B"
PROFILE = """
version: 1
hardware: {hardware}
model: {model}
engine: {{max-model-len: 32768, block-size: 128}}
decode: {{parallel: {{tensor: 2, data: 2}}, {how}}}
"""


def whole(extra: dict[str, Any]) -> str:
    child = {
        "kv_connector": "RecomputeCPUOffloadConnector",
        "kv_role": "kv_consumer",
        "kv_connector_module_path": "pd_launch.connector",
        "kv_connector_extra_config": extra,
    }
    return f"kv_transfer_config: {json.dumps(child)}"


def found(code: str, hardware: str, how: str, host: dict[str, Any] | None = None, lang: str = "en") -> Finding:
    text = PROFILE.format(hardware=hardware, model=MODEL, how=how)
    deployment = profile_deployment(load_profile(SourceFile("p.yaml", text)), host=host)
    return next(f for f in check([deployment], lang=lang) if f.code == code)


CASES = [
    ("PD301", "offload: {cpu_bytes_to_use: 34359738368}", None),
    ("PD302", whole({}), None),
    ("PD303", whole({"cpu_bytes_to_use": 4 * GIB, "cpu_bytes_to_use_per_rank": GIB}), None),
    ("PD304", "offload: {per_rank: 1MiB}", None),
    ("PD304", "offload: {per_rank: 256MiB}", None),
    ("PD305", "offload: {per_rank: 16GiB}", {"mem_available": GIB}),
    ("PD309", "offload: {per_rank: 16GiB}, engine: {kv-cache-memory-bytes: 1073741824}", None),
]


@pytest.mark.parametrize(("code", "how", "host"), CASES)
def test_a_card_or_a_rank(code: str, how: str, host: dict[str, Any] | None) -> None:
    for hardware, on, never, on_zh, never_zh in (
        ("a3", "card", "each rank", "每张卡", "每个 rank"),
        ("cuda", "card", "each rank", "每张卡", "每个 rank"),
        ("cpu", "rank", "card", "每个 rank", "卡"),
    ):
        finding = found(code, hardware, how, host)
        text = f"{finding.message} / {finding.help}"
        assert f" {on}" in text and never not in text.replace("cards", "card"), text
        chinese = found(code, hardware, how, host, "zh")
        text = f"{chinese.message} / {chinese.help}"
        assert on_zh in text and never_zh not in text.replace("卸载", ""), text


@pytest.mark.parametrize(
    ("host", "en", "zh"),
    [
        ({"mem_available": 21 * GIB}, "but the machine has 21 GiB available", "但机器可用的只有 21 GiB"),
        ({"mem_total": 21 * GIB}, "but the machine has 21 GiB", "但机器总共只有 21 GiB"),
        ({"cgroup_memory": 21 * GIB}, "but the cgroup allows 21 GiB", "但 cgroup 只允许 21 GiB"),
    ],
)
def test_the_memory_that_there_is(host: dict[str, Any], en: str, zh: str) -> None:
    how = "offload: {per_rank: 16GiB}"
    head = "offloading needs 2 × 2 × 16 GiB = 64 GiB on this node (2 engines of 2 ranks), "
    assert found("PD305", "a3", how, host).message == head + en
    assert found("PD305", "a3", how, host, "zh").message.endswith(zh)


def test_the_limit_of_a_container() -> None:
    text = PROFILE.format(hardware="a3", model=MODEL, how="offload: {per_rank: 16GiB}") + "container: {memory: 32GiB}\n"
    deployment = profile_deployment(load_profile(SourceFile("p.yaml", text)))
    [finding] = [f for f in check([deployment]) if f.code == "PD305"]
    assert finding.message.endswith("but the container's limit is 32 GiB")
