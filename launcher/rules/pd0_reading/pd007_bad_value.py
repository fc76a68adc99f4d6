"""PD007 bad-value."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.rules.values import objects_and_names, value_checks, value_limits
from pd_launch.launcher.rules.values.architectures import architectures
from pd_launch.launcher.rules.values.connector_values import connector_values
from pd_launch.launcher.rules.values.registered_names import registered_names
from pd_launch.launcher.rules.values.table_values import table_values
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.values import Origin

CHECKS = (
    value_checks.flag_values,
    objects_and_names.connector_name,
    value_checks.kv_values,
    value_checks.offload_values,
    value_limits.port_spans,
    value_limits.proxy_address,
    value_limits.upstream_budget,
    objects_and_names.objects,
    objects_and_names.levels,
    architectures,
    registered_names,
    value_checks.additional_values,
    value_checks.other_json_values,
    connector_values,
    table_values,
)

ZH = r"""
值的类型不对，或超出取值范围

## 作用

按目标版本的参数表检查每个参数的值：类型、范围、固定取值，以及 JSON 参数里各字段的类型和名称；
另外检查端口（kv_port 之后的端口不够本节点各 rank 使用时也会报告）、
卸载连接器自己的选项（例如写成 `16GiB` 或 `1e9` 的预算、写成字符串的布尔值）、
vLLM 的 OffloadingConnector 的 `cpu_bytes_to_use`、P2pNcclConnector 的代理地址，
以及 `--additional-config` 里写成字符串的布尔值。`--hf-overrides` 等参数的值不是对象、写了不存在的级别、请求长度为 0、
`--kv-transfer-config` 里没有写连接器，也都会报告。对每个已注册的连接器，还检查没有默认值、
必须写的选项（如 MoRIIOConnector 的 `http_port`）、固定取值的选项（如 `backend`）、会被转换成数字的选项，
以及写成字符串 `"false"` 的开关；对 NIXL 检查 `kv_buffer_device`。还检查该版本没有注册的 reasoning parser、
tool call parser 和 attention backend；加载了插件时不检查。以下情况报告为警告：
`--model-loader-extra-config` 不是对象（解析器接受，但加载器用不了）；`--hf-overrides` 里写的是视觉语言模型的架构，
而从名称看是文本模型，或者相反。

## 为什么重要

引擎会在启动时拒绝这个值，或者把它读成别的值：在还不检查选项类型的版本里，字符串 `false` 会被当成 true。

## 适用版本

所有版本；`--additional-config` 里写成字符串的布尔值，到 vllm-ascend <before typed-options> 为止。

## 来源

0.18.0 到 0.32.0 各版本 CPU 安装包里的参数解析器与配置类，由 scripts/read_release.py 读取；
vllm_ascend 的卸载连接器与 ascend_config.py，0.18.0 到 0.26.0rc1；
附带的连接器的启动检查；vllm/v1/kv_offload/cpu/spec.py 与 p2p_nccl_engine.py。
"""


@rule("PD007", "bad-value", "error", zh=ZH, needs="C R")
def bad_value(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A value of the wrong type, or out of range.

    ## What it does

    Checks each flag's value against the target's table: type, bounds, allowed choices, and the names and types of the
    fields in a JSON argument. Also ports (a kv_port with too few ports above it for the node's ranks), the offload
    connector's own options (a budget such as `16GiB` or `1e9`, a boolean written as a string), the `cpu_bytes_to_use`
    of vLLM's OffloadingConnector, the proxy of P2pNcclConnector, booleans in `--additional-config` written as strings,
    `--hf-overrides` and similar options whose value is not an object, levels that do not exist, a maximum length of 0
    tokens, and a `--kv-transfer-config` without a connector. For every registered connector: options that are missing
    and have no default (MoRIIOConnector's `http_port`), those with a fixed set of values (its `backend`), those that
    are converted to a number, and switches written as the string `"false"`; and NIXL's `kv_buffer_device`. A reasoning
    parser, tool call parser or attention backend that the release does not register; where a plugin is loaded, nothing
    is reported. As warnings: a `--model-loader-extra-config` that is not an object (the parser accepts it, but no
    loader can use it), and a vision-language architecture in `--hf-overrides` for a model that its name calls a text
    model, or the reverse.

    ## Why it matters

    The engine refuses the value at start, or silently reads something else: in releases without typed options, the
    string `false` counts as true.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": "16GiB"}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Releases

    All; booleans written as strings in `--additional-config` up to vllm-ascend <before typed-options>.

    ## Sources

    The argument parser and config classes in the CPU wheels of vLLM 0.18.0 to 0.32.0, read by scripts/read_release.py;
    vllm_ascend's offload connector and ascend_config.py, 0.18.0 to 0.26.0rc1; the bundled connector's checks at start;
    vllm/v1/kv_offload/cpu/spec.py and p2p_nccl_engine.py.
    """
    said: set[Origin] = set()  # the checks overlap: the first has most to say of a place
    for check in CHECKS:
        for hit in check(node, deployment):
            if hit.origin not in said and not _cut_short(hit.origin, node, deployment):
                said.add(hit.origin)
                yield hit


def _cut_short(place: Origin, node: NodeLaunch, deployment: Deployment) -> bool:
    """Whether the command ends at that flag because the shell's quoting is broken right after it."""
    last = node.args[-1] if node.args else None
    if last is None or last.value is not None or last.origin != place:
        return False
    return any(
        fault.origin.file == place.file and 0 <= fault.origin.line - place.line <= 1
        for fault in deployment.faults_of("shell")
    )
