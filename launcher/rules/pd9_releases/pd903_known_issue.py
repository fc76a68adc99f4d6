"""PD903 known-issue."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import Connector
from pd_launch.schemas.engine.running import running
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.known_issues import KNOWN_ISSUES, METRICS, KnownIssue

ZH = """
目标版本有一个已知缺陷，正好涉及这份配置

## 作用

模型系列、连接器、功能与目标版本的组合符合一条已知缺陷的记录（带链接和日期）时报告。条件未知的不算符合。只在块不足时才出现的缺陷报告为提示；连接器本身就是为这种情况准备的，则仍为警告。

## 为什么重要

配置本身没有写错，但这个版本会因此崩溃，或者给出错误的回答。

## 适用版本

每条缺陷所注明的版本。

## 来源

schemas/releases/known_issues.py 中每条记录的链接。
"""


@rule("PD903", "known-issue", "warning", zh=ZH, confidence="medium", needs="C R")
def known_issue(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The target release has a known bug that affects this configuration.

    ## What it does

    Fires where model family, connector, features and target release together match a recorded fault, with its link and
    date. A condition that is unknown does not count as met. A fault that shows only when blocks run out is an info,
    unless the connector is one for exactly that case.

    ## Why it matters

    The configuration itself is correct, but this release crashes or answers wrongly with it.

    ## Example

    ```bash
    # target: vllm==0.26.0
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"connectors": [{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"},
      {"kv_connector": "OffloadingConnector", "kv_role": "kv_consumer",
      "kv_connector_extra_config": {"cpu_bytes_to_use": 17179869184}}]}}'
    ```

    ## Use instead

    ```bash
    # target: vllm==0.26.0
    vllm serve /models/m \
      --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    Those named with each fault.

    ## Sources

    The link of each row in schemas/releases/known_issues.py.
    """
    found = running(node, deployment.target)
    for issue in KNOWN_ISSUES:
        if not issue.hits(deployment.target):
            continue
        for connector in found:
            if connector.name in issue.connector and _meets(node, connector, issue):
                written = connector.tree.get("kv_connector") or connector.tree
                yield Hit(
                    written.origin,
                    Msg(
                        f"known bug in {deployment.target}: {issue.what.en} ({issue.link}, {issue.date})",
                        f"{deployment.target} 的已知缺陷：{issue.what.zh}（{issue.link}，{issue.date}）",
                    ),
                    issue.instead,
                    severity="info" if issue.rare else None,
                )


def _meets(node: NodeLaunch, connector: Connector, issue: KnownIssue) -> bool:
    if issue.families or issue.hybrid:
        facts = model_of(node)
        if facts is None or (issue.families and facts.family not in issue.families):
            return False
        if issue.hybrid and not facts.hybrid:
            return False
    return all(_NEEDS[need](node, connector) for need in issue.needs)


def _speculates(node: NodeLaunch, _: Connector) -> bool:
    config = node.value("speculative-config")
    tokens = config.get("num_speculative_tokens") if config else None
    return tokens is not None and (tokens.integer() or 0) > 0


def _aligned(node: NodeLaunch, _: Connector) -> bool:
    mode = node.value("mamba-cache-mode")
    return mode is not None and mode.value == "align"


def _full_decode(node: NodeLaunch, _: Connector) -> bool:
    config = node.value("compilation-config")
    mode = config.get("cudagraph_mode") if config else None
    return mode is not None and mode.value == "FULL_DECODE_ONLY" and node.role == "kv_consumer"


def _v2_runner(node: NodeLaunch, _: Connector) -> bool:
    return node.variable("VLLM_USE_V2_MODEL_RUNNER") == "1"


def _async(node: NodeLaunch, _: Connector) -> bool:
    return node.switch("async-scheduling") is not False and not node.partial


def _async_on(node: NodeLaunch, _: Connector) -> bool:
    """Whether it is asked for: by default the engine decides by executor, model and platform."""
    return node.switch("async-scheduling") is True


def _one_side(node: NodeLaunch, _: Connector) -> bool:
    return node.role in ("kv_producer", "kv_consumer")


def _under_multi(_: NodeLaunch, connector: Connector) -> bool:
    siblings = connector.parent.children if connector.parent else []
    return any(sibling.name == "NixlConnector" for sibling in siblings)


def _repeated(_: NodeLaunch, connector: Connector) -> bool:
    """Whether this is not the first child of its name."""
    siblings = connector.parent.children if connector.parent else []
    first = next((sibling for sibling in siblings if sibling.name == connector.name), None)
    return first is not None and first.tree is not connector.tree


def _with_metrics(_: NodeLaunch, connector: Connector) -> bool:
    """Whether a sibling's metrics make the MultiConnector expect those of all."""
    siblings = connector.parent.children if connector.parent else []
    return any(sibling.name != connector.name and sibling.name in METRICS for sibling in siblings)


def _builtin(_: NodeLaunch, connector: Connector) -> bool:
    return connector.is_builtin_offload


def _prefills(node: NodeLaunch, _: Connector) -> bool:
    return node.role == "kv_producer"


def _loads_async(_: NodeLaunch, connector: Connector) -> bool:
    option = connector.option("load_async")
    return option is not None and option.value is True


def _consumes(node: NodeLaunch, _: Connector) -> bool:
    return node.role in ("kv_consumer", "kv_both")


def _decode_context(node: NodeLaunch, _: Connector) -> bool:
    return (node.number("decode-context-parallel-size", 1) or 1) > 1


def _sparse_sfa_c8(node: NodeLaunch, _: Connector) -> bool:
    config = node.value("additional-config")
    option = config.get("enable_sparse_sfa_c8") if config else None
    return option is not None and option.value is True


_NEEDS: dict[str, Callable[[NodeLaunch, Connector], bool]] = {
    "speculation": _speculates,
    "align": _aligned,
    "full_decode_graphs": _full_decode,
    "v2_runner": _v2_runner,
    "async": _async,
    "prefill_or_decode": _one_side,
    "under_multi": _under_multi,
    "repeated": _repeated,
    "beside_metrics": _with_metrics,
    "builtin_offload": _builtin,
    "prefill": _prefills,
    "load_async": _loads_async,
    "decode_context": _decode_context,
    "sparse_sfa_c8": _sparse_sfa_c8,
    "consumes": _consumes,
    "async_on": _async_on,
}
