"""PD710 lmcache-option."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import rename_key, renamed
from pd_launch.launcher.rules.pd7_environment.lmcache_values import wrong
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.rules.variables import place_of
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.values import Node, Origin, Unknown
from pd_launch.schemas.engine.connector_keys import options_of
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.releases.lmcache import (
    BESIDE,
    FIRST,
    INNER,
    LAST,
    OLDER,
    OPTION,
    PREFIX,
    READERS,
    kinds,
)

_MOST = 60
"""Characters of a key that a message shows."""

ZH = r"""
LMCache 不认识的选项，或读不出的值

## 作用

检查 LMCache 引擎的选项：`LMCACHE_CONFIG_FILE` 指向的文件（同一脚本用 here-document 写出的、ConfigMap 里的、
一起给出检查的，或与脚本放在一起的）、`LMCACHE_*` 变量，以及 `kv_connector_extra_config` 里的 `lmcache.*` 键。
报告 LMCache 不读取的键（拼写错误、已经不再读取的旧名、应写在 `extra_config` 里的键、漏写 `lmcache.` 前缀的键），
以及类型不对的值。只检查使用 LMCacheConnectorV1 或 LMCacheAscendConnector 的引擎；
LMCacheMPConnector 的服务器有自己的选项。

## 为什么重要

LMCache 只在日志里提一句，就忽略不认识的键并按默认值运行；读不出的数字会变成空值，或者让引擎停在启动阶段；
开关只认 `true` 和 `1`，写成 `"on"` 反而是关闭。

## 适用版本

选项表取自 LMCache 0.3.9 到 0.5.6。更新的版本可能认识更多的键，所以不认识的键最多报告为警告。

## 来源

