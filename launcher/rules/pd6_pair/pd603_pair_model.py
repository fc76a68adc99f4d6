"""PD603 pair-model."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd6_pair.pairs import PREFILL, pairs
from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE
from pd_launch.schemas.engine.nixl import hashes_count
from pd_launch.schemas.models.known import model_name

ZH = """
两侧的模型、dtype、量化或 KV 缓存 dtype 不同

## 作用

比较两侧的模型名（路径的最后一段）、--dtype、--quantization 与 --kv-cache-dtype。只有一侧写了、另一侧由引擎自己决定的，
不报告；但一侧写了量化的 KV 缓存（如 fp8）、另一侧没有写时会报告。两侧使用 NixlConnector（没有关闭
`enforce_handshake_compat`）时，模型与 --kv-cache-dtype 的写法也要完全相同：握手的哈希是按所写的文字计算的。

## 为什么重要

KV 缓存按模型和数据类型逐字节传输：两侧不同时，轻则报错，重则给出错误的回答而没有任何提示。

## 适用版本

所有版本。

## 来源

vllm/distributed/kv_transfer 中 NixlConnector 的兼容性哈希，0.18.0 到 0.33.0（0.32.0 上运行过）；
vllm-ascend 的连接器逐字节传输。
"""

_SAME_KV = {"fp8": "fp8_e4m3"}
_SAME_DTYPE = {"half": "float16", "float": "float32"}
_AS_MODEL = ("bfloat16", "float16", "half", "bf16", "fp16")
_RESOLVING = ("VLLM_USE_MODELSCOPE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
"""Variables with which a model's name becomes a folder before it is hashed."""
_DRAFT_SUFFIX = lazy_pattern(r"[-_.]mtp$")


@rule("PD603", "pair-model", "error", zh=ZH, needs="P R")
def pair_model(deployment: Deployment) -> Iterator[Hit]:
    """The two sides differ in model, dtype, quantisation or KV cache dtype.

    ## What it does

    Compares the model's name (the last part of a path), --dtype, --quantization and --kv-cache-dtype of both sides.
    What one side writes and the other leaves to the engine is not a finding, except a quantised KV cache (such as fp8)
    on one side only. Over NixlConnector (unless `enforce_handshake_compat` is false) model and --kv-cache-dtype must
    also be written alike: the text itself is part of the handshake's hash.

    ## Why it matters

    The KV cache is handed over byte by byte as the model and its data types lay it out: where they differ, requests
    fail or, worse, answers are silently wrong.

    ## Example

    ```bash
    # file: prefill.sh
    vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve Qwen/Qwen3-14B --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    # file: prefill.sh
    vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All.

    ## Sources

    NixlConnector's compatibility hash in vllm/distributed/kv_transfer at 0.18.0 to 0.33.0, run at 0.32.0;
    vllm-ascend's connectors copy bytes.
    """
    for prefill, decode in pairs(deployment):
        if prefill.kv_transfer is None and decode.kv_transfer is None:
            continue
        hashed = hashes_count(prefill, decode, deployment.target)
        yield from _model(prefill, decode, hashed)
        for flag in ("dtype", "quantization"):
            yield from _flag(prefill, decode, flag)
        yield from _kv_dtype(prefill, decode, hashed)


def _model(prefill: NodeLaunch, decode: NodeLaunch, hashed: bool) -> Iterator[Hit]:
    left, right = _name(prefill), _name(decode)
    if left is None or right is None or decode.model is None or prefill.model is None:
        return
    if not differ(left, right):
        if hashed:
            yield from _written(prefill, decode)
        return
    first, second = model_name(prefill), model_name(decode)
    yield Hit(
        decode.model.origin,
        Msg(f"decode serves {second}, prefill serves {first}", f"解码侧的模型是 {second}，预填充侧的模型是 {first}"),
        Msg("serve the same model on both sides", "两侧使用同一个模型"),
        related=((prefill.model.origin, PREFILL),),
    )


def _written(prefill: NodeLaunch, decode: NodeLaunch) -> Iterator[Hit]:
    """Yield two texts for one model: NixlConnector hashes the text, whatever it leads to.

    What is resolved before that (a model's name to a folder of a cache or of ModelScope) may become equal again.
    """
    first, second = (node.model.string() if node.model else None for node in (prefill, decode))
    if first is None or second is None or not differ(first, second) or decode.model is None or prefill.model is None:
        return
    if any(HOLE in text or "$" in text or "{" in text or "://" in text for text in (first, second)):
        return
    if any(name in node.env for node in (prefill, decode) for name in _RESOLVING):
        return
    yield Hit(
        decode.model.origin,
        Msg(
            f"NixlConnector compares the model names literally: {second!r} on decode, {first!r} on prefill",
            f"NixlConnector 按字面比较模型名：解码侧写的是 {second!r}，预填充侧写的是 {first!r}",
        ),
        Msg(
            (
                "write the same name on both sides (mount the folder at the same path), or "
                '"enforce_handshake_compat": false'
            ),
            '两侧写成一样（把目录挂载到同一路径），或写 "enforce_handshake_compat": false',
        ),
        related=((prefill.model.origin, PREFILL),),
    )


def _name(node: NodeLaunch) -> str | None:
    name = model_name(node)
    if name is None or HOLE in name or "$" in name or "{" in name:
        return None
    return _DRAFT_SUFFIX.sub("", name.strip().lower()).replace("_", "-")


def _flag(prefill: NodeLaunch, decode: NodeLaunch, flag: str) -> Iterator[Hit]:
    left, right = _text(prefill, flag), _text(decode, flag)
    if left is None or right is None or "auto" in (left, right):
        return
    if differ(_SAME_DTYPE.get(left, left), _SAME_DTYPE.get(right, right)):
        yield _differs(prefill, decode, flag, left, right)


def _kv_dtype(prefill: NodeLaunch, decode: NodeLaunch, hashed: bool) -> Iterator[Hit]:
    flag = "kv-cache-dtype"
    if any(node.partial or (node.arg(flag) is not None and _text(node, flag) is None) for node in (prefill, decode)):
        return
    left, right = (_text(node, flag) or "auto" for node in (prefill, decode))
    if hashed and "auto" not in (left, right) and differ(left, right):
        yield _differs(prefill, decode, flag, left, right)  # the word is hashed, not what it means
        return
    left, right = _SAME_KV.get(left, left), _SAME_KV.get(right, right)
    if not differ(left, right) or ("auto" in (left, right) and {left, right} & set(_AS_MODEL)):
        return
    yield _differs(prefill, decode, flag, left, right)


def _differs(prefill: NodeLaunch, decode: NodeLaunch, flag: str, left: str, right: str) -> Hit:
    return Hit(
        at(decode, flag),
        Msg(
            f"--{flag} is {right} on decode and {left} on prefill", f"--{flag} 在解码侧是 {right}，在预填充侧是 {left}"
        ),
        Msg(f"write the same --{flag} on both sides", f"两侧写相同的 --{flag}"),
        related=((at(prefill, flag), PREFILL),),
    )


def _text(node: NodeLaunch, flag: str) -> str | None:
    value = node.value(flag)
    text = value.string() if value else None
    return text.strip().lower() if text else None
