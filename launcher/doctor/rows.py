"""The lines of doctor: each fact of the host, beside what the profile needs of it. Unknown stays unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import counted, human_size
from pd_launch.schemas.core.words import series
from pd_launch.schemas.memory.host_memory import DOCKER_DEFAULT_SHM

Status = Literal["ok", "info", "warning", "error", "unknown"]
_UNKNOWN = Msg("unknown", "未知")
_CONTROL = 3


@dataclass(frozen=True)
class Row:
    """One line. ``name`` is its stable name."""

    name: str
    label: Msg
    text: Msg
    status: Status


@dataclass(frozen=True)
class Needs:
    """What the fullest machine of a profile needs: bytes of offload, bytes of /dev/shm, ranks. None: unknown.

    ``devices`` tells whether each rank takes a device: on CPUs none does.
    """

    offload: int | None = None
    shm: int | None = None
    ranks: int | None = None
    devices: bool = True


def rows_of(facts: dict[str, Any], needs: Needs | None, ascend: bool) -> list[Row]:
    """Return the lines for ``facts``. Those that a finding speaks of become worse with it: :func:`judged`."""
    rows = [_memory(facts, needs), _cgroup(facts, needs), _shm(facts, needs), _stale(facts), _memlock(facts)]
    rows += [_huge_pages(facts), _numa(facts), _cpus(facts, needs), _interfaces(facts), _ports(facts)]
    rows += _devices(facts, needs, ascend)
    rows += [
        _version(facts, "vllm", "vLLM"),
        *([_version(facts, "vllm_ascend", "vllm-ascend")] if ascend else []),
        _version(facts, "torch", "torch"),
        *([_version(facts, "torch_npu", "torch-npu"), _version(facts, "cann", "CANN")] if ascend else []),
        *([_version(facts, "npu_driver", "NPU driver")] if ascend else []),
        _version(facts, "kernel", "kernel"),
        _version(facts, "container", "container"),
    ]
    return rows


def _row(name: str, en: str, zh: str, text: Msg | None, status: Status = "ok") -> Row:
    return Row(name, Msg(en, zh), text or _UNKNOWN, status if text else "unknown")


def _memory(facts: dict[str, Any], needs: Needs | None) -> Row:
    total, available = facts.get("mem_total"), facts.get("mem_available")
    if total is None and available is None:
        return _row("memory", "memory", "内存", None)
    have, whole = _size(available), _size(total)
    shown, shown_zh = f"{have.en} available of {whole.en}", f"可用 {have.zh}，共 {whole.zh}"
    offload = needs.offload if needs is not None else None
    need = _need(offload)
    text = Msg(shown + need.en, shown_zh + need.zh)
    limit = available if available is not None else total
    over = offload is not None and limit is not None and offload > limit
    return _row("memory", "memory", "内存", text, "error" if over else "ok")


def _need(size: int | None) -> Msg:
    return Msg(f"; the offload needs {human_size(size)}", f"；卸载需要 {human_size(size)}") if size else NOTHING


def _cgroup(facts: dict[str, Any], needs: Needs | None) -> Row:
    limit, used, version = (facts.get(key) for key in ("cgroup_memory", "cgroup_used", "cgroup_version"))
    if version is None and limit is None:
        return _row("cgroup", "cgroup memory", "cgroup 内存", None)
    en, zh = ("no limit", "没有上限") if limit is None else (f"limit {human_size(limit)}", f"上限 {human_size(limit)}")
    if used is not None:
        en, zh = f"{en}, {human_size(used)} used", f"{zh}，已用 {human_size(used)}"
    kind = f" (v{version})" if version else ""
    offload = needs.offload if needs is not None else None
    over = offload is not None and limit is not None and offload > limit
    need = _need(offload) if over else NOTHING
    text = Msg(en + kind + need.en, zh + kind + need.zh)
    return _row("cgroup", "cgroup memory", "cgroup 内存", text, "error" if over else "ok")


def _shm(facts: dict[str, Any], needs: Needs | None) -> Row:
    total, free = facts.get("shm_total"), facts.get("shm_free")
    if total is None:
        return _row("shm", "/dev/shm", "/dev/shm", None)
    idle, whole = _size(free), _size(total)
    en, zh = f"{idle.en} free of {whole.en}", f"剩余 {idle.zh}，共 {whole.zh}"
    status: Status = "ok"
    if needs is not None and needs.shm:
        en, zh = f"{en}; the engines need {human_size(needs.shm)}", f"{zh}；引擎需要 {human_size(needs.shm)}"
        status = "error" if needs.shm > total else "ok"
    if total == DOCKER_DEFAULT_SHM:
        en, zh = (
            f"{en}; this is Docker's default: start with --shm-size",
            f"{zh}；这是 Docker 的默认值，请加 --shm-size",
        )
        status = status if status == "error" else "warning"
    return _row("shm", "/dev/shm", "/dev/shm", Msg(en, zh), status)


def _stale(facts: dict[str, Any]) -> Row:
    stale, names = facts.get("stale_shm"), facts.get("stale_segments") or []
    if stale is None:
        return _row("leftovers", "leftovers in /dev/shm", "/dev/shm 残留", None)
    if not stale:
        return _row("leftovers", "leftovers in /dev/shm", "/dev/shm 残留", Msg("none", "无"))
    listed = series(names[:3], more=len(names) > 3)
    text = Msg(
        f"{human_size(stale)} from dead engines{f': {listed.en}' if listed else ''}",
        f"已退出的引擎留下 {human_size(stale)}{f'：{listed.zh}' if listed else ''}",
    )
    return _row("leftovers", "leftovers in /dev/shm", "/dev/shm 残留", text, "info")


def _memlock(facts: dict[str, Any]) -> Row:
    limit = facts.get("memlock")
    if limit is None:
        text = Msg("no limit, or unknown", "没有限制，或未知")
        return Row("memlock", Msg("memlock", "可锁定内存"), text, "unknown")
    return _row("memlock", "memlock", "可锁定内存", Msg(human_size(limit), human_size(limit)))


def _huge_pages(facts: dict[str, Any]) -> Row:
    total, free, size = (facts.get(key) for key in ("hugepages_total", "hugepages_free", "hugepage_size"))
    if total is None or size is None:
        return _row("hugepages", "huge pages", "大页", None)
    if not total:
        return _row("hugepages", "huge pages", "大页", Msg("none reserved", "没有预留"))
    held, idle = human_size(total * size), human_size((free or 0) * size)
    text = Msg(
        f"{held} reserved, {idle} of it idle: engines cannot use this for the offload",
        f"预留 {held}，其中空闲 {idle}：卸载用不到这些内存",
    )
    return _row("hugepages", "huge pages", "大页", text, "info")


def _numa(facts: dict[str, Any]) -> Row:
    nodes = facts.get("numa_nodes")
    if not isinstance(nodes, list) or not nodes:
        return _row("numa", "NUMA", "NUMA", None)
    free = [n.get("mem_free") for n in nodes if isinstance(n, dict)]
    listed = series(human_size(size) if isinstance(size, int) else "?" for size in free)
    nodes_en = counted(len(nodes), "node")
    return _row(
        "numa", "NUMA", "NUMA", Msg(f"{nodes_en}, free: {listed.en}", f"{len(nodes)} 个节点，空闲：{listed.zh}")
    )


def _cpus(facts: dict[str, Any], needs: Needs | None) -> Row:
    allowed, count = facts.get("cpus_allowed"), facts.get("cpus")
    usable = allowed if allowed is not None else count
    if usable is None:
        return _row("cpus", "CPUs", "CPU", None)
    few = needs is not None and needs.ranks is not None and needs.ranks > usable
    en, zh = f"{usable} usable", f"可用 {usable} 个"
    if few and needs is not None:
        en, zh = f"{en} for {needs.ranks} ranks, each of which keeps one core busy", f"{zh}，但有 {needs.ranks} 个 rank"
    return _row("cpus", "CPUs", "CPU", Msg(en, zh), "info" if few else "ok")


def _interfaces(facts: dict[str, Any]) -> Row:
    found = facts.get("interfaces")
    if not isinstance(found, dict):
        return _row("interfaces", "interfaces", "网卡", None)
    default = facts.get("default_interface")
    named = [f"{name}*" if name == default else name for name in found if name != "lo"]
    listed = series(named) or Msg("lo", "lo")
    star = ("; * has the default route", "；带 * 的是默认路由") if default else ("", "")
    return _row("interfaces", "interfaces", "网卡", Msg(listed.en + star[0], listed.zh + star[1]))


def _ports(facts: dict[str, Any]) -> Row:
    ports = facts.get("ports_in_use")
    if not isinstance(ports, list):
        return _row("ports", "ports in use", "已占用端口", None)
    listed = series(map(str, ports[:8]), more=len(ports) > 8)
    return _row("ports", "ports in use", "已占用端口", listed or Msg("none", "无"))


def _devices(facts: dict[str, Any], needs: Needs | None, ascend: bool) -> list[Row]:
    label, label_zh = ("NPUs", "NPU") if ascend else ("GPUs", "GPU")
    found = len(facts["devices"]) if isinstance(facts.get("devices"), list) else facts.get("npus")
    count = found if ascend else facts.get("gpus")
    rows = [_row("devices", label, label_zh, *_count(count, needs))]
    if ascend and isinstance(facts.get("control_devices"), list):
        names = facts["control_devices"]
        listed = series(map(str, names)) or Msg("none", "无")
        status: Status = "ok" if len(names) == _CONTROL else "info"
        rows.append(_row("control_devices", "control devices", "控制设备", listed, status))
    holders = facts.get("device_holders")
    if isinstance(holders, list):
        listed = series(f"{h.get('pid')} {h.get('name', '')}" for h in holders[:4] if isinstance(h, dict))
        text = listed or Msg("no process visible here", "这里看不到占用者")
        rows.append(_row("holders", "devices held by", "设备占用者", text, "info" if listed else "ok"))
    return rows


def _count(count: int | None, needs: Needs | None) -> tuple[Msg | None, Status]:
    """Return how many devices there are, beside how many the profile needs."""
    if count is None:
        return None, "unknown"
    ranks = needs.ranks if needs is not None and needs.devices else None
    if ranks is not None and ranks > count:
        return Msg(f"{count}, but the profile needs {ranks}", f"{count}，而配置文件需要 {ranks} 个"), "error"
    return Msg(str(count), str(count)), "ok" if count else "info"


_ROWS = {
    "PD305": ("memory", "cgroup"),
    "PD306": ("shm",),
    "PD307": ("memlock",),
    "PD310": ("leftovers",),
    "PD401": ("devices",),
    "PD407": ("ports",),
    "PD412": ("interfaces",),
    "PD413": ("devices", "control_devices"),
    "PD414": ("holders",),
    "PD901": ("vllm", "vllm_ascend"),
}
"""The lines whose facts a rule looks at. Of two, those that are not good already, or else both."""
_WORSE: tuple[Status, ...] = ("unknown", "ok", "info", "warning", "error")


def judged(rows: Sequence[Row], findings: Sequence[Finding]) -> list[Row]:
    """Return the lines, each at least as bad as what a finding says of it: no tick beside a finding."""
    worst: dict[str, Status] = {}
    status = {row.name: row.status for row in rows}
    for finding in findings:
        names = [name for name in _ROWS.get(finding.code, ()) if name in status]
        for name in [name for name in names if status[name] != "ok"] or names:
            worst[name] = max(worst.get(name, "ok"), finding.severity, key=_WORSE.index)
    return [replace(row, status=max(row.status, worst.get(row.name, row.status), key=_WORSE.index)) for row in rows]


def _version(facts: dict[str, Any], key: str, label: str) -> Row:
    value = facts.get(key)
    return _row(key, label, label, Msg(str(value), str(value)) if value is not None else None)


def _size(size: int | None) -> Msg:
    return Msg(human_size(size), human_size(size)) if size is not None else _UNKNOWN
