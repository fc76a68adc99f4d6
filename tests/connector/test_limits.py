"""Budgets that a host cannot hold are refused at start, with bytes, ranks and limits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from pd_launch.connector.limits import (
    HostMemoryError,
    allocation_error,
    check_budget,
    engines_here,
    memory_left,
    memory_limits,
    no_block,
    ranks_here,
    ranks_of,
    shortage,
)

GIB = 1 << 30


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:       67108864 kB\nMemAvailable:   33554432 kB\n")
    return tmp_path


def limit(host: Path, name: str, text: str) -> None:
    path = host / "sys/fs/cgroup" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_hosts_memory_bounds_all_ranks_together(host: Path) -> None:
    check_budget(8 * GIB, 8, "Connector", host)
    with pytest.raises(HostMemoryError) as caught:
        check_budget(8 * GIB + 1, 8, "Connector", host)
    for text in (
        "Connector: 8589934593 bytes",
        "8 ranks",
        "memory of this host 68719476736 bytes",
        "available now 32 GiB",
    ):
        assert text in str(caught.value)
    assert "Lower cpu_bytes_to_use_per_rank" in str(caught.value)


@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes"])
def test_a_containers_limit_counts(host: Path, name: str) -> None:
    limit(host, name, f"{16 * GIB}\n")
    check_budget(16 * GIB, 1, "Connector", host)
    with pytest.raises(HostMemoryError, match="limit of this container 16 GiB"):
        check_budget(9 * GIB, 2, "Connector", host)


@pytest.mark.parametrize("text", ["max", "9223372036854771712"])
def test_no_limit_is_no_limit(host: Path, text: str) -> None:
    limit(host, "memory.max", text)
    assert memory_limits(host) == {"memory of this host": 64 * GIB}


def test_where_nothing_is_known_nothing_is_refused(tmp_path: Path) -> None:
    check_budget(1 << 60, 8, "Connector", tmp_path)
    text = str(allocation_error(5, 1, "Connector", OSError(12, "Cannot allocate memory"), tmp_path))
    assert "Cannot allocate memory" in text


def own_cgroup(host: Path, text: str) -> None:
    (host / "proc/self").mkdir(parents=True, exist_ok=True)
    (host / "proc/self/cgroup").write_text(text)


@pytest.mark.parametrize(
    ("own", "base", "file"),
    [
        ("0::/system.slice/vllm.service\n", "", "memory.max"),
        ("3:cpu:/x\n9:memory:/system.slice/vllm.service\n0::/y\n", "memory/", "memory.limit_in_bytes"),
    ],
)
@pytest.mark.parametrize("level", ["system.slice/vllm.service", "system.slice"])
def test_the_limits_of_the_own_cgroup_and_of_all_above_it_count(
    own: str, base: str, file: str, level: str, host: Path
) -> None:
    """systemd's MemoryMax=, Slurm's --mem: nothing stands at the root of the hierarchy."""
    own_cgroup(host, own)
    limit(host, f"{base}{level}/{file}", f"{8 * GIB}\n")
    limit(host, f"{base}system.slice/neighbour.service/{file}", f"{GIB}\n")
    check_budget(8 * GIB, 1, "Connector", host)
    with pytest.raises(HostMemoryError, match=f"limit of cgroup /{level} 8 GiB"):
        check_budget(16 * GIB, 1, "Connector", host)


def test_a_path_outside_of_what_is_mounted_is_the_containers_own(host: Path) -> None:
    own_cgroup(host, "0::/../../pod7\n")
    limit(host, "memory.max", f"{16 * GIB}\n")
    assert memory_limits(host)["limit of this container"] == 16 * GIB


@pytest.mark.parametrize(
    ("size", "shown"), [(64 * GIB + 1, "68719476737 bytes together"), (65 * GIB, "65 GiB together")]
)
def test_bytes_are_printed_where_rounding_hides_the_difference(size: int, shown: str, host: Path) -> None:
    with pytest.raises(HostMemoryError) as caught:
        check_budget(size, 1, "Connector", host)
    assert shown in str(caught.value)
    assert ("memory of this host 68719476736 bytes" in str(caught.value)) == (size == 64 * GIB + 1)


@pytest.mark.parametrize(
    ("budget", "block", "text"),
    [
        (65535, 65536, "a budget of 65535 bytes per rank holds no block of 65536 bytes"),
        (1000, 1024, "a budget of 1000 bytes per rank holds no block of 1 KiB"),
        (1 << 20, 9 << 20, "a budget of 1 MiB per rank holds no block of 9 MiB"),
    ],
)
def test_a_budget_below_one_block(budget: int, block: int, text: str) -> None:
    assert text in no_block("Connector", budget, block)


def test_a_budget_beyond_what_is_left_is_warned_of(host: Path) -> None:
    assert shortage(4 * GIB, 8, "Connector", host) is None
    told = shortage(4 * GIB + 1, 8, "Connector", host)
    assert told is not None
    for text in ("Connector: the budget is 34359738376 bytes for 8 ranks", "34359738368 bytes are available on this"):
        assert text in told
    assert "Lower cpu_bytes_to_use_per_rank" in told


def test_what_a_container_uses_is_not_left_but_its_page_cache_is(host: Path) -> None:
    limit(host, "memory.max", f"{16 * GIB}\n")
    limit(host, "memory.current", f"{10 * GIB}\n")
    assert memory_left(host)["left of the limit of this container"] == 6 * GIB
    limit(host, "memory.stat", f"anon 5\ninactive_file {3 * GIB}\nactive_file 7\n")
    assert memory_left(host)["left of the limit of this container"] == 9 * GIB
    assert shortage(9 * GIB, 1, "Connector", host) is None
    assert "9 GiB are left of the limit of this container" in (shortage(10 * GIB, 1, "Connector", host) or "")


def test_where_nothing_is_known_nothing_is_warned_of(tmp_path: Path) -> None:
    assert shortage(1 << 60, 8, "Connector", tmp_path) is None


def test_engines_that_were_started_together_share_the_host() -> None:
    assert engines_here(SimpleNamespace(data_parallel_size_local=4)) == 4
    assert engines_here(SimpleNamespace()) == 1


def test_the_ranks_of_an_engine_are_those_of_all_its_dimensions() -> None:
    older = SimpleNamespace(tensor_parallel_size=4, pipeline_parallel_size=3)  # releases without prefill context
    assert (ranks_of(older), ranks_here(older)) == (12, 12)
    newer = SimpleNamespace(**vars(older), prefill_context_parallel_size=2, nnodes=3)
    assert (ranks_of(newer), ranks_here(newer)) == (24, 8)
