"""The V2 model runner's own ``update_requests`` on CPU tensors: what it has overwritten before it lets us save.

Only its kernel for zeroing needs a device; here a loop zeroes the same blocks.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs vLLM", allow_module_level=True)

from pd_launch.connector.scheduler import OffloadScheduler
from pd_launch.connector.wording import WORDING
from pd_launch.schemas.engine.budget import OLD_NAME
from pd_launch.schemas.offload.groups import Group

pytestmark = pytest.mark.engine
BLOCKS = 10


class Zeroer:
    """Does in a loop what vLLM's kernel does."""

    def __init__(self, caches: list[Any]) -> None:
        self.caches = caches

    def zero_block_ids(self, blocks: list[int]) -> None:
        for cache in self.caches:
            cache[blocks] = 0


def changed_by_v2(output: Any) -> set[int]:
    """Return the blocks that ``update_requests`` has changed when ``pre_forward``, and so the save, comes."""
    import numpy as np
    import torch

    module = importlib.import_module("vllm.v1.worker.gpu.model_runner")
    runner = module.GPUModelRunner.__new__(module.GPUModelRunner)
    caches = [torch.arange(1, 1 + BLOCKS * 4, dtype=torch.float32).reshape(BLOCKS, 4) + layer for layer in (0, 100)]
    before = [cache.clone() for cache in caches]
    empty = np.zeros(4, dtype=np.int32)
    runner.req_states = SimpleNamespace(
        num_computed_tokens_np=empty, prefill_len=SimpleNamespace(np=empty), num_computed_prefill_tokens=empty.copy()
    )
    runner.kv_caches, runner.kv_cache_config = caches, SimpleNamespace(num_blocks=BLOCKS)
    runner.kv_block_zeroer = Zeroer(caches)
    runner.update_requests(output)
    return {
        b for b in range(BLOCKS) for old, new in zip(before, caches, strict=True) if not torch.equal(old[b], new[b])
    }


def test_all_that_it_overwrites_is_given_up_and_nothing_else() -> None:
    from vllm.v1.core.kv_cache_utils import KVCacheBlockCopy

    none = SimpleNamespace(req_ids=[], num_computed_tokens=[], new_block_ids=[], resumed_req_ids=set())
    output = SimpleNamespace(
        scheduled_cached_reqs=none,
        new_block_ids_to_zero=[2, 5],
        kv_cache_block_copies=[KVCacheBlockCopy(1, 7), KVCacheBlockCopy(3, 8)],
    )
    changed = changed_by_v2(output)
    assert changed == {2, 5, 7, 8}
    side = OffloadScheduler([Group(block_size=4)], BLOCKS, WORDING[OLD_NAME])
    for block in range(1, BLOCKS):
        side.ledger.park(str(block), ([block],), 4)
    side._revoke_overwritten(output)
    assert {int(name) for name in side.ledger.copies} == set(range(1, BLOCKS)) - changed
