"""Facts for people: the block for an issue, the difference of two nodes, and what all nodes must have alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pd_launch.launcher.host.contract import FACTS, MORE
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.core.words import listed, series

Facts = Mapping[str, Any]
_BYTES = frozenset(
    {"mem_total", "mem_available", "cgroup_memory", "cgroup_used", "shm_total", "shm_free", "stale_shm", "memlock"}
    | {"hugepage_size", "mem_free"}
)
CHANGING = frozenset(
    {"mem_available", "shm_free", "cgroup_used", "hugepages_free", "ports_in_use", "numa_nodes"}
    | {"device_holders", "stale_shm", "stale_segments"}
)
"""Facts that differ from one minute to the next; two nodes are not compared in them."""
_RELEASES = ("vllm", "vllm_ascend", "torch", "torch_npu", "mooncake", "cann", "npu_driver", "pd_launch", "machine")
_LIKELY = ("python", "nvidia_driver", "npus", "gpus", "control_devices", "memlock")
_SIZES = ("mem_total", "shm_total", "cgroup_memory")
_TOLERANCE = 0.05
_SAME_VARIABLES = ("PYTHONHASHSEED", "HCCL_INTRA_ROCE_ENABLE", "VLLM_ASCEND_ENABLE_FLASHCOMM1", "VLLM_USE_V1")
_OWN_VARIABLES = ("HCCL_IF_IP", "VLLM_HOST_IP")


def issue_block(facts: Facts) -> str:
    """Return the facts as lines of Markdown to paste into an issue; unknown ones are named as such."""
    lines = ["### pd-launch facts", ""]
    for key in (*_RELEASES, *(key for key in (*FACTS, *MORE) if key not in _RELEASES and key != "environment")):
        lines.append(f"- `{key}`: {_shown(key, facts.get(key))}")
    variables = facts.get("environment")
    if isinstance(variables, dict):
        lines.append("- `environment`:" + ("" if variables else " none of ours is set"))
        lines += [f"  - `{name}={value}`" for name, value in variables.items()]
    return "\n".join(lines) + "\n"


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if key in _BYTES and isinstance(value, int):
        return f"{human_size(value)} ({value})"
    if isinstance(value, dict):
        parts = (f"{name} {' '.join(map(str, v)) if isinstance(v, list) else v}".strip() for name, v in value.items())
        return ", ".join(parts) or "none"
    if isinstance(value, list):
        return ", ".join(_shown("", one) if isinstance(one, dict) else str(one) for one in value) or "none"
    return str(value)


def flat(facts: Facts) -> dict[str, Any]:
    """Return the facts with objects spread out: ``environment.HCCL_IF_IP``."""
    found: dict[str, Any] = {}
    for key, value in facts.items():
        if isinstance(value, dict):
            found |= {f"{key}.{name}": part for name, part in value.items()}
        else:
            found[key] = value
    return found


def differences(first: Facts, second: Facts) -> list[tuple[str, Any, Any]]:
    """Return each fact in which two nodes differ, with both values; None is unknown."""
    one, other = flat(first), flat(second)
    keys = [key for key in dict.fromkeys((*one, *other)) if key.partition(".")[0] not in CHANGING]
    return [(key, one.get(key), other.get(key)) for key in keys if one.get(key) != other.get(key)]


def difference_text(found: Sequence[tuple[str, Any, Any]], names: tuple[str, str], lang: str) -> str:
    """Return differences as lines."""
    if not found:
        return Msg("no difference\n", "没有差别\n").text(lang)
    width = max(len(key) for key, _, _ in found)
    lines = [f"{'':{width}}  {names[0]} | {names[1]}"]
    lines += [f"{key:{width}}  {_shown(key, one)} | {_shown(key, other)}" for key, one, other in found]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Disagreement:
    """A fact in which nodes of one deployment do not agree, or agree where each must have its own."""

    fact: str
    severity: Literal["error", "warning"]
    values: dict[str, Any]
    message: Msg


def disagreements(nodes: Mapping[str, Facts]) -> list[Disagreement]:
    """Return what must agree between the nodes of one deployment and does not; unknown facts are left out."""
    found = []
    spread = {name: flat(facts) for name, facts in nodes.items()}
    for keys, severity in ((_RELEASES, "error"), (_LIKELY, "warning")):
        for key in keys:
            values = _values(spread, key)
            if len({str(value) for value in values.values()}) > 1:
                found.append(_unequal(key, severity, values))
    for variable in _SAME_VARIABLES:
        values = {n: f.get(f"environment.{variable}") for n, f in spread.items() if "environment" in nodes[n]}
        if len({str(value) for value in values.values()}) > 1:
            found.append(_unequal(f"environment.{variable}", "error", values))
    found += [_unequal(key, "warning", _values(spread, key)) for key in _SIZES if _apart(_values(spread, key))]
    return found + [same for variable in _OWN_VARIABLES for same in _shared(spread, f"environment.{variable}")]


def _values(spread: Mapping[str, Facts], key: str) -> dict[str, Any]:
    return {name: facts[key] for name, facts in spread.items() if facts.get(key) is not None}


def _apart(values: Mapping[str, Any]) -> bool:
    sizes = [value for value in values.values() if isinstance(value, int)]
    return len(sizes) > 1 and min(sizes) < (1 - _TOLERANCE) * max(sizes)


def _unequal(key: str, severity: Any, values: dict[str, Any]) -> Disagreement:
    absent = "not set" if key.startswith("environment.") else "unknown"
    listed = series(f"{name}: {absent if v is None else _shown(key, v)}" for name, v in values.items())
    must, must_zh = ("must agree", "必须一致") if severity == "error" else ("should agree", "应当一致")
    return Disagreement(key, severity, values, Msg(f"{key} {must}: {listed.en}", f"{key} {must_zh}：{listed.zh}"))


def _shared(spread: Mapping[str, Facts], key: str) -> list[Disagreement]:
    owners: dict[str, list[str]] = {}
    for name, facts in spread.items():
        if facts.get(key):
            owners.setdefault(str(facts[key]), []).append(name)
    return [
        Disagreement(
            key,
            "error",
            dict.fromkeys(names, value),
            Msg(
                f"{key} must differ on each node, but {listed(names).en} have {value}",
                f"{key} 每个节点必须不同，而 {listed(names).zh} 都是 {value}",
            ),
        )
        for value, names in owners.items()
        if len(names) > 1
    ]
