"""The options that choose how copies run, and restores beside the others' steps by size."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm.distributed.kv_transfer.kv_connector.v1.base")

from pd_launch.connector.options import KNOWN, OptionError, parse_options
from pd_launch.connector.scheduler import OffloadScheduler
from pd_launch.connector.wording import WORDING
from pd_launch.schemas.engine.connector_keys import BUNDLED_KEYS
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.offload.turns import OneByOne


def parse(extra: dict[str, object]) -> Any:
    return parse_options({"cpu_bytes_to_use": 1 << 30, **extra}, 1, "RecomputeCPUOffloadConnector", 0)


def test_the_linter_knows_every_option() -> None:
    assert set(BUNDLED_KEYS) == set(KNOWN)


def test_defaults_run_nothing_that_was_never_run() -> None:
    assert (parse({}).copy_backend, parse({}).async_restore_bytes) == ("auto", None)


@pytest.mark.parametrize("value", ["staged", "batched", "auto"])
def test_backends(value: str) -> None:
    assert parse({"copy_backend": value}).copy_backend == value


@pytest.mark.parametrize(("value", "read"), [(0, 0), (64 << 20, 64 << 20), ("1024", 1024)])
def test_sizes(value: object, read: int) -> None:
    assert parse({"async_restore_bytes": value}).async_restore_bytes == read


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"copy_backend": "fast"}, "copy_backend must be one of auto, staged, batched; got 'fast'"),
        ({"copy_backend": None}, "copy_backend must be one of"),
        ({"async_restore_bytes": -1}, "async_restore_bytes must be a number of bytes, 0 or more; got -1"),
        ({"async_restore_bytes": True}, "must be a number of bytes"),
        ({"async_restore_bytes": "64MiB"}, "must be a number of bytes"),
    ],
)
def test_what_cannot_be_used(extra: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse(extra)


def parked(blocks: dict[str, int]) -> OffloadScheduler:
    """A scheduler side with requests parked, of so many blocks of 4 tokens."""
    side = OffloadScheduler([Group(4)], 100, WORDING["RecomputeCPUOffloadConnector"])
    side.wrap_reset(SimpleNamespace(reset_prefix_cache=lambda: True))
    for name, count in blocks.items():
        side.ledger.park(name, [list(range(1, count + 1))], 4 * count)
    side.ledger.advance()
    return side


def request(name: str, tokens: int) -> Any:
    return SimpleNamespace(request_id=name, num_tokens=tokens)


def test_large_restores_run_beside_and_small_ones_at_once() -> None:
    side = parked({"small": 2, "large": 3})
    side.async_from = 3
    assert side.matched(request("small", 9), 0) == (8, False)
    assert side.matched(request("large", 13), 0) == (12, True)
    for name, tokens in (("small", 8), ("large", 12)):
        side.allocated(request(name, tokens + 1), [[7, 8, 9]], tokens)
    assert [(load.request_id, load.asynchronous) for load in side.ledger.advance().loads] == [
        ("small", False),
        ("large", True),
    ]
    assert list(side.ledger.copies) == ["large"]  # until its end is reported
    assert side.ledger.loaded("large")


def test_the_load_is_of_the_kind_that_the_scheduler_was_told() -> None:
    """The scheduler may cut what it was offered; a load that it waits for must still be reported to it."""
    side = parked({"a": 3})
    side.async_from = 3
    assert side.matched(request("a", 13), 0) == (12, True)
    side.allocated(request("a", 13), [[7, 8]], 8)
    assert side.ledger.advance().loads[0].asynchronous


def test_a_later_question_changes_the_kind() -> None:
    side = parked({"a": 3})
    side.async_from = 3
    assert side.matched(request("a", 13), 0) == (12, True)
    assert side.matched(request("a", 13), 4) == (8, False)  # part of it was found in the device's own cache
    side.allocated(request("a", 13), [[7, 8, 9]], 8)
    assert not side.ledger.advance().loads[0].asynchronous


def test_without_the_option_every_restore_is_at_once() -> None:
    side = parked({"a": 50})
    assert side.matched(request("a", 201), 0) == (200, False)


def test_where_drafts_get_no_room_restores_beside_the_steps_come_one_by_one() -> None:
    """On such a release two of them once held all blocks, and the engine stood still."""
    side = parked({"a": 3, "b": 3})
    side.async_from, side.turns = 3, OneByOne()
    assert side.matched(request("a", 13), 0) == (12, True)
    side.allocated(request("a", 13), [[7, 8, 9]], 12)
    assert side.matched(request("b", 13), 0) == (None, False)
    assert side.matched(request("fresh", 5), 0) == (0, False)
    side.worker_output(SimpleNamespace(kv_connector_worker_meta=None, invalid_block_ids=None, finished_recving={"a"}))
    assert side.matched(request("fresh", 5), 0) == (None, False)
    side.finished("a")
    assert side.matched(request("b", 13), 0) == (12, True)
