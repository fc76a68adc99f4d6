"""pd-launch's plugin of vLLM, with which its connector's name is enough: whether an engine loads it."""

from __future__ import annotations

from typing import Literal

from pd_launch.schemas.core.launch import Deployment, NodeLaunch, is_unknown

PLUGIN = "pd_launch"
VARIABLE = "VLLM_PLUGINS"

Plugin = Literal["there", "off", "absent", "unknown"]


def plugin_of(node: NodeLaunch, deployment: Deployment) -> Plugin:
    """Return whether the engine loads the plugin, as far as host facts and its own environment say.

    ``off``: VLLM_PLUGINS lists others. An engine in a container of its own does not use what the host has; where
    VLLM_PLUGINS lists it, it is taken to be there. vLLM takes the names as they are between commas, blanks included.
    """
    listed = node.variable(VARIABLE)
    if listed is not None and PLUGIN not in listed.split(","):
        return "off"
    installed = deployment.fact("vllm_plugins") if node.container is None or node.form == "profile" else None
    if isinstance(installed, list):
        return "there" if PLUGIN in installed else "absent"
    variable = node.env.get(VARIABLE)
    if variable is not None and is_unknown(variable.value):
        return "unknown"
    return "unknown" if listed is None else "there"
