"""Guides show several ways to start one engine: their blocks are alternatives where they bind one port."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

DOCKER = "docker run --network host -e CUDA_VISIBLE_DEVICES={} vllm/vllm-openai:v0.32.0 --model Qwen/Qwen3-8B --port {}"
NIXL = """ --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'"""


def codes(text: str) -> list[str]:
    return sorted(f.code for f in check(read_texts({"guide.md": text}, target="vllm==0.32.0")) if f.severity == "error")


def guide(*blocks: str) -> str:
    return "# Guide\n\n" + "\n\nor\n\n".join(f"```bash\n{block}\n```" for block in blocks) + "\n"


@pytest.mark.parametrize("second", ["0", "1"])
def test_blocks_at_one_port_are_alternatives(second: str) -> None:
    assert codes(guide(DOCKER.format(0, 8000), DOCKER.format(second, 8000))) == []


def test_blocks_at_ports_of_their_own_run_together() -> None:
    assert codes(guide(DOCKER.format(0, 8000) + NIXL, DOCKER.format(1, 8001) + NIXL)) == ["PD405"]


def test_what_one_block_starts_runs_together() -> None:
    assert codes(guide(DOCKER.format(0, 8000) + " &\n" + DOCKER.format(1, 8000) + " &")) == ["PD405"]
