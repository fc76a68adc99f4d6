"""Rules on what several options must fulfil together, against the engine's own configuration of whole command lines."""

from __future__ import annotations

import importlib.util
import re
import shlex
from importlib import metadata
from pathlib import Path

import pytest
from line_pairs import PAIRS
from whole import Refused, configure

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from tests.sampling import sample

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
        "whitespace", "encoder-role", "active-requests", "context-spans", "devices-twice", "whitespace-auto",
        "lone-rank", "lone-balancer", "prefetch-group", "microbatches", "draft-model",
    ),
}  # fmt: skip
NOT_HERE = {
    "nsight.silent": "Ray",
    "ngram-tokens.silent": "Arctic Inference",
    "redundant-experts.silent": "only supported on CUDA",
    "encoder-role.silent": "requires a multimodal model",
    "lone-rank.silent": "Non-MoE models",
    "draft-model.silent": "Invalid repository ID",
    "context-spans.silent": "Model Runner V1 does not support: prefill context parallel",
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


WANTS_THE_MODEL = re.compile(
    r"model's total number of KV heads|Number of experts in the model|smaller than max_model_len"
)
"""Refusals that depend on the model, of which the lines say nothing."""
BEYOND = {
    "--data-parallel-size 2 --headless": "PD403",  # one node without HTTP and without the others
    next(line for line in PAIRS if "offloading" in line and "Nixl" in line): "PD114",  # starts, and hands no KV over
}
"""What the engine takes, and we report all the same, with the code."""


@pytest.mark.skipif(INSTALLED not in ("0.27.1", "0.32.0"), reason="tried with these releases")
@pytest.mark.parametrize("line", sample(PAIRS, 0.1, "line pairs"))
def test_pairs_of_options(line: str) -> None:
    found = check(read_texts({"serve.sh": f"vllm serve m {line}\n"}, target=f"vllm=={INSTALLED}"))
    ours = {finding.code for finding in found if finding.severity == "error"}
    try:
        configure(shlex.split(line))
    except Refused as refusal:
        assert ours or WANTS_THE_MODEL.search(str(refusal)), str(refusal)
    else:
        assert not ours or BEYOND.get(line) in ours
