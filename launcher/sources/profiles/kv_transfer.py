"""What a profile says of KV transfer and offload, as the JSON of two arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pd_launch.launcher.sources.profiles.arguments import Arguments
from pd_launch.launcher.sources.profiles.side import OneSide
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import GIB, MIB, format_size
from pd_launch.schemas.core.values import Node, plain_node
from pd_launch.schemas.engine.additional import switched_on
from pd_launch.schemas.engine.budget import PER_RANK, PREFIX_CACHING, RATIO, TOTAL
from pd_launch.schemas.engine.kv_transfer import BUNDLED_MODULE, MULTI, SIZED_CONNECTORS, TOP_LEVEL_FIELDS, offload_name
from pd_launch.schemas.profile import DecodeSection

_READ_ON_TOP = ("kv_load_failure_policy", "engine_id")
"""Fields that count only on the top level; a child of a MultiConnector may not even have the second."""


class KvTransfer(OneSide):
    """Renders ``--kv-transfer-config`` and ``--additional-config``."""

    def json_arguments(self, builder: Arguments, number: int) -> None:
        """Add the arguments whose values are JSON, for one node."""
        config = self._kv_transfer(number)
        if config is not None:
            builder.json("kv-transfer-config", config)
        additional = self._additional()
        if additional is not None:
            builder.json("additional-config", additional)

    def _additional(self) -> Node | None:
        written = self.loaded.tree.get(self.side, "engine", "additional-config")
        written = written or self.loaded.tree.get("engine", "additional-config")
        offload = self.section.offload if isinstance(self.section, DecodeSection) else None
        if offload is None or not self.target.is_ascend:
            return written
        if written is not None and not isinstance(written.value, dict):
            example = "additional-config: {enable_cpu_binding: true}"
            self.refuse(
                written,
                Msg("additional-config must be a mapping", "additional-config 应当是映射"),
                Msg(f"write for example {example}", f"例如写 {example}"),
            )
            return None
        place = self.at("offload")
        plain = written.plain() if written else {}
        switched = plain_node(switched_on(plain, self.target), place.key or place.origin)
        return _overlay(switched, written)

    def _kv_transfer(self, number: int) -> Node | None:
        written = self.loaded.tree.get(self.side, "kv_transfer_config")
        if written is not None and written.value is not None:
            return written
        role = "kv_consumer" if self.side == "decode" else "kv_producer"
        transfer = self._transfer(role, number) if self.profile.transfer else None
        offload = self._offload(role)
        if offload is None or transfer is None:
            return transfer or offload
        place = self.at("transfer", "connector", shared=True)
        shared = {key: transfer.value.pop(key) for key in _READ_ON_TOP if key in transfer.value}
        extra: dict[str, Any] = {"connectors": Node([transfer, offload], place.origin)}
        for sizes in ("prefill", "decode"):  # the platform's own checks look here, not into children
            found = transfer.get("kv_connector_extra_config", sizes)
            if found is not None:
                extra[sizes] = found
        tree: dict[str, Any] = {"kv_connector": MULTI, "kv_role": role, **shared}
        return plain_node({**tree, "kv_connector_extra_config": extra}, place.origin)

    def _transfer(self, role: str, number: int) -> Node:
        transfer = self.profile.transfer
        assert transfer is not None
        place = self.at("transfer", "connector", shared=True)
        tree: dict[str, Any] = {"kv_connector": place, "kv_role": role}
        extra: dict[str, Any] = {}
        for key, node in self.layered("transfer", number).items():
            if key == "connector":
                continue
            if key == "load_failure_policy":
                tree["kv_load_failure_policy"] = node
            elif key == "kv_connector_extra_config":
                extra.update(node.items())
            elif key in TOP_LEVEL_FIELDS:
                tree[key] = node
            else:
                extra[key] = node
        if transfer.connector in SIZED_CONNECTORS:
            extra = {**self._sizes(), **extra}
        if extra:
            tree["kv_connector_extra_config"] = extra
        return plain_node(tree, place.origin)

    def _sizes(self) -> dict[str, Any]:
        sizes: dict[str, Any] = {}
        for side in ("prefill", "decode"):
            section = getattr(self.profile, side)
            if section is not None:
                data = self.at(side, "parallel", "data", shared=True)
                tensor = self.at(side, "parallel", "tensor", shared=True)
                parallel = section.parallel
                sizes[side] = {
                    "dp_size": Node(parallel.data, data.origin),
                    "tp_size": Node(parallel.tensor, tensor.origin),
                }
                if parallel.pipeline > 1:
                    pipeline = self.at(side, "parallel", "pipeline", shared=True)
                    sizes[side]["pp_size"] = Node(parallel.pipeline, pipeline.origin)
        return sizes

    def _offload(self, role: str) -> Node | None:
        offload = self.section.offload if isinstance(self.section, DecodeSection) else None
        if offload is None:
            return None
        place = self.at("offload").key or self.at("offload").origin
        tree: dict[str, Any] = {"kv_connector": offload_name(self.target), "kv_role": role}
        if offload.connector == "bundled":
            tree["kv_connector_module_path"] = BUNDLED_MODULE
        extra: dict[str, Any] = {}
        if offload.ratio is not None:
            extra[RATIO] = Node(offload.ratio, self.at("offload", "ratio").origin)
        elif offload.cpu_bytes_to_use is not None:
            extra[TOTAL] = replace(self.at("offload", "cpu_bytes_to_use"), value=offload.cpu_bytes_to_use, key=None)
        else:
            extra[PER_RANK] = self._per_rank()
        if offload.prefix_caching:
            extra[PREFIX_CACHING] = replace(self.at("offload", "prefix_caching"), key=None)
        return plain_node({**tree, "kv_connector_extra_config": extra}, place)

    def _per_rank(self) -> Node:
        """Return the bytes of one rank; a total for an engine or a node must divide evenly."""
        assert isinstance(self.section, DecodeSection) and self.section.offload is not None
        offload, parallel = self.section.offload, self.section.parallel
        if offload.per_rank is not None:
            return Node(offload.per_rank, self.at("offload", "per_rank").origin)
        key = "per_engine" if offload.per_engine is not None else "per_node"
        total = offload.per_engine if offload.per_engine is not None else offload.per_node
        assert total is not None
        ranks = parallel.layout().world_size
        if key == "per_node":
            nodes = max(1, len(self.profile.nodes.decode))
            if parallel.data >= nodes:
                ranks *= max(parallel.ranks) if parallel.ranks else parallel.data // nodes
            else:
                ranks = max(1, ranks * parallel.data // nodes)
        place = self.at("offload", key)
        if total % ranks or total < ranks:
            self.refuse(
                place,
                Msg(
                    f"{key}: {total} bytes do not divide evenly over {ranks} ranks; write per_rank",
                    f"{key} 的 {total} 字节不能平均分给 {ranks} 个 rank，请写 per_rank",
                ),
                _division_help(key, total, ranks),
            )
        related = tuple(self.at("parallel", k).origin for k in ("tensor", "pipeline") if getattr(parallel, k) > 1)
        return Node(max(1, total // ranks), place.origin, related=related)


def _division_help(key: str, total: int, ranks: int) -> Msg:
    share = max(1, total // ranks)
    for unit in (GIB, MIB):  # a round number, where there is one
        if share > 64 * unit // 16:
            share -= share % unit
            break
    whole, each = format_size(share * ranks), format_size(share)
    return Msg(f"write for example per_rank: {each}, or {key}: {whole}", f"例如写 per_rank: {each}，或 {key}: {whole}")


def _overlay(tree: Node, written: Node | None) -> Node:
    """Return ``tree`` with the places of what ``written`` also has."""
    if written is None or not isinstance(tree.value, dict) or not isinstance(written.value, dict):
        return tree
    for key, node in written.value.items():
        mine = tree.value.get(key)
        if mine is None or mine.plain() == node.plain():
            tree.value[key] = node
        else:
            tree.value[key] = _overlay(mine, node)
    return tree
