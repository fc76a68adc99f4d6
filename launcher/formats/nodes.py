"""For machines without a cluster manager of containers: a job for Slurm, and commands for each node over ssh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pd_launch.launcher.formats.box import (
    ADDRESS,
    Box,
    Changes,
    FormatError,
    Piece,
    has_connector,
    one_instance,
    script_body,
    slug,
)
from pd_launch.launcher.formats.ending import ADD, UNTIL_ONE_ENDS, together
from pd_launch.launcher.formats.group import MASTERS
from pd_launch.launcher.formats.pod import INTERFACES, interface_lines
from pd_launch.launcher.formats.proxy import proxy_command
from pd_launch.launcher.formats.words import LEADER, shell_word
from pd_launch.launcher.launch.plan import Part
from pd_launch.schemas.engine.connector_ports import NIXL_HOST
from pd_launch.schemas.engine.ports import http_port

_OWN = '"$(hostname -I | cut -d" " -f1)"'


def slurm_job(boxes: Sequence[Box], name: str) -> str:
    """Return an sbatch script for one side: an srun for each node, all ended with the first that ends.

    Raises:
        FormatError: nodes need something that Slurm cannot give them here.
    """
    one_instance(boxes, "slurm")
    first = boxes[0]
    options = [f"--job-name={slug(name)}-{first.side}", f"--nodes={len(boxes)}", "--ntasks-per-node=1", "--exclusive"]
    options.append(f"--signal=B:TERM@{first.stop}")
    if first.hardware == "cuda":
        options.append(f"--gpus-per-node={max(box.ranks for box in boxes)}")
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in options)]
    lines += ["# Each node runs its own step; sbatch --nodelist, --partition and the like choose the nodes."]
    lines += ["set -eu", *(f': "${{{name}:?}}"' for name in _asked(boxes))]
    lines += ['nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))', f'export {LEADER}="${{nodes[0]}}"']
    lines += together(max(box.grace for box in boxes))
    for box in boxes:
        body = "\n".join(
            ["set -eu", *interface_lines(box), *_variables(box), *script_body(box, shell_word, _changes(box))]
        )
        step = f'srun --nodes=1 --ntasks=1 --nodelist="${{nodes[{box.number}]}}" bash -c {shell_word(body)}'
        lines.append(f"{step} & {ADD}")
    return "\n".join([*lines, *UNTIL_ONE_ENDS]) + "\n"


def _asked(boxes: Sequence[Box]) -> list[str]:
    """Return the variables that whoever submits the job must set: Slurm passes them on."""
    known = {*ADDRESS, *INTERFACES, *(name.upper().replace("-", "_") for name in MASTERS)}
    return sorted({name for box in boxes for name, ask in box.asked.items() if ask == "secret" or name not in known})


def _changes(box: Box) -> list[Changes]:
    address = Piece(f'"${LEADER}"', True)
    return [dict.fromkeys(MASTERS, address) for _ in box.launches]


def _variables(box: Box) -> list[str]:
    lines = []
    for name, variable in box.variables.items():
        if name in ADDRESS and (variable.ask == "auto" or variable.value in (box.address, "auto")):
            lines.append(f"export {name}={_OWN}")
        elif not variable.ask:
            lines.append(f"export {name}={shell_word(variable.value)}")
    if NIXL_HOST not in box.variables and has_connector(box, "NixlConnector"):
        lines.append(f"export {NIXL_HOST}={_OWN}")  # else the other side would ask its own machine for the KV
    return lines


def ssh_commands(boxes: Sequence[Box], name: str, commands: Mapping[str, Sequence[str | Sequence[Part]]]) -> str:
    """Return what to run on which node, in order; ``commands`` are the words of pd-launch for each box, by its name.

    Raises:
        FormatError: a node's address is not known.
    """
    one_instance(boxes, "ssh")
    lines = [
        "#!/bin/sh",
        f"# What to run for the profile {name}, in this order: line by line, or as a whole.",
        "# pd-launch and the profile lie at the same place on every node. Nothing else is copied.",
    ]
    for number, box in enumerate(boxes, 1):
        if box.address in (None, "auto"):
            raise FormatError(f"ssh needs the address of every node: write nodes.{box.side}[{box.number}].address")
        log = f"{box.name}.log"
        inner = " ".join(_remote(word) for word in commands[box.name])
        remote = f"{{ nohup {inner} > {log} 2>&1 < /dev/null & }}; echo $! > {box.name}.pid"
        lines += [f"# {number}. {box.side} node {box.number}: output in {log}, stopped by kill $(cat {box.name}.pid)"]
        lines.append(f"ssh {shell_word(str(box.address))} {shell_word(remote)}")
    for box in boxes:
        ports = [port.first for launch in box.launches if (port := http_port(launch)) is not None]
        if ports:
            address = f"http://{_host(str(box.address))}:{ports[0]}/health"
            lines.append(f"# ready once this answers: curl -f {shell_word(address)}")
    proxy = proxy_command(boxes, lambda box: [str(box.address)])
    if proxy is not None:
        lines.append(f"# {len(boxes) + 1}. in front of both sides: {proxy}")
    return "\n".join(lines) + "\n"


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _remote(word: str | Sequence[Part]) -> str:
    parts = [Part(word)] if isinstance(word, str) else word
    return "".join(f'"${{{part.asked}:?}}"' if part.asked else shell_word(part.text) for part in parts) or "''"
