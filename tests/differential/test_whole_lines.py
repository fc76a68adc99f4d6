"""Rules on what several options must fulfil together, against the engine's own configuration of whole command lines."""

from __future__ import annotations

import importlib.util
import re
import shlex
from importlib import metadata
from pathlib import Path

import pytest
from whole import Refused, configure

RULES = Path(__file__).parents[1] / "rules"
pytestmark = pytest.mark.engine
if importlib.util.find_spec("vllm") is None:
    pytest.skip("vLLM is not installed", allow_module_level=True)
INSTALLED = metadata.version("vllm").partition("+")[0]
NAMES = {
    "PD007": (
        "no-connector", "overrides-list", "additional-text", "length-zero", "compilation-mode", "level", "port-any",
    ),
    "PD114": (
        "tool-parser", "log-outputs", "detailed-traces", "nsight", "ngram-tokens", "no-draft-method", "lookup-bounds",
        "async-ngram", "decode-context", "machines", "supervised", "redundant-experts", "cpu-loras", "torch-profiler",
        "whitespace", "encoder-role",
    ),
}  # fmt: skip
NOT_HERE = {
    "nsight.silent": "Ray",
    "ngram-tokens.silent": "Arctic Inference",
    "redundant-experts.silent": "only supported on CUDA",
    "encoder-role.silent": "requires a multimodal model",
}
"""Right ones that need something that this machine lacks, with a word of what the engine says."""


def _lines() -> list[tuple[str, str]]:
    """Return name and words of each fixture, where they say no release or this one."""
    found = []
    for code, names in NAMES.items():
        for path in sorted((RULES / code).glob("*.sh")):
            text = path.read_text()
            command = re.search(r"^vllm serve \S+ (.*)$", text, re.MULTILINE)
            if path.name.partition(".")[0] in names and command and "$" not in command[1]:
                found.append((path.name.removesuffix(".sh"), command[1]))
    return found


@pytest.mark.skipif(INSTALLED != "0.32.0", reason="the fixtures are for vLLM 0.32.0")
@pytest.mark.parametrize(("name", "line"), _lines(), ids=[name for name, _ in _lines()])
def test_the_engine_says_the_same(name: str, line: str) -> None:
    words = shlex.split(line)
    if name.endswith(".fires"):
        with pytest.raises(Refused):
            configure(words)
    elif name in NOT_HERE:
        with pytest.raises(Refused, match=NOT_HERE[name]):
            configure(words)
    else:
        configure(words)


@pytest.mark.skipif(INSTALLED != "0.32.0", reason="the fixtures are for vLLM 0.32.0")
def test_the_offloading_size_replaces_the_connector() -> None:
    config = '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'
    made = configure(["--kv-offloading-size", "8", "--kv-transfer-config", config])
    assert made == {"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}