lmcache/v1/config.py、config_base.py 与 integration/vllm/vllm_v1_adapter.py（0.3.6、0.3.9、0.4.5、0.5.0、0.5.6）；
在 0.3.9、0.4.5 和 0.5.6 上运行过：旧名 `enable_xpyd` 与 `nixl_role` 被忽略，0.3.9 遇到 `chunk_size: abc` 报错停止。
在 0.4.5 和 0.5.6 上运行过：`chunk_size: abc` 变成空值，`local_cpu: "on"` 变成关闭。
"""


@rule("PD710", "lmcache-option", "warning", zh=ZH, needs="C R")
def lmcache_option(deployment: Deployment) -> Iterator[Hit]:
    r"""LMCache does not know an option, or cannot read its value.

    ## What it does

    Looks at the options of LMCache's engine: in the file that `LMCACHE_CONFIG_FILE` names (a here-document of the same
    script, a ConfigMap, a file given in the same call, or one beside the script), in variables `LMCACHE_*`, and in the
    keys `lmcache.*` of `kv_connector_extra_config`. Fires on keys that LMCache does not read (misspellings, old names,
    keys that belong into `extra_config` or lack the prefix `lmcache.`), and on values of another type. Only engines
    with LMCacheConnectorV1 or LMCacheAscendConnector are looked at: the server of LMCacheMPConnector has its own
    options.

    ## Why it matters

    LMCache mentions an unknown key in its log, ignores it, and runs on the default. A number that it cannot read
    becomes nothing, or stops the engine; a switch is on for `true` and `1` only, so `"on"` switches it off.

    ## Example

    ```bash
    cat > /tmp/lmcache.yaml <<EOF
    chunk_sizes: 256
    local_cpu: true
    EOF
    export LMCACHE_CONFIG_FILE=/tmp/lmcache.yaml
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
    ```

    ## Use instead

    ```bash
    cat > /tmp/lmcache.yaml <<EOF
    chunk_size: 256
    local_cpu: true
    EOF
    export LMCACHE_CONFIG_FILE=/tmp/lmcache.yaml
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
    ```

    ## Releases

    The options are those of LMCache 0.3.9 to 0.5.6. A newer one may know more, so an unknown key is a warning at most.

    ## Sources

    lmcache/v1/config.py, config_base.py and integration/vllm/vllm_v1_adapter.py at 0.3.6, 0.3.9, 0.4.5, 0.5.0 and
    0.5.6. Run on 0.3.9, 0.4.5 and 0.5.6: the old names `enable_xpyd` and `nixl_role` are ignored, and 0.3.9 stops at
    `chunk_size: abc`. Run on 0.4.5 and 0.5.6: `chunk_size: abc` becomes nothing, and `local_cpu: "on"` is off.
    """
    seen: set[Origin] = set()
    for node in deployment.nodes:
        readers = [c for c in connectors(node.kv_transfer) if c.name in READERS and c.module is None]
        if not readers:
            continue
        yield from _variables(node)
        for connector in readers:
            yield from _extra(connector, deployment)
        if node.lmcache is not None and node.lmcache.origin not in seen:  # many engines may have the same file
            seen.add(node.lmcache.origin)
            yield from _file(node.lmcache)


def _file(tree: Node) -> Iterator[Hit]:
    if tree.value is None or isinstance(tree.value, Unknown):
        return
    if not isinstance(tree.value, dict):
        yield Hit(
            tree.origin,
            Msg("LMCache's configuration is not a mapping: the engine stops", "LMCache 的配置不是映射，引擎会停止"),
            Msg("write options as KEY: VALUE", "把每个选项写成一行 `KEY: VALUE`"),
            severity="error",
        )
        return
    for key, value in tree.items():
        yield from _option(key, value)


def _extra(connector: Connector, deployment: Deployment) -> Iterator[Hit]:
    read = options_of(connector.name or "", deployment.target)
    for key, value in connector.extra.items() if connector.extra is not None else ():
        name = key.removeprefix(OPTION)
        if name == key:
            if key in kinds() and (read is None or key not in read.kinds):
                yield Hit(
                    value.key or value.origin,
                    Msg(
                        f"{key} is ignored here without lmcache. before it", f"{key} 在这里缺少前缀 lmcache.，会被忽略"
                    ),
                    Msg(f"write {OPTION}{key}", f"写成 {OPTION}{key}"),
                    fix=renamed(rename_key(value, OPTION + key), OPTION + key),
                )
        elif name.partition(".")[0] not in BESIDE:
            yield from _option(name, value, OPTION)


def _variables(node: NodeLaunch) -> Iterator[Hit]:
    """Look at variables that are written by their names; PD701 speaks of misspelt ones."""
    for name, variable in node.env.items():
        if not name.startswith(PREFIX):
            continue
        option, written = name.removeprefix(PREFIX).lower(), variable.value.key_text
        if option in OLDER and not differ(written.value if written else None, name):
            yield _older(option, variable.value, place_of(variable), PREFIX)
        elif option in kinds():
            yield from _value(option, variable.value)


def _option(key: str, value: Node, before: str = "") -> Iterator[Hit]:
    """Look at one option of a file or, with ``lmcache.`` before it, of an extra config."""
    place = value.key or value.origin
    if key in kinds():
        yield from _value(key, value)
    elif key in OLDER:
        yield _older(key, value, place, before)
    elif key in INNER:
        yield Hit(
            place,
            Msg(f"LMCache reads {key} in extra_config only", f"LMCache 只在 extra_config 里读取 {key}"),
            Msg("move it below extra_config", "把它移到 extra_config 之下"),
        )
    elif key.isprintable() and value.key_text is not None and "\0" not in key:
        near = nearest(key.lower().replace("-", "_"), kinds())
        known = Msg(f"LMCache {FIRST} to {LAST} does not know {key[:_MOST]} and ignores it",
                    f"LMCache {FIRST} 到 {LAST} 不认识 {key[:_MOST]}，会忽略它")  # fmt: skip
        yield Hit(
            place,
            known,
            Msg(f"write {before}{near}", f"写成 {before}{near}")
            if near
            else Msg("remove it, unless your release of LMCache reads it", "如果你的 LMCache 版本不读取它，请删掉"),
            severity="warning" if near else "info",
            fix=renamed(rename_key(value, before + near), before + near) if near else None,
        )


def _older(option: str, value: Node, place: Origin, before: str) -> Hit:
    older = OLDER[option]
    instead = before + (older.instead.upper() if before == PREFIX else older.instead)
    shown = before + (option.upper() if before == PREFIX else option)
    return Hit(
        place,
        Msg(
            f"LMCache ignores {shown}: {older.ignored_from} and newer do not read it",
            f"LMCache 会忽略 {shown}：{older.ignored_from} 起不再读取它",
        ),
        Msg(f"write {instead}", f"写成 {instead}") if older.instead else Msg("remove it", "删掉它"),
        fix=renamed(rename_key(value, instead), instead) if older.instead else None,
    )


def _value(option: str, value: Node) -> Iterator[Hit]:
    found = wrong(option, kinds()[option], value)
    if found is not None:
        message, help_, severity = found
        yield Hit(value.origin, message, help_, severity=severity)
