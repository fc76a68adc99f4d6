"""Which of vLLM's connectors can follow sleep mode, which takes the KV cache's memory away and gives it back.

Source: ``supports_sleep_mode`` of each class in vllm/distributed/kv_transfer/kv_connector/v1 at 0.33.0 (base.py:210,
multi_connector.py:224, nixl/connector.py:144 and :372, mooncake/mooncake_connector.py:824,
mooncake/store/connector.py:131, moriio/moriio_connector.py:275), which vllm/config/vllm.py:1263 asks at
start. 0.32.0 asks none.
"""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.kv_transfer import BUNDLES, Connector
from pd_launch.schemas.releases.facts import Code, vllm
from pd_launch.schemas.releases.stock import SLEEP_ASKED

NEVER = frozenset({"NixlPushConnector", "MooncakeStoreConnector", "MoRIIOConnector"})
"""Connectors that refuse sleep mode whatever their options."""
ONLY_WITH: dict[str, tuple[str, object]] = {
    "NixlConnector": ("backends", ["UCX"]),
    "NixlPullConnector": ("backends", ["UCX"]),
    "MooncakeConnector": ("mooncake_protocol", "rdma"),
}
"""Connector → an option of its extra config, and the only value (also the default) with which it takes sleep mode."""
NOT_WITH: dict[str, tuple[str, ...]] = {
    "MooncakeConnector": ("MC_FORCE_MNNVL", "MC_INTRANODE_NVLINK", "MC_USE_TENT", "MC_USE_TEV1"),
}
"""Connector → variables of which none may be set, whatever their text."""


_V1 = "vllm/distributed/kv_transfer/kv_connector/v1"
_ANSWER = r"(?s)^class {name}\b(?:(?!\nclass ).)*?def supports_sleep_mode\([^)]*\) -> bool:(?:\s*#[^\n]*)*\s*return "
_SAID: dict[str, tuple[str, str]] = {
    "NixlPushConnector": (f"{_V1}/nixl/connector.py", "False"),
    "MooncakeStoreConnector": (f"{_V1}/mooncake/store/connector.py", "False"),
    "MoRIIOConnector": (f"{_V1}/moriio/moriio_connector.py", "False"),
    "NixlPullConnector": (
        f"{_V1}/nixl/connector.py", r"kv_transfer_config\.get_from_extra_config\(\"backends\", \[\"UCX\"\]\)",
    ),
}  # fmt: skip
_CLASSES = {"NixlPushConnector": "NixlBaseConnector"}
"""Connector → the class that answers for it, where it is a base."""
SLEEP_FACTS = {
    name: vllm(
        f"sleep-mode-of-{name}", SLEEP_ASKED.since, None,
        f"{name} takes sleep mode {'never' if name in NEVER else 'with one value of an option only'}",
        Code(file, _ANSWER.format(name=_CLASSES.get(name, name)) + answer),
    )
    for name, (file, answer) in _SAID.items()
} | {
    "MooncakeConnector": vllm(
        "sleep-mode-of-MooncakeConnector", SLEEP_ASKED.since, None,
        "MooncakeConnector takes sleep mode over RDMA only, and without four variables",
        Code(f"{_V1}/mooncake/mooncake_connector.py",
             r"(?s)def supports_sleep_mode.{0,300}MC_FORCE_MNNVL.{0,60}MC_INTRANODE_NVLINK.{0,60}MC_USE_TENT.{0,60}"
             r"MC_USE_TEV1.{0,300}get\(\"mooncake_protocol\", \"rdma\"\) == \"rdma\""),
    )
}  # fmt: skip
"""Connector → what its class answers, in which releases."""


def refuses_sleep(connector: Connector, node: NodeLaunch, target: Target) -> bool:
    """Whether it is certain that ``target`` refuses sleep mode because of this connector."""
    name = connector.name
    if not SLEEP_ASKED.holds(target) or target.is_ascend or name is None or name in BUNDLES:
        return False
    if connector.tree.get("kv_connector_module_path") is not None:
        return False
    if name in NEVER or any(node.env.get(variable) is not None for variable in NOT_WITH.get(name, ())):
        return True
    option, right = ONLY_WITH.get(name, ("", None))
    written = connector.option(option) if option else None
    return written is not None and written.known and written.plain() != right
