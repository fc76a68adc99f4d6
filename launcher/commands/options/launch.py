"""``pd-launch decode`` and ``pd-launch prefill``: options."""

from __future__ import annotations

from typing import ClassVar, Literal

import click

from pd_launch.launcher.commands.options import (
    PLANS,
    argument,
    command,
    form_option,
    lang_option,
    option,
    profile_option,
    settings_option,
    target_option,
)
from pd_launch.launcher.commands.options.finite import Finite
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class SideOptions:
    """What ``decode`` and ``prefill`` was given."""

    side: ClassVar[Literal["decode", "prefill"]]
    profile: str = profile_option("Profile file, or the name of a shipped one.", required=True)
    settings: tuple[str, ...] = settings_option()
    dry_run: bool = option("--dry-run", is_flag=True, help="Print the plan and start nothing.")
    form: str = form_option(
        *PLANS,
        help="Plan format. compose, k8s, kserve, llm-d and ssh include all nodes of both sides, slurm those of one.",
    )
    node_rank: int | None = option(
        "--node-rank", type=int, metavar="N", help="Which node of this side to use, counted from 0."
    )
    dp_rank: int | None = option(
        "--dp-rank", type=int, metavar="N", help="Start only this rank of an external-DP side."
    )
    grace: float | None = option(
        "--grace", type=Finite(0), metavar="SECONDS", help="Time between TERM and KILL for several engines."
    )
    ready_timeout: float | None = option(
        "--ready-timeout",
        type=Finite(0, min_open=True),
        metavar="SECONDS",
        help="Stop everything if not all engines are ready by then.",
    )
    health: float | None = option(
        "--health",
        type=Finite(0),
        metavar="SECONDS",
        help="How often to recheck engines that were ready; 0: never.  [default: 10, in a pod 0]",
    )
    restart: int | None = option(
        "--restart", type=click.IntRange(0), metavar="N", help="Restart all engines after a failure, up to N times."
    )
    log_dir: str | None = option("--log-dir", metavar="FOLDER", help="Write a log file for each rank as well.")
    log_size: str | None = option(
        "--log-size", metavar="SIZE", help="Start a new log file at this size.  [default: 64MiB]"
    )
    log_files: int | None = option(
        "--log-files", type=click.IntRange(1), metavar="N", help="Log files kept for each rank.  [default: 5]"
    )
    notify: bool = option(
        "--notify", is_flag=True, help="Notify systemd when all are ready, and that they stay healthy."
    )
    show_origin: bool = option("--show-origin", is_flag=True, help="Show where each argument and variable came from.")
    host: bool | None = option("--host/--no-host", default=None, help="Whether to check against this machine.")
    host_facts: str | None = option(
        "--host-facts", metavar="FILE", help="With --dry-run: check against the machine described in this file."
    )
    force: tuple[str, ...] = option(
        "--force", multiple=True, metavar="CODE", help="Launch in spite of errors with this code."
    )
    target: str | None = target_option()
    lang: str | None = lang_option()
    extra: tuple[str, ...] = argument(nargs=-1, metavar="[-- EXTRA VLLM ARGS]", type=click.UNPROCESSED)


@dataclass(frozen=True)
class DecodeOptions(SideOptions):
    """Check, render and start this node's decode engine.

    \b
    Examples:
      pd-launch decode --profile a3-dp2tp8 --dry-run
      pd-launch decode --profile my.yaml --set decode.port=8300 -- --seed 1
    """

    side: ClassVar[Literal["decode", "prefill"]] = "decode"


@dataclass(frozen=True)
class PrefillOptions(SideOptions):
    """Check, render and start this node's prefill engine.

    \b
    Example:
      pd-launch prefill --profile a3-dp2tp8 --dry-run
    """

    side: ClassVar[Literal["decode", "prefill"]] = "prefill"


COMMANDS = {
    "decode": command(DecodeOptions, "launch:launch_command", plugins=True),
    "prefill": command(PrefillOptions, "launch:launch_command", plugins=True),
}
