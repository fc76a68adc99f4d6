"""PD012 speaks to people: in both languages, without the validator's words, and always says what to write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from pd_launch.launcher.sources.profiles.deployment import profile_deployment
from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.schemas.core.chinese import typeset
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.engine.budget import RATIO, BudgetError, parse_bytes, parse_ratio

WHOLE: dict[str, Any] = {
    "version": 1,
    "name": "n",
    "target": {"vllm_ascend": "0.25.1rc1"},
    "hardware": {"kind": "a3", "devices": 16, "memory": "64GiB"},
    "model": "m",
    "engine": {"seed": 1},
    "env": {"A": "b"},
    "transfer": {"connector": "MooncakeConnectorV1", "kv_port": 30000, "load_failure_policy": "fail"},
    "prefill": {"parallel": {"tensor": 2}, "transfer": {"engine_id": "p"}},
    "decode": {
        "parallel": {
            **dict.fromkeys(("tensor", "pipeline", "prefill_context", "decode_context"), 1),
            "data": 2,
            "expert": True,
            "launch": "internal",
            "ranks": [2],
        },
        "port": 8000,
        "rpc_port": 13389,
        "engine": {"seed": 1},
        "env": {"A": "b"},
        "transfer": {"engine_id": "d"},
        "offload": {"per_rank": "1GiB", "prefix_caching": False, "connector": "bundled"},
    },
    "network": {"interface": "eth0"},
    "container": {
        "image": "i",
        "shm_size": "1GiB",
        "memory": "1GiB",
        "mounts": ["/a:/b"],
        "name": "c1",
        "runtime": "r",
    },
    "nodes": {"decode": [{"address": "a", "env": {"A": "b"}, "transfer": {"engine_id": "d"}}]},
}
WRONG: list[Any] = [None, True, 0, -1, 70000, 2.5, "", "x", "16Gigs", [], [[1]], {}, {"x y": {}}, {"connector": "c"}]
LEAKS = re.compile(r"nput|Section|instance|dictionary|pydantic|Error|interpret|None|True|False")
HAN = re.compile("[\u4e00-\u9fff]")


def faults(text: str) -> list[Fault]:
    return profile_deployment(load_profile(SourceFile("p.yaml", text))).faults


def paths(value: Any) -> Iterator[list[str | int]]:
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, part in items:
        yield [key]
        yield from ([key, *rest] for rest in paths(part))


def changed(path: list[str | int], value: Any) -> str:
    tree = json.loads(json.dumps(WHOLE))
    spot = tree
    for step in path[:-1]:
        spot = spot[step]
    spot[path[-1]] = value
    return str(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))


def without(path: list[str | int]) -> str:
    tree = json.loads(json.dumps(WHOLE))
    spot = tree
    for step in path[:-1]:
        spot = spot[step]
    del spot[path[-1]]
    return str(yaml.safe_dump(tree, sort_keys=False))


def test_the_whole_profile_is_valid() -> None:
    assert faults(yaml.safe_dump(WHOLE)) == []


FREE = [path for path in paths(WHOLE) if path[-1] in ("seed", "engine_id")]
"""What may be anything: flags and the connector's own options."""


@pytest.mark.parametrize(
    "path", [path for path in paths(WHOLE) if path not in FREE], ids=lambda path: ".".join(map(str, path))
)
def test_every_reason_is_for_people_in_both_languages(path: list[str | int]) -> None:
    texts = [changed(path, value) for value in WRONG]
    texts += [without(path), changed([*path[:-1], "zzz"], 1) if isinstance(path[-1], str) else ""]
    found = [fault for text in texts for fault in faults(text)]
    assert found, "none of the wrong values is refused"
    for fault in found:
        assert not LEAKS.search(fault.detail.en), fault.detail.en
        assert HAN.search(fault.detail.zh), fault.detail.en
        assert fault.help and HAN.search(fault.help.zh), fault.detail.en
        assert HAN.search(typeset(fault.help.zh)) and "…" not in fault.help.en, fault.help
        english = re.findall(r"\b(?:must|write|not|such as|known|number|one of|leave)\b", fault.detail.zh)
        assert not english, fault.detail.zh


