"""PD006 unknown-field."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, remove_entry, rename_key, renamed
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, knowable
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.releases.kv_fields import kv_field_dropped, kv_fields

ZH = """
--kv-transfer-config 里有 vLLM 不认识的字段

## 作用

检查 `--kv-transfer-config` 的每个字段，顶层和 MultiConnector 的子连接器都查：拼写错误，以及目标版本已经删除的字段
（0.32.0 起的 `kv_rank`、`kv_parallel_size`、`kv_ip`、`kv_buffer_size`）。
连接器自己的选项写在 `kv_connector_extra_config` 里，不在此列。

## 为什么重要

vLLM 会拒绝未知字段，引擎在启动时退出。

## 适用版本

所有版本；四个旧字段从 vLLM <until kv-field-kv_rank> 起被拒绝。

## 来源

vllm/config/kv_transfer.py，0.18.0 到 0.32.0；在 0.23.0、0.27.1 和 0.32.0 上运行验证过。
"""


@rule("PD006", "unknown-field", "error", zh=ZH, needs="C R")
def unknown_field(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A field of --kv-transfer-config that vLLM does not know.

    ## What it does

    Looks at every field of `--kv-transfer-config`, at the top level and in the children of a MultiConnector: misspelt
    ones, and those that the target release has dropped (`kv_rank`, `kv_parallel_size`, `kv_ip` and `kv_buffer_size`
    from vLLM 0.32.0). A connector's own options go inside `kv_connector_extra_config` and are not checked here.

    ## Why it matters

    vLLM refuses an unknown field, and the engine exits at start.

    ## Example

    ```bash
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_prot": 36000}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": 36000}'
    ```

    ## Releases

    All; the four old fields are refused from vLLM <until kv-field-kv_rank>.

    ## Sources

    vllm/config/kv_transfer.py at 0.18.0 to 0.32.0; run on 0.23.0, 0.27.1 and 0.32.0.
    """
    target = deployment.target
    known = kv_fields(target)
    for connector in connectors(node.kv_transfer):
        for name, entry in connector.tree.items():
            if name not in known and knowable(name):
                yield _hit(name, entry, target, known, deployment)


def _hit(name: str, entry: Node, target: Target, known: list[str], deployment: Deployment) -> Hit:
    place = entry.key or entry.origin
    dropped = kv_field_dropped(name, target)
    if dropped is not None:
        message = Msg(f"{name} is no longer a field: vLLM {dropped} removed it", f"{name} 已在 vLLM {dropped} 中删除")
        help_ = Msg(f"remove {name}; no connector reads it", f"删掉 {name}；没有哪个连接器读取它")
        return Hit(place, message, help_, fix=fix(help_, remove_entry(entry), safe=True))
    message = Msg(f"--kv-transfer-config has no field {name}", f"--kv-transfer-config 没有字段 {name}")
    near = nearest(name, known)
    if near is None:
        return Hit(place, message, _options(name))
    right = renamed(rename_key(entry, near), near)
    return Hit(place, message, Msg(f"did you mean {near}?", f"是不是想写 {near}？"), fix=right)


def _options(name: str) -> Msg:
    return Msg(
        f"remove it, or move {name} into kv_connector_extra_config if it is an option of the connector",
        f"删掉它；如果 {name} 是连接器自己的选项，请移到 kv_connector_extra_config 里",
    )
