"""Budgets that a host cannot hold are refused at start, with bytes, ranks and limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from pd_launch.connector.limits import HostMemoryError, allocation_error, check_budget, memory_limits

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
    for text in ("Connector: 8589934593 bytes", "8 rank(s)", "memory of this host 64 GiB", "available now 32 GiB"):
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
