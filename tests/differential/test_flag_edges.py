"""Each flag with each edge value of its domain, as a whole line, against the engine's own configuration."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shlex
from importlib import metadata

import pytest
from engine import parser
from flag_edges import lines
from whole import Refused, configure

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from tests.sampling import sample

pytestmark = pytest.mark.engine
if importlib.util.find_spec("vllm") is None:
    pytest.skip("vLLM is not installed", allow_module_level=True)

INSTALLED = metadata.version("vllm").partition("+")[0]
OF_MODEL_OR_DEVICE = re.compile(
    r"derived max_model_len|attention heads \(4\)|Number of experts in the model|for architecture|non multimodal model"
    r"|max_num_batched_tokens \(2048\)|max_num_seqs \(128\)|than the max_model_len|only supported for|Engram embeddings"
    r"|unless the draft model config|Invalid repository ID|Model Runner V|current platform|only available on"
    r"|CUDA devices|supported by cpu|invalid choice: 'x' \(choose from 'auto', 'cpu'\)|Arctic Inference"
)
"""Refusals that the model decides, or the device: its defaults, its runner, what it supports."""
LEFT = {
    "IndexError: list index out of range": "a negative fraction makes the engine's own parser fail",
    "appears path-like, but doesn't exist": "a file that may exist where the engine runs",
    "Invalid JSON format for --lora-modules": "a name without a path: of adapters only the parser's own message tells",
    "requires VLLM_USE_RUST_FRONTEND": "a variable that the surroundings may set",
    "Unknown quantization method": "a plugin may register it",
    "Unknown attention backend": "a plugin may register it: reported as a warning",
    "Unknown Mamba SSU backend": "known to few models",
    "Reasoning parser 'x' not found": "a plugin may register it: reported as a warning",
    "Reasoning parser '' not found": "known only where the configuration is made",
    "data_parallel_external_lb can only be set": "the size of the group may come from elsewhere: PD402 speaks of it",
    "Microbatching currently only supports": "of an experimental option",
    "dbo_decode_token_threshold and": "of an experimental option",
    "requires decode_context_parallel_size > 1": "up to 0.27 only",
    "Invalid version: 'x'": "of a metric that is hidden anyway",
    "Input should be a valid": "an object whose entries have the wrong type",
    "Unexpected keyword argument": "an object that the tables do not know",
    "Field required": "an object that the tables do not know",
}
"""Refusals that are not reported, by a part of what the engine says, and why."""
BEYOND = re.compile(
    r"--(?:port|data-parallel-rpc-port) \S+|--data-parallel-start-rank \S+|--model-loader-extra-config x"
)
"""Lines that the configuration takes and that are errors all the same: ports that cannot be bound, a rank outside of
its group, a text where the loader takes an object."""


def _lines() -> list[str]:
    top, _ = parser()
    commands = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    return list(dict.fromkeys(lines(commands.choices["serve"])))


@pytest.mark.skipif(INSTALLED not in ("0.27.1", "0.32.0", "0.33.0"), reason="tried with these releases")
def test_each_flag_with_its_edge_values() -> None:
    missed, invented, refused = [], [], 0
    for line in sample(_lines(), 0.03, "flag edges"):
        found = check(read_texts({"serve.sh": f"vllm serve m {line}\n"}, target=f"vllm=={INSTALLED}"))
        ours = {finding.code for finding in found if finding.severity == "error"}
        try:
            configure(shlex.split(line))
        except Refused as refusal:
            said = str(refusal)
            refused += OF_MODEL_OR_DEVICE.search(said) is None
            if not ours and OF_MODEL_OR_DEVICE.search(said) is None and not any(part in said for part in LEFT):
                missed.append((line, said))
        else:
            if ours and BEYOND.fullmatch(line) is None:
                invented.append((line, sorted(ours)))
    assert not invented
    assert len(missed) <= 0.02 * refused, missed
