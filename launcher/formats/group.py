"""The nodes of one side as a LeaderWorkerSet: a template for the leader, and one for all workers.

What workers differ in, beyond the ranks that follow from their index, is written for each index; what a template
cannot hold (devices, memory) is refused. Nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.formats.box import Box, Changes, FormatError, Piece, pieces, script_body
from pd_launch.launcher.formats.pod import (
    interface_lines,
    pod_command,
    pod_environment,
    pod_resources,
    pod_template,
    reachable,
    script_command,
)
from pd_launch.launcher.formats.words import shell_word
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.engine.port_range import first_rank

INDEX = "LWS_WORKER_INDEX"
LEADER = "LWS_LEADER_ADDRESS"
MASTERS = ("data-parallel-address", "master-addr")
_NODE = "node-rank"
_START = "data-parallel-start-rank"
_RANK = "data-parallel-rank"
_ADDRESS = Piece(f'"${LEADER}"', True)
Entry = dict[str, Any]


def group_template(boxes: Sequence[Box], labels: dict[str, str], name: str) -> dict[str, Any]:
    """Return the two templates of a side's nodes; ``name`` is that of the Secret.

    Raises:
        FormatError: workers differ in what one template cannot hold.
    """
    leader, workers = boxes[0], boxes[1:]
    _equal_pods(workers)
    changes: list[Changes] = [reachable(leader, launch, dict.fromkeys(MASTERS, _ADDRESS)) for launch in leader.launches]
    first = pod_template(leader, labels, name, pod_command(leader, changes), pod_environment(leader, name))
    command, environment = _workers(workers, name)
    return {
        "size": len(boxes),
        "restartPolicy": "RecreateGroupOnPodRestart",
        "leaderTemplate": first,
        "workerTemplate": pod_template(workers[0], {**labels, "role": "worker"}, name, command, environment),
    }


def one_template(boxes: Sequence[Box], name: str) -> tuple[dict[str, Any], list[Entry]]:
    """Return the command and the variables of all nodes, the first among them, where there is one template for all.

    Raises:
        FormatError: nodes differ in what one template cannot hold.
    """
    _equal_pods(boxes)
    return _workers(boxes, name)


def _equal_pods(workers: Sequence[Box]) -> None:
    """All workers come from one template: they have the same engines, devices and memory."""
    if len({tuple(launch.local_engines for launch in box.launches) for box in workers}) > 1:
        raise FormatError("a LeaderWorkerSet has one template for all nodes but the first; give them equal ranks")
    if any((pod_resources(box), box.shm) != (pod_resources(workers[0]), workers[0].shm) for box in workers):
        raise FormatError(
            "a LeaderWorkerSet has one template for all nodes but the first; give them the same devices and memory"
        )


def _workers(workers: Sequence[Box], name: str) -> tuple[dict[str, Any], list[Entry]]:
    """Return the command and the variables of all workers: one command where they differ in their ranks only."""
    environments = [pod_environment(box, name) for box in workers]
    changes = [[_change(box, launch) for launch in box.launches] for box in workers]
    words = [
        [pieces(*pair) for pair in zip(box.launches, change, strict=True)]
        for box, change in zip(workers, changes, strict=True)
    ]
    own = [(box.joins, box.own) for box in workers]
    if all(one == (environments[0], words[0], own[0]) for one in zip(environments, words, own, strict=True)):
        return pod_command(workers[0], changes[0]), environments[0]
    shared = _shared(environments)
    lines = ["set -eu", *interface_lines(workers[0]), f"case ${INDEX} in"]
    for box, entries, change in zip(workers, environments, changes, strict=True):
        body = [*_differences(shared, entries), *script_body(box, shell_word, change)]
        lines += [f"{box.number})", *body, ";;"]
    lines += ["*)", f'echo "no node of the profile has the number ${INDEX}" >&2', "exit 78", ";;", "esac"]
    return script_command(workers[0], "\n".join(lines) + "\n"), list(shared.values())


def _shared(environments: Sequence[Sequence[Entry]]) -> dict[str, Entry]:
    """Return one entry for each variable of any worker; where values differ, that which only the cluster can give."""
    found: dict[str, Entry] = {}
    for entry in (entry for entries in environments for entry in entries):
        before = found.get(entry["name"])
        if before is None or "value" in before:
            found[entry["name"]] = before if before is not None and "value" in entry else entry
        elif "valueFrom" in entry and entry != before:
            raise FormatError(
                f"{entry['name']} comes from a Secret on one node and from the pod on another; write it alike on all"
            )
    return found


def _differences(shared: dict[str, Entry], entries: Sequence[Entry]) -> list[str]:
    """Return the lines that give one worker its own variables in place of the shared ones."""
    own = {entry["name"]: entry for entry in entries}
    lines = [f"unset {name}" for name in shared if name not in own]
    for name, entry in own.items():
        if entry != shared[name]:
            value = entry["value"].replace("$$", "$")
            lines.append(f"export {name}={shell_word(value)}")
    return lines


def _change(box: Box, launch: NodeLaunch) -> Changes:
    return reachable(box, launch, {**dict.fromkeys(MASTERS, _ADDRESS), **_rank(box, launch)})


def _rank(box: Box, launch: NodeLaunch) -> dict[str, Piece]:
    """Return the launch's rank as it follows from the worker's index, the same words on every worker."""
    node = {} if launch.arg(_NODE) is None else {_NODE: Piece(f'"${INDEX}"', True)}
    if (launch.machines or 1) > 1 and (launch.data or 1) > 1:
        return node  # several nodes have the same engine: no line leads from index to rank
    first = first_rank(launch)
    name = _RANK if launch.external_dp else _START
    if not first or launch.arg(name) is None:
        return node
    local = len(box.launches) if launch.external_dp else launch.local_engines or 1
    behind = first - box.number * local
    term = f" + {behind}" if behind > 0 else f" - {-behind}" if behind else ""
    return {**node, name: Piece(f'"$(({INDEX} * {local}{term}))"', True)}
