from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import free_ports
from tests.supervise.harness import Bench


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """A background job of a script ignores INT and QUIT, and hands that down to whatever it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


@pytest.fixture
def external(tmp_path: Path) -> str:
    """A profile with two engines on one node, which are supervised: the target has no multi-port form."""
    path = tmp_path / "external.yaml"
    path.write_text(
        f"""
version: 1
name: external
target: vllm==0.21.0
hardware: cpu
model: some/moe-model
engine: {{host: 127.0.0.1}}
decode:
  port: {free_ports(3)}
  parallel: {{data: 2, launch: external}}
"""
    )
    return str(path)
