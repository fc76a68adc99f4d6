"""PD008 ignored-option."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pd_launch.launcher.rules.pd0_reading.overwritten import overwritten
from pd_launch.launcher.rules.pd1_role.option_pairs import fused_mc2
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.rules.values.flag_domains import is_json
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, plain_node
from pd_launch.schemas.engine.scheduling import is_on
from pd_launch.schemas.releases import features
from pd_launch.schemas.releases.additional_keys import DERIVED, derived_from
from pd_launch.schemas.releases.ignored_flags import SERVE_ONLY, reset_on_ascend

ZH = r"""
这个选项在这里不起作用

## 作用

给 `python -m vllm.entrypoints.openai.api_server` 写了 `--headless`、`--api-server-count`，
或者给出模型却没有写 `--model` 时报告；
vllm-ascend 启动时会重置的、属于其他硬件的参数，以及它接受后又用其他参数覆盖的 `--additional-config` 键也会报告。
与 `--enforce-eager` 同时写的图模式或捕获大小只作提示。`multistream_overlap_shared_expert` 与融合 MC2 同时打开时会被
关闭，报告为警告。vLLM 中被另一处设置悄悄取代的选项也报告：LMCache 的 `use_layerwise` 取代完整图模式，
`--dcp-kv-cache-interleave-size` 取代 `--cp-kv-cache-interleave-size`，`--data-parallel-rank` 关闭
`--data-parallel-hybrid-lb`，`--reasoning-parser` 取代 `--structured-outputs-config` 里的 `reasoning_parser`，
`--data-parallel-size` 取代 `VLLM_DP_…` 变量（大小为 1 时反过来由 `VLLM_DP_SIZE` 决定），`VLLM_DEBUG_DUMP_PATH` 取代
`debug_dump_path`；昇腾上草稿模型的 `quantization` 会被重置。
vLLM 只在日志里记一行就忽略的选项也报告：弹性专家并行下的多个 API server，Ray 执行器下的 `--device-ids`，
数据并行下随批大小变化的草稿 token 数，以及已关闭的 KV 事件的 publisher。

## 为什么重要

选项能通过解析，但随后就被忽略，节点的实际行为与命令不一致。

## 适用版本

所有版本；被重置的参数从相应版本起；稀疏 C8 的键从 <since overwrites-enable_sparse_sfa_c8> 起。

## 来源

vllm/entrypoints/openai/api_server.py，0.23.0、0.27.1 和 0.32.0（只有 `vllm serve` 会处理它们）；
vllm_ascend/platform.py（`_fix_incompatible_config`），0.18.0 到 0.26.0rc1 的安装包；
vllm_ascend/ascend_config.py，0.29.0rc1 第 776 行与 0.30.0rc1 第 919 行；
vllm/config/vllm.py 的 VllmConfig.__post_init__，0.18.0 到 0.33.0；
vllm/config/parallel.py、vllm/engine/arg_utils.py 与 lmcache_connector.py，0.18.0、0.23.0、0.27.1、0.32.0 和 0.33.0。
"""


@rule("PD008", "ignored-option", "warning", zh=ZH, needs="C R")
def ignored_option(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""An option that has no effect here.

    ## What it does

    Fires on `--headless`, `--api-server-count` and a model given without `--model` to `python -m
    vllm.entrypoints.openai.api_server`, on flags that vllm-ascend resets at start because they belong to other
    hardware, and on keys of `--additional-config` that it accepts and then overwrites from another flag. A graph mode
    or capture sizes with `--enforce-eager` are an info; `multistream_overlap_shared_expert` with fused MC2, which
    switches it off, is a warning. Also fires on what another setting silently replaces in vLLM: full graphs with
    LMCache's `use_layerwise`, `--cp-kv-cache-interleave-size` beside its older name, `--data-parallel-hybrid-lb` with
    `--data-parallel-rank`, `reasoning_parser` in `--structured-outputs-config` beside `--reasoning-parser`, `VLLM_DP_…`
    variables beside `--data-parallel-size` (and the size 1 beside `VLLM_DP_SIZE`), `debug_dump_path` beside its
    variable; on Ascend the `quantization` of the draft model. And on what vLLM drops with only a line in its log:
    several API servers with elastic expert parallelism, `--device-ids` with Ray's executor, a number of draft tokens
    that depends on the batch size, with data parallelism, the publisher of KV events that are switched off.

    ## Why it matters

    The option is parsed and then ignored, so the node does not do what the command says.

    ## Example

    ```bash
    python3 -m vllm.entrypoints.openai.api_server --model /models/m --headless \
      --data-parallel-size 2 --data-parallel-start-rank 1
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --headless --data-parallel-size 2 --data-parallel-start-rank 1
    ```

    ## Releases

    All; each reset flag from the release that resets it; the keys of the sparse C8 caches from
    <since overwrites-enable_sparse_sfa_c8>.

    ## Sources

    vllm/entrypoints/openai/api_server.py at 0.23.0, 0.27.1 and 0.32.0 (only `vllm serve` acts on the three);
    vllm_ascend/platform.py (`_fix_incompatible_config`) in the wheels of 0.18.0 to 0.26.0rc1;
    vllm_ascend/ascend_config.py lines 776 at 0.29.0rc1 and 919 at 0.30.0rc1; VllmConfig.__post_init__ in
    vllm/config/vllm.py, 0.18.0 to 0.33.0; vllm/config/parallel.py, vllm/engine/arg_utils.py and lmcache_connector.py at
    0.18.0, 0.23.0, 0.27.1, 0.32.0 and 0.33.0.
    """
    if node.program == "api_server" and node.model is not None and node.arg("model") is None and not node.partial:
        yield Hit(
            node.model.origin,
            Msg(
                "python -m vllm.entrypoints.openai.api_server ignores a model given without --model and serves "
                "its default model",
                "python -m vllm.entrypoints.openai.api_server 会忽略没有用 --model 给出的模型，改为启动默认模型",
            ),
            Msg("write --model before it, or start it with vllm serve", "在前面写 --model，或用 vllm serve 启动"),
        )
    for arg in node.args:
        if node.program == "api_server" and arg.name in SERVE_ONLY:
            yield Hit(
                arg.origin,
                Msg(
                    f"--{arg.name} is ignored by python -m vllm.entrypoints.openai.api_server",
                    f"python -m vllm.entrypoints.openai.api_server 会忽略 --{arg.name}",
                ),
                Msg("start the engine with vllm serve", "用 vllm serve 启动引擎"),
            )
        elif deployment.target.is_ascend and reset_on_ascend(arg, deployment.target):
            yield Hit(
                arg.origin,
                Msg(
                    f"--{arg.name} does nothing on Ascend: it is reset at start",
                    f"--{arg.name} 在昇腾上不起作用：启动时会被重置",
                ),
                Msg("remove it", "删掉它"),
            )
    for key in DERIVED:
        yield from _derived(node, key, deployment.target)
    yield from _graphs_in_eager_mode(node)
    yield from _overlap(node, deployment.target)
    yield from overwritten(node, deployment.target)


