"""The recompute scheduler's switch, and how connector configurations are looked at."""

from __future__ import annotations

from typing import Any

import pytest

from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.values import Node, Origin, Unknown, plain_node
from pd_launch.schemas.engine.additional import switch_of, switched_on
from pd_launch.schemas.engine.kv_transfer import connectors, offload_name

PLACE = Origin("f", 1, 1, 1, 1)
FLAT = {"recompute_scheduler_enable": True}
NESTED = {"scheduler_config": {"recompute_scheduler_enable": True}}
UNKNOWN = Node(Unknown("$X"), PLACE)


@pytest.mark.parametrize(
    ("config", "old", "new"),
    [
        (None, False, False),
        ({}, False, False),
        (FLAT, True, True),
        (NESTED, False, True),
        ({"recompute_scheduler_enable": False, **NESTED}, False, True),
        ({"recompute_scheduler_enable": True, "scheduler_config": {"recompute_scheduler_enable": False}}, True, False),
        ({"recompute_scheduler_enable": True, "scheduler_config": None}, True, True),
        ({"recompute_scheduler_enable": "false"}, True, True),
        ({"recompute_scheduler_enable": 0}, False, False),
        ({"recompute_scheduler_enable": UNKNOWN}, None, None),
        ({"scheduler_config": UNKNOWN}, False, None),
        (UNKNOWN, None, None),
    ],
)
def test_where_releases_read_it(config: Any, old: bool | None, new: bool | None) -> None:
    tree = None if config is None else plain_node(config, PLACE)
    for release in ("0.18.0", "0.23.0", "0.24.0rc1"):
        assert switch_of(tree, parse_target(release)).on is old, release
    for release in ("0.25.1rc1", "0.26.0rc1"):
        assert switch_of(tree, parse_target(release)).on is new, release


@pytest.mark.parametrize(("word", "on"), [("false", False), ("False", False), ("0", False), ("true", True)])
def test_strings_are_converted_only_by_strict_releases(word: str, on: bool) -> None:
    tree = plain_node({"scheduler_config": {"recompute_scheduler_enable": word}}, PLACE)
    assert switch_of(tree, parse_target("0.28.0rc1")).on is on
    assert switch_of(tree, parse_target("0.27.1rc1")).on is on
    assert switch_of(tree, parse_target("0.26.0rc1")).on is True


@pytest.mark.parametrize(
    ("release", "config", "result"),
    [
        ("0.24.0rc1", {"a": 1}, {"a": 1, **FLAT}),
        ("0.25.1rc1", {"a": 1}, {"a": 1, **NESTED}),
        (
            "0.28.0rc1",
            {"scheduler_config": {"b": 2}},
            {"scheduler_config": {"b": 2, "recompute_scheduler_enable": True}},
        ),
        ("0.28.0rc1", {"scheduler_config": 5}, NESTED),
    ],
)
def test_switched_on(release: str, config: dict[str, Any], result: dict[str, Any]) -> None:
    assert switched_on(config, parse_target(release)) == result
    tree = plain_node(switched_on(config, parse_target(release)), PLACE)
    assert switch_of(tree, parse_target(release)).on is True


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("0.23.0", "RecomputeCPUOffloadConnector"),
        ("0.27.1rc1", "RecomputeCPUOffloadConnector"),
        ("0.28.0rc1", "PreemptOffloadConnector"),
        ("vllm==0.32.0", "RecomputeCPUOffloadConnector"),
    ],
)
def test_offload_name(target: str, name: str) -> None:
    assert offload_name(parse_target(target)) == name


def test_connectors_of_a_tree() -> None:
    offload = {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer"}
    bundled = {**offload, "kv_connector_module_path": "pd_launch.connector"}
    foreign = {**offload, "kv_connector_module_path": "pd_launch.connectors"}
    inner = {"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": [bundled]}}
    config = {
        "kv_connector": "MultiConnector",
        "kv_connector_extra_config": {"connectors": [offload, inner, foreign, 5], "x": 1},
    }
    found = connectors(plain_node(config, PLACE))
    assert [c.name for c in found] == ["MultiConnector", offload["kv_connector"], "MultiConnector"] + [
        offload["kv_connector"]
    ] * 2 + [None]
    assert [(c.is_builtin_offload, c.is_bundled_offload) for c in found] == [
        (False, False),
        (True, False),
        (False, False),
        (False, True),
        (False, False),
        (False, False),
    ]
    assert found[3].parent is not None and found[3].parent.parent is found[0]
    assert found[0].option("x") is not None and found[1].option("x") is None


@pytest.mark.parametrize("tree", [None, Node(Unknown("$X"), PLACE), Node("text", PLACE), Node([], PLACE)])
def test_no_mapping_has_no_connectors(tree: Node | None) -> None:
    assert connectors(tree) == []
