"""PD220 ignored-kv-field."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, remove_entry
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import same
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.connector_ports import NIXL
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.releases.kv_fields import kv_fields
from pd_launch.schemas.releases.stock import UNREAD_FIELDS

NOBODY = Msg("it is not read on Ascend", "昇腾上不会读取它")
IGNORED = {
    "kv_rank": NOBODY,
    "kv_parallel_size": NOBODY,
    "kv_ip": NOBODY,
    "kv_buffer_device": NOBODY,
    "kv_buffer_size": Msg("vllm-ascend resets it to 1e9", "vllm-ascend 会把它重置为 1e9"),
    "enable_permute_local_kv": Msg("vllm-ascend resets it to false", "vllm-ascend 会把它重置为 false"),
}
IGNORED_ON_VLLM = dict.fromkeys(("kv_rank", "kv_parallel_size", "kv_ip"), Msg("it is not read", "不会读取它"))
DEFAULTS = {"kv_buffer_size": 1e9, "enable_permute_local_kv": False}

ZH = """
--kv-transfer-config 的字段没有作用

## 作用

在 vllm-ascend 上，当 `--kv-transfer-config` 或其子项里有目标版本接受、但会忽略或重置的字段时提示：`kv_rank`、
`kv_parallel_size`、`kv_ip`、`kv_buffer_device`（NIXL 的连接器会读取它，除外）、
`kv_buffer_size`、`enable_permute_local_kv`。
在原版 vLLM 上，使用 vLLM 内置的连接器时，只提示前三个。

## 为什么重要

这些字段来自旧版本的示例，看起来像是在设置什么，实际上什么也不会改变，其中几个在新版本里还会让启动失败。

## 适用版本

vllm-ascend 的所有版本，以及 vLLM；vLLM <until kv-field-kv_rank> 不再接受其中四个字段（PD006）。

## 来源

vllm_ascend/platform.py（0.27.1rc1 第 595–613 行）与对各标签代码的检索。
"""


@rule("PD220", "ignored-kv-field", "info", zh=ZH, needs="C R")
def ignored_kv_field(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A field of kv-transfer-config has no effect.

    ## What it does

    On vllm-ascend, reports fields of `--kv-transfer-config` or of its children that the target accepts and then ignores
    or resets: `kv_rank`, `kv_parallel_size`, `kv_ip`, `kv_buffer_device` (except for NIXL's connectors, which read it),
    `kv_buffer_size`, `enable_permute_local_kv`. On vLLM, reports the first three, for vLLM's own connectors.

    ## Why it matters

    These fields come from examples of older releases and look as if they set something; they change nothing, and newer
    releases refuse some of them.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both",
      "kv_rank": 0}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"}'
    ```

    ## Releases

    All of vllm-ascend, and of vLLM; vLLM <until kv-field-kv_rank> no longer accepts four of them (PD006).

    ## Sources

    vllm_ascend/platform.py (lines 595-613 at 0.27.1rc1), and the code at each tag; the connectors in the wheels of vLLM
    0.23.0 and 0.27.1.
    """
    target = deployment.target
    if not target.is_ascend and not UNREAD_FIELDS.holds(target):
        return
    accepted = kv_fields(target)
    for connector in connectors(node.kv_transfer):
        if not target.is_ascend and connector.tree.get("kv_connector_module_path") is not None:
            continue  # somebody else's connector may read them
        for field, why in (IGNORED if target.is_ascend else IGNORED_ON_VLLM).items():
            value = connector.tree.get(field)
            if field == "kv_buffer_device" and connector.name in NIXL:
                continue  # vLLM's own connector reads it, whatever the platform
            if value is None or field not in accepted or same(value, DEFAULTS.get(field, object())):
                continue
            yield Hit(
                value.key or value.origin,
                Msg(f"{field} has no effect: {why.en}", f"{field} 没有作用：{why.zh}"),
                Msg("remove it", "删掉它"),
                fix=fix(Msg(f"remove {field}", f"删掉 {field}"), remove_entry(value), safe=True),
            )
