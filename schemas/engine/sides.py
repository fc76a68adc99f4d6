"""Which side a launch belongs to, which data-parallel group, and under which address others reach it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import or_
from typing import Literal

from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.placeholder import is_placeholder
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.port_range import first_rank
from pd_launch.schemas.engine.ports import http_port

PairSide = Literal["prefill", "decode"]
GroupKey = tuple[str | None, int, str, int]
DEFAULT_RPC_PORT = 29550
DEFAULT_ADDRESS = "127.0.0.1"
OTHER: dict[PairSide, PairSide] = {"prefill": "decode", "decode": "prefill"}
ROLE_SIDES: dict[str, PairSide] = {"kv_producer": "prefill", "kv_consumer": "decode"}
_SPOKEN: dict[PairSide, tuple[str, ...]] = {"prefill": ("prefill", "producer"), "decode": ("decode", "consumer")}
STAGE = -1
"""Counts, among the branches of a launch, how often the script stopped what it had started."""
_LOOPBACK = lazy_pattern(r"127(\.\d{1,3}){3}|localhost|::1|\[::1\]")
_NOWHERE = lazy_pattern(r"0\.0\.0\.0|::|\[::\]")
_TEST_NODE = lazy_pattern(r"node (\d+)")


def named_side(node: NodeLaunch) -> PairSide | None:
    """Return the side that the input names: a section, a group, a label, or the file's own name."""
    if node.side in ("prefill", "decode"):
        return node.side
    if node.form not in ("shell", "docker", "python", "manifest", "systemd"):
        return None
    return spoken_side(node.origin.file.rpartition("/")[2])


def spoken_side(name: str) -> PairSide | None:
    """Return the side that a name speaks of, where it speaks of one: ``run_producer.sh``, ``vllm-decode-0``."""
    lower = name.lower()
    found: list[PairSide] = [side for side, words in _SPOKEN.items() if any(word in lower for word in words)]
    return found[0] if len(found) == 1 else None


def side_of(node: NodeLaunch) -> PairSide | None:
    """Return the side by the kv_role where that decides it, else by what the input names."""
    return ROLE_SIDES.get(node.role or "") or named_side(node)


def of_side(deployment: Deployment, side: PairSide) -> list[NodeLaunch]:
    """Return the launches of one side."""
    return [node for node in deployment.nodes if side_of(node) == side]


def is_loopback(address: str) -> bool:
    """Whether only the machine itself reaches ``address``."""
    return bool(_LOOPBACK.fullmatch(address.strip().lower()))


def is_unreachable(address: str) -> bool:
    """Whether no other machine reaches ``address``: a loopback address, or one that stands for all interfaces."""
    return is_loopback(address) or bool(_NOWHERE.fullmatch(address.strip()))


def own_address(node: NodeLaunch) -> str | None:
    """Return the address under which others reach the machine of ``node``, or None where it is not known."""
    for variable in ("HCCL_IF_IP", "VLLM_HOST_IP"):
        found = node.variable(variable)
        if found and not is_unreachable(found) and not is_placeholder(found):
            return found
    if node.form == "e2e" and node.host and (match := _TEST_NODE.fullmatch(node.host)):
        return f"NODE_{match[1]}_IP"
    if node.form == "profile" and node.host and " " not in node.host:
        return node.host
    return None


def master(node: NodeLaunch) -> Node | None:
    """Return the address of the DP master as it is written, or None."""
    return node.value("data-parallel-address")


def master_address(node: NodeLaunch) -> str | None:
    """Return the address of the DP master, the default included; None where it is unknown."""
    written = master(node)
    if written is not None:
        return written.string()
    return None if node.partial else DEFAULT_ADDRESS


def group_key(node: NodeLaunch) -> GroupKey | None:
    """Return what all launches of one data-parallel group have in common; None without DP or where it is unknown.

    A loopback address is another one on every machine, so the machine belongs to the key.
    """
    data, address = node.data, master_address(node)
    port = node.number("data-parallel-rpc-port", DEFAULT_RPC_PORT)
    if not data or data < 2 or not address or port is None:
        return None
    if is_unreachable(address):
        if node.host is None:
            return None
        address = f"{address} of {node.host}"
    return side_of(node) or node.role, data, address, port


def dp_groups(deployment: Deployment) -> list[list[NodeLaunch]]:
    """Return the data-parallel groups with their launches."""
    groups: dict[GroupKey, list[NodeLaunch]] = {}
    for node in deployment.nodes:
        key = group_key(node)
        if key is not None:
            groups.setdefault(key, []).append(node)
    return list(groups.values())


def local_ranks(node: NodeLaunch) -> range | None:
    """Return the global DP ranks that ``node`` starts, or None where they are unknown."""
    first, count = first_rank(node), node.local_engines
    return None if first is None or count is None else range(first, first + count)


