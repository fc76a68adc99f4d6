"""Sleep mode: what happens round the freeing of the device cache, which a CPU does not have."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs vLLM", allow_module_level=True)

from pd_launch.connector import PreemptOffloadConnector, RecomputeCPUOffloadConnector
from pd_launch.connector.wording import WORDING
from pd_launch.connector.worker import OffloadWorker, _UnderWay
from pd_launch.schemas.engine.budget import OLD_NAME
from pd_launch.schemas.offload.ledger import Transfer


class Slow:
    def __init__(self, polls: int) -> None:
        self.polls = polls

    def done(self) -> bool:
        self.polls -= 1
        return self.polls < 0


def sleeping(polls: int) -> tuple[Any, OffloadWorker]:
    worker = OffloadWorker(4096, 4, WORDING[OLD_NAME])
    worker._under_way.append(_UnderWay(1, Transfer("a", [1], [0]), Slow(polls), is_save=True))
    connector = RecomputeCPUOffloadConnector.__new__(RecomputeCPUOffloadConnector)
    connector.worker = worker
    return connector, worker


def test_copies_end_before_the_device_cache_is_freed() -> None:
    connector, worker = sleeping(polls=3)
    connector.unregister_kv_caches()
    assert not worker._under_way
    connector.unregister_kv_caches()  # vLLM may ask again
    connector.restore_kv_caches()


def test_a_copy_that_never_ends_does_not_keep_the_engine_awake() -> None:
    _, worker = sleeping(polls=10**9)
    assert not worker.settle(seconds=0.01)


@pytest.mark.parametrize("ours", [RecomputeCPUOffloadConnector, PreemptOffloadConnector])
def test_sleep_mode_is_supported_also_below_multiconnector(ours: Any) -> None:
    from vllm.config import KVTransferConfig
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    child = {"kv_connector": ours.__name__, "kv_role": "kv_consumer", "kv_connector_module_path": "pd_launch.connector"}
    more = {"kv_connector_extra_config": {"connectors": [child]}}
    config = KVTransferConfig(kv_connector="MultiConnector", kv_role="kv_consumer", **more)
    assert ours.supports_sleep_mode(KVTransferConfig(**child)) is True
    multi = KVConnectorFactory.get_connector_class(config)
    if hasattr(multi, "supports_sleep_mode"):  # vLLM 0.33.0 and later
        assert multi.supports_sleep_mode(config) is True
