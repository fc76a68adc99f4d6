"""The shipped profiles: clean for every release that each is for, and what editors read of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.profiles.shipped import shipped_names
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.pairing import ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.core.target import release
from pd_launch.schemas.core.units import SIZE_PATTERN, SizeError, parse_size

ROOT = Path(__file__).parents[2]
PROFILES = ROOT / "profiles"
ONLY = {"a3-hybrid": ("0.26.0rc1", "0.27.1rc1")}
"""Profiles that are for some releases only, as they say themselves."""
SINCE = "0.23.0rc1"
"""Before it nothing can save a preempted request."""


def targets(name: str) -> list[str]:
    text = (PROFILES / f"{name}.yaml").read_text()
    ascend = yaml.safe_load(text)["hardware"] in ("a2", "a3")
    rows = ONLY.get(name) or [
        row for row in (ASCEND_PAIRS if ascend else VLLM_RELEASES) if release(row) >= release(SINCE)
    ]
    return [f"{'vllm-ascend' if ascend else 'vllm'}=={row}" for row in rows]


@pytest.mark.parametrize(("name", "target"), [(n, t) for n in shipped_names() for t in ["", *targets(n)]])
def test_clean_for_its_releases(name: str, target: str) -> None:
    path = PROFILES / f"{name}.yaml"
    deployments = read_texts({str(path): path.read_text()}, target=target or None)
    shown = [f for f in check(deployments) if f.severity != "info"]
    assert not shown, [(f.code, f.line, f.message) for f in shown]
    assert "pd-launch: ignore" not in path.read_text()


@pytest.mark.parametrize("name", shipped_names())
def test_editors_find_the_schema(name: str) -> None:
    text = (PROFILES / f"{name}.yaml").read_text()
    found = re.findall(r"^# yaml-language-server: \$schema=(\S+)$", text, re.MULTILINE)
    assert len(found) == 1
    path = (PROFILES / found[0]).resolve()
    assert path == ROOT / "docs" / "schemas" / "profile.schema.json"
    jsonschema.validate(yaml.safe_load(text), json.loads(path.read_text()))
    assert yaml.safe_load(text)["name"] == name


def test_the_external_layout() -> None:
    """Two prefill nodes and two decode nodes; every rank has its own port, and devices of its own on its node."""
    path = PROFILES / "a3-moe-external.yaml"
    nodes = read_texts({str(path): path.read_text()})[0].nodes
    ranks = {side: [n for n in nodes if n.side == side] for side in ("prefill", "decode")}
    assert {side: len(found) for side, found in ranks.items()} == {"prefill": 4, "decode": 32}
    for found in ranks.values():
        assert [node.number("data-parallel-rank", -1) for node in found] == list(range(len(found)))
        devices = [(node.node_rank, node.variable("ASCEND_RT_VISIBLE_DEVICES")) for node in found]
        assert len(set(devices)) == len(found)


@pytest.mark.parametrize(
    "text", ["16GiB", "128Gi", "1g", "500MB", "1.5 GiB", "17179869184", "512b", "x", "16Gx", "GiB"]
)
def test_the_schema_reads_sizes_as_profiles_do(text: str) -> None:
    try:
        known = parse_size(text) > 0
    except SizeError:
        known = False
    assert bool(re.search(SIZE_PATTERN, text)) is known
