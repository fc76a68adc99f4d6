"""What profiles can say since scripts are converted: by side, by node, unset variables, a configuration written out."""

from __future__ import annotations

from typing import Any

import pytest

from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.launcher.sources.profiles.render import render
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.values import SourceFile

HEAD = "version: 1\nhardware: a3\nmodel: /m\n"
TARGET = parse_target("vllm-ascend==0.25.1rc1")


def launches(body: str, side: Any = "decode") -> list[NodeLaunch]:
    loaded = load_profile(SourceFile("p.yaml", HEAD + body))
    assert loaded.faults == []
    rendered = render(loaded, side, TARGET, single=True)
    assert rendered.faults == []
    return rendered.launches


def faults(body: str) -> str:
    return "; ".join(fault.detail.en for fault in load_profile(SourceFile("p.yaml", HEAD + body)).faults)


def transfer(node: NodeLaunch) -> dict[str, Any]:
    assert node.kv_transfer is not None
    plain = node.kv_transfer.plain()
    assert isinstance(plain, dict)
    return plain


PAIR = """
transfer: {connector: MooncakeConnectorV1, kv_port: 1000, engine_id: x}
prefill: {transfer: {kv_port: 2000}}
decode:
  parallel: {data: 2}
nodes:
  decode: [{address: 192.0.2.1}, {address: 192.0.2.2, transfer: {engine_id: y}, env: {A: 2}}]
env: {A: 1}
"""


def test_the_nearer_section_wins() -> None:
    (prefill,) = launches(PAIR, "prefill")
    assert (transfer(prefill)["kv_port"], transfer(prefill)["engine_id"]) == (2000, "x")
    first, second = launches(PAIR)
    assert (transfer(first)["kv_port"], transfer(first)["engine_id"]) == (1000, "x")
    assert (transfer(second)["kv_port"], transfer(second)["engine_id"]) == (1000, "y")
    assert (first.variable("A"), second.variable("A")) == ("1", "2")


def test_the_place_is_that_of_the_nearer_section() -> None:
    _, second = launches(PAIR)
    tree = second.kv_transfer
    node = tree.get("engine_id") if tree else None
    assert node is not None and node.origin.line == HEAD.count("\n") + 1 + PAIR[: PAIR.index("engine_id: y")].count(
        "\n"
    )


def test_null_leaves_a_variable_unset() -> None:
    body = "env: {A: 1, B: 1}\nnodes: {decode: [{address: 192.0.2.1}]}\ndecode: {env: {A: null, HCCL_IF_IP: null}}\n"
    (node,) = launches(body)
    assert sorted(node.env) == ["B"]
    (node,) = launches(body.replace(", HCCL_IF_IP: null", ""))
    assert sorted(node.env) == ["B", "HCCL_IF_IP"]


def test_null_leaves_devices_to_the_engine() -> None:
    body = "decode: {parallel: {data: 2, launch: external}, env: {ASCEND_RT_VISIBLE_DEVICES: %s}}\n"
    assert all("ASCEND_RT_VISIBLE_DEVICES" not in node.env for node in launches(body % "null"))
    assert [n.variable("ASCEND_RT_VISIBLE_DEVICES") for n in launches(body % "'4,5'")] == ["4", "5"]


def test_a_configuration_written_out_is_taken_literally() -> None:
    body = "transfer: {connector: MooncakeConnectorV1}\n"
    body += "decode: {kv_transfer_config: {kv_connector: X, kv_role: kv_both}}\n"
    (node,) = launches(body)
    assert transfer(node) == {"kv_connector": "X", "kv_role": "kv_both"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("decode: {kv_transfer_config: {}, offload: {per_rank: 1GiB}}\n", "complete configuration"),
        (
            "transfer: {connector: X}\ndecode: {kv_transfer_config: {}, transfer: {kv_port: 1}}\n",
            "complete configuration",
        ),
        (
            "transfer: {connector: X}\ndecode: {kv_transfer_config: {}}\n"
            "nodes: {decode: [{address: a.b, transfer: {kv_port: 1}}]}\n",
            "complete configuration",
        ),
        ("transfer: {connector: X}\ndecode: {transfer: {connector: Y}}\n", "same on both sides"),
        ("decode: {transfer: {kv_port: 1}}\n", "shared section transfer"),
        ("decode: {}\nnodes: {decode: [{address: a.b, transfer: {kv_port: 1}}]}\n", "shared section transfer"),
    ],
)
def test_contradictions_are_refused(body: str, words: str) -> None:
    assert words in faults(body)
