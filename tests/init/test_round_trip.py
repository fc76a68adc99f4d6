"""Every known-good engine: the profile made from it renders an equal canonical launch, or what is missing is named."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pd_launch.launcher.init.canonical import canonical
from pd_launch.launcher.init.convert import Converted, convert, side_of
from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.launcher.sources.profiles.render import render
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.engine.port_range import first_rank

GOOD = Path(__file__).parents[1] / "cases" / "good.jsonl"
ROWS: dict[str, dict[str, Any]] = {row["id"]: row for row in map(json.loads, GOOD.read_text().splitlines())}
NOT_EQUAL = {"gy-glm47-layerwise": {"--port"}}
"""Rows with values that only their test runner knows."""


@cache
def converted(name: str) -> Converted:
    row = ROWS[name]
    return convert(read_texts(row["files"], row["target"]))


@pytest.mark.parametrize("name", ROWS)
def test_equal_or_named(name: str) -> None:
    made = converted(name)
    assert made.engines > 0
    if name in NOT_EQUAL:
        assert made.equal < made.engines
        assert {left.what for left in made.left} == NOT_EQUAL[name]
    else:
        assert made.equal == made.engines
        assert made.left == []


@pytest.mark.parametrize("name", sorted(set(ROWS) - set(NOT_EQUAL)))
def test_equal_by_an_independent_look(name: str) -> None:
    """The comparison that ``init`` itself makes is not asked: every engine is looked up and compared here."""
    row, made = ROWS[name], converted(name)
    (deployment,) = read_texts(row["files"], row["target"])
    loaded = load_profile(SourceFile("p.yaml", made.text))
    assert loaded.faults == []
    for node in deployment.nodes:
        side = side_of(node)
        launches = render(loaded, "prefill" if side == "prefill" else "decode", deployment.target, single=True).launches
        same = [launch for launch in launches if first_rank(launch) == (first_rank(node) or 0)]
        assert [canonical(launch) for launch in same[:1]] == [canonical(node)]
        assert _pairs(same[0]) == _pairs(node)


def _pairs(node: NodeLaunch) -> dict[str, object]:
    """What matters most, read another way than by the canonical form."""
    transfer = node.kv_transfer
    child = transfer.get("kv_connector_extra_config", "connectors", 0) if transfer else None
    port = (child or transfer).get("kv_port") if transfer else None  # type: ignore[union-attr]
    return {
        "model": node.model.value if node.model else None,
        "tensor": node.tensor,
        "data": node.data,
        "length": node.number("max-model-len", 0),
        "seqs": node.number("max-num-seqs", 0),
        "role": node.role,
        "kv_port": port.integer() if port else None,
        "prefix": node.switch("enable-prefix-caching"),
        "buffer": node.variable("HCCL_BUFFSIZE"),
        "address": node.variable("HCCL_IF_IP"),
    }


def test_nine_of_ten_engines_come_out_equal() -> None:
    made = [converted(name) for name in ROWS]
    engines = sum(m.engines for m in made)
    assert engines >= 100
    assert sum(m.equal for m in made) / engines >= 0.9
