"""The names of parsers and attention backends in the tables, against what the installed engine registers."""

from __future__ import annotations

from importlib import metadata

import pytest

from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.releases.vllm_tables import vllm_table

pytestmark = pytest.mark.engine


def _table(option: str) -> set[str]:
    version = metadata.version("vllm").partition("+")[0]
    names = vllm_table(parse_target(f"vllm=={version}")).names("registered")
    return {name.removeprefix(f"{option}.") for name in names if name.startswith(f"{option}.")}


def test_reasoning_parsers() -> None:
    from vllm.reasoning import ReasoningParserManager

    assert _table("reasoning-parser") == set(ReasoningParserManager.list_registered())


def test_tool_call_parsers() -> None:
    from vllm.tool_parsers import ToolParserManager

    assert _table("tool-call-parser") == set(ToolParserManager.list_registered())


def test_attention_backends() -> None:
    from vllm.config import AttentionConfig
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    assert _table("attention-backend") == set(AttentionBackendEnum.__members__)
    assert AttentionConfig(backend="auto").backend is None
    assert AttentionConfig(backend="flash_attn").backend is AttentionBackendEnum.FLASH_ATTN
    with pytest.raises(ValueError, match="NOPE"):
        AttentionConfig(backend="NOPE")
