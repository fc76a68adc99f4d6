"""Every connector that a release registers: a key that it does not read is spoken of, and one that it reads is not."""

from __future__ import annotations

import json

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.target import ascend_target, vllm_target
from pd_launch.schemas.engine.connector_keys import options_of
from pd_launch.schemas.engine.kv_transfer import BUNDLES
from pd_launch.schemas.releases.connectors import CUDA_ONLY, names

TARGETS = {
    "vllm==0.32.0": vllm_target("0.32.0", "flag"),
    "vllm==0.20.2": vllm_target("0.20.2", "flag"),
    "0.30.0rc2": ascend_target("0.30.0rc2", "flag"),
}
ROWS = [
    (shown, name)
    for shown, target in TARGETS.items()
    for name in names(target)
    if not (target.is_ascend and name in CUDA_ONLY)
]


def _codes(name: str, extra: dict[str, object], target: str) -> list[str]:
    tree = {"kv_connector": name, "kv_role": "kv_consumer", "kv_connector_extra_config": extra}
    text = f"vllm serve m --kv-transfer-config '{json.dumps(tree)}'\n"
    return [finding.code for finding in check(read_texts({"serve.sh": text}, target=target))]


@pytest.mark.parametrize(("target", "name"), ROWS)
def test_silence_is_no_approval(target: str, name: str) -> None:
    assert "PD223" in _codes(name, {"nobody_reads_this": 1}, target)


@pytest.mark.parametrize(("target", "name"), ROWS)
def test_what_it_reads(target: str, name: str) -> None:
    known = options_of(name, TARGETS[target])
    assert known is not None
    keys = {key: 1 for key in known.kinds if key not in ("prefill", "decode")}
    assert name in BUNDLES or "PD223" not in _codes(name, keys, target)
