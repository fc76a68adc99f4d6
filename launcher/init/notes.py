"""What a conversion says beside the profile: what it assumed, left to other places, or found wrong in the input."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence

from pd_launch.launcher.init.here import ADDRESSES, is_here
from pd_launch.launcher.init.layout import AUTO, Layout
from pd_launch.launcher.sources.engine.engines import ONLINE_DP
from pd_launch.launcher.sources.forms.online_dp import TEMPLATE
from pd_launch.launcher.sources.text.limits import NOT_FOLLOWED
from pd_launch.schemas.core.launch import Container, Fault, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.switches import REPEATABLE
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.words import agreeing, listed

_MOST = 20
"""Faults that are named; what was not followed goes first."""

_OPEN_FORMS = ("python", "e2e")
"""Forms whose engines always get variables from whatever runs them."""


def told(engines: Sequence[NodeLaunch], faults: Sequence[Fault], layouts: Mapping[str, Layout]) -> list[Msg]:
    """Return the notes, each once."""
    notes = [*_faults(faults), *_engines(engines), *_addresses(layouts)]
    return list(dict.fromkeys(notes))


def _faults(faults: Sequence[Fault]) -> Iterator[Msg]:
    for fault in sorted(faults, key=lambda fault: fault.kind != NOT_FOLLOWED)[:_MOST]:
        place = f"{fault.origin.file}:{fault.origin.line}"
        yield Msg(
            f"the input has a fault at {place}: {fault.detail.en}",
            f"输入在 {place} 处有错误：{fault.detail.zh}",
        )
    if len(faults) > _MOST:
        more = len(faults) - _MOST
        yield Msg(
            f"the input has {counted(more, 'further fault')}: pd-launch check shows all",
            f"输入还有 {more} 处错误：可用 pd-launch check 查看",
        )


def _engines(engines: Sequence[NodeLaunch]) -> Iterator[Msg]:
    for engine in engines:
        place = f"{engine.origin.file}:{engine.origin.line}"
        if engine.program == "python":
            yield Msg(
                f"{place} creates an engine in Python; the profile starts vllm serve",
                f"{place} 在 Python 中创建引擎；配置文件启动 vllm serve",
            )
        if _is_template(engine):
            yield Msg(
                f"{place} is a template: its sizes and ports come from the script that calls {ONLINE_DP}; give that "
                "one as well",
                f"{place} 是模板：各种大小和端口来自调用 {ONLINE_DP} 的脚本，请把它也一起给出",
            )
        if engine.partial:
            yield Msg(
                f"{place} may get further arguments from unknown variables",
                f"{place} 可能还从未知变量得到更多参数",
            )
        if engine.env_open is not None and engine.env_open != engine.origin and engine.form not in _OPEN_FORMS:
            line = f"{engine.env_open.file}:{engine.env_open.line}"
            yield Msg(
                f"{place}: variables that come from what {line} names are not in the profile: write those that the "
                "engine needs under env",
                f"{place}：{line} 所指内容设置的变量不在配置文件中：引擎需要的请写在 env 里",
            )
        for name, args in engine.by_name.items():
            if name and len(args) > 1 and name not in REPEATABLE:
                yield Msg(
                    f"{place}: --{name} is given {len(args)} times; the last one takes effect",
                    f"{place}：--{name} 写了 {len(args)} 次，以最后一次为准",
                )
        yield from _own_addresses(engine, place)
        if engine.container is not None:
            yield from _container(engine.container)


def _own_addresses(engine: NodeLaunch, place: str) -> Iterator[Msg]:
    for name in ADDRESSES[1:]:
        if is_here(engine.env.get(name)):
            yield Msg(
                f"{place}: {name} is the machine's own address, which k8s, kserve, llm-d and slurm give by themselves; "
                "for other forms write it under env of each node",
                f"{place}：{name} 是机器自己的地址，k8s、kserve、llm-d 和 slurm 会自动给出；用于其他格式时，请写在"
                "各节点的 env 里",
            )


def _is_template(engine: NodeLaunch) -> bool:
    """Whether it is in the template of launch_online_dp.py, and nothing says what that is given."""
    return engine.origin.file.rpartition("/")[2] == TEMPLATE and engine.data is None


def _container(container: Container) -> Iterator[Msg]:
    place = f"{container.origin.file}:{container.origin.line}"
    left = [
        name
        for name, value in (
            ("devices", container.devices or container.resources),
            ("published ports", container.published),
            ("privileged", container.privileged),
            ("shared /dev/shm", container.shm_shared),
        )
        if value
    ]
    for volume in container.volumes:
        if "kind" in volume:
            what = f"{volume['path']} ({volume['kind']})"
            yield Msg(
                f"{place}: the mount on {what} is not in the profile: container.volumes has host, pvc, secret and "
                "empty, and patch the rest",
                f"{place}：挂载到 {what} 的卷不写入配置文件：container.volumes 只有 host、pvc、secret、empty，其余"
                "写在 patch 里",
            )
    if left:
        names, are = listed(left), agreeing(len(left), "is", "are")
        yield Msg(
            f"{place}: the container's {names.en} {are} not in the profile; what pd-launch renders follows from "
            "hardware",
            f"{place}：容器的 {names.zh} 不写入配置文件；pd-launch 渲染时由 hardware 得出",
        )


def _addresses(layouts: Mapping[str, Layout]) -> Iterator[Msg]:
    for side, layout in layouts.items():
        for number, address in enumerate(layout.addresses):
            if address == AUTO and len(layout.addresses) > 1:
                yield Msg(
                    f"nodes.{side}[{number}]: the input does not say this node's address; write it instead of auto",
                    f"nodes.{side}[{number}]：输入没有给出该节点的地址，请替换 auto",
                )
            elif address != AUTO and not _is_address(address):
                yield Msg(
                    f"nodes.{side}[{number}]: write the node's address instead of {address}",
                    f"nodes.{side}[{number}]：请把 {address} 替换为节点的地址",
                )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return "." in text  # a host name
    return True
