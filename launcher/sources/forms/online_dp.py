"""vllm-ascend's ``launch_online_dp.py``: one run of ``run_dp_template.sh`` for each local rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pd_launch.launcher.sources.forms.e2e import too_many_ranks
from pd_launch.launcher.sources.shell.state import Scope
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.values import HOLE, SourceFile, Text, as_integer

TEMPLATE = "run_dp_template.sh"
MAX_RANKS = 256


def read_online_dp(options: list[Text], template: SourceFile, read: Callable[[Text, Scope], None]) -> Iterator[Fault]:
    """Read the template once for each rank that the launcher's options start, with its positional parameters bound.

    They are: visible devices, port, DP size, rank, DP address, RPC port, TP size. Yields what was not followed.
    """
    given = _options(options)
    local, first, port, size = (
        _number(given, name) for name in ("dp-size-local", "dp-rank-start", "vllm-start-port", "tp-size")
    )
    if local is None and "dp-size-local" not in given:
        local = _number(given, "dp-size")
    text = Text.verbatim(template, 0, len(template.text))
    place = options[0] if options else text
    if local is not None and local > MAX_RANKS:
        yield too_many_ranks(place.origin(), MAX_RANKS)
    for index in range(min(local if local is not None else 1, MAX_RANKS)):
        values = {
            0: template.path,
            1: ",".join(str(d) for d in range(index * size, (index + 1) * size)) if size is not None else HOLE,
            2: HOLE if port is None else str(port + index),
            4: HOLE if first is None and "dp-rank-start" in given else str((first or 0) + index),
        }
        if local is None:
            values.update({1: HOLE, 2: HOLE, 4: HOLE})
        bound = {n: place.stand_in(v) for n, v in values.items()}
        for position, name in ((3, "dp-size"), (5, "dp-address"), (6, "dp-rpc-port"), (7, "tp-size")):
            bound[position] = given.get(name) or place.stand_in(HOLE)
        read(text, Scope(positional=bound))


def _options(words: list[Text]) -> dict[str, Text]:
    found: dict[str, Text] = {}
    at = 0
    while at < len(words):
        word = words[at]
        name, sign, _ = word.value.partition("=")
        at += 1
        if not name.startswith("--"):
            continue
        key = name[2:].replace("_", "-")
        if sign:
            found[key] = word.part(len(name) + 1, len(word.value))
        elif at < len(words):
            found[key] = words[at]
            at += 1
    return found


def _number(given: Mapping[str, Text], name: str) -> int | None:
    text = given.get(name)
    return as_integer(text.value) if text else None
