"""Profiles as launches: golden plans, data-parallel layouts over nodes, the offload budget, and what replaces what.

``PD_LAUNCH_GOLDEN=write`` writes the golden plans anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pd_launch.launcher.launch.plan import command_words, environment, make_plan
from pd_launch.launcher.launch.prepare import LaunchOptions, prepare
from pd_launch.launcher.sources.engine.command_line import read_arguments
from pd_launch.launcher.sources.profiles.arguments import replace_arguments
from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.launcher.sources.profiles.render import render
from pd_launch.launcher.sources.text.interpolate import GIVEN, expand
from pd_launch.schemas.core.launch import NodeLaunch, ProfileSide
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.units import GIB
from pd_launch.schemas.core.values import Origin, SourceFile, Text
from pd_launch.schemas.plan import LaunchPlan

GOLDEN = Path(__file__).parent / "golden"
BASE = "version: 1\nhardware: a3\nmodel: /m\n"


def launches(text: str, side: ProfileSide = "decode", target: str = "0.28.0rc1") -> list[NodeLaunch]:
    loaded = load_profile(SourceFile("p.yaml", text))
    assert not loaded.faults, loaded.faults
    rendered = render(loaded, side, parse_target(target))
    assert not rendered.faults, rendered.faults
    return rendered.launches


def words(launch: NodeLaunch) -> list[str]:
    return [word.text for word in command_words(launch)][3:]


def flags(launch: NodeLaunch, *names: str) -> list[Any]:
    return [launch.number(name, -1) for name in names]


@pytest.mark.parametrize("side", ["prefill", "decode"])
@pytest.mark.parametrize("target", ["0.23.0", "0.25.1rc1", "0.30.0rc2"])
def test_golden_plans(side: ProfileSide, target: str) -> None:
    plan = prepare(LaunchOptions(side, "a3-dp2tp8", dry_run=True, target=parse_target(target))).plan
    assert plan is not None
    found = plan.model_dump(mode="json", by_alias=True, exclude={"findings", "summary"})
    for place in [*found["provenance"].values(), *found["targets"]]:
        place["file"] = Path(place["file"]).name
    path = GOLDEN / f"a3-dp2tp8.{side}.{target}.json"
    if os.environ.get("PD_LAUNCH_GOLDEN") == "write":
        path.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(path.read_text())
    assert plan.summary.error == plan.summary.warning == 0
    for key in ("kv_transfer_config", "additional_config"):
        flag = f"--{key.replace('_', '-')}"
        text = plan.argv[plan.argv.index(flag) + 1] if flag in plan.argv else "null"
        assert json.loads(text) == getattr(plan, key)
        assert "\n" not in text


DP = ("data-parallel-size", "data-parallel-size-local", "data-parallel-start-rank", "data-parallel-rank", "port")


@pytest.mark.parametrize(
    ("parallel", "nodes", "expected"),
    [
        ("{tensor: 2}", 1, [([-1, -1, -1, -1, 8000], False, None)]),
        ("{tensor: 2, data: 4}", 1, [([4, 4, -1, -1, 8000], False, None)]),
        ("{tensor: 2, data: 4}", 2, [([4, 2, -1, -1, 8000], False, None), ([4, 2, 2, -1, -1], True, None)]),
        ("{data: 3, ranks: [1, 2]}", 2, [([3, 1, -1, -1, 8000], False, None), ([3, 2, 1, -1, -1], True, None)]),
        ("{tensor: 2, data: 4, launch: hybrid}", 1, [([4, 4, -1, -1, 8000], False, None)]),
        (
            "{tensor: 2, data: 4, launch: hybrid}",
            2,
            [([4, 2, 0, -1, 8000], False, None), ([4, 2, 2, -1, 8000], False, None)],
        ),
        (
            "{tensor: 2, data: 2, launch: external}",
            1,
            [([2, -1, -1, 0, 8000], False, "0,1"), ([2, -1, -1, 1, 8001], False, "2,3")],
        ),
        (
            "{tensor: 2, data: 4, launch: external}",
            2,
            [
                ([4, -1, -1, 0, 8000], False, "0,1"),
                ([4, -1, -1, 1, 8001], False, "2,3"),
                ([4, -1, -1, 2, 8000], False, "0,1"),
                ([4, -1, -1, 3, 8001], False, "2,3"),
            ],
        ),
        ("{tensor: 2, launch: external}", 1, [([-1, -1, -1, -1, 8000], False, None)]),
    ],
)
def test_data_parallel_layouts(parallel: str, nodes: int, expected: list[Any]) -> None:
    listed = ", ".join(f"{{address: 192.0.2.{11 + i}}}" for i in range(nodes))
    found = launches(f"{BASE}decode: {{parallel: {parallel}}}\nnodes: {{decode: [{listed}]}}\n")
    assert [
        (flags(node, *DP), node.switch("headless") or False, node.variable("ASCEND_RT_VISIBLE_DEVICES"))
        for node in found
    ] == expected
    for node in found:
        several = node.arg("data-parallel-size") is not None
        assert (node.value("data-parallel-address") is not None) == several
        if several:
            assert node.value("data-parallel-address").plain() == "192.0.2.11"  # type: ignore[union-attr]
            assert node.number("data-parallel-rpc-port", 0) == 13389
        assert (node.switch("data-parallel-hybrid-lb") or False) == ("hybrid" in parallel)
        assert node.variable("HCCL_IF_IP") == node.host


def test_sides_stand_alone() -> None:
    assert launches(BASE + "decode: {}\n", "prefill") == []
    [prefill] = launches(BASE + "transfer: {connector: MooncakeConnectorV1, kv_port: 5}\nprefill: {}\n", "prefill")
    assert prefill.kv_transfer is not None and prefill.kv_transfer.plain() == {
        "kv_connector": "MooncakeConnectorV1",
        "kv_role": "kv_producer",
        "kv_port": 5,
        "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1}},
    }
    assert prefill.additional is None


OFFLOAD = (
    "decode: {parallel: {tensor: 4, pipeline: 2, data: 4}, offload: %s}\n"
    "nodes: {decode: [{address: a}, {address: b}]}\n"
)


@pytest.mark.parametrize(
    ("offload", "options"),
    [
        ("{per_rank: 16GiB}", {"cpu_bytes_to_use_per_rank": 16 * GIB}),
        ("{per_engine: 128GiB}", {"cpu_bytes_to_use_per_rank": 16 * GIB}),
        ("{per_node: 256GiB}", {"cpu_bytes_to_use_per_rank": 16 * GIB}),
        ("{cpu_bytes_to_use: 17179869184}", {"cpu_bytes_to_use": 16 * GIB}),
        ("{ratio: 1.5}", {"offload_host_memory_ratio": 1.5}),
        (
            "{per_rank: 1GiB, prefix_caching: true}",
            {"cpu_bytes_to_use_per_rank": GIB, "enable_offload_prefix_caching": True},
        ),
    ],
)
def test_budget_forms(offload: str, options: dict[str, Any]) -> None:
    for node in launches(BASE + OFFLOAD % offload):
        assert node.kv_transfer is not None
        assert node.kv_transfer.plain()["kv_connector_extra_config"] == options


@pytest.mark.parametrize(
    ("hardware", "target", "connector", "expected", "switch"),
    [
        ("a3", "0.23.0", "bundled", ("RecomputeCPUOffloadConnector", True), {"recompute_scheduler_enable": True}),
        ("a3", "0.24.0rc1", "builtin", ("RecomputeCPUOffloadConnector", False), {"recompute_scheduler_enable": True}),
        (
            "a3",
            "0.25.1rc1",
            "bundled",
            ("RecomputeCPUOffloadConnector", True),
            {"scheduler_config": {"recompute_scheduler_enable": True}},
        ),
        (
            "a3",
            "0.28.0rc1",
            "builtin",
            ("PreemptOffloadConnector", False),
            {"scheduler_config": {"recompute_scheduler_enable": True}},
        ),
        ("cuda", "vllm==0.32.0", "bundled", ("RecomputeCPUOffloadConnector", True), None),
    ],
)
def test_what_is_rendered_for_the_offload(
    hardware: str, target: str, connector: str, expected: tuple[str, bool], switch: dict[str, Any] | None
) -> None:
    text = (
        f"version: 1\nhardware: {hardware}\nmodel: m\ndecode: {{offload: {{per_rank: 1GiB, connector: {connector}}}}}\n"
    )
    [node] = launches(text, target=target)
    assert node.kv_transfer is not None
    config = node.kv_transfer.plain()
    assert (config["kv_connector"], config.get("kv_connector_module_path") == "pd_launch.connector") == expected
    assert config["kv_role"] == "kv_consumer"
    assert (node.additional.plain() if node.additional else None) == switch


def test_a_multi_connector_keeps_on_top_what_only_counts_there() -> None:
    [node] = launches(
        BASE
        + "transfer: {connector: MooncakeConnectorV1, kv_port: 5, load_failure_policy: recompute, engine_id: e,\n"
        + "  use_x: 1, kv_connector_extra_config: {use_y: 2}}\n"
        + "decode: {parallel: {tensor: 2}, offload: {per_rank: 1GiB}}\nprefill: {parallel: {tensor: 4, data: 2}}\n"
    )
    sizes = {"prefill": {"dp_size": 2, "tp_size": 4}, "decode": {"dp_size": 1, "tp_size": 2}}
    assert node.kv_transfer is not None
    config = node.kv_transfer.plain()
    transfer, offload = config["kv_connector_extra_config"].pop("connectors")
    assert config == {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_consumer",
        "kv_load_failure_policy": "recompute",
        "engine_id": "e",
        "kv_connector_extra_config": sizes,
    }
    assert transfer == {
        "kv_connector": "MooncakeConnectorV1",
        "kv_role": "kv_consumer",
        "kv_port": 5,
        "kv_connector_extra_config": {**sizes, "use_x": 1, "use_y": 2},
    }
    assert offload["kv_connector"] == "PreemptOffloadConnector"


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("{seed: 1}", ["--seed", "1"]),
        ("{enforce-eager: true}", ["--enforce-eager"]),
        ("{enforce-eager: false}", ["--no-enforce-eager"]),
        ("{seed: }", []),
        ("{max_num_seqs: 8}", ["--max-num-seqs", "8"]),
        ("{gpu-memory-utilization: 0.90}", ["--gpu-memory-utilization", "0.90"]),
        ("{served-model-name: [a, 1]}", ["--served-model-name", "a", "1"]),
        ("{lora-modules: [{name: a, path: b}]}", ["--lora-modules", '{"name": "a", "path": "b"}']),
        ("{hf-overrides: {a: [ü, null]}}", ["--hf-overrides", '{"a": ["ü", null]}']),
        ("{hf-overrides: '{\"a\":1}'}", ["--hf-overrides", '{"a": 1}']),
        ("{compilation-config: 3}", ["--compilation-config", "3"]),
        ("{additional-config: {a: 1}}", ["--additional-config", '{"a": 1}']),
        ("{quantization: 'a b'}", ["--quantization", "a b"]),
    ],
)
def test_engine_flags(engine: str, expected: list[str]) -> None:
    [node] = launches(BASE + f"decode: {{engine: {engine}}}\n")
    assert words(node) == ["--port", "8000", "--tensor-parallel-size", "1", *expected]


def test_a_side_overrides_what_both_have() -> None:
    text = (
        BASE
        + "engine: {seed: 1, enforce-eager: true, x: 1}\ndecode: {engine: {seed: 2, no-enforce-eager: true, x: }}\n"
    )
    assert words(launches(text)[0])[4:] == ["--seed", "2", "--no-enforce-eager"]


def test_numbers_that_follow_from_the_layout_are_decimal() -> None:
    [node] = launches(BASE + "decode: {port: 0x2000, parallel: {tensor: 0b10}}\n")
    assert words(node) == ["--port", "8192", "--tensor-parallel-size", "2"]


@pytest.mark.parametrize(
    ("written", "value"),
    [("1", "1"), ("'1'", "1"), ("true", "true"), ("0x10", "0x10"), ("a b", "a b"), ("1.50", "1.50")],
)
def test_environment_is_exactly_what_is_written(written: str, value: str) -> None:
    text = BASE + f"env: {{A: 0, B: {written}}}\ndecode: {{env: {{A: {written}}}}}\n"
    assert environment(launches(text)[0]) == {"A": value, "B": value}


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (["--seed", "5"], ["--enforce-eager", "--seed", "5"]),
        (["--no-enforce-eager"], ["--seed", "1", "--no-enforce-eager"]),
        (["--headless"], ["--seed", "1", "--enforce-eager", "--headless"]),
        (["--served-model-name", "a", "b"], ["--seed", "1", "--enforce-eager", "--served-model-name", "a", "b"]),
    ],
)
def test_extra_arguments_replace(extra: list[str], expected: list[str]) -> None:
    [node] = launches(BASE + "decode: {engine: {seed: 1, enforce-eager: true}}\n")
    assert words(_with_extra(node, extra))[4:] == expected


def _with_extra(node: NodeLaunch, extra: list[str]) -> NodeLaunch:
    given = NodeLaunch("command", Origin("f", 1, 1, 1, 1), "extra", model=node.model)
    read_arguments(expand((Text.verbatim(SourceFile("f", word), 0, len(word)) for word in extra), GIVEN), given)
    replace_arguments(node, given.args)
    return node


def test_dotted_extra_arguments_change_their_part_only() -> None:
    text = BASE + "transfer: {connector: NixlConnector, kv_port: 5}\ndecode: {}\n"
    node = _with_extra(launches(text)[0], ["--kv-transfer-config.kv_port", "6", "--kv_transfer_config.a.b", "x"])
    assert words(node)[-2] == "--kv-transfer-config"
    assert json.loads(words(node)[-1]) == {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_consumer",
        "kv_port": 6,
        "a": {"b": "x"},
    }


LIST = '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_connector_extra_config": [1]}'


@pytest.mark.parametrize(
    "extra", [["--tensor-parallel-size", "0"], ["--tensor-parallel-size", "x"], ["--kv-transfer-config", LIST]]
)
def test_a_plan_of_nonsense_has_unknown_numbers(extra: list[str]) -> None:
    [node] = launches(BASE + "decode: {offload: {per_rank: 1GiB}}\n")
    plan = make_plan("p", "decode", parse_target("0.28.0rc1"), [_with_extra(node, extra)], [])
    assert plan.budget.per_node_bytes is None


def test_provenance() -> None:
    text = BASE + "engine:\n  seed: 1\ndecode:\n  parallel: {tensor: 8}\n  offload: {per_rank: 1GiB}\n"
    [node] = launches(text)
    plan = make_plan("p", "decode", parse_target("0.28.0rc1"), [node], [])
    places = {plan.argv[int(key.rpartition("/")[2])]: place for key, place in plan.provenance.items() if "argv" in key}
    assert (places["1"].line, places["1"].column, places["1"].via) == (5, 9, "")
    assert (places["8"].line, places["8"].column) == (7, 22)
    assert (places["8000"].line, places["8000"].column, places["8000"].via) == (6, 1, "default")
    assert places["--kv-transfer-config"].line == 8
    assert set(plan.provenance) == {f"/argv/{i}" for i in range(2, len(plan.argv))}
    assert LaunchPlan.model_validate_json(plan.model_dump_json(by_alias=True)) == plan


def test_the_numbers_of_a_node() -> None:
    text = BASE + "decode: {parallel: {tensor: 8, data: 2}, offload: {per_rank: 16GiB}}\n"
    plan = make_plan("p", "decode", parse_target("0.28.0rc1"), launches(text), [])
    budget = plan.budget
    assert (budget.ranks_per_engine, budget.engines_on_node, budget.decided_by) == (8, 2, "per_rank")
    assert (budget.per_rank_bytes, budget.per_engine_bytes, budget.per_node_bytes) == (16 * GIB, 128 * GIB, 256 * GIB)
    assert budget.shm_bytes == 4160 * 1024**2
    assert plan.devices == list(range(16))
