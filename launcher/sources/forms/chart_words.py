"""The words of a container whose command a chart or an operator completes."""

from __future__ import annotations

from pd_launch.launcher.sources.forms.only_arguments import hole, only_arguments, serve_words
from pd_launch.launcher.sources.forms.pod_variables import entries, is_named
from pd_launch.launcher.sources.text.interpolate import KUBERNETES, Words, expand_command
from pd_launch.schemas.core.values import Node, Text

_SIMULATES = "inference-sim"
ADDED = "VLLM_ADDITIONAL_ARGS"
"""The variable by which KServe's LLMInferenceService is given further arguments of ``vllm serve``."""
KSERVE_DECODE_PORT = 8001
"""The port that KServe's own template gives the decode side, behind the router's sidecar."""


def chart_command(pod: Node, container: Node, words: Words) -> Words:
    """Return the command of a container that its chart or its operator completes: the model is theirs."""
    command = container.get("modelCommand")
    if command is not None and command.text is not None and command.value == "vllmServe":
        return words.having([*serve_words(command.text), hole(command.text, 1), *words, *_chart_sizes(pod, words)])
    if command is not None and command.text is not None and command.value == "imageDefault":
        image = container.get("image")
        simulated = image is None or _SIMULATES in str(image.value)
        if words and not simulated and only_arguments(words, True):
            return words.having([*serve_words(command.text), hole(command.text, 1), *words, hole(command.text, 2)])
        return words.having(())
    added = next((entry.get("value") for entry in entries(container) if is_named(entry, ADDED)), None)
    if added is not None and added.text is not None and not words:
        given = expand_command(added.text, KUBERNETES)[0]
        return words.having([*serve_words(added.text), hole(added.text, 1), *given, hole(added.text, 2)])
    return words.having(())


def kserve_command(container: Node) -> list[Text]:
    """Return the command that KServe gives the main container of an LLMInferenceService, as far as it is known."""
    at = container.get("name")
    return [] if at is None or at.text is None else [*serve_words(at.text), hole(at.text, 1), hole(at.text, 2)]


def _chart_sizes(pod: Node, words: list[Text]) -> list[Text]:
    """Return the options that the chart of llm-d makes of ``parallelism``."""
    tensor, flag = pod.get("parallelism", "tensor"), "--tensor-parallel-size"
    size = tensor.integer() if tensor is not None else None
    if tensor is None or tensor.text is None or not size or any(flag in word.value for word in words):
        return []
    place = tensor.text
    return [place.stand_in(word) for word in (flag, str(size))]
