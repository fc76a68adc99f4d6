"""PD201 unknown-connector."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.pd2_connectors.pd206_pd_sizes_missing import NEEDS_SIZES
from pd_launch.launcher.rules.registry import FixEdits, Hit, rule
from pd_launch.launcher.sources.release.image_names import image_name
from pd_launch.schemas.core.compare import same
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.budget import OFFLOAD_NAMES
from pd_launch.schemas.engine.kv_transfer import BUNDLED_MODULE, Connector, connectors, offload_name
from pd_launch.schemas.engine.plugin import PLUGIN, VARIABLE, plugin_of
from pd_launch.schemas.releases.connectors import (
    ASCEND_CONNECTORS,
    ASCEND_ON_VLLM,
    CUDA_ONLY,
    REMOVED_NAMES,
    VLLM_CONNECTORS,
    known_anywhere,
    names,
    registered,
    registered_as,
)
from pd_launch.schemas.releases.offloads import BUILTIN

ZH = """
目标版本里没有这个连接器

## 作用

检查没有写 `kv_connector_module_path` 的连接器名称是否在目标版本里注册：改名的、删除的、尚未出现的、
不支持 NPU 的和拼错的都会报告，并给出正确的名称。引擎在第三方镜像里运行、而名称与任何已知的都不相近时，只给出警告：
镜像里可能已经有这个连接器。原版 vLLM 没有 pd-launch 的连接器：装上 pd-launch 后，由它的 vLLM 插件注册。`--host` 会检查
插件是否已安装；`VLLM_PLUGINS` 可能没有列出它。

## 为什么重要

名称没有注册，引擎在启动时就会退出；如果加载的是只支持其他设备的上游连接器，在 NPU 上要到更晚才会失败：
例如 NixlConnector 的设备列表里没有 NPU，它的 worker 启动时就会报错。

## 适用版本

所有版本；每个名称从哪个版本到哪个版本有效，见表。

## 来源

vllm_ascend/distributed/kv_transfer/__init__.py（0.18.0 至 0.26.0rc1 的发行包，以及 PR 16510 之后）；vLLM 的
kv_connector/factory.py（0.23.0、0.27.1、0.32.0），以及这些版本和 0.33.0 的 nixl/utils.py 里的设备列表。
"""


@rule("PD201", "unknown-connector", "error", zh=ZH, needs="C H R")
def unknown_connector(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The target release does not have this connector.

    ## What it does

    Looks up each connector's name that comes without a `kv_connector_module_path` in the target's registry: names that
    were renamed or removed, that came later, that do not support NPUs, and misspelt ones are reported with the right
    name. An entirely unknown name is a warning where the engine runs in a third-party image, which may provide the
    connector. vLLM itself does not know pd-launch's connector: the plugin that comes with an installed pd-launch
    registers its names. `--host` checks that it is installed; `VLLM_PLUGINS` may leave it out.

    ## Why it matters

    A name that is not registered stops the engine at start. Upstream's connectors that need another device fail later
    on an NPU: NixlConnector, whose list of devices has no NPU, when its worker starts.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "CPUOffloadingConnector", "kv_role": "kv_both"}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "SimpleCPUOffloadConnector", "kv_role": "kv_both"}'
    ```

    ## Releases

    All; a table lists the releases that have each name.

    ## Sources

    vllm_ascend/distributed/kv_transfer/__init__.py in the wheels of 0.18.0 to 0.26.0rc1 and the source packages of
    0.27.1rc1 to 0.30.0rc2; vLLM's kv_connector/factory.py at 0.23.0, 0.27.1 and 0.32.0, and the
    list of devices in its nixl/utils.py there and at 0.33.0.
    """
    target = deployment.target
    for connector in connectors(node.kv_transfer):
        name, place = connector.name, connector.tree.get("kv_connector")
        if name is None or place is None or connector.tree.get("kv_connector_module_path") is not None:
            continue
        if name in OFFLOAD_NAMES and target.is_ascend and not BUILTIN.holds(target):
            continue  # no connector can save anything there: PD112 says so
        cuda_only = target.is_ascend and name in CUDA_ONLY
        if registered(name, target) and not cuda_only:
            continue
        if name in OFFLOAD_NAMES and not target.is_ascend:
            yield from _bundled(name, place, node, deployment)
            continue
        instead = _instead(name, target)
        reason = _reason(name, target, cuda_only)
        rename = Msg(f"write {instead}", f"写成 {instead}")
        is_bundled = instead in OFFLOAD_NAMES and not target.is_ascend
        # Renamed to one that may not be registered, it would be another finding of this rule.
        can_rename = _has_sizes(connector, instead, target) and (
            not is_bundled or plugin_of(node, deployment) == "there"
        )
        if instead is None and not known_anywhere(name) and _own_image(node):
            yield _of_image(name, place, target)
            continue
        yield Hit(
            place.origin,
            Msg(f"{target} has no connector {name}{reason.en}", f"{target} 没有连接器 {name}{reason.zh}"),
            _help(instead, target),
            fix=_fix(place, instead, rename) if can_rename else None,
        )


