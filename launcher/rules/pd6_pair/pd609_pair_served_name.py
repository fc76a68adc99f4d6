"""PD609 pair-served-name."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd6_pair.pairs import PREFILL, pairs
from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import same
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.placeholder import is_placeholder
from pd_launch.schemas.core.values import HOLE
from pd_launch.schemas.models.known import model_name

_FURTHER = ("lora-modules", "enable-lora", "config")
"""Arguments by which an engine may serve under further names."""

ZH = """
两侧对外提供的模型名不同

## 作用

比较两侧的 --served-model-name；没有写时，名字就是模型本身的写法。两侧没有共同的名字时报告。
脚本用 curl 向本机（或 `<node_ip>` 一类占位符）请求的模型，如果没有引擎以这个名字提供，也会报告。

## 为什么重要

代理把同一个请求先后发给两侧：只有一侧认识请求里的模型名，另一侧会返回 404。请求里的名字没有引擎提供时，也是 404。

## 适用版本

所有版本。

## 来源

vllm/entrypoints/openai（按 served_model_name 检查请求的模型），0.23.0 到 0.32.0。
"""


@rule("PD609", "pair-served-name", "warning", zh=ZH, needs="P")
def pair_served_name(deployment: Deployment) -> Iterator[Hit]:
    r"""The sides serve the model under different names.

    ## What it does

    Compares --served-model-name of both sides; without it the name is the model path as written. It fires where the
    sides have no name in common. It also fires on the model of a request that a script sends with curl to this machine
    (or to a placeholder such as `<node_ip>`), where no engine serves it under that name.

    ## Why it matters

    The proxy sends one request to both sides in turn: where only one side knows the model's name, the other answers
    404. So does every engine where a request names a model under another name.

    ## Example

    ```bash
    # file: prefill.sh
    vllm serve /models/m --served-model-name chat \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    # file: prefill.sh
    vllm serve /models/m --served-model-name chat \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/m --served-model-name chat \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All.

    ## Sources

    vllm/entrypoints/openai (a request's model is looked up among the served names) at 0.23.0 to 0.32.0.
    """
    yield from _sides(deployment)
    yield from _asked(deployment)


def _sides(deployment: Deployment) -> Iterator[Hit]:
    """Yield the name of a decode side that has none in common with prefill."""
    flag = "served-model-name"
    for prefill, decode in pairs(deployment):
        left, right = _names(prefill), _names(decode)
        if left is None or right is None or set(left) & set(right):
            continue
        if not (prefill.arg(flag) or decode.arg(flag)) and not same(model_name(prefill), model_name(decode)):
            continue  # two models: another rule says so
        yield Hit(
            at(decode, flag) if decode.arg(flag) or decode.model is None else decode.model.origin,
            Msg(
                f"the served model name is {right[0]} on decode and {left[0]} on prefill",
                f"对外提供的模型名在解码侧是 {right[0]}，在预填充侧是 {left[0]}",
            ),
            Msg(f"write the same --{flag} on both sides", f"两侧写相同的 --{flag}"),
            related=(
                (at(prefill, flag) if prefill.arg(flag) or prefill.model is None else prefill.model.origin, PREFILL),
            ),
        )


def _asked(deployment: Deployment) -> Iterator[Hit]:
    """Yield the model of a request that no engine serves under this name.

    Silent where an engine's names are not all known: adapters have names of their own, and some are loaded later.
    """
    wanted = [one.model for one in deployment.requests if one.model is not None and one.model.string()]
    served: list[str] = []
    for node in deployment.nodes if wanted else ():
        names = _names(node)
        if names is None or node.program not in ("serve", "api_server") or any(node.arg(flag) for flag in _FURTHER):
            return
        served += names
    for model in wanted if served else ():
        name = str(model.value)
        if name.rstrip("/") in served or HOLE in name or "$" in name or is_placeholder(name):
            continue
        yield Hit(
            model.origin,
            Msg(
                f"this requests the model {name!r}, but the engine serves {served[0]!r}",
                f"这里请求的模型是 {name!r}，但引擎对外提供的是 {served[0]!r}",
            ),
            Msg("write one of the served names", "写引擎对外提供的名字"),
        )
        return


def _names(node: NodeLaunch) -> list[str] | None:
    """Return the names under which a node serves its model, or None where one of them is unknown."""
    arg = node.arg("served-model-name")
    if arg is None:
        nodes = [node.model] if node.model is not None and not node.partial else []
    else:
        nodes = [value for value in (arg.value, *arg.more) if value is not None]
    names = [value.string() for value in nodes]
    known = [name.rstrip("/") for name in names if name and HOLE not in name and "$" not in name]
    return known if known and len(known) == len(names) else None
