"""InferenceServices of KServe: the arguments of a predictor, whose command is in its runtime.

KServe's Hugging Face server takes its own options and those of ``vllm serve``, with dashes or underscores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pd_launch.launcher.sources.engine.engines import add_engine
from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.forms.only_arguments import ENGINE_NAMES, are_arguments, hole, serve_words
from pd_launch.launcher.sources.forms.pod_variables import further_variables, variables
from pd_launch.launcher.sources.text.interpolate import KUBERNETES, expand
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import Node, Text
from pd_launch.schemas.releases.kserve import LENGTH, SWITCHES, VALUED

_TELLING = frozenset({"model-name", "model-dir", "model-id", "backend"})
"""Options of which one is enough to know the server by."""


class _Given(NamedTuple):
    """The arguments of the server, sorted: its own with their values, and those that it hands on to vLLM."""

    own: dict[str, Text | None]
    rest: list[Text]


def read_predictor(tree: Node, path: str, found: Found) -> None:
    """Add the engine of an InferenceService whose predictor is given arguments of vLLM."""
    container = tree.get("spec", "predictor", "model")
    arguments = container.get("args") if container is not None else None
    if container is None or arguments is None:
        return
    env, env_open = variables(container, found.maps, "manifest"), further_variables(container, found.maps)

    def lookup(name: str) -> str | None:
        variable = env.get(name)
        return variable.value.string() if variable else None

    texts = [part.text for part in arguments.elements() if part.text is not None]
    words = expand(texts, KUBERNETES, lookup)
    given = _sorted(words)
    own = bool(given.own.keys() & _TELLING)
    if not (own and _runs_vllm(given)) and not are_arguments(words):
        return

    def finish(node: NodeLaunch) -> None:
        node.env = {**env, **node.env}
        node.env_open = node.env_open or env_open
        node.partial = True  # the runtime may give more
        if own:
            node.program = "kserve"

    model = given.own.get("model-id") or hole(words[0], 1)
    engine = words.having([*serve_words(words[0]), model, *(given.rest if own else words)])
    add_engine(engine, "manifest", path, arguments.origin, found, finish)


def _runs_vllm(given: _Given) -> bool:
    """Whether the server is told to use vLLM, or is given an option that only vLLM has."""
    backend = given.own.get("backend")
    if backend is not None and backend.value != "auto":
        return backend.value == "vllm"
    return any(_name(word) in ENGINE_NAMES for word in given.rest)


def _name(word: Text) -> str:
    """Return the name of an option as vLLM spells it; empty for a word that is none."""
    return word.value.partition("=")[0][2:].replace("_", "-") if word.value.startswith("--") else ""


def _sorted(words: Sequence[Text]) -> _Given:
    """Tell the server's own options from the others; the old name of a length becomes vLLM's."""
    given = _Given({}, [])
    left = iter(words)
    for word in left:
        name, sign, value = _name(word), "=" in word.value, len(word.value.partition("=")[0]) + 1
        if name in VALUED:
            given.own[name] = word.part(value, len(word.value)) if sign else next(left, None)
        elif name in SWITCHES:
            given.own[name] = None
        elif name == LENGTH:
            rest = [word.part(value, len(word.value))] if sign else []
            given.rest.extend([word.stand_in("--max-model-len"), *rest])
        else:
            given.rest.append(word)
    return given
