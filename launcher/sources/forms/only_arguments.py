"""Engines of which only arguments are given: what they are given to is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from pd_launch.launcher.sources.engine.engines import add_engine
from pd_launch.launcher.sources.engine.found import Finish, Found
from pd_launch.launcher.sources.text.interpolate import KUBERNETES, Words, expand
from pd_launch.schemas.core.flag_shapes import LISTS, SWITCHES, VALUED
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import HOLE, Origin, Text

KV_FLAG = "--kv-transfer-config"
ENGINE_NAMES = frozenset({*SWITCHES, *LISTS, *VALUED})
TELLING = frozenset(
    {"kv-transfer-config", "tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "max-model-len"}
    | {"max-num-seqs", "max-num-batched-tokens", "gpu-memory-utilization", "served-model-name", "additional-config"}
    | {"enable-expert-parallel", "enable-prefix-caching", "kv-cache-dtype", "speculative-config", "compilation-config"}
    | {"enforce-eager", "kv-events-config", "data-parallel-rank", "enable-chunked-prefill", "all2all-backend"}
)
"""Options that no other program has: arguments with one of them are an engine's."""


def are_arguments(texts: Sequence[Text]) -> bool:
    """Whether a list of words are arguments of an engine whose command is elsewhere."""
    names = {text.value.partition("=")[0].replace("_", "-") for text in texts}
    return bool(texts) and texts[0].value.startswith("--") and KV_FLAG in names


def only_arguments(texts: Sequence[Text], named: bool = False) -> bool:
    """Whether words are arguments of ``vllm serve``, most of them known, where nothing says what they are given to.

    ``named`` says whether the name that they are under speaks of the engine.
    """
    flags = [text.value for text in texts if text.value.startswith("--")]
    names = [flag.partition("=")[0][2:].replace("_", "-").partition(".")[0] for flag in flags]
    known = [name for name in names if name.removeprefix("no-") in ENGINE_NAMES]
    return len(known) * 2 >= max(len(names), 1) and (named or any(name in TELLING for name in known))


def add_arguments(texts: Sequence[Text], path: str, place: Origin, found: Found, finish: Finish) -> None:
    """Add an engine of which only arguments are given."""

    def complete(node: NodeLaunch) -> None:
        finish(node)
        node.partial = True

    model = [] if not texts[0].value.startswith("-") else [hole(texts[0], 1)]
    words = texts if isinstance(texts, Words) else expand(texts, KUBERNETES)
    add_engine(words.having([*serve_words(texts[0]), *model, *words]), "manifest", path, place, found, complete)


def serve_words(place: Text) -> list[Text]:
    """Return ``vllm serve`` as words that are at a place."""
    return [place.stand_in(word) for word in ("vllm", "serve")]


def hole(place: Text, length: int) -> Text:
    """Return a word that is not known; of length 2, any number of them."""
    return place.stand_in(HOLE * length)
