"""A profile from a few answers, with comments that say what can be changed."""

from __future__ import annotations

import json

from pd_launch.schemas.core.hardware import HARDWARE
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import format_size, parse_size

SIDES = ("both", "decode")
KINDS = tuple(HARDWARE)
_ASCEND_CONNECTOR, _OTHER_CONNECTOR = "MooncakeConnectorV1", "NixlConnector"


@dataclass(frozen=True)
class Answers:
    """What the questions ask. Sizes are in bytes; ``budget`` 0 is no offload."""

    hardware: str = "a3"
    model: str = ""
    sides: str = "both"
    prefill_tensor: int = 8
    prefill_data: int = 1
    decode_tensor: int = 8
    decode_data: int = 1
    experts: bool = False
    length: int = 32768
    requests: int = 32
    budget: int = 16 * 2**30
    prefill_address: str = "auto"
    decode_address: str = "auto"

    @property
    def ascend(self) -> bool:
        """Whether vllm-ascend runs on it."""
        return HARDWARE[self.hardware].ascend


def default_sizes(kind: str) -> tuple[int, int]:
    """Return TP and DP that suit a node of this kind."""
    return {"a2": (8, 1), "a3": (8, 2), "cuda": (8, 1)}.get(kind, (1, 1))


def parse_budget(text: str) -> int:
    """Return the bytes that an answer such as ``16GiB`` or ``0`` names.

    Raises:
        ValueError: it names none.
    """
    return 0 if text.strip() in ("0", "no", "none") else parse_size(text)


def profile_text(name: str, answers: Answers) -> str:
    """Return the profile as commented YAML."""
    parts = [_head(name, answers), _engine(answers), _transfer(answers)]
    if answers.sides == "both":
        parts.append(_prefill(answers))
    parts += [_decode(answers), _surroundings(answers)]
    return "\n".join(parts)


def _head(name: str, answers: Answers) -> str:
    return f"""\
# Written by pd-launch init. Next:
#   pd-launch check {name}.yaml
#   pd-launch decode --profile {name}.yaml --dry-run
version: 1
name: {json.dumps(name, ensure_ascii=False)}
hardware: {answers.hardware}
# A path that is the same on all nodes, or a hub name.
model: {json.dumps(answers.model, ensure_ascii=False)}
"""


def _engine(answers: Answers) -> str:
    lines = [
        "# Flags of vllm serve for both sides, by their long names.",
        "engine:",
        f"  max-model-len: {answers.length}",
    ]
    if answers.hardware != "cpu":
        lines.append("  block-size: 128")
    return "\n".join(lines) + "\n"


def _transfer(answers: Answers) -> str:
    lines = [
        "# The connector that moves KV from prefill to decode. The sizes of both sides follow from below.",
        "transfer:",
    ]
    if answers.ascend:
        lines += [f"  connector: {_ASCEND_CONNECTOR}", "  kv_port: 36000"]
    else:
        lines.append(f"  connector: {_OTHER_CONNECTOR}")
        if answers.hardware == "cpu":
            lines.append("  kv_buffer_device: cpu")
    if answers.ascend and answers.sides == "decode":
        sizes = f"dp_size: {answers.prefill_data}, tp_size: {answers.prefill_tensor}"
        lines += ["  # The sizes of the prefill side, which this profile does not describe.", f"  prefill: {{{sizes}}}"]
    return "\n".join(lines) + "\n"


def _parallel(tensor: int, data: int, experts: bool) -> str:
    words = [f"tensor: {tensor}", f"data: {data}"]
    if experts:
        words.append("expert: true")
    return f"  parallel: {{{', '.join(words)}}}"


def _environment(answers: Answers, address: str, channel: int) -> list[str]:
    lines = []
    if answers.ascend and answers.experts:
        lines.append("    HCCL_BUFFSIZE: 1024")
    if not answers.ascend:
        if address != "auto":
            lines.append(f"    VLLM_NIXL_SIDE_CHANNEL_HOST: {json.dumps(address)}")
        lines.append(f"    VLLM_NIXL_SIDE_CHANNEL_PORT: {channel}")
    return ["  env:", *lines] if lines else []


def _prefill(answers: Answers) -> str:
    lines = [
        "prefill:",
        _parallel(answers.prefill_tensor, answers.prefill_data, answers.experts),
        "  port: 8100",
        "  engine:",
        f"    max-num-seqs: {min(16, answers.requests)}",
        f"    max-num-batched-tokens: {max(2048, min(16384, answers.length))}",
    ]
    if answers.ascend:
        lines.append("    enforce-eager: true")
    return "\n".join([*lines, *_environment(answers, answers.prefill_address, 5600)]) + "\n"


def _decode(answers: Answers) -> str:
    lines = [
        "decode:",
        _parallel(answers.decode_tensor, answers.decode_data, answers.experts),
        "  port: 8200",
    ]
    if answers.budget:
        lines += [
            "  # Host memory that keeps the KV of preempted requests, so that they are not computed again.",
            f"  offload: {{per_rank: {format_size(answers.budget)}}}",
        ]
    lines += [
        "  engine:",
        "    # Requests at a time, and tokens in one step: one for each request, and those of drafts on top.",
        f"    max-num-seqs: {answers.requests}",
        f"    max-num-batched-tokens: {max(64, answers.requests * 2)}",
    ]
    if answers.ascend:
        lines += ["    compilation-config: {cudagraph_mode: FULL_DECODE_ONLY}", "    no-enable-prefix-caching: true"]
    return "\n".join([*lines, *_environment(answers, answers.decode_address, 5601)]) + "\n"


def _surroundings(answers: Answers) -> str:
    lines = []
    if answers.ascend:
        lines += ["# The network interface between the nodes; auto takes the one of the default route.", "network:"]
        lines.append("  interface: auto")
    lines += ["# One entry for each node of a side; auto is the address of the machine that is launched on.", "nodes:"]
    if answers.sides == "both":
        lines.append(f"  prefill: [{{address: {json.dumps(answers.prefill_address)}}}]")
    lines.append(f"  decode: [{{address: {json.dumps(answers.decode_address)}}}]")
    if answers.ascend:
        lines += ["# For containers that pd-launch renders.", "container:", "  shm_size: 1024GiB"]
    return "\n".join(lines) + "\n"