def _graphs_in_eager_mode(node: NodeLaunch) -> Iterator[Hit]:
    """Graphs that are asked for beside --enforce-eager, which switches them off whatever else is said."""
    eager = node.arg("enforce-eager")
    if eager is None or node.switch("enforce-eager") is not True:
        return
    asked = {
        "mode": _written(node, "compilation-config", "mode"),
        "cudagraph_mode": _written(node, "compilation-config", "cudagraph_mode"),
        "cudagraph_capture_sizes": _written(node, "compilation-config", "cudagraph_capture_sizes"),
        "--cudagraph-capture-sizes": node.value("cudagraph-capture-sizes"),
    }
    for name, value in asked.items():
        if value is None or not value.known or value.plain() in ("NONE", "none", "0", 0, None, []):
            continue
        yield Hit(
            value.key or value.origin,
            Msg(
                f"{name} does nothing with --enforce-eager, which switches graphs off",
                f"写了 --enforce-eager 就不使用图模式，{name} 不起作用",
            ),
            Msg("keep only one of the two", "两者只保留一个"),
            severity="info",
            related=((eager.origin, Msg("--enforce-eager", "--enforce-eager")),),
        )


def _overlap(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    """The overlap of shared experts, which vllm-ascend switches off beside fused MC2."""
    overlap = is_on(node, "multistream_overlap_shared_expert")
    fused = fused_mc2(node, target) if target.is_ascend and features.OVERLAP_WITH_FUSED_MC2.holds(target) else None
    if overlap is None or fused is None or str(fused.value).strip() != "1":
        return
    yield Hit(
        overlap.key or overlap.origin,
        Msg(
            f"{target} switches multistream_overlap_shared_expert off when fused MC2 is on",
            f"同时打开融合 MC2 时，{target} 会关闭 multistream_overlap_shared_expert",
        ),
        Msg("keep only one of the two", "两者只保留一个"),
        related=((fused.key or fused.origin, Msg("fused MC2", "融合 MC2")),),
    )


def _derived(node: NodeLaunch, key: str, target: Target) -> Iterator[Hit]:
    """A key that is switched on and overwritten from a flag, which does not switch it on."""
    entry, found = is_on(node, key), derived_from(key, target)
    if entry is None or found is None:
        return
    flag, words, word, field = found
    written = _written(node, flag, field)
    if written is not None and (not written.known or written.value in words):
        return
    shown = f"--{flag}.{field}" if field else f"--{flag}"
    yield Hit(
        entry.key or entry.origin,
        Msg(
            f"{target} overwrites {key}: only {shown} decides, and it does not switch it on",
            f"{target} 会覆盖 {key}：是否打开只看 {shown}，而它没有打开",
        ),
        Msg(f"write {shown} {word}", f"写 {shown} {word}"),
    )


def _written(node: NodeLaunch, flag: str, field: str) -> Node | None:
    if not field:
        return node.value(flag)
    dotted, whole = node.value(f"{flag}.{field}"), node.value(flag)
    if dotted is not None or whole is None or not whole.known:
        return dotted or whole
    if isinstance(whole.value, str) and is_json(whole.value):
        whole = plain_node(json.loads(whole.value), whole.origin)
    return whole.get(field)
