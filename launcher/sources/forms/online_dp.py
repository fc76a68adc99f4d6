"""vllm-ascend's ``launch_online_dp.py``: one run of ``run_dp_template.sh`` for each local rank.

Guides show the template of each node under a name of its own (``prefill_node0.sh``); on the node it is renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pd_launch.launcher.sources.forms.e2e import too_many_ranks
from pd_launch.launcher.sources.shell.state import Scope
from pd_launch.schemas.core.launch import Fault, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Node, SourceFile, Text, as_integer
from pd_launch.schemas.engine.sides import spoken_side

TEMPLATE = "run_dp_template.sh"
MAX_RANKS = 256
_RANK = lazy_pattern(r"--data-parallel-rank[ \t=]{1,20}[\"']?\$\{?4\b")
_SIZE = lazy_pattern(r"--tensor-parallel-size[ \t=]{1,20}[\"']?\$\{?7\b")
_LOCAL = ("dp-size-local", "dp-rank-start", "dp-size")


def templates_of(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Return the files of a call that are templates: by their name, or as they use what the launcher passes."""
    return [f for f in files if _base(f) == TEMPLATE or (_RANK.search(f.text) and _SIZE.search(f.text))]


def template_for(options: Sequence[Text], templates: Sequence[SourceFile]) -> SourceFile | None:
    """Return the template that a call of the launcher starts; None where it is not known which.

    It has the launcher's own name for it, or is the only one, the only one that the name of the calling file names
    (``start_prefill_node0.sh``, ``prefill_node0.sh``), or the only one of its side.
    """
    named = [file for file in templates if _base(file) == TEMPLATE]
    if len(named or templates) < 2:
        return next(iter(named or templates), None)
    if not options:
        return None
    path = options[0].source.path
    if named:
        beside = [file for file in named if file.path.rpartition("/")[0] == path.rpartition("/")[0]]
        return beside[0] if len(beside) == 1 else None
    caller = _stem(path)
    for alike in (_names, _of_side):
        found = [file for file in templates if file.path != path and alike(caller, _stem(file.path))]
        if len(found) == 1:
            return found[0]
    return None


def _names(caller: str, template: str) -> bool:
    """Whether the name of the calling file holds that of the template as words of its own, or the other way round."""
    return any(f"_{inner}_" in f"_{outer}_" for outer, inner in ((caller, template), (template, caller)))


def _of_side(caller: str, template: str) -> bool:
    side = spoken_side(caller)
    return side is not None and side == spoken_side(template)


def _base(file: SourceFile) -> str:
    return file.path.rpartition("/")[2]


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0].replace("-", "_")


def join_group(nodes: Sequence[NodeLaunch], options: Sequence[Text]) -> None:
    """Note which group the launcher makes of its ranks: the address as it is written, also of an unset variable."""
    given = _options(list(options))
    address = given.get("dp-address")
    if address is None or any(_number(given, name) is None for name in _LOCAL if name in given):
        return
    count = given.get("dp-size-local") or given.get("dp-size") or address
    group = Node(address.source.text[address.spots[0] : address.spots[-1]], count.origin())
    for node in nodes:
        node.dp_group = group


def apart(calls: Sequence[Sequence[Text]]) -> list[str | None]:
    """Return the machine of each call where one file has several that no one machine can run: each is for another."""
    ports: dict[tuple[str, str], int] = {}
    keys = []
    for call in calls:
        port = _options(list(call)).get("vllm-start-port") if call else None
        keys.append((call[0].source.path, port.value if port is not None else "") if call else ("", ""))
        ports[keys[-1]] = ports.get(keys[-1], 0) + 1
    return [
        f"host of {call[0].source.path}, line {call[0].origin().line}" if call and ports[key] > 1 else None
        for call, key in zip(calls, keys, strict=True)
    ]


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
