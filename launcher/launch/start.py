"""Start a prepared launch: become the engine where it is one, supervise them where there are several."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from pd_launch.launcher.launch.plan import command_words, environment, shown_words
from pd_launch.launcher.launch.prepare import Launch, LaunchOptions
from pd_launch.launcher.launch.program import Refused, changed_variables, check_model, exec_engine, find_program
from pd_launch.launcher.secrets.masking import Held
from pd_launch.launcher.sources.profiles.render import BUILTIN_MODEL
from pd_launch.launcher.sources.profiles.tiny_model import TinyModelError, ensure_tiny_model
from pd_launch.launcher.supervise import Rank, Watch, supervise
from pd_launch.launcher.supervise.family import sees_processes
from pd_launch.launcher.supervise.watch import HEALTH_SECONDS, LOG_BYTES, LOG_FILES
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.port_range import first_rank
from pd_launch.schemas.engine.ports import http_port

GRACE = 20.0
"""Seconds that engines have to end, beyond what their own --shutdown-timeout says."""
IN_A_POD = "KUBERNETES_SERVICE_HOST"
"""A variable that every pod has."""
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def start(launch: Launch) -> int:
    """Start this node's engines. One engine replaces this process; of several the status is returned.

    Raises:
        Refused: something on this host is missing.
    """
    program = find_program()
    _model(launch)
    _report_changed(launch.launches)
    if len(launch.launches) == 1 and not launch.options.watched:
        node = launch.launches[0]
        _show(program, node, "")
        exec_engine(_command(program, node), environment(node))
    if not sees_processes():
        raise Refused(
            Msg(
                "/proc is not mounted, or belongs to another process namespace, so processes that engines leave could"
                " not be found: mount it (unshare --mount-proc)",
                "/proc 没有挂载，或属于另一个进程命名空间，无法找到引擎留下的进程：请挂载它（unshare --mount-proc）",
            )
        )
    ranks = [_rank(program, node) for node in launch.launches]
    for rank, node in zip(ranks, launch.launches, strict=True):
        _show(program, node, f"{rank.name}: ")
    grace = launch.options.grace
    try:
        return supervise(ranks, default_grace(launch.launches) if grace is None else grace, _watch(launch.options))
    except OSError as error:
        raise Refused(Msg(f"no process can be started: {error.strerror}", f"无法启动进程：{error.strerror}")) from None


def _watch(options: LaunchOptions) -> Watch:
    """Return what the keeper is asked. In a pod the kubelet looks at the engines' health itself.

    Raises:
        Refused: the folder for log files cannot be made.
    """
    if options.log_dir is not None:
        try:
            Path(options.log_dir).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            said = f"{options.log_dir}: {error.strerror}"
            raise Refused(Msg(said, said)) from None
    health = options.health
    if health is None:
        health = 0.0 if IN_A_POD in os.environ else HEALTH_SECONDS
    return Watch(
        health,
        options.ready_timeout,
        options.restart or 0,
        options.log_dir,
        options.log_size or LOG_BYTES,
        options.log_files or LOG_FILES,
        options.notify,
    )


def default_grace(nodes: Sequence[NodeLaunch]) -> float:
    """Return the seconds between TERM and KILL: ours, and on top what the engines themselves wait for requests."""
    return GRACE + max((node.number("shutdown-timeout", 0) or 0 for node in nodes), default=0)


def _model(launch: Launch) -> None:
    assert launch.loaded.profile is not None
    if launch.loaded.profile.model == BUILTIN_MODEL:
        try:
            ensure_tiny_model()
        except TinyModelError as error:
            raise Refused(Msg(str(error), str(error))) from None
    model = launch.launches[0].model
    check_model(str(model.value) if model else "")


def _report_changed(nodes: Sequence[NodeLaunch]) -> None:
    """Say which variables of the present environment the profile overrides; values may be secrets and are not shown."""
    names: dict[str, None] = {}
    for node in nodes:
        replaced = {name: value for name, value in environment(node).items() if node.env[name].joins is None}
        names |= dict.fromkeys(changed_variables(replaced, os.environ))
    held = Held.of(nodes)
    for name in names:
        shown = clean(held.shown(name))
        click.echo(f"pd-launch: {shown} is already set differently; the profile's value is used", err=True)


def _command(program: str, node: NodeLaunch) -> list[str]:
    return [program, *(word.text for word in command_words(node)[1:])]


def _show(program: str, node: NodeLaunch, head: str) -> None:
    words = [program, *shown_words(node, Held.of([node]))[1:]]
    click.echo(f"pd-launch: {head}starting {shlex.join(words)}", err=True)


def _rank(program: str, node: NodeLaunch) -> Rank:
    return Rank(f"dp{first_rank(node)}", _command(program, node), environment(node), health_addresses(node))


def health_addresses(node: NodeLaunch) -> list[str]:
    """Return where each server that the command starts answers /health: one, or one for each rank of its own."""
    port = http_port(node)
    if port is None or node.arg("uds") is not None:
        return []
    return [_health(node, number) for number in port.ports]


def _health(node: NodeLaunch, port: int) -> str:
    written = node.value("host")
    host = str(written.value) if written else ""
    host = _ANY_ADDRESS.get(host, host)
    scheme = "https" if node.arg("ssl-certfile") is not None else "http"
    return f"{scheme}://[{host}]:{port}/health" if ":" in host else f"{scheme}://{host}:{port}/health"
