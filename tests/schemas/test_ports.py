"""Port ranges: the formula of each connector, and who binds them."""

from __future__ import annotations

import json

import pytest

from pd_launch.schemas.core.hardware import HARDWARE
from pd_launch.schemas.core.launch import Arg, EnvVar, NodeLaunch
from pd_launch.schemas.core.values import Node, Origin, Unknown, plain_node
from pd_launch.schemas.engine.connector_ports import SIDE_CHANNEL
from pd_launch.schemas.engine.port_range import first_rank
from pd_launch.schemas.engine.ports import all_ports, http_port

PLACE = Origin("f", 1, 1, 1, 1)


def launch(connector: str = "", role: str = "kv_producer", kv_port: object = 30000, **flags: object) -> NodeLaunch:
    node = NodeLaunch("command", PLACE, "node")
    for name, value in flags.items():
        name = name.replace("_", "-")
        node.add(Arg(name, f"--{name}", PLACE, None if value is True else Node(value, PLACE)))
    if connector:
        config = {"kv_connector": connector, "kv_role": role} | ({} if kv_port is None else {"kv_port": kv_port})
        node.add(Arg("kv-transfer-config", "--kv-transfer-config", PLACE, plain_node(config, PLACE)))
    return node


def kv(node: NodeLaunch) -> tuple[int, int, bool] | None:
    return next(((p.first, p.count, p.binds) for p in all_ports(node) if p.use == "kv"), None)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (launch("MooncakeConnectorV1", tensor_parallel_size="8"), (30000, 8, True)),
        (launch("MooncakeConnectorV1", "kv_consumer", tensor_parallel_size="8"), (30000, 8, False)),
        (launch("MooncakeConnectorV1", "kv_both", tensor_parallel_size="8"), (30000, 8, False)),
        (launch("MooncakeConnectorV1", kv_port="30100", tensor_parallel_size="2"), (30100, 2, True)),
        (launch("MooncakeConnectorV1", kv_port=None), (14579, 1, True)),
        (
            launch("MooncakeConnectorV1", tensor_parallel_size="4", pipeline_parallel_size="2", data_parallel_size="2"),
            (30000, 16, True),
        ),
        (
            launch(
                "MooncakeHybridConnector",
                tensor_parallel_size="8",
                data_parallel_size="4",
                data_parallel_size_local="2",
                data_parallel_start_rank="2",
            ),
            (30016, 16, True),
        ),
        (
            launch("MooncakeConnectorV1", tensor_parallel_size="2", data_parallel_size="8", data_parallel_rank="3"),
            (30006, 2, True),
        ),
        (
            launch(
                "MooncakeLayerwiseConnector", "kv_consumer", tensor_parallel_size="2", prefill_context_parallel_size="2"
            ),
            (30000, 4, True),
        ),
        (launch("MooncakeLayerwiseConnector", "kv_producer", tensor_parallel_size="2"), (30000, 2, False)),
        (launch("AscendStoreConnector"), None),
        (launch("MooncakeConnectorV1", kv_port=Unknown("$PORT")), None),
        (launch("MooncakeConnectorV1", tensor_parallel_size=Unknown("$TP")), None),
        (launch(), None),
    ],
)
def test_kv_ports(node: NodeLaunch, expected: tuple[int, int, bool] | None) -> None:
    assert kv(node) == expected


def test_children_of_a_multi_connector_have_ports() -> None:
    children = [{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": 28000}]
    config = {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_producer",
        "kv_connector_extra_config": {"connectors": children},
    }
    node = launch(tensor_parallel_size="2")
    node.add(Arg("kv-transfer-config", "--kv-transfer-config", PLACE, plain_node(config, PLACE)))
    assert kv(node) == (28000, 2, True), json.dumps(config)


@pytest.mark.parametrize(
    ("node", "port"),
    [
        (launch(), (8000, False)),
        (launch(port="8100"), (8100, True)),
        (launch(port=Unknown("$1")), None),
        (launch(headless=True), None),
    ],
)
def test_http_port(node: NodeLaunch, port: tuple[int, bool] | None) -> None:
    found = http_port(node)
    assert (found and (found.first, found.written)) == port


def test_offline_engines_have_no_http_port() -> None:
    node = launch()
    node.program = "python"
    assert http_port(node) is None


@pytest.mark.parametrize(
    ("flags", "start"),
    [
        ({}, 0),
        ({"data_parallel_rank": "3"}, 3),
        ({"data_parallel_start_rank": "4"}, 4),
        ({"data_parallel_rank": Unknown("$4")}, None),
    ],
)
def test_first_rank(flags: dict[str, object], start: int | None) -> None:
    assert first_rank(launch(**flags)) == start


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"data_parallel_size": "4", "data_parallel_rpc_port": "13389"}, [(13389, 1, False)]),
        (
            {"data_parallel_size": "4", "data_parallel_size_local": "2", "data_parallel_rpc_port": "13389"},
            [(13389, 1, True)],
        ),
        (
            {
                "data_parallel_size": "4",
                "data_parallel_size_local": "2",
                "data_parallel_rpc_port": "13389",
                "headless": True,
            },
            [(13389, 1, False)],
        ),
        (
            {"data_parallel_size": "4", "data_parallel_rpc_port": "13389", "data_parallel_rank": "2"},
            [(13389, 1, False)],
        ),
        ({"data_parallel_rpc_port": "13389"}, []),
        ({"data_parallel_size": "4"}, []),
    ],
)
def test_rpc_port(flags: dict[str, object], expected: list[tuple[int, int, bool]]) -> None:
    assert [(p.first, p.count, p.binds) for p in all_ports(launch(**flags)) if p.use == "dp_rpc"] == expected


@pytest.mark.parametrize(("variable", "expected"), [(None, (5602, 2)), ("5700", (5702, 2)), (Unknown("$P"), None)])
def test_side_channel(variable: object, expected: tuple[int, int] | None) -> None:
    node = launch("NixlConnector", data_parallel_size="4", data_parallel_size_local="2", data_parallel_start_rank="2")
    if variable is not None:
        node.env[SIDE_CHANNEL] = EnvVar(SIDE_CHANNEL, Node(variable, PLACE))
    found = [(p.first, p.count) for p in all_ports(node) if p.use == "side_channel"]
    assert found == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("kind", "devices", "variable", "direct"),
    [
        ("a2", 8, "ASCEND_RT_VISIBLE_DEVICES", range(20000, 28000)),
        ("a3", 16, "ASCEND_RT_VISIBLE_DEVICES", range(20000, 36000)),
        ("cuda", None, "CUDA_VISIBLE_DEVICES", None),
        ("cpu", None, None, None),
    ],
)
def test_hardware(kind: str, devices: int | None, variable: str | None, direct: range | None) -> None:
    hardware = HARDWARE[kind]
    assert (hardware.devices, hardware.device_variable, hardware.direct_ports) == (devices, variable, direct)
    assert hardware.ascend == kind.startswith("a")
