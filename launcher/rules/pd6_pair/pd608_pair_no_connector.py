"""PD608 pair-no-connector."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.container_facts import dynamo_release
from pd_launch.launcher.rules.pd6_pair.pairs import SIDE_ZH
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.pairs import PROXY_LISTS
from pd_launch.schemas.engine.sides import exclusive, named_side

ZH = """
预填充/解码拓扑里的引擎没有 --kv-transfer-config

## 作用

输入把引擎分成预填充与解码两侧（按配置段、分组、标签或文件名），或者启动了列有两侧的代理，
而引擎没有 --kv-transfer-config 时报告。引擎还有未知的参数时不报告。

Dynamo 的预填充 worker（`--disaggregation-mode prefill`）没有 --kv-transfer-config 时也报告：
镜像标签表明是 Dynamo 1.0 或更新的版本时是错误，看不出版本时是警告。预填充 worker 有而解码 worker 没有时同样报告。
带 `prefill` 的 KServe LLMInferenceService，如果没有给引擎写连接器，则是警告：
KServe 的模板会启动 P/D 路由，引擎却没有连接器。

## 为什么重要

没有连接器，KV 就传不过去：解码节点会把每个提示词从头再计算一遍，预填充节点白白工作，而且没有任何报错。
Dynamo 从 1.0 起不再默认使用 NIXL，这样的预填充 worker 会在启动时因 ValueError 退出。

## 适用版本

所有版本。

## 来源

