"""``--kv-transfer-config``: its connectors as a tree of views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.budget import NEW_NAME, OFFLOAD_NAMES, OLD_NAME
from pd_launch.schemas.releases.features import RENAMED

MULTI = "MultiConnector"
BUNDLES = frozenset({MULTI, "PdConnector"})
"""Connectors of several connectors: vLLM's own, and the one that Dynamo's KVBM makes of it."""
BUNDLED_MODULE = "pd_launch.connector"
ROLES = ("kv_producer", "kv_consumer", "kv_both")

SIZED_CONNECTORS = frozenset(
    {"MooncakeConnectorV1", "MooncakeHybridConnector", "MooncakeLayerwiseConnector", "MooncakeConnectorV2"}
)
"""P/D connectors of vllm-ascend that read ``prefill``/``decode`` sizes from their extra config."""

TOP_LEVEL_FIELDS = frozenset(
    {
        "kv_connector", "engine_id", "kv_buffer_device", "kv_buffer_size", "kv_role", "kv_rank", "kv_parallel_size",
        "kv_ip", "kv_port", "kv_connector_extra_config", "kv_connector_module_path", "enable_permute_local_kv",
        "kv_load_failure_policy",
    }
)  # fmt: skip
"""Every field that a release of vLLM has known; which one knows which: releases/vllm.py."""


class Connector(NamedTuple):
    """One connector of a configuration: the top-level one, or a child of a MultiConnector."""

    tree: Node
    parent: Connector | None = None

    def text(self, key: str) -> str | None:
        """Return a string field, or None where it is absent, unknown or no string."""
        node = self.tree.get(key)
        return node.string() if node else None

    @property
    def name(self) -> str | None:
        """``kv_connector``, or None where it is absent or unknown."""
        return self.text("kv_connector")

    @property
    def module(self) -> str | None:
        """``kv_connector_module_path``, or None."""
        return self.text("kv_connector_module_path")

    @property
    def extra(self) -> Node | None:
        """``kv_connector_extra_config``, or None."""
        return self.tree.get("kv_connector_extra_config")

    def option(self, *path: str) -> Node | None:
        """Return an option of the extra config, or None."""
        return self.extra.get(*path) if self.extra else None

    @property
    def is_bundled_offload(self) -> bool:
        """Whether this is the offload connector that comes with pd-launch."""
        return self.name in OFFLOAD_NAMES and f"{self.module}.".startswith(f"{BUNDLED_MODULE}.")

    @property
    def is_builtin_offload(self) -> bool:
        """Whether this is vllm-ascend's own offload connector, by its registered name."""
        return self.name in OFFLOAD_NAMES and self.tree.get("kv_connector_module_path") is None

    @property
    def is_offload(self) -> bool:
        """Whether this is either offload connector."""
        return self.is_bundled_offload or self.is_builtin_offload

    def bundled_in(self, target: Target) -> bool:
        """Whether ``target`` takes the offload connector that comes with pd-launch: on vLLM by its name alone as well.

        No release of vLLM has one of these names: either pd-launch's plugin registers it, or it must be mended (PD201)
        and then means the same.
        """
        return self.is_bundled_offload or (self.is_builtin_offload and not target.is_ascend)

    @property
    def children(self) -> list[Connector]:
        """Children of a MultiConnector, or of a class that stands in for it; empty for another connector."""
        listed = self.option("connectors") if self.name in BUNDLES else None
        return [Connector(child, self) for child in listed.elements()] if listed else []

    def flat(self) -> Iterator[Connector]:
        """Iterate over this connector and all below it."""
        yield self
        for child in self.children:
            yield from child.flat()


def connectors(tree: Node | None) -> list[Connector]:
    """Return all connectors of a configuration's tree, the top-level one first; none without a mapping."""
    if tree is None or not isinstance(tree.value, dict):
        return []
    return list(Connector(tree).flat())


def offload_name(target: Target) -> str:
    """Return the name under which ``target`` knows the offload connector."""
    return NEW_NAME if RENAMED.holds(target) else OLD_NAME