def _bundled(name: str, place: Node, node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """The connector that comes with pd-launch, by its name alone: pd-launch's plugin of vLLM registers it."""
    target, plugin = deployment.target, plugin_of(node, deployment)
    if plugin == "there":
        return
    if plugin == "off":
        yield Hit(
            place.origin,
            Msg(
                f"{target} has no connector {name}, and {VARIABLE} excludes pd-launch's plugin, which registers it",
                f"{target} 没有连接器 {name}；注册它的是 pd-launch 的插件，而 {VARIABLE} 没有列出这个插件",
            ),
            Msg(
                f'add {PLUGIN} to {VARIABLE}, or "kv_connector_module_path": "{BUNDLED_MODULE}" here',
                f'在 {VARIABLE} 里加上 {PLUGIN}，或者在这里加上 "kv_connector_module_path": "{BUNDLED_MODULE}"',
            ),
        )
        return
    own = plugin == "unknown" and _own_image(node)
    if own:
        what = Msg(
            (
                f"{target} has no connector {name}; pd-launch provides it, but whether this image includes pd-launch "
                "is unknown"
            ),
            f"{target} 没有连接器 {name}；它由 pd-launch 提供，但无法得知这个镜像里是否装有 pd-launch",
        )
    else:
        reason = _reason(name, target, cuda_only=False)
        what = Msg(f"{target} has no connector {name}{reason.en}", f"{target} 没有连接器 {name}{reason.zh}")
    yield Hit(
        place.origin,
        what,
        Msg(
            f'add "kv_connector_module_path": "{BUNDLED_MODULE}" to use the connector that comes with pd-launch; the '
            "name by itself is enough where pd-launch is installed beside vLLM (--host checks this)",
            f'加上 "kv_connector_module_path": "{BUNDLED_MODULE}"，使用 pd-launch 附带的连接器；如果 pd-launch '
            "与 vLLM 装在同一环境里，只写名称即可（--host 会检查是否已安装）",
        ),
        severity="warning" if own else None,
    )


def _own_image(node: NodeLaunch) -> bool:
    """Whether the engine runs in an image that is none of the engines' own, and may bring connectors."""
    image = node.container.image if node.container is not None else None
    text = image.string() if image is not None else None
    return image is not None and (text is None or not image_name(text).official)


def _of_image(name: str, place: Node, target: Target) -> Hit:
    return Hit(
        place.origin,
        Msg(
            f"{target} has no connector {name}; whether this image registers it is unknown",
            f"{target} 没有连接器 {name}；无法得知这个镜像是否注册了它",
        ),
        Msg(
            "a plugin of the image must register it, or kv_connector_module_path must name its module",
            "要么由镜像里的插件注册它，要么用 kv_connector_module_path 写出它的模块",
        ),
        severity="warning",
    )


def _reason(name: str, target: Target, cuda_only: bool) -> Msg:
    if cuda_only:
        return Msg(
            " that works on NPUs: this one is upstream's, and does not support them",
            "（可用于 NPU 的）：这个名称是上游的连接器，不支持 NPU",
        )
    row = ASCEND_CONNECTORS.get(name)
    theirs = VLLM_CONNECTORS.get(name)
    if (row is not None and target.is_ascend and row.exists(target)) or (theirs is not None and theirs.exists(target)):
        return Msg("", "")  # its release has it, and the build whose files were read does not
    if row is not None and not target.is_ascend:
        return Msg(": it exists only in vllm-ascend", "：只有 vllm-ascend 有它")
    if row is not None and row.until is not None and target.ascend_at_least(row.until):
        return Msg(f": {row.until} was the last release with it", f"：{row.until} 是最后一个有它的版本")
    if row is not None and row.since is not None:
        return Msg(f": it was added in {row.since}", f"：{row.since} 起才有它")
    if theirs is not None and theirs.until is not None:
        return Msg(f": vLLM {theirs.until} no longer has it", f"：vLLM {theirs.until} 起不再有它")
    if theirs is not None and theirs.since is not None:
        return Msg(f": it was added in vLLM {theirs.since}", f"：vLLM {theirs.since} 起才有它")
    if (right := registered_as(name, target)) is not None:
        return Msg(f": that is the class of {right}", f"：这是 {right} 的类名")
    if name in REMOVED_NAMES:
        return Msg(": older releases had it", "：更早的版本里才有")
    return Msg("", "")


def _instead(name: str, target: Target) -> str | None:
    """Return the name to write instead, if one is known that ``target`` has."""
    row = ASCEND_CONNECTORS.get(name)
    candidates = [offload_name(target)] if name in OFFLOAD_NAMES else []
    if target.is_ascend:
        candidates += [CUDA_ONLY.get(name, ""), row.use_instead if row else "", registered_as(name, target) or ""]
    else:
        candidates.append(ASCEND_ON_VLLM.get(name, ""))
    candidates.append(REMOVED_NAMES.get(name, ""))
    for candidate in candidates:
        if candidate and (registered(candidate, target) or (candidate in OFFLOAD_NAMES and not target.is_ascend)):
            return candidate
    known = {known.lower(): known for known in names(target) if not (target.is_ascend and known in CUDA_ONLY)}
    if not target.is_ascend:
        known |= {known.lower(): known for known in OFFLOAD_NAMES}  # pd-launch's plugin registers them
    near = nearest(name.lower(), known)
    return known[near] if near and known[near] != name else None


def _help(instead: str | None, target: Target) -> Msg:
    if instead is not None:
        return Msg(f"use {instead}", f"改用 {instead}")
    return Msg(
        f"{target} has {', '.join(names(target))}; your own connector needs kv_connector_module_path",
        f"{target} 有 {'、'.join(names(target))}；自己的连接器要写 kv_connector_module_path",
    )


def _has_sizes(connector: Connector, instead: str | None, target: Target) -> bool:
    """Whether a connector has the sizes of both sides, where the one to write instead needs them."""
    sizes = [connector.option(side, key) for side in ("prefill", "decode") for key in ("dp_size", "tp_size")]
    return not target.is_ascend or instead not in NEEDS_SIZES or None not in sizes


def _fix(place: Node, instead: str | None, message: Msg) -> FixEdits | None:
    if instead is None or same(instead, place):
        return None
    return fix(message, set_value(place, instead))
