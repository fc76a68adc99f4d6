"""The bundled connector with faults that can be switched on while the engine runs, for controls and failures.

The file named by ``PD_LAUNCH_TEST_FAULT`` holds the fault; an absent or empty one means none:

- ``reversed``: every restore writes the saved blocks back in reversed order;
- ``late``: blocks are saved after the forward pass, two steps on, when others have written into them: some releases
  give a victim's blocks away a step later only;
- ``save raises``, ``load raises``: the next such copy fails, on one rank; with ``rank 1`` appended, on that one.

Importing the module installs them, which every process of an engine must do: those that inherit nothing load it as
``kv_connector_module_path``. It also offers connectors with one fault for good, and one that does nothing at all.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1, KVConnectorMetadata, SupportsHMA

from pd_launch.connector.connector import PreemptOffloadConnector, RecomputeCPUOffloadConnector
from pd_launch.connector.metadata import StepMetadata
from pd_launch.connector.worker import OffloadWorker

__all__ = ["BystanderConnector", "LateSaveConnector", "PreemptOffloadConnector", "RecomputeCPUOffloadConnector"]
VARIABLE = "PD_LAUNCH_TEST_FAULT"
LATE_STEPS = 2


def fault() -> str:
    """Return the fault of now."""
    name = os.environ.get(VARIABLE)
    return Path(name).read_text() if name and Path(name).exists() else ""


def reversed_loads(metadata: Any) -> Any:
    """Return a step's metadata with each load's device blocks in reversed order."""
    if not isinstance(metadata, StepMetadata):
        return metadata
    loads = [dataclasses.replace(load, device=load.device[::-1]) for load in metadata.step.loads]
    return dataclasses.replace(metadata, step=dataclasses.replace(metadata.step, loads=loads))


def install() -> None:
    """Put the switches into the connector's class."""
    ours = RecomputeCPUOffloadConnector
    if hasattr(ours, "_late"):
        return
    bind, save, end, register = (
        ours.bind_connector_metadata,
        ours.handle_preemptions,
        ours.wait_for_save,
        OffloadWorker.register,
    )

    def bind_connector_metadata(self: Any, metadata: Any) -> None:
        bind(self, reversed_loads(metadata) if (self._fault or fault()) == "reversed" else metadata)

    def handle_preemptions(self: Any, metadata: Any) -> None:
        wanted = self._fault or fault()
        if wanted == "late":
            self._late = (*self._late, metadata)
            return
        for late in self._late:
            save(self, late)
        self._late = ()
        save(self, reversed_loads(metadata) if wanted == "reversed" else metadata)

    def wait_for_save(self: Any) -> None:
        if len(self._late) > LATE_STEPS:
            save(self, self._late[0])
            self._late = self._late[1:]
        end(self)

    def registered(self: OffloadWorker, caches: Any) -> None:
        register(self, caches)
        copies: Any = self._copies
        copies.save = _raising(copies.save, "save raises")
        copies.load = _raising(copies.load, "load raises")

    changed: Any = ours
    changed._late, changed._fault = (), ""
    changed.bind_connector_metadata = bind_connector_metadata
    changed.handle_preemptions = handle_preemptions
    changed.wait_for_save = wait_for_save
    OffloadWorker.register = registered  # type: ignore[method-assign]


def _raising(copy: Callable[..., Any], name: str) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        wanted = fault()
        if wanted.startswith(name) and (not wanted.endswith("rank 1") or _rank() == 1):
            Path(os.environ[VARIABLE]).write_text("")  # once
            raise RuntimeError(f"injected: {wanted}")
        return copy(*args, **kwargs)

    return wrapped


def _rank() -> int:
    from vllm.distributed import get_tensor_model_parallel_rank

    return int(get_tensor_model_parallel_rank())


install()


class ReversedRestoreConnector(RecomputeCPUOffloadConnector):
    _fault = "reversed"


class LateSaveConnector(RecomputeCPUOffloadConnector):
    _fault = "late"


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
