"""PD608 pair-no-connector."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.pairs import PROXY_LISTS
from pd_launch.schemas.engine.sides import exclusive, named_side

ZH = """
预填充/解码拓扑里的引擎没有 --kv-transfer-config

## 作用

当输入把引擎分成预填充与解码(小节、分组、标签或文件名),或者启动了带两侧列表的代理,而引擎没有 --kv-transfer-config 时
报告。
引擎还有未知的参数时不报告。

## 为什么重要

没有连接器就没有 KV 传过去:解码节点会把每个提示从头再算一遍,预填充节点白白工作,而且没有任何报错。

## 适用版本

所有版本。

## 来源

vllm/config/vllm.py:没有 kv_transfer_config 时不创建连接器。
"""


@rule("PD608", "pair-no-connector", "error", zh=ZH, needs="P")
def pair_no_connector(deployment: Deployment) -> Iterator[Hit]:
    r"""A prefill/decode topology whose engines have no --kv-transfer-config.

    ## What it does

    Fires where the input divides its engines into prefill and decode (by section, group, label or file name), or
    starts a proxy with lists of both sides, and an engine has no --kv-transfer-config. Silent where further arguments
    are unknown.

    ## Why it matters

    Without a connector no KV is handed over: the decode node computes every prompt again, prefill works for nothing,
    and nothing reports an error.

    ## Example

    ```bash
    # file: prefill.sh
    vllm serve Qwen/Qwen3-8B --port 8100
    ```

    ```bash
    # file: decode.sh
    vllm serve Qwen/Qwen3-8B --port 8200
    ```

    ## Use instead

    ```bash
    # file: prefill.sh
    vllm serve Qwen/Qwen3-8B --port 8100 \
      --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve Qwen/Qwen3-8B --port 8200 \
      --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All.

    ## Sources

    vllm/config/vllm.py: without a kv_transfer_config no connector is made.
    """
    for node in deployment.nodes:
        if _without(node) and _is_topology(node, deployment):
            side = named_side(node)
            role = {"prefill": "kv_producer", "decode": "kv_consumer"}.get(side or "", "kv_producer or kv_consumer")
            yield Hit(
                node.origin,
                Msg(
                    f"this engine{f' of the {side} side' if side else ''} has no --kv-transfer-config",
                    f"{f'{side} 一侧的' if side else ''}这个引擎没有 --kv-transfer-config",
                ),
                Msg(
                    f"add --kv-transfer-config with the connector of both sides and kv_role {role}",
                    f"加上 --kv-transfer-config,写两侧共用的连接器和 kv_role {role}",
                ),
            )


def _without(node: NodeLaunch) -> bool:
    given = node.arg("kv-transfer-config") is not None or node.arg("ec-transfer-config") is not None
    return not given and not node.partial and node.program != "python"


def _is_topology(node: NodeLaunch, deployment: Deployment) -> bool:
    """Whether the input shows both sides, and ``node`` is of one of them."""
    own = named_side(node)
    others = [other for other in deployment.nodes if other is not node and not exclusive(node, other)]
    if own is not None:
        return any(named_side(other) not in (None, own) or other.role is not None for other in others) or (
            node.form == "manifest" and own == "prefill" and bool(others)
        )
    if node.form == "manifest" and any(named_side(other) == "prefill" for other in others):
        return not any(named_side(other) == "decode" for other in others)
    return bool(others) and _proxied(deployment)


def _proxied(deployment: Deployment) -> bool:
    """Whether a proxy is started with lists of both sides."""
    wanted = [{f"--{name}" for options in sides for name in options} for sides in PROXY_LISTS.values()]
    for proxy in deployment.proxies:
        words = {str(word.value).partition("=")[0] for word in proxy.words}
        if all(words & names for names in wanted):
            return True
    return False
