"""PD604 pair-layout."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd6_pair.layouts import (
    block_sizes,
    context,
    cross_layers,
    hash_algorithm,
    hybrid_manager,
    kv_layout,
    moriio_mode,
    tensor_sizes,
)
from pd_launch.launcher.rules.pd6_pair.pairs import pairs
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment

ZH = """
两侧的缓存布局不一致

## 作用

比较两侧的块大小、混合 KV 缓存管理器、解码上下文并行（DCP）、KV 缓存布局（VLLM_KV_CACHE_LAYOUT，以及
NixlConnector 的 `enable_cross_layers_blocks`）、MoRIIOConnector 的 `read_mode`，还有共用 KV 池时的前缀哈希算法。
没有写块大小而目标版本的默认值已知时（如昇腾上的 DeepSeek-V4），按默认值比较。
连接器支持的差别（例如一侧的块大小能整除另一侧）是警告，不支持的是错误。NixlConnector 与方向有关：
读取的一侧（push 时为写入的一侧）的块大小必须是另一侧的倍数。
MooncakeLayerwiseConnector 由预填充侧写入：解码侧的块大小必须是它的倍数，并且两侧都没有上下文并行。
MooncakeConnectorV1 两侧的 DCP 不同时，预填充侧的 DCP × PCP 必须是解码侧的倍数；
从 <since context-either-way> 起，DCP 只要一侧是另一侧的倍数即可，但只有解码侧带 DCP 时，块大小必须相同。
解码侧带 DCP 时，预填充侧的块不能大于解码侧的块。
vLLM 的 NixlConnector 与 MooncakeConnector 还要求一侧的张量并行大小是另一侧的倍数。
一侧未知时不报告。

## 为什么重要

解码侧按自己的布局去读预填充侧写入的块：布局不同就会读错位置，或者在握手时被拒绝。

## 适用版本

所有版本；MooncakeConnectorV1 自 vllm-ascend <since blocks-divide> 起允许两侧的块大小互相整除。

## 来源

vllm_ascend/distributed/kv_transfer/kv_p2p/mooncake_connector.py，0.23.0 到 0.30.0rc2，
以及 mooncake_layerwise_connector.py 的 _align_remote_block_ids，0.18.0 到 0.30.0rc2；
vLLM NixlConnector 的兼容性哈希（0.32.0），
kv_connector/utils.py 的 block_size_ratio 与 tp_ratio、mooncake_connector.py 的 _get_tp_ratio
（0.18.0 到 0.33.0，0.32.0 上运行过）；moriio_common.py（0.32.0）；
vllm_ascend/utils.py 的 refresh_block_size（0.21.0rc1 到 0.30.0rc2）与 vllm-ascend issue 14545。
"""

COMPARED = (block_sizes, tensor_sizes, hybrid_manager, context, kv_layout, cross_layers, moriio_mode, hash_algorithm)


@rule("PD604", "pair-layout", "error", zh=ZH, needs="P R")
def pair_layout(deployment: Deployment) -> Iterator[Hit]:
    r"""The cache layouts of the two sides differ where they must agree.

    ## What it does

    Compares block size, hybrid KV cache manager, decode context parallelism (DCP), KV cache layout
    (VLLM_KV_CACHE_LAYOUT, and NixlConnector's `enable_cross_layers_blocks`), MoRIIOConnector's `read_mode` and, with a
    shared KV pool, the prefix hash algorithm. A difference that the connector supports (such as block sizes where one
    divides the other) is a warning, any other an error. NixlConnector looks at the direction: the block of the side
    that reads (with push, that writes) must be a multiple of the other's. Where no block size is written and the
    target's default is known (DeepSeek-V4 on Ascend), the default is compared. With MooncakeLayerwiseConnector prefill
    writes: decode's block must be a multiple of prefill's, and neither side may have context parallelism. With
    MooncakeConnectorV1, prefill's DCP × PCP must be a multiple of decode's; from <since context-either-way> either DCP
    may be a multiple of the other, but where only decode has DCP the blocks must be equal. With DCP on decode,
    prefill's block must not be larger than decode's. For vLLM's NixlConnector and MooncakeConnector the tensor
    parallel size of one side must be a multiple of the other's. Silent where one side is unknown.

    ## Why it matters

    Decode reads the blocks that prefill wrote by its own layout: with a different one it reads the wrong place, or the
    handshake is refused.

    ## Example

    ```bash
    # file: prefill.sh
    vllm serve openai/gpt-oss-20b --disable-hybrid-kv-cache-manager \
      --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve openai/gpt-oss-20b --no-disable-hybrid-kv-cache-manager \
      --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    # file: prefill.sh
    vllm serve openai/gpt-oss-20b --no-disable-hybrid-kv-cache-manager \
      --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve openai/gpt-oss-20b --no-disable-hybrid-kv-cache-manager \
      --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All; MooncakeConnectorV1 pairs block sizes of which one divides the other from vllm-ascend <since blocks-divide>
    on.

    ## Sources

    vllm_ascend/distributed/kv_transfer/kv_p2p/mooncake_connector.py at 0.23.0 to 0.30.0rc2;
    _align_remote_block_ids in mooncake_layerwise_connector.py at 0.18.0 to 0.30.0rc2; the compatibility hash of
    vLLM's NixlConnector at 0.32.0, and block_size_ratio and tp_ratio in kv_connector/utils.py and _get_tp_ratio in
    mooncake_connector.py at 0.18.0 to 0.33.0, run at 0.32.0; moriio_common.py at 0.32.0; refresh_block_size in
    vllm_ascend/utils.py at 0.21.0rc1 to 0.30.0rc2 and vllm-ascend issue 14545.
    """
    for prefill, decode in pairs(deployment):
        if prefill.kv_transfer is None or decode.kv_transfer is None:
            continue
        for compare in COMPARED:
            yield from compare(prefill, decode, deployment)
