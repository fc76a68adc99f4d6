"""Why a value in a profile is refused, and what to write: in English and Chinese, without the validator's own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from pd_launch.schemas.core.errors import ValueFault, written
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.values import Unknown
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.budget import BudgetError

_EXAMPLES = {
    "version": "1",
    "hardware": "a3",
    "kind": "a3",
    "model": "Qwen/Qwen3-30B-A3B",
    "connector": "MooncakeConnectorV1",
    "interface": "eth0",
    "address": "10.0.0.1",
    "image": "quay.io/ascend/vllm-ascend:v0.25.1rc1",
    "mounts": "[/data:/data]",
    "ranks": "[8, 8]",
    "decode": "[{address: 10.0.0.1}]",
    "prefill": "[{address: 10.0.0.2}]",
    "offload": "{per_rank: 16GiB}",
    "parallel": "{tensor: 8}",
    "transfer": "{connector: MooncakeConnectorV1}",
    "network": "{interface: eth0}",
    "container": "{shm_size: 64GiB}",
    "nodes": "{decode: [{address: 10.0.0.1}]}",
    "engine": "{max-num-seqs: 128}",
    "env": "{OMP_NUM_THREADS: 1}",
    "target": "vllm-ascend==0.25.1rc1",
    "vllm_ascend": "'0.25.1rc1'",
    "vllm": "'0.32.0'",
    "name": "my-deployment",
    "runtime": "ascend",
    "memory": "64GiB",
    "shm_size": "64GiB",
    "per_rank": "16GiB",
    "per_engine": "128GiB",
    "per_node": "256GiB",
    "cpu_bytes_to_use": "17179869184",
    "ratio": "1.0",
    "patch": "{k8s: {kind: StatefulSet, metadata: {labels: {team: a}}}}",
    "kv_transfer_config": "{kv_connector: MooncakeConnectorV1, kv_role: kv_consumer}",
}
"""What to write for a key, by its name."""
_SIDES = {"decode": "{parallel: {tensor: 8}}", "prefill": "{parallel: {tensor: 8}}"}
"""On the top level these are sections, in ``nodes`` lists."""
_ELEMENTS = {
    "decode": "{address: 10.0.0.1}",
    "prefill": "{address: 10.0.0.2}",
    "ranks": "8",
    "mounts": "/data:/data",
}
"""What to write for an element of a list, by the list's name."""
_KINDS: dict[type, Msg] = {
    int: Msg("a number", "数字"),
    float: Msg("a decimal number", "小数"),
    str: Msg("a string", "字符串"),
    list: Msg("a list", "列表"),
    dict: Msg("a mapping", "映射"),
    Unknown: Msg("a placeholder", "占位符"),
}
FILL_IN = Msg(
    "write the value itself, or give it with --set when you print or launch",
    "请写值本身，或在渲染、启动时用 --set 给出",
)
"""What to do about a placeholder."""
_COMPARISONS = {
    "greater_than_equal": ("ge", "{} or more", "不小于 {}"),
    "greater_than": ("gt", "more than {}", "大于 {}"),
    "less_than_equal": ("le", "{} or less", "不大于 {}"),
    "less_than": ("lt", "less than {}", "小于 {}"),
}


class Reason(NamedTuple):
    """Why a value is refused (``said``) and what to write instead."""

    said: Msg
    help: Msg


def missing_help(name: str) -> Msg:
    """Return what to write where the key ``name`` is missing."""
    return _example(["", name])


def reason_of(problem: Any, path: Sequence[str], known: Sequence[str]) -> Reason:
    """Return the reason of one of pydantic's problems.

    ``path`` are the keys that lead to it, ``known`` those of the section that is wanted there.
    """
    kind = str(problem["type"])
    error = problem.get("ctx", {}).get("error")
    if isinstance(error, ValueFault):
        return _own(error, path)
    if kind == "literal_error":
        return _choice(problem)
    if kind in _COMPARISONS:
        return _bound(problem, path, *_COMPARISONS[kind])
    if kind == "string_too_short":
        return Reason(Msg("must not be empty", "不能为空"), _example(path))
    if kind.startswith(("int_", "finite")):
        return _wanted(
            Msg("a whole number", "整数"), problem, Msg("write a number, without quotes", "写数字，不加引号")
        )
    if kind.startswith("bool_"):
        return _wanted(Msg("true or false", " true 或 false"), problem, Msg("write true or false", "写 true 或 false"))
    if kind.startswith("list_"):
        return _wanted(Msg("a list", "列表"), problem, _example(path))
    if kind.startswith(("dict_", "model_")):
        listed = series(known)
        help = _example(path)
        if known:
            help = Msg(f"{help.en}; known keys here: {listed.en}", f"{help.zh}；这里可用的键：{listed.zh}")
        return _wanted(Msg("a mapping", "映射"), problem, help)
    if kind.startswith("string_"):
        return _text(problem, path)
    return Reason(Msg("this value cannot be used here", "此处不能用这个值"), _example(path))