vllm/config/vllm.py：没有 kv_transfer_config 时不创建连接器。
ai-dynamo/dynamo 1.0.0 的 components/src/dynamo/vllm/args.py。kserve/kserve 的 config/llmisvcconfig，issue 5987。
"""

_DEFAULT_UNTIL = (1, 0)
"""The first release of Dynamo in which NIXL is no default any more."""
_GIVES = ("kv-transfer-config", "ec-transfer-config", "config", "engine-config-json")
"""Arguments that give a worker a connector, or may."""


@rule("PD608", "pair-no-connector", "error", zh=ZH, needs="P")
def pair_no_connector(deployment: Deployment) -> Iterator[Hit]:
    r"""A prefill/decode topology whose engines have no --kv-transfer-config.

    ## What it does

    Fires where the input divides its engines into prefill and decode (by section, group, label or file name), or
    starts a proxy with lists of both sides, and an engine has no --kv-transfer-config. Silent where further arguments
    are unknown.

    A prefill worker of Dynamo (`--disaggregation-mode prefill`) without one is reported too: an error where the tag of
    its image says Dynamo 1.0 or later, a warning where nothing says which Dynamo it is. So is a decode worker without
    one, next to a prefill worker that has one. An LLMInferenceService of KServe with `prefill` in which nothing gives
    the engines a connector is a warning: KServe's templates start a P/D router, but the engines have none.

    ## Why it matters

    Without a connector no KV is transferred: the decode node computes every prompt again, prefill's work is wasted, and
    nothing reports an error. Dynamo has no default for it from 1.0 on: such a prefill worker ends with a ValueError at
    start.

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

    vllm/config/vllm.py: without a kv_transfer_config no connector is made. components/src/dynamo/vllm/args.py of
    ai-dynamo/dynamo 1.0.0. config/llmisvcconfig of kserve/kserve, and its issue 5987.
    """
    for node in deployment.nodes:
        if node.program == "dynamo":
            yield from _prefill_worker(node)
            yield from _decode_worker(node, deployment)
        yield from _kserve_prefill(node, deployment)
        if _without(node) and _is_topology(node, deployment):
            side = named_side(node)
            role = {"prefill": "kv_producer", "decode": "kv_consumer"}.get(side or "", "kv_producer or kv_consumer")
            yield Hit(
                node.origin,
                Msg(
                    f"this engine{f' of the {side} side' if side else ''} has no --kv-transfer-config",
                    f"这个引擎{f'（{SIDE_ZH[side]}侧）' if side else ''}没有 --kv-transfer-config",
                ),
                Msg(
                    f"add --kv-transfer-config with the connector of both sides and kv_role {role}",
                    f"加上 --kv-transfer-config，写两侧共用的连接器和 kv_role {role.replace(' or ', ' 或 ')}",
                ),
            )


def _prefill_worker(node: NodeLaunch) -> Iterator[Hit]:
    """Yield a prefill worker of Dynamo that has no connector, where no older Dynamo gives it one."""
    own = node.arg("disaggregation-mode") or node.arg("is-prefill-worker")
    if own is None or node.side != "prefill" or node.unread or any(node.arg(name) is not None for name in _GIVES):
        return
    release = dynamo_release(node)
    if (release is not None and release < _DEFAULT_UNTIL) or (release is None and node.arg("connector") is not None):
        return
    yield Hit(
        own.origin,
        Msg(
            (
                "this prefill worker has no --kv-transfer-config: since 1.0 Dynamo supplies no default, and the "
                "worker exits at start"
            ),
            "这个预填充 worker 没有 --kv-transfer-config：Dynamo 从 1.0 起不再提供默认值，它启动时就会退出",
        ),
        Msg(
            'add --kv-transfer-config \'{"kv_connector": "NixlConnector", "kv_role": "kv_both"}\' on both sides',
            '两侧都加上 --kv-transfer-config \'{"kv_connector": "NixlConnector", "kv_role": "kv_both"}\'',
        ),
        severity="error" if release is not None else "warning",
    )


def _decode_worker(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Yield a decode worker of Dynamo without a connector beside a prefill worker that is given one."""
    if named_side(node) != "decode" or node.unread or any(node.arg(name) is not None for name in _GIVES):
        return
    others = [other for other in deployment.nodes if other.program == "dynamo" and named_side(other) == "prefill"]
    peer = next((given for other in others if (given := other.arg("kv-transfer-config")) is not None), None)
    release = dynamo_release(node)
    older = node.arg("connector") is not None or (release is not None and release < _DEFAULT_UNTIL)
    if peer is None or older:
        return
    yield Hit(
        node.origin,
        Msg(
            "this decode worker has no --kv-transfer-config, as the prefill worker has: it receives no KV",
            "预填充 worker 有 --kv-transfer-config，这个解码 worker 却没有：它不会接收 KV",
        ),
        Msg(
            "add --disaggregation-mode decode and the prefill worker's --kv-transfer-config",
            "加上 --disaggregation-mode decode，以及与预填充 worker 相同的 --kv-transfer-config",
        ),
        severity="error" if release is not None else "warning",
        related=((peer.origin, Msg("the prefill worker's", "预填充 worker 的")),),
    )


def _kserve_prefill(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Yield the prefill side of an LLMInferenceService of KServe where nothing gives either side a connector.

    A warning: later templates of KServe may add one.
    """
    if not _bare(node) or named_side(node) != "prefill":
        return
    others = [other for other in deployment.nodes if other.form == "manifest" and named_side(other) == "decode"]
    if not others or not all(map(_bare, others)):
        return
    yield Hit(
        node.origin,
        Msg(
            "neither side is given a KV connector: KServe's templates do not add one, and no KV is transferred",
            "两侧都没有 KV 连接器：KServe 的模板不会加上它，KV 不会传输",
        ),
        Msg(
            'set VLLM_ADDITIONAL_ARGS on both sides: --kv-transfer-config \'{"kv_connector": "NixlConnector", …}\'',
            '两侧都设置 VLLM_ADDITIONAL_ARGS：--kv-transfer-config \'{"kv_connector": "NixlConnector", …}\'',
        ),
        severity="warning",
        related=((others[0].origin, Msg("the decode side", "解码一侧")),),
    )


def _bare(node: NodeLaunch) -> bool:
    """Whether KServe's own templates alone make a command, and no connector is given."""
    return node.container is not None and node.container.kserve and node.arg("kv-transfer-config") is None


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
