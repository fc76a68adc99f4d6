"""Flags that a program or platform parses and then ignores.

Source: vllm/entrypoints/openai/api_server.py at 0.23.0, 0.27.1 and 0.32.0; vllm_ascend/platform.py in the wheels of
0.18.0, 0.19.1rc1, 0.20.2rc1, 0.21.0rc1, 0.22.1rc1, 0.23.0, 0.25.1rc1 and 0.26.0rc1.
"""

from __future__ import annotations

from pd_launch.schemas.core.launch import Arg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import as_integer
from pd_launch.schemas.releases.facts import Fact, ascend, platform

SERVE_ONLY = frozenset({"headless", "api-server-count"})
"""Flags on which only ``vllm serve`` acts, not ``python -m vllm.entrypoints.openai.api_server``."""

RESET: dict[str, Fact] = {
    name: ascend(f"resets-{name}", since, None, f"--{name} is reset", platform(rf"\b{name.replace('-', '_')}\b"))
    for name, since in {
        "calculate-kv-scales": "0.23.0rc1",
        "disable-cascade-attn": None,
        "enable-dbo": "0.19.1rc1",
        "enable-layerwise-nvtx-tracing": None,
        "max-num-partial-prefills": None,
        "mm-encoder-attn-backend": None,
        "numa-bind-cpus": "0.19.1rc1",
        "numa-bind-nodes": "0.19.1rc1",
        "ray-workers-use-nsight": "0.19.1rc1",
        "ubatch-size": "0.19.1rc1",
    }.items()
}
"""Flag → in which releases vllm-ascend resets it."""
_DEFAULTS = {"max-num-partial-prefills": 1, "ubatch-size": 0}


def reset_on_ascend(arg: Arg, target: Target) -> bool:
    """Whether vllm-ascend resets this flag, and its value is not the default anyway."""
    fact = RESET.get(arg.name)
    if fact is None or not fact.holds(target):
        return False
    if arg.name not in _DEFAULTS:
        return True
    number = None if arg.value is None else as_integer(arg.value.value)
    return number is not None and number != _DEFAULTS[arg.name]
