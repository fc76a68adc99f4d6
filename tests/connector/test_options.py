from __future__ import annotations

from typing import Any

import pytest

from pd_launch.connector.options import parse_options
from pd_launch.schemas.engine.budget import NEW_NAME, OLD_NAME

GIB = 2**30


def parse(extra: dict[str, Any], world_size: int = 8, name: str = OLD_NAME, cache: int = 4 * GIB) -> Any:
    return parse_options(extra, world_size, name, cache)


@pytest.mark.parametrize(
    ("extra", "name", "expected"),
    [
        ({"cpu_bytes_to_use_per_rank": 16 * GIB}, OLD_NAME, 16 * GIB),
        ({"cpu_bytes_to_use_per_rank": "17179869184"}, OLD_NAME, 16 * GIB),
        ({"cpu_bytes_to_use": 16 * GIB}, OLD_NAME, 2 * GIB),
        ({"cpu_bytes_to_use": 16 * GIB, "cpu_bytes_to_use_per_rank": GIB}, OLD_NAME, GIB),
        ({"offload_host_memory_ratio": 0.5}, OLD_NAME, 2 * GIB),
        ({"offload_host_memory_ratio": 2, "cpu_bytes_to_use": 8 * GIB}, NEW_NAME, GIB),
        ({}, OLD_NAME, GIB),
        ({}, NEW_NAME, 4 * GIB),
        ({"cpu_bytes_to_use_per_rank": None}, OLD_NAME, GIB),
    ],
)
def test_budget(extra: dict[str, Any], name: str, expected: int) -> None:
    assert parse(extra, name=name).budget.per_rank_bytes == expected


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"cpu_bytes_per_rank": 1}, "unknown option 'cpu_bytes_per_rank'; write 'cpu_bytes_to_use_per_rank' instead"),
        ({"enable_prefix_caching": True}, "write 'enable_offload_prefix_caching' instead"),
        ({"zzz": 1}, "known options are cpu_bytes_to_use_per_rank, cpu_bytes_to_use"),
        ({"cpu_bytes_to_use": "16GiB"}, "must be a number of bytes"),
        ({"cpu_bytes_to_use": 1e9}, "must be a number of bytes"),
        ({"cpu_bytes_to_use_per_rank": 0}, "must be more than 0"),
        ({"cpu_bytes_to_use_per_rank": True}, "must be a number of bytes"),
        ({"cpu_bytes_to_use": 7}, "leaves nothing for a rank"),
        ({"offload_host_memory_ratio": -1}, "finite number above 0"),
        ({"offload_host_memory_ratio": float("nan"), "cpu_bytes_to_use": 8 * GIB}, "finite number above 0"),
        ({"enable_offload_prefix_caching": "false"}, "must be a boolean, true or false without quotes; got 'false'"),
        ({"enable_offload_prefix_caching": 0}, "must be a boolean"),
        ({"pin_host_memory": 1}, "pin_host_memory must be a boolean"),
        ({"touch_host_memory": "true"}, "touch_host_memory must be a boolean, true or false without quotes"),
    ],
)
def test_what_cannot_be_used_is_refused(extra: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse(extra)
    assert message in str(caught.value)


def test_switches_are_off_unless_said() -> None:
    options = parse({})
    assert (options.prefix_caching, options.pin_host_memory, options.touch_host_memory) == (False, False, False)
    options = parse({"enable_offload_prefix_caching": True, "pin_host_memory": True, "touch_host_memory": True})
    assert (options.prefix_caching, options.pin_host_memory, options.touch_host_memory) == (True, True, True)