@pytest.mark.parametrize(
    ("rest", "en", "zh", "help", "help_zh"),
    [
        (
            "decode: {port: 70000}",
            "decode.port: must be 65535 or less, not 70000",
            "decode.port：应当不大于 65535，而不是 70000",
            "write a port from 1 to 65535",
            "写 1 到 65535 之间的端口",
        ),
        (
            "decode: {parallel: {tensor: '8'}}",
            "decode.parallel.tensor: must be a whole number, not a string",
            "decode.parallel.tensor：应当是整数，而不是字符串",
            "write a number, without quotes",
            "写数字，不加引号",
        ),
        (
            "decode: {parallel: {launch: extern}}",
            "decode.parallel.launch: must be 'internal', 'external' or 'hybrid', not 'extern'",
            "decode.parallel.launch：应当是 'internal'、'external' 或 'hybrid'，而不是 'extern'",
            "did you mean external?",
            "是不是想写 external？",
        ),
        (
            "decode: {parallel: {expert: 3}}",
            "decode.parallel.expert: must be true or false, not a number",
            "decode.parallel.expert：应当是 true 或 false，而不是数字",
            "write true or false",
            "写 true 或 false",
        ),
        (
            "decode: {offload: {ratio: true}}",
            "decode.offload.ratio: must be a finite number above 0, such as 1.0; got true",
            "decode.offload.ratio：应当是大于 0 的有限数，例如 1.0；现在是 true",
            "write for example ratio: 1.0",
            "例如写 ratio: 1.0",
        ),
        (
            "decode: {kv_transfer_config: 3}",
            "decode.kv_transfer_config: must be a mapping, not a number",
            "decode.kv_transfer_config：应当是映射，而不是数字",
            "write for example kv_transfer_config: {kv_connector: MooncakeConnectorV1, kv_role: kv_consumer}",
            "例如写 kv_transfer_config: {kv_connector: MooncakeConnectorV1, kv_role: kv_consumer}",
        ),
        (
            "decode: {parallel: {data: 5}}\nnodes: {decode: [{address: a}, {address: b}]}",
            "5 ranks cannot be spread evenly over 2 nodes: write parallel.ranks",
            "5 个数据并行 rank 不能平均分到 2 个节点：请写 parallel.ranks",
            "write for example ranks: [3, 2]",
            "例如写 ranks: [3, 2]",
        ),
        (
            "decode: {parallel: {tensor: 3}, offload: {per_node: 256GiB}}",
            "per_node: 274877906944 bytes do not divide evenly over 3 ranks; write per_rank",
            "per_node 的 274877906944 字节不能平均分给 3 个 rank，请写 per_rank",
            "write for example per_rank: 85GiB, or per_node: 255GiB",
            "例如写 per_rank: 85GiB，或 per_node: 255GiB",
        ),
    ],
)
def test_reasons(rest: str, en: str, zh: str, help: str, help_zh: str) -> None:
    [fault] = faults(f"version: 1\nhardware: a3\nmodel: /m\n{rest}\n")
    assert (fault.detail.en, typeset(fault.detail.zh), fault.help.en, typeset(fault.help.zh)) == (en, zh, help, help_zh)


@pytest.mark.parametrize(
    "rest", ["decode: {transfer: {a: b}}", "decode: {}\nnodes: {decode: [{address: a, transfer: {a: b}}]}"]
)
def test_what_lacks_a_shared_section_is_reported_where_it_stands(rest: str) -> None:
    text = f"version: 1\nhardware: a3\nmodel: /m\n{rest}\n"
    [fault] = faults(text)
    assert SourceFile("p.yaml", text).offset(fault.origin.line, fault.origin.column) == text.index("transfer")


def test_budget_errors_have_both_languages() -> None:
    for call in (lambda: parse_bytes("k", True), lambda: parse_bytes("k", 0), lambda: parse_ratio("x")):
        with pytest.raises(BudgetError) as error:
            call()
        assert error.value.key in ("k", RATIO) and str(error.value).endswith(error.value.reason.en)
        assert error.value.said.zh == f"{error.value.key}：{error.value.reason.zh}" and HAN.search(
            error.value.reason.zh
        )
