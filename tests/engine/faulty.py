"""Connectors that are wrong on purpose, for the negative controls: with them the answers must differ.

Use: ``kv_connector_module_path: tests.engine.faulty`` with the repository's root on PYTHONPATH, and as ``kv_connector``

- ``ReversedRestoreConnector``: every restore writes the saved blocks back in reversed order;
- ``LateSaveConnector``: blocks are saved after the forward pass, when others have already written into them;

or ``BystanderConnector``, which does nothing at all, as a second child of a MultiConnector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1, KVConnectorMetadata, SupportsHMA

from pd_launch.connector.connector import RecomputeCPUOffloadConnector
from pd_launch.connector.copies import CpuCopies
from pd_launch.connector.worker import OffloadWorker


class _ReversedCopies(CpuCopies):
    def load(self, device: Sequence[int], host: Sequence[int]) -> None:
        super().load(device, list(reversed(host)))


class ReversedRestoreConnector(RecomputeCPUOffloadConnector):
    def make_worker(self, budget: int, num_blocks: int, options: Any) -> OffloadWorker:
        worker = super().make_worker(budget, num_blocks, options)
        worker._make = _ReversedCopies
        return worker


class LateSaveConnector(RecomputeCPUOffloadConnector):
    def handle_preemptions(self, kv_connector_metadata: Any) -> None:
        pass

    def wait_for_save(self) -> None:
        if self.worker and self._step:
            self.worker.save(self._step)


class BystanderConnector(KVConnectorBase_V1, SupportsHMA):
    requires_kv_delivery = False

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any = None) -> None:
        super().__init__(vllm_config, role, kv_cache_config)

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int, bool]:
        return 0, False

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        pass

    def build_connector_meta(self, scheduler_output: Any) -> KVConnectorMetadata:
        return _Nothing()

    def request_finished_all_groups(self, request: Any, block_ids: Any) -> tuple[bool, None]:
        return False, None

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        pass

    def wait_for_layer_load(self, layer_name: str) -> None:
        pass

    def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None:
        pass

    def wait_for_save(self) -> None:
        pass


class _Nothing(KVConnectorMetadata):
    pass


for _name in ("ReversedRestoreConnector", "LateSaveConnector", "BystanderConnector"):
    KVConnectorFactory._registry.pop(_name, None)
    KVConnectorFactory.register_connector(_name, __name__, _name)