def _own(error: ValueFault, path: Sequence[str]) -> Reason:
    if isinstance(error, BudgetError):
        return Reason(error.reason, _example(path))
    return Reason(error.said, error.help or _example(path))


def _choice(problem: Any) -> Reason:
    expected, given = str(problem["ctx"]["expected"]), problem["input"]
    choices = re.findall(r"'([^']*)'", expected)
    near = nearest(given, choices, 0.6) if isinstance(given, str) else None
    scalar = isinstance(given, (str, int, float))
    shown = Msg(written(given), written(given)) if scalar else _kind(given)
    listed, listed_zh = expected.replace("'", ""), expected.replace(", ", "、").replace(" or ", " 或 ")
    return Reason(
        Msg(f"must be {expected}, not {shown.en}", f"应当是 {listed_zh}，而不是 {shown.zh}"),
        Msg(
            f"did you mean {near}?" if near else f"write {listed}",
            f"是不是想写 {near}？" if near else f"写 {listed_zh}".replace("'", ""),
        ),
    )


def _bound(problem: Any, path: Sequence[str], key: str, en: str, zh: str) -> Reason:
    limit, given = problem["ctx"][key], written(problem["input"])
    must, must_zh = en.format(limit), zh.format(limit)
    if path[-1].endswith("port"):
        example = Msg("write a port from 1 to 65535", "写 1 到 65535 之间的端口")
    elif path[-1] in _EXAMPLES:
        example = _example(path)
    else:
        example = Msg(f"write a number that is {must}", f"写{must_zh} 的数")
    return Reason(Msg(f"must be {must}, not {given}", f"应当{must_zh}，而不是 {given}"), example)


def _text(problem: Any, path: Sequence[str]) -> Reason:
    if path[-1] in ("prepend", "append"):
        help = Msg("write for example prepend: /usr/local/lib", "例如写 prepend: /usr/local/lib")
    elif "env" in path[:-1]:
        help = Msg("write a string or a number, or null to leave it unset", "写字符串或数字，不设置则写 null")
        return _wanted(Msg("a string or a number", "字符串或数字"), problem, help)
    elif isinstance(problem["input"], (list, dict)) or problem["input"] is None:
        help = _example(path)
    else:
        help = Msg("write it in quotes", "加上引号")
    return _wanted(Msg("a string", "字符串"), problem, help)


def _wanted(what: Msg, problem: Any, help: Msg) -> Reason:
    """Say which kind of value is wanted and which is there; not the value, which may be long or a secret."""
    given = _kind(problem["input"])
    help = FILL_IN if isinstance(problem["input"], Unknown) else help
    return Reason(Msg(f"must be {what.en}, not {given.en}", f"应当是{what.zh}，而不是{given.zh}"), help)


def _kind(value: object) -> Msg:
    if value is None or isinstance(value, bool):
        return Msg(written(value), f" {written(value)}")
    return _KINDS.get(type(value), Msg("this", "这个值"))


def _example(path: Sequence[str]) -> Msg:
    """Return what to write at a path, by its last key that has an example; for an element of a list, the element."""
    if len(path) > 1 and path[-1].isdigit() and path[-2] in _ELEMENTS:
        text = _ELEMENTS[path[-2]]
    elif len(path) == 1 and path[0] in _SIDES:
        text = f"{path[0]}: {_SIDES[path[0]]}"
    else:
        name = next((key for key in reversed(path) if key in _EXAMPLES), "version")
        text = f"{name}: {_EXAMPLES[name]}"
    return Msg(f"write for example {text}", f"例如写 {text}")