def exclusive(one: NodeLaunch, other: NodeLaunch) -> bool:
    """Whether two launches of one script never both run on one machine.

    They are in different branches of one condition, or the first was stopped before the second starts.
    """
    if not _of_one_script(one, other):
        return False
    taken = _taken(one)
    return any(taken.get(place, branch) != branch for place, branch in _taken(other).items())


def exclusions(nodes: Sequence[NodeLaunch]) -> list[int]:
    """Return for each launch, as bits, which of the others are ``exclusive`` with it, without asking each pair."""
    scripts: dict[object, int] = defaultdict(int)
    places: dict[int, int] = defaultdict(int)
    branches: dict[tuple[int, int], int] = defaultdict(int)
    for index, node in enumerate(nodes):
        for script in _scripts(node):
            scripts[script] |= 1 << index
        for place, branch in _taken(node).items():
            places[place] |= 1 << index
            branches[place, branch] |= 1 << index
    found = []
    for node in nodes:
        apart = reduce(or_, (places[taken[0]] & ~branches[taken] for taken in _taken(node).items()), 0)
        found.append(apart & reduce(or_, (scripts[script] for script in _scripts(node)), 0))
    return found


def _taken(node: NodeLaunch) -> dict[int, int]:
    """Return the branch that leads to a launch, for each condition."""
    return {STAGE: 0, **dict(node.branches)}


def in_turn(earlier: NodeLaunch, later: NodeLaunch) -> bool:
    """Whether one script starts ``later`` only when ``earlier`` has ended: lines of one file to choose from."""
    return earlier.foreground and _of_one_script(earlier, later)


def _of_one_script(one: NodeLaunch, other: NodeLaunch) -> bool:
    """Whether one script starts both, also where one of them is in a file that it reads with ``source``."""
    return any(script in _scripts(other) for script in _scripts(one))


def _scripts(node: NodeLaunch) -> list[tuple[str, str]]:
    """Return the scripts that a launch is of: the file that it is in, and the one that reads that file."""
    return [("file", node.origin.file), *([("label", node.label)] if node.form == "shell" else [])]


def same_machine(deployment: Deployment) -> Iterator[tuple[NodeLaunch, NodeLaunch]]:
    """Iterate over pairs of launches that run together on one machine."""
    parts = _parts(deployment)
    for index, one in enumerate(deployment.nodes):
        for other in deployment.nodes[index + 1 :]:
            if _together(one, other, parts):
                yield one, other


def has_company(node: NodeLaunch, deployment: Deployment) -> bool:
    """Whether another launch runs together with ``node`` on one machine."""
    index = next(place for place, one in enumerate(deployment.nodes) if one is node)
    earlier, later, parts = deployment.nodes[:index], deployment.nodes[index + 1 :], _parts(deployment)
    pairs = chain(((one, node) for one in earlier), ((node, one) for one in later))
    return any(_together(first, second, parts) for first, second in pairs)


def _parts(deployment: Deployment) -> dict[int, int | None]:
    """Return which part of a text each launch is in, by its identity."""
    return {id(node): deployment.part_of(node) for node in deployment.nodes}


def _together(one: NodeLaunch, other: NodeLaunch, parts: Mapping[int, int | None]) -> bool:
    """Whether two launches, in their order, run together on one machine."""
    if one.host is None or one.host != other.host or in_turn(one, other) or exclusive(one, other):
        return False
    return parts[id(one)] == parts[id(other)] or not _at_one_port(one, other)


def _at_one_port(one: NodeLaunch, other: NodeLaunch) -> bool:
    """Whether two commands in different parts of a text for people are two ways to start the same."""
    mine, theirs = http_port(one), http_port(other)
    return mine is None or theirs is None or bool(set(mine.ports) & set(theirs.ports))


def spans_machines(node: NodeLaunch, deployment: Deployment) -> bool:
    """Whether ``node``'s data-parallel group, or one of its engines, surely runs on more than one machine."""
    data, local = node.data, node.local_engines
    if (node.machines or 1) > 1:
        return True
    if data is None or local is None or data < 2:
        return False
    if node.nodes is not None:
        return node.nodes > 1
    if node.switch("headless") or ((first_rank(node) or 0) > 0 and not node.external_dp):
        return True
    if not node.external_dp:
        return local < data
    alike = [m for m in deployment.nodes if m.data == data and side_of(m) == side_of(node)]
    mates = [m for m in alike if m.host == node.host]
    if node.host is None or len(mates) >= data:
        return False
    ranks = {first_rank(m) for m in mates}
    return len(mates) > 1 or any(m.host not in (None, node.host) and first_rank(m) not in ranks for m in alike)
